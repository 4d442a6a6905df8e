/* treewide: BLAKE3 for C and C++, with batches, modes, files and saved states. For a drop-in of BLAKE3's own C
 * library, take blake3.h. Compile with `pkg-config --cflags --libs libtreewide`, or CMake's treewide::treewide.
 *
 *   one input            treewide_hash, treewide_hash_mode
 *   in pieces            treewide_init, treewide_update, treewide_finalize, treewide_reset, treewide_count
 *   in short pieces      treewide_stream_new, treewide_stream_update, treewide_stream_finalize, treewide_stream_free
 *   long output          treewide_reader_init, treewide_reader_read, treewide_reader_seek
 *   keys and contexts    treewide_mode_keyed, treewide_mode_derive_key
 *   many inputs at once  treewide_hash_many, treewide_hash_packed
 *   your own threads     treewide_subtree, treewide_merge_root, treewide_merge
 *   our threads          treewide_update_parallel                                (make FEATURES=parallel)
 *   files                treewide_hash_file, treewide_update_file                (make FEATURES=file)
 *                        treewide_update_file_watched, with progress and a way to stop
 *   stop and continue    treewide_state_to_bytes, treewide_state_from_bytes
 *   digests              treewide_equal, treewide_hex, treewide_from_hex
 *   library              treewide_strerror, treewide_version, treewide_kernel, treewide_kernel_force
 *
 *   uint8_t digest[TREEWIDE_OUT_LEN];
 *   char text[TREEWIDE_HEX_LEN];
 *   treewide_hash("hello", 5, digest);
 *   treewide_hex(digest, text);
 *   puts(text);
 *
 * The linker finds a function that needs FEATURES only in a library that was made with them.
 *
 * Rules for all functions:
 *
 * - As in blake3.h, the hasher or mode that a function works on comes first, and outputs come last.
 * - A function that returns void cannot fail. An int is 0 for success and negative for an error: TREEWIDE_E_..., or -errno of
 *   the system. treewide_strerror has the text. After an error the outputs are unchanged, unless the function says otherwise.
 * - `const treewide_mode *mode` is NULL for the plain mode.
 * - A pointer may be NULL if its length is 0, or if the function says so. Paths, texts, keys, hashers and outputs of a fixed
 *   size are never NULL. Outputs do not overlap inputs. Lengths are in bytes. Structs have the alignment of their types.
 * - Use a hasher only after treewide_init or treewide_state_from_bytes. After treewide_reset it is as after treewide_init.
 * - Misuse that the library notices (NULL with a length that is not 0, or a case that a function names) ends the program with
 *   a message on standard error.
 * - No function allocates, starts a thread or keeps global state, unless it says so. Any threads may call all functions at
 *   once. Only one thread at a time may use a hasher, but several may finalize it at once. A child of fork may call all
 *   functions. A function with threads may never return there if another thread was inside one of them at the fork.
 * - A call needs less than 40 KB of stack, and treewide_hash_many and treewide_hash_packed less than 90 KB.
 * - Compare digests that an attacker may choose with treewide_equal. */
#ifndef TREEWIDE_H
#define TREEWIDE_H

#include <stddef.h>
#include <stdint.h>

#define TREEWIDE_VERSION "0.1.0"

#define TREEWIDE_OUT_LEN 32     /* bytes of a digest and of a chaining value */
#define TREEWIDE_KEY_LEN 32     /* bytes of a key */
#define TREEWIDE_CHUNK_LEN 1024 /* parts of an input begin at a multiple of this */
#define TREEWIDE_STATE_MAX 1916 /* bytes of the longest saved state */
#define TREEWIDE_HEX_LEN 65     /* bytes of a digest as text, with its final zero */
#define TREEWIDE_KERNEL_MAX 32  /* bytes of the name of a kernel, with its final zero */

/* Errors. */
#define TREEWIDE_E_NOT_A_STATE (-10001)
#define TREEWIDE_E_STATE_VERSION (-10002) /* saved by a release that this one does not know */
#define TREEWIDE_E_STATE_LENGTH (-10003)
#define TREEWIDE_E_STATE_DAMAGED (-10004)
#define TREEWIDE_E_OFFSETS (-10005) /* an offset decreases, or is past the end of the data */
#define TREEWIDE_E_KERNEL (-10006)  /* not in this build, or not for this CPU */
#define TREEWIDE_E_SHRANK (-10007)  /* the file became shorter while it was being hashed, even for a moment */
#define TREEWIDE_E_OPTIONS (-10008) /* no such strategy, or reserved bytes that are not 0 */
#define TREEWIDE_E_FILE (-10009)    /* the file cannot be read, for a reason that has no errno */
#define TREEWIDE_E_HEX (-10010)     /* not 64 hexadecimal digits */
#define TREEWIDE_E_ENDED (-10011)   /* reading the file ended before its length: a lost connection, or a bad disk */
#define TREEWIDE_E_GOES_ON (-10012) /* the file has bytes after its length */
#define TREEWIDE_E_STATE_PART (-10013) /* the state of a subtree, which has no digest; only programs in Rust save one */
#define TREEWIDE_E_STOPPED (-10014)    /* the watcher stopped it */
#define TREEWIDE_E_PATH (-10015)       /* the path is not UTF-8, on Windows */

