// Many trees, reduced side by side by a block of threads: what the stages `tiles`, `parents` and
// `whole` share.
//
// A thread has a slot, `TILE` slots are a tile, and a span is what lies side by side in memory and
// belongs to one tree; `driver.rs` has the picture. A block does one tile or several: then what is
// left of each when most threads have nothing to do any more is reduced together.

#pragma once

#include "chunk.cuh"

constexpr u32 TILE = 128;

// What becomes of the node on top of a span.
constexpr u32 KIND_CV = 0;     // a chaining value on the way, to `cvs`
constexpr u32 KIND_DIGEST = 1; // its digest, with the root flag, to `out`
constexpr u32 KIND_NODE = 2;   // what its last compression takes, not yet done, to `out`
// 3: the chaining value of a whole subtree, to `out`

struct Span {
    u64 start;   // address of the first byte, or number of the first chaining value
    u64 length;  // bytes, or chaining values
    u64 counter; // of the first chunk
    u32 slot;    // the first
    u32 to;      // where its results go, in `cvs` or `out`
    u32 kind;
    u32 zeros[3];
};

constexpr u32 CV_BYTES = 32;
constexpr u32 NODE_BYTES = 128;

__device__ __forceinline__ bool is_root(u32 kind) { return kind == KIND_DIGEST || kind == KIND_NODE; }

// What a launch is given besides its input.
struct Spans {
    u64 table; // address of spans; not used if there is one
    u64 cvs;   // address of chaining values
    u64 out;   // address of other results
    u32 count;
    u32 zero;
    Span only;
};

// The span with the last first slot that is not after this one. There is one for slot 0.
__device__ __forceinline__ Span span_of(const Spans &all, u32 slot) {
    if (all.count == 1) return all.only;
    const Span *spans = (const Span *)all.table;
    u32 first = 0, size = all.count;
    while (size > 1) {
        const u32 half = size / 2;
        if (__ldg(&spans[first + half].slot) <= slot) first += half;
        size -= half;
    }
    return spans[first];
}

// The chunk with that number of `chunks` in a span, whose results go to `out` where it is all of a tree.
__device__ __forceinline__ Chunk chunk_of(const Span &span, u64 number, u64 chunks, u64 out) {
    Chunk chunk;
    const u64 skipped = number * CHUNK_BYTES;
    chunk.address = span.start + skipped;
    chunk.counter = span.counter + number;
    chunk.length = span.length - skipped < CHUNK_BYTES ? (u32)(span.length - skipped) : CHUNK_BYTES;
    const bool alone = chunks == 1;
    chunk.last = alone && is_root(span.kind) ? ROOT : 0;
    chunk.store = alone && span.kind == KIND_NODE ? out + (u64)span.to * NODE_BYTES : 0;
    return chunk;
}

// The nodes of a block's slots, word by word, so that neighbouring threads use neighbouring banks.
template <u32 THREADS> struct Nodes {
    u32 words[8][THREADS];
    // What is known of each slot, 0 where no span has it: one more than the last slot of its span
    // counted from the start of the block, and these bits.
    u32 marks[THREADS];

    static constexpr u32 END = 0xffff;    // as far as it is in the block
    static constexpr u32 FIRST = 1 << 16; // the first slot of the span in the tile
    static constexpr u32 START = 1 << 17; // the first slot of the span
    static constexpr u32 KIND_SHIFT = 18; // the span's kind

    __device__ __forceinline__ void mark(u32 slot, const Span &span, u64 slots) {
        const u32 base = blockIdx.x * THREADS;
        const u64 end = span.slot + slots - base;
        u32 mark = (end < THREADS ? (u32)end : THREADS) | span.kind << KIND_SHIFT;
        if (base + slot == span.slot) mark |= FIRST | START;
        if (slot % TILE == 0) mark |= FIRST;
        marks[slot] = mark;
    }

    // The same where all slots are of one span, which has `count` of them here; `top` if its kind counts.
    __device__ __forceinline__ void mark_one(u32 slot, const Span &span, u32 count, bool top) {
        const u32 mark = count | (slot == 0 && top ? START | span.kind << KIND_SHIFT : 0);
        marks[slot] = slot < count ? mark : 0;
    }

    __device__ __forceinline__ void put(u32 slot, const u32 cv[8]) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) words[i][slot] = cv[i];
    }

    __device__ __forceinline__ void get(u32 *cv, u32 slot) const {
#pragma unroll
        for (u32 i = 0; i < 8; i++) cv[i] = words[i][slot];
    }
};

// Pairs the nodes of each tile level by level, once each thread has put the node and the mark of its
// slot. What is left of each span is where its first slot is.
template <u32 THREADS>
__device__ __forceinline__ void pair_up(Nodes<THREADS> &nodes, const Spans &all, const Mode &mode) {
    typedef Nodes<THREADS> N;
    const u32 base = blockIdx.x * THREADS;
    __syncthreads();
#pragma unroll 1
    for (u32 width = 1; width < TILE; width *= 2) {
        // Here a thread works for the slot of a pair, not for its own: threads that do are neighbours.
        const u32 left = threadIdx.x * 2 * width;
        const u32 mark = left < THREADS ? nodes.marks[left] : 0;
        const bool pairs = left + width < (mark & N::END);
        // Of this level only the thread that has a pair reads its nodes and writes the first of them,
        // so one barrier a level is enough.
        if (!__syncthreads_or(pairs)) break;
        if (pairs) {
            u32 m[16];
            nodes.get(m, left);
            nodes.get(m + 8, left + width);
            Node node = start(mode, 0, BLOCK_BYTES, PARENT);
            const u32 kind = mark >> N::KIND_SHIFT;
            if ((mark & N::START) && is_root(kind) && left + 2 * width >= (mark & N::END)) {
                if (kind == KIND_NODE) {
                    store_node(all.out + (u64)span_of(all, base + left).to * NODE_BYTES, node, m);
                }
                node.flags |= ROOT;
            }
            compress(node, m);
            nodes.put(left, node.cv);
        }
    }
    __syncthreads();
}

// The same, and stores what is left.
template <u32 THREADS>
__device__ __forceinline__ void reduce(Nodes<THREADS> &nodes, const Spans &all, const Mode &mode) {
    typedef Nodes<THREADS> N;
    pair_up(nodes, all, mode);
    const u32 base = blockIdx.x * THREADS;
    const u32 mark = nodes.marks[threadIdx.x];
    const u32 kind = mark >> N::KIND_SHIFT;
    if (!(mark & N::FIRST) || kind == KIND_NODE) return;
    const Span span = span_of(all, base + threadIdx.x);
    u32 cv[8];
    nodes.get(cv, threadIdx.x);
    const u32 tile = (base + threadIdx.x) / TILE - span.slot / TILE;
    const u64 address = kind == KIND_CV ? all.cvs : all.out;
    store<8>(address + ((u64)span.to + tile) * CV_BYTES, cv);
}
