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
    u32 ahead[16];
    if constexpr (TREEWIDE_AHEAD) load_vectors(ahead, next);
#pragma unroll 1
    for (;;) {
        u32 m[16];
        left--;
        if (left == 0) node.flags |= CHUNK_END | chunk.last;
        if constexpr (TREEWIDE_AHEAD) {
#pragma unroll
            for (u32 i = 0; i < 16; i++) m[i] = ahead[i];
            if (left > 0) load_vectors(ahead, next + BLOCK_BYTES);
        } else {
            load_vectors(m, next);
        }
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

#if TREEWIDE_STAGED
#ifndef TREEWIDE_HOST
__device__ __forceinline__ void copy_later(uint4 *to, u64 from) {
    const u32 place = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}

__device__ __forceinline__ void copied() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
}
#endif

// The chaining value of a full chunk that follows that of the thread before. All threads of a block
// call this, with room for a block of 64 bytes each: `rows`.
//
// A row is 4 vectors of 16 bytes. They are swapped among each other so that neither the copies of 8
// rows at a time nor the loads of the same vector of all rows use one bank twice.
__device__ __forceinline__ Node hash_staged(uint4 *rows, const Chunk &chunk, const Mode &mode) {
    const u32 lane = threadIdx.x % 32, row = lane / 4, column = lane % 4;
    rows += 4 * (threadIdx.x - lane);
    uint4 *to = rows + 4 * row + (column ^ (row / 2 % 4));
    const uint4 *own = rows + 4 * lane;
    const u32 swap = lane / 2 % 4;
    u64 from = chunk.address - (u64)(lane - row) * CHUNK_BYTES + 16 * column;

    Node node = start(mode, chunk.counter, BLOCK_BYTES, CHUNK_START);
    u32 left = CHUNK_BYTES / BLOCK_BYTES;
#pragma unroll
    for (u32 i = 0; i < 4; i++) copy_later(to + 32 * i, from + 8 * CHUNK_BYTES * i);
#pragma unroll 1
    for (;;) {
        u32 m[16];
        copied();
#pragma unroll
        for (u32 i = 0; i < 4; i++) unpack(m + 4 * i, own[i ^ swap]);
        __syncwarp();
        left--;
        from += BLOCK_BYTES;
        if (left == 0) {
            node.flags |= CHUNK_END | chunk.last;
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; i++) copy_later(to + 32 * i, from + 8 * CHUNK_BYTES * i);
        }
        compress(node, m);
        if (left == 0) break;
        node.flags = mode.flags;
    }
    __syncthreads();
    return node;
}
#endif

// The chaining values of the chunks of a whole block of threads. All of them call this.
__device__ __forceinline__ Node hash_chunk(const Chunk &chunk, bool exists, const Mode &mode) {
    const bool plain = __syncthreads_and(!exists || is_plain(chunk));
    if (!exists) return start(mode, 0, 0, 0);
    return plain ? hash_plain(chunk, mode) : hash_any(chunk, mode);
}
