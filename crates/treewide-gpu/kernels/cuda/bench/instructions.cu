// How many of an instruction, or of a pair of them, a multiprocessor does in a clock: what ceilings
// are made of. Each thread has eight chains of them, so that none waits for another.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 CHAINS = 8;
// Of each operation in a round, for each chain.
constexpr u32 UNROLLED = 16;

// What the compiler does not know; `one` is 1.
struct Numbers {
    u32 y, z, one, selector;
};

// Written as PTX, so that no two steps become one.
#define STEP(name, text, ...)                                                                      \
    struct name {                                                                                  \
        static __device__ __forceinline__ void step(u32 &s, const Numbers &n) {                  \
            asm volatile(text __VA_ARGS__);                                                        \
        }                                                                                          \
    };

STEP(Iadd3, "{.reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %2;}", : "+r"(s) : "r"(n.y), "r"(n.z))
STEP(Lop3, "lop3.b32 %0, %0, %1, %2, 0x96;", : "+r"(s) : "r"(n.y), "r"(n.z))
STEP(Prmt, "prmt.b32 %0, %0, %1, %2;", : "+r"(s) : "r"(n.y), "r"(n.selector))
STEP(Shf, "shf.r.wrap.b32 %0, %0, %1, 7;", : "+r"(s) : "r"(n.y))
STEP(Imad, "mad.lo.u32 %0, %0, %1, %2;", : "+r"(s) : "r"(n.one), "r"(n.y))
// A rotation as a product. Both of its halves go into the next LOP3. Alone it cannot be measured:
// without a use for both halves it is another instruction.
STEP(ImadWideLop3,
     "{.reg .u64 t; .reg .u32 u, v; mul.wide.u32 t, %0, %1; mov.b64 {u, v}, t; "
     "lop3.b32 %0, u, v, %2, 0x96;}",
     : "+r"(s)
     : "r"(n.z), "r"(n.y))

struct ImadWide {
    static __device__ __forceinline__ void step(u64 &s, const Numbers &n) {
        asm volatile("{.reg .u32 low, high; mov.b64 {low, high}, %0; mad.wide.u32 %0, low, %1, %2;}"
                     : "+l"(s)
                     : "r"(n.y), "l"((u64)n.z << 32 | n.selector));
    }
};

template <class A, class B> struct Pair {
    static __device__ __forceinline__ void step(u32 &s, const Numbers &n) {
        A::step(s, n);
        B::step(s, n);
    }
};

// Writes the clocks that a block took to `clocks[block]`; threads did `rounds * CHAINS * UNROLLED`
// steps each.
template <class Step, class State = u32>
static __device__ __forceinline__ void measure(u64 *clocks, u32 *sink, u32 seed, u32 rounds) {
    const Numbers n = {seed ^ 0x9e3779b9u, seed + threadIdx.x, gridDim.z, seed | 0x2103u};
    State s[CHAINS];
#pragma unroll
    for (u32 i = 0; i < CHAINS; i++) s[i] = seed * i + threadIdx.x;
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (u32 j = 0; j < UNROLLED; j++) {
#pragma unroll
            for (u32 i = 0; i < CHAINS; i++) Step::step(s[i], n);
        }
    }
    __syncthreads();
    const long long end = clock64();
    State sum = 0;
#pragma unroll
    for (u32 i = 0; i < CHAINS; i++) sum ^= s[i];
    sink[blockIdx.x * blockDim.x + threadIdx.x] = (u32)(sum ^ sum >> 16 >> 16);
    if (threadIdx.x == 0) clocks[blockIdx.x] = (u64)(end - start);
}

#define MEASURE(name, ...)                                                                         \
    extern "C" __global__ void __launch_bounds__(1024)                                             \
    name(u64 *clocks, u32 *sink, u32 seed, u32 rounds) {                                           \
        measure<__VA_ARGS__>(clocks, sink, seed, rounds);                                          \
    }

MEASURE(iadd3, Iadd3)
MEASURE(lop3, Lop3)
MEASURE(prmt, Prmt)
MEASURE(shf, Shf)
MEASURE(imad, Imad)
MEASURE(imad_wide, ImadWide, u64)
MEASURE(imad_lop3, Pair<Imad, Lop3>)
MEASURE(imad_iadd3, Pair<Imad, Iadd3>)
MEASURE(imad_prmt, Pair<Imad, Prmt>)
MEASURE(imad_shf, Pair<Imad, Shf>)
MEASURE(imad_wide_lop3, ImadWideLop3)
MEASURE(lop3_shf, Pair<Lop3, Shf>)
MEASURE(iadd3_lop3, Pair<Iadd3, Lop3>)
