/* treewide on NVIDIA GPUs: BLAKE3 digests of memory that is on the device, without copying it to the host. Build it with
 * `make FEATURES=gpu`, which needs neither CUDA nor a GPU: the driver is looked for when the program runs.
 *
 * - Functions that return int return 0, or TREEWIDE_GPU_E and then treewide_gpu_error says what went wrong and where.
 * - `const treewide_mode *mode` is NULL for the plain mode; treewide.h and libtreewide have the others.
 * - `device` is never NULL, except for treewide_gpu_close.
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

/* NULL is no device. */
TREEWIDE_API void treewide_gpu_close(treewide_gpu *device);

/* What went wrong last on this thread, in English; valid until something else does. */
TREEWIDE_API const char *treewide_gpu_error(void);

#ifdef __cplusplus
}
#endif
#endif