/* On Windows, define TREEWIDE_DLL to use the library as a DLL. */
#ifndef TREEWIDE_API
#if defined(TREEWIDE_DLL) && (defined(_WIN32) || defined(__CYGWIN__))
#define TREEWIDE_API __declspec(dllimport)
#elif defined(__GNUC__) && __GNUC__ >= 4 && !defined(_WIN32) && !defined(__CYGWIN__)
#define TREEWIDE_API __attribute__((visibility("default")))
#else
#define TREEWIDE_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An input that is hashed in pieces. Put it on the stack, and copy it with =. There is nothing to free. In the keyed and
 * derive-key modes it holds the key. */
typedef struct {
  uint64_t opaque[239];
} treewide_hasher;

/* An input that is hashed in short pieces. */
typedef struct treewide_stream treewide_stream;

/* Output that is read in pieces. Put it on the stack, and copy it with =. It holds what a hasher holds. */
typedef struct {
  uint64_t opaque[150];
} treewide_reader;

/* A key or a context, for any number of uses by any threads at once. Make it with one of the two functions under "Keys and
 * contexts", and copy it with =. All bytes 0 are the plain mode, as NULL is. It holds the key: overwrite it after its last use,
 * for example with explicit_bzero. Do the same with hashers and saved states. */
typedef struct {
  uint32_t opaque[9];
} treewide_mode;

/* One of many inputs. */
typedef struct {
  const void *data;
  size_t len;
} treewide_bytes;

/* ---- One input ---- */

/* The digest of `len` bytes. */
TREEWIDE_API void treewide_hash(const void *input, size_t len, uint8_t out[TREEWIDE_OUT_LEN]);

/* The first out_len bytes of output for `len` bytes in a mode. The first 32 are the digest. */
TREEWIDE_API void treewide_hash_mode(const treewide_mode *mode, const void *input, size_t len, uint8_t *out, size_t out_len);

/* ---- Keys and contexts ---- */

/* A message authentication code or a pseudorandom function. The key has the strength of 32 random bytes. */
TREEWIDE_API void treewide_mode_keyed(treewide_mode *mode, const uint8_t key[TREEWIDE_KEY_LEN]);

/* Derives keys: the input is the key material, and the output is the key. Write the context into the program. It names
 * application, date and purpose: "example.com 2026-11-25 session tokens". context_len does not count a zero at its end. */
TREEWIDE_API void treewide_mode_derive_key(treewide_mode *mode, const void *context, size_t context_len);

/* ---- In pieces ---- */

TREEWIDE_API void treewide_init(treewide_hasher *hasher, const treewide_mode *mode);
TREEWIDE_API void treewide_update(treewide_hasher *hasher, const void *input, size_t len);

/* Writes out_len bytes of output from byte `seek` on: 0 and 32 for a digest. More input may follow. The output has 2^64 - 1
 * bytes, and bytes past them are not output of BLAKE3. */
TREEWIDE_API void treewide_finalize(const treewide_hasher *hasher, uint64_t seek, uint8_t *out, size_t out_len);

/* Forgets the input; keeps the mode. */
TREEWIDE_API void treewide_reset(treewide_hasher *hasher);

/* The bytes that were appended so far. After treewide_state_from_bytes, it is the place in the input to continue from. */
TREEWIDE_API uint64_t treewide_count(const treewide_hasher *hasher);

/* ---- In short pieces ----
 *
 * A stream is a hasher that is faster for pieces shorter than 16 KiB: it gathers them in a buffer of 32 KiB, and hashes
 * them side by side. It allocates that buffer after the first 1,024 bytes; without memory for it, it hashes pieces as they
 * come. One thread at a time uses a stream, except that several may finalize it. Nothing wipes its memory: use a hasher
 * where a key or an input must be overwritten. */

/* A new stream, or NULL if there is no memory for it. treewide_stream_free frees it. */
TREEWIDE_API treewide_stream *treewide_stream_new(const treewide_mode *mode);
TREEWIDE_API void treewide_stream_free(treewide_stream *stream);

/* As for a hasher. */
TREEWIDE_API void treewide_stream_update(treewide_stream *stream, const void *input, size_t len);
TREEWIDE_API void treewide_stream_finalize(const treewide_stream *stream, uint64_t seek, uint8_t *out, size_t out_len);
TREEWIDE_API void treewide_stream_reset(treewide_stream *stream);
TREEWIDE_API uint64_t treewide_stream_count(const treewide_stream *stream);

