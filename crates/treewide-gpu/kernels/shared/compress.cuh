// One compression, with the message in registers.

#pragma once

#include "params.cuh"

constexpr u32 CHUNK_START = 1;
constexpr u32 CHUNK_END = 2;
constexpr u32 PARENT = 4;
constexpr u32 ROOT = 8;

constexpr u32 BLOCK_BYTES = 64;
constexpr u32 CHUNK_BYTES = 1024;

// A compression's input without the message.
struct Node {
    u32 cv[8];
    u64 counter;
    u32 length;
    u32 flags;
};

__device__ constexpr u32 IV[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

// Which message word each of the seven rounds uses at each of its sixteen places.
__device__ constexpr u8 SCHEDULE[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
    {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
    {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

// Rotations to the right. A byte permutation and a funnel shift are one instruction each; with shifts
// and an or the compiler may need three.
__device__ __forceinline__ u32 rotate16(u32 x) { return __byte_perm(x, 0, 0x1032); }
__device__ __forceinline__ u32 rotate8(u32 x) { return __byte_perm(x, 0, 0x0321); }
template <u32 N> __device__ __forceinline__ u32 rotate(u32 x) { return __funnelshift_r(x, x, N); }

// 1, but the compiler does not know. It lies in constant memory, where instructions take it from.
__device__ __forceinline__ u32 opaque_one() { return gridDim.z; }

// a + b + c. PLACE is the number of this addition in the compression: additions that become
// multiply-adds are spread evenly.
template <u32 PLACE> __device__ __forceinline__ u32 add3(u32 a, u32 b, u32 c) {
    if constexpr ((PLACE + 1) * IMADS / 112 != PLACE * IMADS / 112) {
        const u32 one = opaque_one();
        return b * one + (c * one + a);
    } else {
        return a + b + c;
    }
}

// One quarter of half a round. c + d stays a plain addition: the compiler itself makes an IMAD of it.
template <u32 R, u32 I>
__device__ __forceinline__ void quarter(u32 v[16], const u32 m[16], u32 a, u32 b, u32 c, u32 d) {
    v[a] = add3<16 * R + 2 * I>(v[a], v[b], m[SCHEDULE[R][2 * I]]);
    v[d] = rotate16(v[d] ^ v[a]);
    v[c] = v[c] + v[d];
    v[b] = rotate<12>(v[b] ^ v[c]);
    v[a] = add3<16 * R + 2 * I + 1>(v[a], v[b], m[SCHEDULE[R][2 * I + 1]]);
    v[d] = rotate8(v[d] ^ v[a]);
    v[c] = v[c] + v[d];
    v[b] = rotate<7>(v[b] ^ v[c]);
}

template <u32 R> __device__ __forceinline__ void round_of(u32 v[16], const u32 m[16]) {
    quarter<R, 0>(v, m, 0, 4, 8, 12);
    quarter<R, 1>(v, m, 1, 5, 9, 13);
    quarter<R, 2>(v, m, 2, 6, 10, 14);
    quarter<R, 3>(v, m, 3, 7, 11, 15);
    quarter<R, 4>(v, m, 0, 5, 10, 15);
    quarter<R, 5>(v, m, 1, 6, 11, 12);
    quarter<R, 6>(v, m, 2, 7, 8, 13);
    quarter<R, 7>(v, m, 3, 4, 9, 14);
}

// The state after all rounds.
__device__ __forceinline__ void rounds(u32 v[16], const Node &node, const u32 m[16]) {
#pragma unroll
    for (u32 i = 0; i < 8; i++) v[i] = node.cv[i];
#pragma unroll
    for (u32 i = 0; i < 4; i++) v[8 + i] = IV[i];
    v[12] = (u32)node.counter;
    v[13] = (u32)(node.counter >> 32);
    v[14] = node.length;
    v[15] = node.flags;
    round_of<0>(v, m);
    round_of<1>(v, m);
    round_of<2>(v, m);
    round_of<3>(v, m);
    round_of<4>(v, m);
    round_of<5>(v, m);
    round_of<6>(v, m);
}

// One compression; the new chaining value replaces the one that went in.
__device__ __forceinline__ void compress(Node &node, const u32 m[16]) {
    u32 v[16];
    rounds(v, node, m);
#pragma unroll
    for (u32 i = 0; i < 8; i++) node.cv[i] = v[i] ^ v[8 + i];
}

// The same as a root's 64 bytes of output.
__device__ __forceinline__ void compress_output(u32 out[16], const Node &node, const u32 m[16]) {
    u32 v[16];
    rounds(v, node, m);
#pragma unroll
    for (u32 i = 0; i < 8; i++) out[i] = v[i] ^ v[8 + i];
#pragma unroll
    for (u32 i = 0; i < 8; i++) out[8 + i] = v[8 + i] ^ node.cv[i];
}

// The node of two chaining values, or of a key to start from.
__device__ __forceinline__ Node start(const Mode &mode, u64 counter, u32 length, u32 flags) {
    Node node;
#pragma unroll
    for (u32 i = 0; i < 8; i++) node.cv[i] = mode.key[i];
    node.counter = counter;
    node.length = length;
    node.flags = mode.flags | flags;
    return node;
}
