// Replaces the device when the kernels are compiled as C++: for tests of their logic without one.
//
// A thread of a block is a fiber; one runs until it waits for the others, or returns. So threads of a
// block see each other's stores at barriers, and without a barrier only by luck: tests run them
// forwards and backwards. Blocks run one after the other, in their order or in any.

#pragma once

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <deque>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#define TREEWIDE_HOST

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One block runs at a time, so memory that a block shares is ordinary memory.
#define __shared__ static

struct dim3 {
    u32 x = 1, y = 1, z = 1;
};
struct uint4 {
    u32 x, y, z, w;
};
static inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }

static dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T> static inline T __ldg(const T *from) {
    if ((uintptr_t)from % sizeof(T) != 0) {
        fprintf(stderr, "a load of %zu bytes from %p\n", sizeof(T), (const void *)from);
        abort();
    }
    return *from;
}

template <class T> static inline T __ldcg(const T *from) { return __ldg(from); }

static inline u32 __funnelshift_r(u32 low, u32 high, u32 by) {
    return (u32)(((u64)high << 32 | low) >> (by & 31));
}

static inline u32 __byte_perm(u32 x, u32 y, u32 selector) {
    u32 result = 0;
    for (u32 i = 0; i < 4; i++) {
        const u32 from = selector >> (4 * i) & 7;
        result |= ((from < 4 ? x >> (8 * from) : y >> (8 * (from - 4))) & 0xff) << (8 * i);
    }
    return result;
}

static inline u32 atomicAdd(u32 *to, u32 value) {
    const u32 before = *to;
    *to += value;
    return before;
}

static inline u32 count_up(u32 *counter, u32 most) {
    const u32 before = *counter;
    *counter = before >= most ? 0 : before + 1;
    return before;
}

// ---- Fibers ----------------------------------------------------------------------------------------

struct Block {
    struct Fiber {
        ucontext_t context;
        jmp_buf place;
        std::vector<char> stack;
        bool started = false, done = true;
    };

    std::deque<Fiber> fibers;
    std::function<void()> kernel;
    jmp_buf scheduler;
    u32 current = 0;
    // Barriers that all threads went through, and the votes at the one they are at: for even and
    // odd ones, as a vote is read when others may be at the next barrier already.
    u32 arrived = 0;
    u64 barriers = 0;
    bool any[2], all[2];

    void run(u32 threads, bool backwards) {
        while (fibers.size() < threads) fibers.emplace_back();
        arrived = 0;
        reset(0);
        reset(1);
        for (u32 i = 0; i < threads; i++) fibers[i].done = false;
        for (u32 left = threads; left > 0;) {
            for (u32 i = 0; i < threads; i++) {
                current = backwards ? threads - 1 - i : i;
                if (fibers[current].done) continue;
                threadIdx.x = current;
                resume();
                left -= fibers[current].done;
            }
            if (arrived != 0) {
                fprintf(stderr, "%u threads wait for others that have returned\n", arrived);
                abort();
            }
        }
    }

    void reset(u32 parity) {
        any[parity] = false;
        all[parity] = true;
    }

    void wait(bool vote) {
        const u32 parity = barriers & 1;
        any[parity] |= vote;
        all[parity] &= vote;
        if (++arrived == blockDim.x) {
            arrived = 0;
            reset(!parity);
            barriers++;
        }
        leave();
    }

    // Lets the current fiber run until it leaves. Jumps, as switching contexts is a system call.
    __attribute__((noinline)) void resume() {
        if (_setjmp(scheduler) == 0) go_on();
    }

    __attribute__((noinline)) void go_on() {
        Fiber &it = fibers[current];
        if (it.started) _longjmp(it.place, 1);
        it.started = true;
        it.stack.resize(64 << 10);
        getcontext(&it.context);
        it.context.uc_stack.ss_sp = it.stack.data();
        it.context.uc_stack.ss_size = it.stack.size();
        makecontext(&it.context, enter, 0);
        setcontext(&it.context);
    }

    __attribute__((noinline)) void leave() {
        if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler, 1);
    }

    static void enter();
};

static Block block;

// A fiber serves one block after the other.
void Block::enter() {
    for (;;) {
        block.kernel();
        block.fibers[block.current].done = true;
        block.leave();
    }
}

static inline void __syncthreads() { block.wait(false); }

// Here warps wait for each other also at barriers of warps: all of a block get to the same ones.
static inline void __syncwarp() { block.wait(false); }

static inline int __syncthreads_or(int vote) {
    const u32 parity = block.barriers & 1;
    block.wait(vote != 0);
    return block.any[parity];
}

static inline int __syncthreads_and(int vote) {
    const u32 parity = block.barriers & 1;
    block.wait(vote != 0);
    return block.all[parity];
}
