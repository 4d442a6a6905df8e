// Reduces chaining values, two to a slot and up to `2 * TILE` of a span to one. A span is a run of
// them. An odd last one is alone in its slot and rises.

#include "../shared/reduce.cuh"

extern "C" __global__ void __launch_bounds__(TILE)
parents(const Mode mode, const u64 input, const Spans all) {
    __shared__ Nodes<TILE> nodes;
    const u32 slot = blockIdx.x * TILE + threadIdx.x;
    const Span span = span_of(all, slot);
    const u64 pairs = (span.length + 1) / 2;
    const u32 number = slot - span.slot;
    nodes.marks[threadIdx.x] = 0;
    if (number < pairs) {
        const u64 left = 2 * (u64)number;
        const bool alone = left + 1 == span.length;
        u32 m[16];
        load(m, input + (span.start + left) * CV_BYTES, alone ? CV_BYTES : BLOCK_BYTES);
        if (alone) {
            nodes.put(threadIdx.x, m);
        } else {
            Node node = start(mode, 0, BLOCK_BYTES, PARENT);
            if (pairs == 1 && is_root(span.kind)) {
                if (span.kind == KIND_NODE) store_node(all.out + (u64)span.to * NODE_BYTES, node, m);
                node.flags |= ROOT;
            }
            compress(node, m);
            nodes.put(threadIdx.x, node.cv);
        }
        nodes.mark(threadIdx.x, span, pairs);
    }
    reduce(nodes, all, mode);
}
