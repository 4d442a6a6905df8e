// How a thread gets a block from any address, and stores words.
//
// Addresses are numbers, as most are sums. A launch does not write what it reads, except what blocks
// leave to each other in `whole`: so `__ldg`.

#pragma once

#include "compress.cuh"

__device__ __forceinline__ bool is_aligned(u64 address) { return (address & 15) == 0; }

__device__ __forceinline__ void unpack(u32 *to, uint4 from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
    to[3] = from.w;
}

// 16 bytes from a multiple of 16.
__device__ __forceinline__ void load_vector(u32 *to, u64 address) {
    unpack(to, __ldg((const uint4 *)address));
}

// 64 bytes from a multiple of 16.
__device__ __forceinline__ void load_vectors(u32 m[16], u64 address) {
#pragma unroll
    for (u32 i = 0; i < 4; i++) load_vector(m + 4 * i, address + 16 * i);
}

// 16 words from byte `skipped` (0..16) of 20 words on, which are shifted for it.
__device__ __forceinline__ void shift(u32 m[16], const u32 words[20], u32 skipped) {
    const bool two = (skipped & 8) != 0, one = (skipped & 4) != 0;
    u32 by_two[18], by_one[17];
#pragma unroll
    for (u32 i = 0; i < 18; i++) by_two[i] = two ? words[i + 2] : words[i];
#pragma unroll
    for (u32 i = 0; i < 17; i++) by_one[i] = one ? by_two[i + 1] : by_two[i];
#pragma unroll
    for (u32 i = 0; i < 16; i++) m[i] = __funnelshift_r(by_one[i], by_one[i + 1], 8 * (skipped & 3));
}

// Up to 64 bytes from anywhere, then zeros. Reads only words that have bytes of these in them.
//
// A loop over an array in local memory: what is rare is short instead of fast.
__device__ __forceinline__ void load_bytes(u32 m[16], u64 address, u32 length) {
    const u32 *from = (const u32 *)(address & ~(u64)3);
    const u32 skipped = (u32)address & 3;
    const u32 end = skipped + length;
    // Not 16 words: arrays of one type may share a place, and then arrays that could be in registers are
    // in local memory with this one.
    alignas(16) u32 words[17];
    u32 word = length > 0 ? __ldg(from) : 0;
#pragma unroll 1
    for (u32 i = 0; i < 16; i++) {
        const u32 next = 4 * i + 4 < end ? __ldg(from + i + 1) : 0;
        const u32 all = __funnelshift_r(word, next, 8 * skipped);
        const u32 have = length > 4 * i ? length - 4 * i : 0;
        words[i] = have >= 4 ? all : all & ((1u << (8 * have)) - 1);
        word = next;
    }
#pragma unroll
    for (u32 i = 0; i < 16; i++) m[i] = words[i];
}

// Words to a multiple of 16.
template <u32 WORDS> __device__ __forceinline__ void store_vectors(u64 address, const u32 *words) {
    uint4 *to = (uint4 *)address;
#pragma unroll
    for (u32 i = 0; i < WORDS / 4; i++) {
        to[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    }
}

// Words from a multiple of 16 that another block of this launch has stored: from the L2 cache, as the
// one of this multiprocessor may have the old ones.
template <u32 WORDS> __device__ __forceinline__ void load_stored(u32 *words, u64 address) {
#pragma unroll
    for (u32 i = 0; i < WORDS / 4; i++) unpack(words + 4 * i, __ldcg((const uint4 *)address + i));
}

// Words to a multiple of 4.
template <u32 WORDS> __device__ __forceinline__ void store(u64 address, const u32 *words) {
    if (is_aligned(address)) return store_vectors<WORDS>(address, words);
#pragma unroll
    for (u32 i = 0; i < WORDS; i++) ((u32 *)address)[i] = words[i];
}

// Up to 64 bytes from anywhere, mostly from a multiple of 16.
__device__ __forceinline__ void load(u32 m[16], u64 address, u32 length) {
    if (is_aligned(address) && length == BLOCK_BYTES) load_vectors(m, address);
    else load_bytes(m, address, length);
}

// A root's last compression, with all that it takes: what extended output is made of. As 8 words
// of chaining value, 16 of the block, its length, flags without ROOT, and 6 of 0.
__device__ __forceinline__ void store_node(u64 address, const Node &node, const u32 m[16]) {
    const u32 rest[8] = {node.length, node.flags & ~(u32)ROOT};
    store<8>(address, node.cv);
    store<16>(address + 32, m);
    store<8>(address + 96, rest);
}
