// Hashes an input and its whole tree, of any height, by one launch.
//
// A block hashes a tile of chunks, as in `tiles`, and leaves its value in memory. Up to `TILE` blocks
// whose values make a tile of the next level count themselves at a counter; the last of them has that
// tile to do, the others are done. So no block waits for another, and blocks may come in any order:
//
//     tiles of chunks    0 1 2 ... 127   128 129 ... 255   256 257
//     tiles of values    the last of these: 0, of these: 1, of these: 2
//     root                                     the last of those three
//
// Values of each level follow those of the level below, and so do the counters, one for each tile of
// values. They are 0 before and after.

#include "../shared/reduce.cuh"

#ifndef TREEWIDE_HOST
// Adds one, or goes back to 0 after `most`. Returns the value before. A thread that sees the new value
// sees what this thread stored before, and the other way round.
__device__ __forceinline__ u32 count_up(u32 *counter, u32 most) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(counter), "r"(most)
                 : "memory");
    return before;
}
#endif

extern "C" __global__ void __launch_bounds__(TILE, RESIDENT / 2)
whole(const Mode mode, const Spans all, u32 *counters) {
    __shared__ Nodes<TILE> nodes;
    const Span span = all.only;
    const u64 chunks = span.length == 0 ? 1 : (span.length - 1) / CHUNK_BYTES + 1;
    const u64 number = (u64)blockIdx.x * TILE + threadIdx.x;

    const Chunk chunk = chunk_of(span, number, chunks, all.out);
    const Node node = hash_chunk(chunk, number < chunks, mode);
    nodes.put(threadIdx.x, node.cv);

    // A level: how many values it has, the tile of them that this block has, and where its value goes.
    u64 count = chunks, tile = blockIdx.x, values = all.cvs;
#pragma unroll 1
    for (;;) {
        const u64 tiles = (count - 1) / TILE + 1;
        const u64 rest = count - tile * TILE;
        nodes.mark_one(threadIdx.x, span, rest < TILE ? (u32)rest : TILE, tiles == 1);
        pair_up(nodes, all, mode);
        u32 cv[8];
        if (threadIdx.x == 0) nodes.get(cv, 0);
        if (tiles == 1) {
            if (threadIdx.x == 0 && span.kind != KIND_NODE) {
                store<8>(all.out + (u64)span.to * CV_BYTES, cv);
            }
            return;
        }
        const u64 next = tile / TILE;
        const u64 others = tiles - next * TILE;
        const u32 here = others < TILE ? (u32)others : TILE;
        bool last = false;
        if (threadIdx.x == 0) {
            store<8>(values + tile * CV_BYTES, cv);
            last = count_up(counters + next, here - 1) == here - 1;
        }
        if (!__syncthreads_or(last)) return;
        if (threadIdx.x < here) {
            load_stored<8>(cv, values + (next * TILE + threadIdx.x) * CV_BYTES);
            nodes.put(threadIdx.x, cv);
        }
        values += tiles * CV_BYTES;
        counters += (tiles - 1) / TILE + 1;
        count = tiles;
        tile = next;
    }
}
