// One level of a Merkle tree: each pair of nodes of 32 bytes is hashed as a whole input of 64 bytes,
// an odd last one is copied.

#include "../shared/memory.cuh"

extern "C" __global__ void __launch_bounds__(128)
pairs(const Mode mode, const u64 nodes, const u64 out, const u32 count) {
    const u32 number = blockIdx.x * 128 + threadIdx.x;
    const u32 left = 2 * number;
    if (number >= (count + 1) / 2) return;
    const bool alone = left + 1 == count;
    u32 m[16];
    load(m, nodes + (u64)left * 32, alone ? 32 : BLOCK_BYTES);
    if (alone) {
        store<8>(out + (u64)number * 32, m);
        return;
    }
    Node node = start(mode, 0, BLOCK_BYTES, CHUNK_START | CHUNK_END | ROOT);
    compress(node, m);
    store<8>(out + (u64)number * 32, node.cv);
}
