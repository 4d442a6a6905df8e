/* treewide on GPUs: BLAKE3 digests of memory of the device, without a copy to the host, and of bytes and files of the host.
 * No GPU has run this code yet: tests run it on the CPU and on a software Vulkan device. Build it with `make FEATURES=gpu`,
 * which needs neither CUDA nor a GPU. The library looks for drivers when the program runs.
 *
 *   NVIDIA, your pointers     treewide_gpu_open, treewide_gpu_hash, treewide_gpu_hash_to
 *   any backend               treewide_gpu_devices, treewide_gpu_open_backend
 *   its memory, through us    treewide_gpu_buffer_new, _write, _hash, _free
 *   bytes and files           treewide_gpu_hash_bytes, treewide_gpu_hash_file
 *   many inputs               treewide_gpu_pipeline_new, _push, _pop, _free
 *   every device              treewide_gpu_is_unified, treewide_gpu_close, treewide_gpu_error
 *
 * - Functions that return int return 0 for success or TREEWIDE_GPU_E for an error, unless they say otherwise.
 *   treewide_gpu_error has the text of the error. Outputs come last.
 * - `const treewide_mode *mode` is NULL for the plain mode; treewide.h and libtreewide have the others.
 * - `device` is never NULL, except for treewide_gpu_close. Buffers and pipelines stay valid after treewide_gpu_close.
 * - Several threads may use a device at once. It works in the order of the calls, in the stream.
 * - If `count` is 0, the function does nothing, and arrays and digests may be NULL. Otherwise NULL ends the program with a
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

/* treewide_gpu_hash whose digests stay on the device, at address `digests`, a multiple of 4. Waits for the stream. */
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
  uint32_t is_software;                /* not 0: a driver that computes on the CPU, such as lavapipe */
  uint32_t reserved;                   /* 0 */
} treewide_gpu_info;

/* Lists the devices that the drivers know. Writes at most `room` of them, and returns their number, which may be more than
 * `room`. A driver that is missing or broken is one of them, with its problem. Takes tenths of a second, because it opens each
 * device. */
TREEWIDE_API size_t treewide_gpu_devices(treewide_gpu_info *devices, size_t room);

/* Opens a device that treewide_gpu_devices lists. Loads the kernels: keep the device. */
TREEWIDE_API int treewide_gpu_open_backend(uint32_t backend, uint32_t index, treewide_gpu **device);

/* Returns 1 if host and device share one memory, else 0. */
TREEWIDE_API int treewide_gpu_is_unified(const treewide_gpu *device);

/* ---- Bytes of the host ---- */

#define TREEWIDE_GPU_STAGED 0u  /* copied through pinned memory */
#define TREEWIDE_GPU_WRAPPED 1u /* pinned without a copy: CUDA only */

/* The digest of `len` bytes of the host, which reach the device as `place` says. The CPU hashes inputs, and last parts, of less
 * than 256 KiB. For short inputs the CPU is faster, and the caller decides: `treewide-bench tune` measures from which length on a
 * device is faster. */
TREEWIDE_API int treewide_gpu_hash_bytes(const treewide_gpu *device, const treewide_mode *mode, uint32_t place, const void *input,
                                         size_t len, uint8_t digest[TREEWIDE_OUT_LEN]);

/* The digest of the file at `path` (UTF-8 on Windows). Several threads read it into at most 48 MiB of pinned memory. Calls
 * `watch`, which may be NULL, every 4 MiB on this thread. The CPU hashes files without a size, such as pipes, and then calls
 * `watch` as treewide_update_file_watched does. Returns 0, TREEWIDE_E_SHRANK, _ENDED, _GOES_ON or _STOPPED of treewide.h, or
 * TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_hash_file(const treewide_gpu *device, const treewide_mode *mode, const char *path, treewide_watch watch,
                                        void *context, uint8_t digest[TREEWIDE_OUT_LEN]);

/* ---- Memory of the device ---- */

typedef struct treewide_gpu_buffer treewide_gpu_buffer;

/* Allocates `len` bytes of the device. Their contents are undefined. */
TREEWIDE_API int treewide_gpu_buffer_new(const treewide_gpu *device, uint64_t len, treewide_gpu_buffer **buffer);

/* Copies `len` bytes of the host to byte `offset` of the buffer, a multiple of 4, and waits for the copy. */
TREEWIDE_API int treewide_gpu_buffer_write(const treewide_gpu *device, const treewide_gpu_buffer *buffer, uint64_t offset,
                                           const void *input, size_t len);

/* The digest of `len` bytes from byte `offset` on, which may be any. */
TREEWIDE_API int treewide_gpu_buffer_hash(const treewide_gpu *device, const treewide_mode *mode, const treewide_gpu_buffer *buffer,
                                          uint64_t offset, uint64_t len, uint8_t digest[TREEWIDE_OUT_LEN]);

/* Does nothing for NULL. */
TREEWIDE_API void treewide_gpu_buffer_free(treewide_gpu_buffer *buffer);

/* ---- Many inputs of the host, several in flight ---- */

/* Only one thread at a time may use a pipeline. */
typedef struct treewide_gpu_pipeline treewide_gpu_pipeline;

/* Makes a pipeline with places for `in_flight` inputs, at least 1, of at most `most_bytes` bytes each. */
TREEWIDE_API int treewide_gpu_pipeline_new(const treewide_gpu *device, const treewide_mode *mode, size_t in_flight, uint64_t most_bytes,
                                           treewide_gpu_pipeline **pipeline);

/* Copies an input and starts it. If all places are taken, waits for the oldest input and writes its digest. Digests come in the
 * order of the inputs. Returns 1 with a digest, 0 without one, or TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_pipeline_push(treewide_gpu_pipeline *pipeline, const void *input, size_t len,
                                            uint8_t digest[TREEWIDE_OUT_LEN]);

/* Waits for the oldest input. Returns 1 with its digest, 0 if there is no input, or TREEWIDE_GPU_E. */
TREEWIDE_API int treewide_gpu_pipeline_pop(treewide_gpu_pipeline *pipeline, uint8_t digest[TREEWIDE_OUT_LEN]);

/* Waits for the inputs in flight. Does nothing for NULL. */
TREEWIDE_API void treewide_gpu_pipeline_free(treewide_gpu_pipeline *pipeline);

/* ---- Every device ---- */

/* Does nothing for NULL. */
TREEWIDE_API void treewide_gpu_close(treewide_gpu *device);

/* The text of the last error on this thread, in English. It is valid until the next error. */
TREEWIDE_API const char *treewide_gpu_error(void);

#ifdef __cplusplus
}
#endif
#endif
