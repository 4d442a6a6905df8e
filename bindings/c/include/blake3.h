/* BLAKE3 for C and C++, by treewide. Programs written for the blake3.h of BLAKE3's C library compile with this header and
 * run with this library, and the other way round: names, sizes and digests are the same.
 *
 * A blake3_hasher is yours: put it on the stack, copy it with = at any time (both copies continue independently), and
 * forget it. Nothing allocates, keeps global state, starts a thread (except for blake3_hasher_update_tbb) or fails.
 * Different hashers may be used by different threads at once. A pointer may be NULL where its length is 0, and
 * nowhere else. A hasher is used only after one of the four functions that start an input. A call needs less than 40 KB of
 * stack. Compile with `pkg-config --cflags --libs libblake3`, or CMake's BLAKE3::blake3. */
#ifndef BLAKE3_H
#define BLAKE3_H

#include <stddef.h>
#include <stdint.h>

/* The version of BLAKE3's interface. Programs look for it between quotes, so it is the only text here. */
#define BLAKE3_VERSION_STRING "1.8.7"
#define BLAKE3_TREEWIDE 1

#define BLAKE3_KEY_LEN 32
#define BLAKE3_OUT_LEN 32
#define BLAKE3_BLOCK_LEN 64
#define BLAKE3_CHUNK_LEN 1024
#define BLAKE3_MAX_DEPTH 54

/* On Windows, define BLAKE3_DLL to use the library as a DLL. */
#ifndef BLAKE3_API
#if defined(BLAKE3_DLL) && (defined(_WIN32) || defined(__CYGWIN__))
#ifdef BLAKE3_DLL_EXPORTS
#define BLAKE3_API __declspec(dllexport)
#else
#define BLAKE3_API __declspec(dllimport)
#endif
#elif defined(__GNUC__) && __GNUC__ >= 4 && !defined(_WIN32) && !defined(__CYGWIN__)
#define BLAKE3_API __attribute__((visibility("default")))
#else
#define BLAKE3_API
#endif
#endif

#ifndef BLAKE3_PRIVATE
#define BLAKE3_PRIVATE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Room for a hasher. The members have no meaning for programs. */
typedef struct {
  uint32_t words[8];
  uint64_t number;
  uint8_t block[BLAKE3_BLOCK_LEN];
  uint8_t lengths[3];
} blake3_chunk_state;

typedef struct {
  uint32_t key[8];
  blake3_chunk_state chunk;
  uint8_t stack_len;
  uint8_t stack[(BLAKE3_MAX_DEPTH + 1) * BLAKE3_OUT_LEN];
} blake3_hasher;

/* BLAKE3_VERSION_STRING of the library that is linked. */
BLAKE3_API const char *blake3_version(void);

/* Starts an input: in the plain mode; with a key; or to derive keys, with a context that names the purpose ("my.example
 * 2026-11-25 session tokens") and ends with a zero, or is context_len bytes of any value. */
BLAKE3_API void blake3_hasher_init(blake3_hasher *self);
BLAKE3_API void blake3_hasher_init_keyed(blake3_hasher *self, const uint8_t key[BLAKE3_KEY_LEN]);
BLAKE3_API void blake3_hasher_init_derive_key(blake3_hasher *self, const char *context);
BLAKE3_API void blake3_hasher_init_derive_key_raw(blake3_hasher *self, const void *context, size_t context_len);

/* Appends input_len bytes. */
BLAKE3_API void blake3_hasher_update(blake3_hasher *self, const void *input, size_t input_len);

/* The same on several threads, if the library was built with FEATURES=parallel: a pool with a thread for each CPU, which
 * starts at the first call with 1 MiB or more; below that, and in other builds, it is blake3_hasher_update. */
BLAKE3_API void blake3_hasher_update_tbb(blake3_hasher *self, const void *input, size_t input_len);

/* Writes out_len bytes of output (a digest is the first BLAKE3_OUT_LEN), from byte `seek` on. The hasher stays as it is:
 * more input may follow. */
BLAKE3_API void blake3_hasher_finalize(const blake3_hasher *self, uint8_t *out, size_t out_len);
BLAKE3_API void blake3_hasher_finalize_seek(const blake3_hasher *self, uint64_t seek, uint8_t *out, size_t out_len);

/* Forgets the input, and keeps the mode and the key. */
BLAKE3_API void blake3_hasher_reset(blake3_hasher *self);

#ifdef __cplusplus
}
#endif
#endif
