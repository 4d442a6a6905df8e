/* treewide: BLAKE3 for C and C++. blake3.h is the drop-in for BLAKE3's C library; this is what that never had. Compile with
 * `pkg-config --cflags --libs libtreewide`, or CMake's treewide::treewide.
 *
 *   one input            treewide_hash, treewide_hash_mode
 *   in pieces            treewide_init, treewide_update, treewide_finalize, treewide_reset, treewide_count
 *   keys and contexts    treewide_mode_keyed, treewide_mode_derive_key
 *   many inputs at once  treewide_hash_many, treewide_hash_packed
 *   your own threads     treewide_subtree, treewide_merge_root, treewide_merge
 *   our threads          treewide_update_parallel                                (make FEATURES=parallel)
 *   files                treewide_hash_file, treewide_update_file                (make FEATURES=file)
 *                        treewide_update_file_watched: progress, and to stop
 *   stop and continue    treewide_state_save, treewide_state_load
 *   Merkle trees         treewide_merkle_root, treewide_merkle_prove, treewide_merkle_verify
 *   digests              treewide_equal, treewide_hex, treewide_from_hex
 *   and                  treewide_strerror, treewide_version, treewide_kernel, treewide_kernel_force
 *
 *   uint8_t digest[TREEWIDE_OUT_LEN];
 *   char text[TREEWIDE_HEX_LEN];
 *   treewide_hash(digest, "hello", 5);
 *   treewide_hex(text, digest);
 *   puts(text);
 *
 * Functions that need FEATURES are only in libraries that were made with them: without, the linker does not find them.
 *
 * Rules for all functions:
 *
 * - A function that returns void cannot fail. An int is 0 if all went well, and negative if not: TREEWIDE_E_..., or -errno
 *   where the system said no. treewide_strerror has the text. After an error nothing is written, except where it says so.
 * - `const treewide_mode *mode` is NULL for the plain mode.
 * - A pointer may be NULL where its length is 0, or where it says so. Paths, texts, keys, hashers and outputs of a fixed size
 *   are never NULL. Outputs do not overlap inputs. Lengths are in bytes. Structs have the alignment of their types.
 * - A hasher is used only after treewide_init or treewide_state_load made it. After treewide_reset it is as after
 *   treewide_init.
 * - Misuse that is noticed (NULL with a length that is not 0, or what a function says) ends the program with a message on
 *   standard error.
 * - Nothing allocates, starts a thread or keeps global state, except for the functions that say so. Functions may be called
 *   by any threads at once; one hasher is used by one thread at a time, except that several may finalize it. A child of fork
 *   may call all of them, but those that use threads may wait for ever if another thread was in one of them at the fork.
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
#define TREEWIDE_PROOF_MAX 64   /* siblings of the longest proof, 32 bytes each */
#define TREEWIDE_HEX_LEN 65     /* bytes of a digest as text, with the zero behind it */
#define TREEWIDE_KERNEL_MAX 32  /* bytes of the name of a kernel, with the zero behind it */

/* Errors. */
#define TREEWIDE_E_NOT_A_STATE (-10001)
#define TREEWIDE_E_STATE_VERSION (-10002) /* saved by a release that this one does not know */
#define TREEWIDE_E_STATE_LENGTH (-10003)
#define TREEWIDE_E_STATE_DAMAGED (-10004)
#define TREEWIDE_E_OFFSETS (-10005) /* an offset decreases, or lies behind the data */
#define TREEWIDE_E_PROOF (-10006)   /* the proof is wrong */
#define TREEWIDE_E_INDEX (-10007)   /* there is no such leaf */
#define TREEWIDE_E_KERNEL (-10008)  /* not in this build, or not for this CPU */
#define TREEWIDE_E_SHRANK (-10009)  /* the file became shorter while it was being hashed, also for a moment */
#define TREEWIDE_E_OPTIONS (-10010) /* no such strategy, or reserved bytes that are not 0 */
#define TREEWIDE_E_FILE (-10011)    /* the file cannot be read, for a reason that has no errno */
#define TREEWIDE_E_HEX (-10012)     /* not 64 hexadecimal digits */
#define TREEWIDE_E_ENDED (-10013)   /* reading the file ended before its length: a lost connection, or a bad disk */
#define TREEWIDE_E_GOES_ON (-10014) /* the file goes on after its length */
#define TREEWIDE_E_STATE_PART (-10015) /* the state of a subtree, which has no digest: a program in Rust saved it */
#define TREEWIDE_E_STOPPED (-10016)    /* the watcher stopped it */

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

