/* treewide on GPUs: BLAKE3 digests of memory that is on the device, without copying it to the host, and of bytes and files of
 * the host. Build it with `make FEATURES=gpu`, which needs neither CUDA nor a GPU: drivers are looked for when the program
 * runs.
 *
 *   NVIDIA, your pointers     treewide_gpu_open, treewide_gpu_hash, treewide_gpu_hash_to
 *   any backend               treewide_gpu_devices, treewide_gpu_open_backend
 *   its memory, through us    treewide_gpu_buffer_new, _write, _hash, _free
 *   bytes and files           treewide_gpu_hash_bytes, treewide_gpu_hash_file, treewide_gpu_threshold
 *   many inputs               treewide_gpu_pipeline_new, _push, _pop, _free
 *   all                       treewide_gpu_close, treewide_gpu_error
 *
 * - Functions that return int return 0, or TREEWIDE_GPU_E and then treewide_gpu_error says what went wrong and where. What
 *   else some of them return, they say.
 * - `const treewide_mode *mode` is NULL for the plain mode; treewide.h and libtreewide have the others.
 * - `device` is never NULL, except for treewide_gpu_close. What was made with a device may outlive treewide_gpu_close.
 * - A device may be used by several threads at once. Its work is done in the order of the calls, in the stream.
 * - Where count is 0, nothing is done, and arrays and digests may be NULL. Where it is not, NULL ends the program with a
 *   message.
 * - Addresses are those of the device, as cudaMalloc and cuMemAlloc return them, plus any number of bytes. */
#ifndef TREEWIDE_GPU_H
#define TREEWIDE_GPU_H

#include "treewide.h"

#define TREEWIDE_GPU_E (-1)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct treewide_gpu treewide_gpu;

/* Opens CUDA device `index` with its primary context, that of the CUDA runtime. Work goes to `stream`, a cudaStream_t of that
 * device, which lives until treewide_gpu_close; NULL is the default stream. Loads the kernels: keep the device. */
TREEWIDE_API int treewide_gpu_open(int index, void *stream, treewide_gpu **device);

/* The digests of `count` buffers on the device, of any lengths, in one call: buffer i is lengths[i] bytes at addresses[i].
 * Waits for the stream, and writes 32 bytes for each to `digests` on the host. */
TREEWIDE_API int treewide_gpu_hash(const treewide_gpu *device, const treewide_mode *mode, const uint64_t *addresses,
                                   const uint64_t *lengths, size_t count, uint8_t *digests);

/* The same, but the digests stay on the device, at address `digests`, a multiple of 4. They are there when it returns. */
TREEWIDE_API int treewide_gpu_hash_to(const treewide_gpu *device, const treewide_mode *mode, const uint64_t *addresses,
                                      const uint64_t *lengths, size_t count, uint64_t digests);

/* ---- Devices of every backend ---- */

#define TREEWIDE_GPU_TWIN 0u /* the kernels as programs for the CPU: slow, always there, for tests */
#define TREEWIDE_GPU_CUDA 1u
#define TREEWIDE_GPU_WGPU 2u /* Vulkan, Metal or DX12 */
#define TREEWIDE_GPU_TEXT_MAX 256

typedef struct {
  char name[TREEWIDE_GPU_TEXT_MAX];    /* of the device, or of the driver if there is none; cut if it is longer */
  char problem[TREEWIDE_GPU_TEXT_MAX]; /* why it cannot be used; empty if it can */
  uint64_t memory;                     /* bytes; 0 if the driver does not report it */
  uint32_t backend;                    /* TREEWIDE_GPU_... */
  uint32_t index;                      /* among the devices of this backend */
  uint32_t is_software;                /* not 0: a program on the CPU that passes for a GPU, such as lavapipe */
  uint32_t reserved;                   /* 0 */
} treewide_gpu_info;

/* Writes what the drivers know, at most `room` of them; returns their number, which may be more than `room`. A driver that is
 * missing or broken is one of them, with its problem. Takes tenths of a second: each device is opened for a moment. */
TREEWIDE_API size_t treewide_gpu_devices(treewide_gpu_info *devices, size_t room);

/* Opens a device by the numbers of treewide_gpu_devices. Loads the kernels: keep the device. */
TREEWIDE_API int treewide_gpu_open_backend(uint32_t backend, uint32_t index, treewide_gpu **device);

