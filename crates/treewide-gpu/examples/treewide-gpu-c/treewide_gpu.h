/* BLAKE3 digests of memory on an NVIDIA GPU: libtreewide_gpu_c. docs/gpu.md tells how it is built.
 *
 * All functions but treewide_gpu_close and treewide_gpu_error return 0, or something else and then
 * treewide_gpu_error says what went wrong. A device may be used by several threads at once. */
#ifndef TREEWIDE_GPU_H
#define TREEWIDE_GPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct treewide_gpu treewide_gpu;

/* What went wrong last on this thread; valid until something else does. */
const char *treewide_gpu_error(void);

/* Opens CUDA device `index` with its primary context, that of the CUDA runtime. Work goes to `stream`, a
 * cudaStream_t of that device, which lives until treewide_gpu_close; null is the default stream. */
int treewide_gpu_open(int index, void *stream, treewide_gpu **device);

/* The digests of `count` buffers on the device in one call: buffer i is lengths[i] bytes from device
 * address addresses[i] on, with any alignment. Waits for the stream, and writes 32 bytes each to
 * `digests` on the host. */
int treewide_gpu_hash(const treewide_gpu *device, const uint64_t *addresses, const uint64_t *lengths,
                      size_t count, uint8_t *digests);

/* Null is no device. */
void treewide_gpu_close(treewide_gpu *device);

#ifdef __cplusplus
}
#endif
#endif
