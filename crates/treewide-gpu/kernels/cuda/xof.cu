// Extended output: of each of `count` root nodes, `blocks` blocks of 64 bytes from `position` on.

#include "../shared/memory.cuh"

struct Outputs {
    u64 nodes; // address of the node that `store_node` stores
    u64 out;   // address of `64 * blocks` bytes for each node
    u64 position;
    u32 count;
    u32 blocks;
};

extern "C" __global__ void __launch_bounds__(128) xof(const Outputs all) {
    const u64 number = (u64)blockIdx.x * 128 + threadIdx.x;
    if (number >= (u64)all.count * all.blocks) return;
    const u64 from = all.nodes + number / all.blocks * 128;
    Node node;
    u32 m[16], out[16];
    load_vectors(m, from + 32);
#pragma unroll
    for (u32 i = 0; i < 8; i++) node.cv[i] = ((const u32 *)from)[i];
    node.length = ((const u32 *)from)[24];
    node.flags = ((const u32 *)from)[25] | ROOT;
    node.counter = all.position + number % all.blocks;
    compress_output(out, node, m);
    store<16>(all.out + number * BLOCK_BYTES, out);
}