/* 1 if host and device share one memory, else 0. */
TREEWIDE_API int treewide_gpu_is_unified(const treewide_gpu *device);

/* ---- Bytes of the host ---- */

#define TREEWIDE_GPU_STAGED 0u  /* copied through pinned memory */
#define TREEWIDE_GPU_WRAPPED 1u /* pinned where they lie: CUDA only */
#define TREEWIDE_GPU_FILE 2u    /* in a file; only for treewide_gpu_threshold */

/* From how many bytes on this device is faster than the CPU; UINT64_MAX if it never is, or nobody measured it. docs/gpu.md
 * says how to measure. */
TREEWIDE_API uint64_t treewide_gpu_threshold(const treewide_gpu *device, uint32_t place);

/* The digest of `len` bytes of the host. The CPU hashes inputs, and last parts, of less than 256 KiB. */
TREEWIDE_API int treewide_gpu_hash_bytes(const treewide_gpu *device, const treewide_mode *mode, uint32_t place, const void *input,
                                         size_t len, uint8_t digest[TREEWIDE_OUT_LEN]);

/* The digest of the file at `path` (UTF-8 on Windows), which several threads read into pinned memory, 48 MiB at most. Calls
 * `watch`, which may be NULL, every 4 MiB on this thread. The CPU hashes what has no length, such as pipes, and then calls
 * `watch` as treewide_update_file_watched does. Returns TREEWIDE_E_SHRANK, _ENDED, _GOES_ON or _STOPPED of treewide.h,
 * or TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_hash_file(const treewide_gpu *device, const treewide_mode *mode, const char *path, treewide_watch watch,
                                        void *context, uint8_t digest[TREEWIDE_OUT_LEN]);

/* ---- Memory of the device ---- */

typedef struct treewide_gpu_buffer treewide_gpu_buffer;

/* Memory of the device, whose bytes may be anything. */
TREEWIDE_API int treewide_gpu_buffer_new(const treewide_gpu *device, uint64_t len, treewide_gpu_buffer **buffer);

/* Copies `len` bytes of the host to byte `at`, a multiple of 4, and waits until they are there. */
TREEWIDE_API int treewide_gpu_buffer_write(const treewide_gpu *device, const treewide_gpu_buffer *buffer, uint64_t at, const void *input,
                                           size_t len);

/* The digest of `len` bytes from byte `at` on, which may be any. */
TREEWIDE_API int treewide_gpu_buffer_hash(const treewide_gpu *device, const treewide_mode *mode, const treewide_gpu_buffer *buffer,
                                          uint64_t at, uint64_t len, uint8_t digest[TREEWIDE_OUT_LEN]);

/* NULL is no buffer. */
TREEWIDE_API void treewide_gpu_buffer_free(treewide_gpu_buffer *buffer);

/* ---- Many inputs of the host, several on their way ---- */

/* Used by one thread at a time. */
typedef struct treewide_gpu_pipeline treewide_gpu_pipeline;

/* A pipeline with places for `in_flight` inputs, at least 1, of at most `most_bytes` bytes each. */
TREEWIDE_API int treewide_gpu_pipeline_new(const treewide_gpu *device, const treewide_mode *mode, size_t in_flight, uint64_t most_bytes,
                                           treewide_gpu_pipeline **pipeline);

/* Copies an input and starts it. If all places are taken, waits for the oldest input and writes its digest: digests come in
 * the order of the inputs. Returns 1 with a digest, 0 without, or TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_pipeline_push(treewide_gpu_pipeline *pipeline, const void *input, size_t len,
                                            uint8_t digest[TREEWIDE_OUT_LEN]);

/* Waits for the oldest input. Returns 1 with its digest, 0 if there is no input, or TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_pipeline_pop(treewide_gpu_pipeline *pipeline, uint8_t digest[TREEWIDE_OUT_LEN]);

/* Waits for the inputs on their way. NULL is no pipeline. */
TREEWIDE_API void treewide_gpu_pipeline_free(treewide_gpu_pipeline *pipeline);

/* ---- And ---- */

/* NULL is no device. */
TREEWIDE_API void treewide_gpu_close(treewide_gpu *device);

/* What went wrong last on this thread, in English; valid until something else does. */
TREEWIDE_API const char *treewide_gpu_error(void);

#ifdef __cplusplus
}
#endif
#endif
