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
    const Node node = hash_chunk(chunk, exists, mode);
    nodes.put(threadIdx.x, node.cv);
    reduce(nodes, all, mode);
}

// One tile a block, for as many multiprocessors as possible.
extern "C" __global__ void __launch_bounds__(TILE, RESIDENT)
tiles(const Mode mode, const Spans all) {
    tiles<TILE>(mode, all);
}

// Four tiles a block, for inputs that fill the device: of the 72 compressions that a warp does for
// each tile above, four are for less than half of its threads. Here that is less than one.
extern "C" __global__ void __launch_bounds__(4 * TILE, RESIDENT / 4)
tiles_by_four(const Mode mode, const Spans all) {
    tiles<4 * TILE>(mode, all);
}