/* An input that is hashed in pieces. It is yours: put it on the stack, copy it with =, forget it. In the keyed and
 * derive-key modes it holds the key. */
typedef struct {
  uint64_t opaque[239];
} treewide_hasher;

/* A key or a context, ready to be used any number of times, by any threads at once. Make it with one of the two functions
 * under "Keys and contexts", and copy it with =. All bytes 0 are the plain mode, as NULL is. It holds the key: overwrite it
 * when it has served its purpose, for example with explicit_bzero, and hashers and saved states too. */
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
TREEWIDE_API void treewide_hash(uint8_t out[TREEWIDE_OUT_LEN], const void *input, size_t len);

/* The first out_len bytes of output of `len` bytes in a mode; the first 32 are the digest. */
TREEWIDE_API void treewide_hash_mode(const treewide_mode *mode, uint8_t *out, size_t out_len, const void *input, size_t len);

/* ---- Keys and contexts ---- */

/* A message authentication code or a pseudorandom function. The key has the strength of 32 random bytes. */
TREEWIDE_API void treewide_mode_keyed(treewide_mode *mode, const uint8_t key[TREEWIDE_KEY_LEN]);

/* Derives keys: the input is the key material, the output the key. The context is hard-coded and names application, date
 * and purpose: "example.com 2026-11-25 session tokens". Its length does not count a zero at its end. */
TREEWIDE_API void treewide_mode_derive_key(treewide_mode *mode, const void *context, size_t context_len);

/* ---- In pieces ---- */

TREEWIDE_API void treewide_init(treewide_hasher *hasher, const treewide_mode *mode);
TREEWIDE_API void treewide_update(treewide_hasher *hasher, const void *input, size_t len);

/* Writes out_len bytes of output from byte `seek` on: 0 and 32 for a digest. More input may follow. The output has 2^64 - 1
 * bytes; bytes behind them are not output of BLAKE3. */
TREEWIDE_API void treewide_finalize(const treewide_hasher *hasher, uint64_t seek, uint8_t *out, size_t out_len);

/* Forgets the input; keeps the mode. */
TREEWIDE_API void treewide_reset(treewide_hasher *hasher);

/* Bytes that were appended so far: also where to go on in the input after treewide_state_load. */
TREEWIDE_API uint64_t treewide_count(const treewide_hasher *hasher);

/* ---- Many inputs at once ---- */

/* Both write n digests, in the order of the inputs, to `out`, which has room for n * 32 bytes. Short inputs are hashed next
 * to each other in vector registers, several times as fast as in a loop. */
TREEWIDE_API void treewide_hash_many(const treewide_mode *mode, const treewide_bytes *inputs, size_t n, uint8_t *out);

/* The inputs lie in one buffer, as in an array of Apache Arrow: number i from offsets[i] up to offsets[i + 1]. There are
 * n + 1 offsets; the first need not be 0. Returns TREEWIDE_E_OFFSETS if they decrease or pass `len`. */
TREEWIDE_API int treewide_hash_packed(const treewide_mode *mode, const void *data, size_t len, const uint64_t *offsets, size_t n,
                                      uint8_t *out);

