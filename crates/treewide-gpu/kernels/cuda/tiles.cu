// Hashes chunks and reduces each tile of them. A span is bytes of an input, from any byte on.

#include "../shared/reduce.cuh"

template <u32 THREADS> __device__ __forceinline__ void tiles(const Mode &mode, const Spans &all) {
    __shared__ Nodes<THREADS> nodes;
    const u32 slot = blockIdx.x * THREADS + threadIdx.x;
    const Span span = span_of(all, slot);
    const u64 chunks = span.length == 0 ? 1 : (span.length - 1) / CHUNK_BYTES + 1;
    const u32 number = slot - span.slot;
    const bool exists = number < chunks;

    const Chunk chunk = chunk_of(span, number, chunks, all.out);

    nodes.marks[threadIdx.x] = 0;
    if (exists) nodes.mark(threadIdx.x, span, chunks);
#if TREEWIDE_STAGED
    // The same for all threads of a block: those chunks are all of one span then.
    const u32 base = blockIdx.x * THREADS;
    const bool together = span.slot <= base && is_aligned(span.start) &&
                          span.length >= ((u64)(base - span.slot) + THREADS) * CHUNK_BYTES;
    const Node node = together ? hash_staged(nodes.rows, chunk, mode) : hash_chunk(chunk, exists, mode);
#else
    const Node node = hash_chunk(chunk, exists, mode);
#endif
    nodes.put(threadIdx.x, node.cv);
    reduce(nodes, all, mode);
}

// One tile a block, for as many multiprocessors as possible.
extern "C" __global__ void __launch_bounds__(TILE, TREEWIDE_RESIDENT)
tiles(const Mode mode, const Spans all) {
    tiles<TILE>(mode, all);
}

// Four tiles a block, for inputs that fill the device: of the 72 compressions that a warp does for
// each tile above, four are for less than half of its threads. Here that is less than one.
extern "C" __global__ void __launch_bounds__(4 * TILE, TREEWIDE_RESIDENT / 4)
tiles_by_four(const Mode mode, const Spans all) {
    tiles<4 * TILE>(mode, all);
}