/* A copy of a stream as a hasher, to save its state for example; and a new stream that continues from a hasher, or NULL. */
TREEWIDE_API void treewide_stream_to_hasher(const treewide_stream *stream, treewide_hasher *hasher);
TREEWIDE_API treewide_stream *treewide_stream_from_hasher(const treewide_hasher *hasher);

/* ---- Long output ----
 *
 * A reader gives the output of a hasher in pieces: faster than treewide_finalize with `seek`, as it keeps up to 1 KiB that it
 * has computed. Input that the hasher gets later changes nothing. */

TREEWIDE_API void treewide_reader_init(treewide_reader *reader, const treewide_hasher *hasher);

/* Writes the next out_len bytes. */
TREEWIDE_API void treewide_reader_read(treewide_reader *reader, uint8_t *out, size_t out_len);

/* Goes to a byte of the output. */
TREEWIDE_API void treewide_reader_seek(treewide_reader *reader, uint64_t position);

/* ---- Many inputs at once ---- */

/* Writes n digests, in the order of the inputs, to `out`, which has room for n * 32 bytes. Short inputs are hashed next to
 * each other in vector registers, several times as fast as in a loop. */
TREEWIDE_API void treewide_hash_many(const treewide_mode *mode, const treewide_bytes *inputs, size_t n, uint8_t *out);

/* treewide_hash_many for inputs in one buffer, as in an array of Apache Arrow: input i is the bytes from offsets[i] up to
 * offsets[i + 1]. There are n + 1 offsets, and the first need not be 0. Returns TREEWIDE_E_OFFSETS if they decrease or pass
 * `len`. */
TREEWIDE_API int treewide_hash_packed(const treewide_mode *mode, const void *data, size_t len, const uint64_t *offsets, size_t n,
                                      uint8_t *out);

/* ---- Your own threads ----
 *
 * Cut an input into at least two parts of the same length, a power of two times TREEWIDE_CHUNK_LEN. 128 KiB is a good one.
 * The last part may be shorter. Hash the parts with treewide_subtree on any threads or machines, at any time, then merge all
 * chaining values in order:
 *
 *   for each part i: treewide_subtree(mode, i * part, data + i * part, min(part, len - i * part), cvs + 32 * i);
 *   treewide_merge_root(mode, cvs, parts, digest, 32);
 *
 * For an input of one part, use treewide_hash_mode. */

/* The chaining value of `len` bytes at byte `offset` of the whole input. Misuse: len is 0, offset is not a multiple of
 * TREEWIDE_CHUNK_LEN, or len is more than the largest power of two that divides offset. */
TREEWIDE_API void treewide_subtree(const treewide_mode *mode, uint64_t offset, const void *input, size_t len,
                                   uint8_t cv[TREEWIDE_OUT_LEN]);

/* Output for the whole input from the chaining values of all its parts, n * 32 bytes. Misuse: n is less than 2. */
TREEWIDE_API void treewide_merge_root(const treewide_mode *mode, const uint8_t *cvs, size_t n, uint8_t *out, size_t out_len);

/* The chaining value of a parent below the root, for programs that keep the tree. The left subtree has a power of two of
 * chunks, and at least as many as the right one. */
TREEWIDE_API void treewide_merge(const treewide_mode *mode, const uint8_t left[TREEWIDE_OUT_LEN],
                                 const uint8_t right[TREEWIDE_OUT_LEN], uint8_t cv[TREEWIDE_OUT_LEN]);

/* ---- Our threads: in libraries made with FEATURES=parallel ---- */

/* treewide_update on a pool of RAYON_NUM_THREADS threads, or of one for each CPU. The pool starts at the first call with at
 * least 1 MiB, and lives as long as the process. Calls with less use the calling thread alone. */
TREEWIDE_API void treewide_update_parallel(treewide_hasher *hasher, const void *input, size_t len);

/* ---- Files: in libraries made with FEATURES=file ---- */

/* How to read. Start with all bytes 0, which chooses the best way for each file: `treewide_file_options options = {0};` in C,
 * `= {};` in C++. */
typedef struct {
  uint32_t strategy;    /* TREEWIDE_FILE_... */
  uint32_t threads;     /* the most threads; 0 for all of the pool */
  uint32_t drop_cache;  /* not 0: remove pages from the page cache that were not there before (Linux) */
  uint32_t reserved[5]; /* 0 */
} treewide_file_options;

#define TREEWIDE_FILE_AUTO 0
#define TREEWIDE_FILE_READ 1            /* one buffer, one thread */
#define TREEWIDE_FILE_READ_OVERLAPPED 2 /* one thread at a time reads, the others hash */
#define TREEWIDE_FILE_PREAD 3           /* each thread reads what it hashes */
#define TREEWIDE_FILE_MMAP 4            /* mapped, one thread */
#define TREEWIDE_FILE_MMAP_PARALLEL 5   /* mapped, several threads */