/* ---- Your own threads ----
 *
 * Cut an input of more than one part into parts of the same length, a power of two times TREEWIDE_CHUNK_LEN (128 KiB is a
 * good one); the last part is what is left. Hash the parts with treewide_subtree on any threads, machines or days, then
 * merge all chaining values in order:
 *
 *   for each part i: treewide_subtree(mode, i * part, data + i * part, min(part, len - i * part), cvs + 32 * i);
 *   treewide_merge_root(mode, cvs, parts, digest, 32);
 *
 * An input of one part has no parts to merge: use treewide_hash_mode. */

/* The chaining value of `len` bytes that lie at byte `offset` of the whole input. Misuse: len is 0; offset is not a multiple
 * of TREEWIDE_CHUNK_LEN; len is more than the largest power of two that divides offset. */
TREEWIDE_API void treewide_subtree(const treewide_mode *mode, uint64_t offset, const void *input, size_t len,
                                   uint8_t cv[TREEWIDE_OUT_LEN]);

/* Output for the whole input from the chaining values of all its parts, n * 32 bytes. Misuse: n is less than 2. */
TREEWIDE_API void treewide_merge_root(const treewide_mode *mode, const uint8_t *cvs, size_t n, uint8_t *out, size_t out_len);

/* The chaining value of a parent below the root, for programs that keep the tree. The left subtree is full: it has a power
 * of two of chunks, and not fewer than the right one. */
TREEWIDE_API void treewide_merge(const treewide_mode *mode, const uint8_t left[TREEWIDE_OUT_LEN],
                                 const uint8_t right[TREEWIDE_OUT_LEN], uint8_t cv[TREEWIDE_OUT_LEN]);

/* ---- Our threads: in libraries made with FEATURES=parallel ---- */

/* treewide_update on a pool with a thread for each CPU, or RAYON_NUM_THREADS. It starts at the first call with 1 MiB or more
 * and stays; calls with less use the calling thread alone. */
TREEWIDE_API void treewide_update_parallel(treewide_hasher *hasher, const void *input, size_t len);

/* ---- Files: in libraries made with FEATURES=file ---- */

/* How to read. Begin with all bytes 0, which is the best for each file: `treewide_file_options options = {0};` in C, `= {};`
 * in C++. */
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

/* Both hash the file at `path` (UTF-8 on Windows) to its end with the threads above, allocate at most 33 MiB, and may install
 * a handler of SIGBUS: a mapped file that becomes shorter is TREEWIDE_E_SHRANK and no crash. A file that grows meanwhile is
 * hashed up to the length that it had when it was opened. `options` may be NULL. Return -errno if the file cannot be opened or
 * read, which is -EISDIR for a folder, and -ENOMEM if there is no memory for a buffer; TREEWIDE_E_SHRANK, _OPTIONS, _FILE,
 * _ENDED or _GOES_ON. Windows has other numbers for its errors: there it is -ENOENT, -EACCES (also for a folder), -EISDIR,
 * -EINVAL or -ENOMEM of errno.h, and TREEWIDE_E_FILE for all other errors. */
TREEWIDE_API int treewide_hash_file(const treewide_mode *mode, const char *path, const treewide_file_options *options,
                                    uint8_t *out, size_t out_len);

/* Appends the file to a hasher. After an error the hasher holds an unknown part of the file: reset it. */
TREEWIDE_API int treewide_update_file(treewide_hasher *hasher, const char *path, const treewide_file_options *options);

/* Is called with the number of bytes of each tile that was read, which is at most 4 MiB, from any threads at once. 0 goes on;
 * everything else stops: nothing more is read. While a pipe has nothing to read, it is called with 0 bytes. */
typedef int (*treewide_watch)(void *context, uint64_t bytes);

/* treewide_update_file for progress bars, and to stop: TREEWIDE_E_STOPPED. `watch` may be NULL. It may use neither the
 * hasher nor functions with our threads. */
TREEWIDE_API int treewide_update_file_watched(treewide_hasher *hasher, const char *path, const treewide_file_options *options,
                                              treewide_watch watch, void *context);

