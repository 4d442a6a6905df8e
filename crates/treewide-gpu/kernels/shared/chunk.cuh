// One chunk, by one thread.

#pragma once

#include "memory.cuh"

// A chunk of an input, or a whole input that is no longer.
struct Chunk {
    u64 address;
    u64 counter;
    u32 length;
    u32 last;  // flags of its last block besides CHUNK_END
    u64 store; // where to store its last compression, if not 0
};

// Whether a chunk is nothing but full blocks at multiples of 16, as nearly all are.
__device__ __forceinline__ bool is_plain(const Chunk &chunk) {
    return is_aligned(chunk.address) && chunk.length % BLOCK_BYTES == 0 && chunk.length > 0 &&
           chunk.store == 0;
}

// The chaining value of a plain chunk. This loop is where the time goes.
__device__ __forceinline__ Node hash_plain(const Chunk &chunk, const Mode &mode) {
    Node node = start(mode, chunk.counter, BLOCK_BYTES, CHUNK_START);
    u64 next = chunk.address;
    u32 left = chunk.length / BLOCK_BYTES;
#pragma unroll 1
    for (;;) {
        u32 m[16];
        left--;
        if (left == 0) node.flags |= CHUNK_END | chunk.last;
        load_vectors(m, next);
        compress(node, m);
        if (left == 0) return node;
        next += BLOCK_BYTES;
        node.flags = mode.flags;
    }
}

// The chaining value of any chunk.
//
// What is not at a multiple of 16 is read as aligned vectors as well, and shifted into place; the
// vector that two blocks have in common is kept. So every byte comes by a 16-byte load, and only
// once, and nothing is read beyond the 16 bytes in which the last byte lies.
__device__ __forceinline__ Node hash_any(const Chunk &chunk, const Mode &mode) {
    Node node = start(mode, chunk.counter, BLOCK_BYTES, CHUNK_START);
    const u32 skipped = (u32)chunk.address & 15;
    u64 next = chunk.address - skipped;
    u32 left = chunk.length;
    // The words from `next` on; a block is 16 of them, from byte `skipped` on.
    u32 words[20] = {};
    if (left >= BLOCK_BYTES) load_vector(words, next);
#pragma unroll 1
    for (;;) {
        u32 m[16];
        const bool done = left <= BLOCK_BYTES;
        if (left >= BLOCK_BYTES) {
#pragma unroll
            for (u32 i = 1; i < 4; i++) load_vector(words + 4 * i, next + 16 * i);
            // Without bytes of this block it may lie outside of all memory.
            if (skipped > 0 || !done) load_vector(words + 16, next + 64);
            shift(m, words, skipped);
#pragma unroll
            for (u32 i = 0; i < 4; i++) words[i] = words[16 + i];
        } else {
            load_bytes(m, next + skipped, left);
        }
        if (done) {
            node.flags |= CHUNK_END | chunk.last;
            node.length = left;
            if (chunk.store != 0) store_node(chunk.store, node, m);
        }
        compress(node, m);
        if (done) return node;
        next += BLOCK_BYTES;
        left -= BLOCK_BYTES;
        node.flags = mode.flags;
    }
}

// The chaining values of the chunks of a whole block of threads. All of them call this.
__device__ __forceinline__ Node hash_chunk(const Chunk &chunk, bool exists, const Mode &mode) {
    const bool plain = __syncthreads_and(!exists || is_plain(chunk));
    if (!exists) return start(mode, 0, 0, 0);
    return plain ? hash_plain(chunk, mode) : hash_any(chunk, mode);
}