/* Hashes the file at `path` (UTF-8 on Windows) to its end. It uses the threads above and allocates at most 33 MiB. A file that
 * grows while it is being hashed is hashed up to the size that it had when it was opened. `options` may be NULL.
 *
 * Returns -errno if the file cannot be opened or read (-EISDIR for a folder), -ENOMEM if there is no memory for a buffer, or
 * TREEWIDE_E_SHRANK, _OPTIONS, _FILE, _ENDED, _GOES_ON or _PATH. On Windows the errno is ENOENT, EACCES (also for a folder), EISDIR,
 * EINVAL or ENOMEM, and all other errors are TREEWIDE_E_FILE.
 *
 * With a mapping, it installs a handler of SIGBUS, so that a file that becomes shorter is TREEWIDE_E_SHRANK and not a crash.
 * All other SIGBUS go to the handler that the program had. A shared library with this feature stays loaded after dlclose. */
TREEWIDE_API int treewide_hash_file(const treewide_mode *mode, const char *path, const treewide_file_options *options,
                                    uint8_t *out, size_t out_len);

/* Appends the file to a hasher. After an error the hasher holds an unknown part of the file: reset it. Never leave the call by
 * longjmp or pthread_cancel: the file would stay open, and threads of the pool would still use the hasher. */
TREEWIDE_API int treewide_update_file(treewide_hasher *hasher, const char *path, const treewide_file_options *options);

/* Receives the number of bytes of each tile that was read, at most 4 MiB, on any threads at once. Return 0 to continue, or any
 * other number to stop reading. While a pipe has nothing to read, the watcher is called with 0 bytes. */
typedef int (*treewide_watch)(void *context, uint64_t bytes);

/* treewide_update_file with a watcher, for progress bars and to stop. Returns TREEWIDE_E_STOPPED if the watcher stopped it.
 * `watch` may be NULL. It may use neither the hasher nor functions with our threads, and it returns normally. */
TREEWIDE_API int treewide_update_file_watched(treewide_hasher *hasher, const char *path, const treewide_file_options *options,
                                              treewide_watch watch, void *context);

/* ---- Stop and continue ---- */

/* Saves a hasher, to continue in another process, on another machine, or with a later release. Returns the length, 188 to
 * TREEWIDE_STATE_MAX. The state contains the key and pieces of the input: protect it as you protect these. */
TREEWIDE_API size_t treewide_state_to_bytes(const treewide_hasher *hasher, uint8_t state[TREEWIDE_STATE_MAX]);

/* Makes a hasher from a saved state. Returns TREEWIDE_E_NOT_A_STATE, _STATE_VERSION, _STATE_LENGTH, _STATE_DAMAGED or
 * _STATE_PART. This finds accidents, not attackers: trust the source of a state as you trust the source of the key. */
TREEWIDE_API int treewide_state_from_bytes(treewide_hasher *hasher, const void *state, size_t len);

/* ---- Digests ---- */

/* Returns 1 if the digests are equal, else 0. It takes the same time for all digests. */
TREEWIDE_API int treewide_equal(const uint8_t a[TREEWIDE_OUT_LEN], const uint8_t b[TREEWIDE_OUT_LEN]);

/* Writes a digest as 64 lower-case digits and a zero. */
TREEWIDE_API void treewide_hex(const uint8_t digest[TREEWIDE_OUT_LEN], char text[TREEWIDE_HEX_LEN]);

/* Reads 64 digits of either case up to the end of the text. Returns TREEWIDE_E_HEX for any other text. */
TREEWIDE_API int treewide_from_hex(const char *text, uint8_t digest[TREEWIDE_OUT_LEN]);

/* ---- The library ---- */

/* The text of an error, in English, or that of the C library for -errno. Never free it. The next call on the same thread may
 * overwrite the text of an errno that the C library does not know. */
TREEWIDE_API const char *treewide_strerror(int error);

/* The TREEWIDE_VERSION of the linked library. */
TREEWIDE_API const char *treewide_version(void);

/* Writes the name of the kernel, which is the code for the instructions of this CPU, such as "avx2-common". The first call of
 * any function chooses the best one, which is global state. */
TREEWIDE_API void treewide_kernel(char name[TREEWIDE_KERNEL_MAX]);

/* Makes the whole process use another kernel: "auto" for the best one, or "avx512", "avx2", "sse41", "sse2", "sve2", "neon",
 * "array" or "portable". Returns TREEWIDE_E_KERNEL, and changes nothing, if this CPU or build does not have it. Digests are
 * the same with every kernel. */
TREEWIDE_API int treewide_kernel_force(const char *name);

#ifdef __cplusplus
}
#endif
#endif