/* ---- Stop and continue ---- */

/* Saves a hasher, to continue in another process, on another machine, or with a later release. Returns the length, 188 to
 * TREEWIDE_STATE_MAX. The bytes contain the key and pieces of the input: protect them as you protect these. */
TREEWIDE_API size_t treewide_state_save(const treewide_hasher *hasher, uint8_t out[TREEWIDE_STATE_MAX]);

/* Returns TREEWIDE_E_NOT_A_STATE, _STATE_VERSION, _STATE_LENGTH, _STATE_DAMAGED or _STATE_PART. This finds accidents, not
 * attackers: load a state only from where you would take the key from. */
TREEWIDE_API int treewide_state_load(treewide_hasher *hasher, const void *state, size_t len);

/* ---- Merkle trees over n leaves of 32 bytes, such as digests ----
 *
 * A parent is treewide_hash of the 64 bytes of its children, also if the leaves are digests in another mode; an odd last node
 * rises. To check a proof, know the root and the number of leaves from a source that you trust. The root over one leaf is the
 * leaf, over none the digest of no bytes. */

TREEWIDE_API void treewide_merkle_root(uint8_t out[TREEWIDE_OUT_LEN], const uint8_t *leaves, size_t n);

/* Writes the siblings of leaf `index`, 32 bytes each, to `siblings`, which has room for TREEWIDE_PROOF_MAX of them. Returns
 * their number, or TREEWIDE_E_INDEX. It hashes all leaves. */
TREEWIDE_API int treewide_merkle_prove(const uint8_t *leaves, size_t n, size_t index, uint8_t *siblings);

/* 0 if `leaf` is leaf number `index` of `leaves` leaves under `root`, else TREEWIDE_E_PROOF. `index`, `root` and `leaves`
 * are what you ask about; `leaf`, `siblings` and `count` may come from anyone, as long as there are `count` siblings. */
TREEWIDE_API int treewide_merkle_verify(const uint8_t leaf[TREEWIDE_OUT_LEN], uint64_t index, const uint8_t *siblings,
                                        size_t count, const uint8_t root[TREEWIDE_OUT_LEN], uint64_t leaves);

/* ---- Digests ---- */

/* 1 if the digests are equal, else 0; takes the same time for all digests. */
TREEWIDE_API int treewide_equal(const uint8_t a[TREEWIDE_OUT_LEN], const uint8_t b[TREEWIDE_OUT_LEN]);

/* Writes a digest as 64 lower-case digits and a zero, and reads 64 digits of either case up to the end of the text. */
TREEWIDE_API void treewide_hex(char text[TREEWIDE_HEX_LEN], const uint8_t digest[TREEWIDE_OUT_LEN]);
TREEWIDE_API int treewide_from_hex(uint8_t digest[TREEWIDE_OUT_LEN], const char *text);

/* ---- And ---- */

/* The text of an error, in English; that of the C library for -errno. Never free it. The text of an errno that
 * the C library does not know may be overwritten by the next call on the same thread. */
TREEWIDE_API const char *treewide_strerror(int error);

/* TREEWIDE_VERSION of the library that is linked. */
TREEWIDE_API const char *treewide_version(void);

/* Writes the name of the kernel, the routines for the instructions of this CPU, such as "avx2-common". The best one is chosen
 * at the first use, which is global state. */
TREEWIDE_API void treewide_kernel(char name[TREEWIDE_KERNEL_MAX]);

/* Makes the whole process use another kernel: "auto" for the best; "avx512", "avx2", "sse41", "sse2", "sve2", "neon",
 * "array" or "portable". Returns TREEWIDE_E_KERNEL, and changes nothing, if this CPU or build does not have it. Digests are
 * the same with every kernel. */
TREEWIDE_API int treewide_kernel_force(const char *name);

#ifdef __cplusplus
}
#endif
#endif
