// The compression function, and how a thread gets its block: what all stages share.
//
// Compiles with NVRTC, without headers, and with a host compiler behind `host.h`, which stands in for
// the device in tests.

#pragma once

#ifndef TREEWIDE_HOST
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

// Of the 112 additions of three terms in a compression, how many are two multiply-adds instead. On
// Hopper one such addition takes a slot of the ALU pipe, which is the bottleneck, and two
// multiply-adds take two of the FMA pipe, which is half idle.
#ifndef TREEWIDE_IMADS
#define TREEWIDE_IMADS 40
#endif

// Whether a thread loads its next block while it compresses the one before: 16 more instructions a
// block, and 16 more registers where the compiler has none to spare.
#ifndef TREEWIDE_AHEAD
#define TREEWIDE_AHEAD 0
#endif

// Whether the threads of a warp copy their blocks to shared memory together, 64 bytes side by side,
// instead of each loading its own. From compute capability 8.0 on.
#ifndef TREEWIDE_STAGED
#define TREEWIDE_STAGED 0
#endif

// Whether loads of 16 bytes ask for the whole line of 128 bytes to be brought to the L2 cache.
#ifndef TREEWIDE_LINES
#define TREEWIDE_LINES 0
#endif

// Blocks of threads that fit on one multiprocessor by their registers, at least; for blocks of 128.
#ifndef TREEWIDE_RESIDENT
#define TREEWIDE_RESIDENT 8
#endif

constexpr u32 CHUNK_START = 1;
constexpr u32 CHUNK_END = 2;
constexpr u32 PARENT = 4;
constexpr u32 ROOT = 8;

constexpr u32 BLOCK_BYTES = 64;
constexpr u32 CHUNK_BYTES = 1024;

// Key words and flag of the mode, the same for all nodes of a launch.
struct Mode {
    u32 key[8];
    u32 flags;
};

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

// a + b + c. PLACE is the number of this addition in the compression: those that become
// multiply-adds are spread evenly.
template <u32 PLACE> __device__ __forceinline__ u32 add3(u32 a, u32 b, u32 c) {
    constexpr u32 K = TREEWIDE_IMADS;
    if constexpr ((PLACE + 1) * K / 112 != PLACE * K / 112) {
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

// ---- Memory --------------------------------------------------------------------------------------
//
// Addresses are numbers, as most are sums. What a launch reads it does not write, but for what blocks
// leave to each other in `whole`: so `__ldg`.

__device__ __forceinline__ bool is_aligned(u64 address) { return (address & 15) == 0; }

__device__ __forceinline__ void unpack(u32 *to, uint4 from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
    to[3] = from.w;
}

// 16 bytes from a multiple of 16.
__device__ __forceinline__ void load_vector(u32 *to, u64 address) {
#if TREEWIDE_LINES && !defined(TREEWIDE_HOST)
    asm("ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "l"(address));
#else
    unpack(to, __ldg((const uint4 *)address));
#endif
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
    // Not 16 words: arrays of one type may share a place, and then those that could be in registers are
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
// one of this multiprocessor may have what was there before.
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

// ---- Chunks --------------------------------------------------------------------------------------

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

// The chaining values of the chunks of a whole block of threads, all of which call this.
__device__ __forceinline__ Node hash_chunk(const Chunk &chunk, bool exists, const Mode &mode) {
    const bool plain = __syncthreads_and(!exists || is_plain(chunk));
    if (!exists) return start(mode, 0, 0, 0);
    return plain ? hash_plain(chunk, mode) : hash_any(chunk, mode);
}
