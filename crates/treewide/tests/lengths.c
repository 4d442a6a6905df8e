/* A library for LD_PRELOAD: files whose reading and length disagree.
 *
 * Reading a file whose name begins with "cut" ends $CUT bytes before its length, and the system states the length of one
 * whose name begins with "low" $CUT bytes too low. Mappings stay as they are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static off_t cut(void) {
    const char *cut = getenv("CUT");
    return cut ? atoll(cut) : 0;
}

/* The last part of the path, or of the path behind the descriptor. */
static int is_called(const char *prefix, int fd, const char *path) {
    char link[64], name[4096];
    if (!path || !*path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, name, sizeof name - 1);
        if (len <= 0) return 0;
        name[len] = 0;
        path = name;
    }
    const char *last = strrchr(path, '/');
    return !strncmp(last ? last + 1 : path, prefix, strlen(prefix));
}

/* The bytes of a read from `at` on that come before the end. */
static size_t clip(int fd, size_t len, off_t at) {
    struct stat there;
    if (!is_called("cut", fd, NULL) || syscall(SYS_fstat, fd, &there)) return len;
    off_t end = there.st_size - cut();
    if (at >= end) return 0;
    return at + (off_t)len > end ? (size_t)(end - at) : len;
}

ssize_t read(int fd, void *to, size_t len) { return syscall(SYS_read, fd, to, clip(fd, len, lseek(fd, 0, SEEK_CUR))); }

ssize_t pread64(int fd, void *to, size_t len, off_t at) { return syscall(SYS_pread64, fd, to, clip(fd, len, at), at); }

ssize_t pread(int fd, void *to, size_t len, off_t at) { return pread64(fd, to, len, at); }

/* The others read into the first buffer only, which is allowed. */
ssize_t readv(int fd, const struct iovec *to, int count) { return count ? read(fd, to->iov_base, to->iov_len) : 0; }

ssize_t preadv64(int fd, const struct iovec *to, int count, off_t at) {
    return count ? pread64(fd, to->iov_base, to->iov_len, at) : 0;
}

ssize_t preadv(int fd, const struct iovec *to, int count, off_t at) { return preadv64(fd, to, count, at); }

ssize_t preadv64v2(int fd, const struct iovec *to, int count, off_t at, int flags) {
    if (!count) return 0;
    off_t from = at == -1 ? lseek(fd, 0, SEEK_CUR) : at;
    struct iovec first = {to->iov_base, clip(fd, to->iov_len, from)};
    return syscall(SYS_preadv2, fd, &first, 1, at, 0, flags);
}

ssize_t preadv2(int fd, const struct iovec *to, int count, off_t at, int flags) {
    return preadv64v2(fd, to, count, at, flags);
}

/* What states lengths. */
int statx(int folder, const char *path, int flags, unsigned mask, struct statx *to) {
    int result = syscall(SYS_statx, folder, path, flags, mask, to);
    if (!result && is_called("low", folder, path)) to->stx_size -= cut();
    return result;
}

int fstatat(int folder, const char *path, struct stat *to, int flags) {
    int result = syscall(SYS_newfstatat, folder, path, to, flags);
    if (!result && is_called("low", folder, path)) to->st_size -= cut();
    return result;
}

int fstatat64(int folder, const char *path, struct stat64 *to, int flags) {
    return fstatat(folder, path, (struct stat *)to, flags);
}

int fstat(int fd, struct stat *to) { return fstatat(fd, "", to, AT_EMPTY_PATH); }
int fstat64(int fd, struct stat64 *to) { return fstat(fd, (struct stat *)to); }
int stat(const char *path, struct stat *to) { return fstatat(AT_FDCWD, path, to, 0); }
int stat64(const char *path, struct stat64 *to) { return stat(path, (struct stat *)to); }
int lstat(const char *path, struct stat *to) { return fstatat(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW); }
int lstat64(const char *path, struct stat64 *to) { return lstat(path, (struct stat *)to); }
