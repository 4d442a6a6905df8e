// What all stages take: integer types, the parameters that the kernels are compiled with, and the mode.
//
// Compiles with NVRTC, without headers, and with a host compiler after `host.h`, which replaces
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

// Key words and flag of the mode, the same for all nodes of a launch.
struct Mode {
    u32 key[8];
    u32 flags;
};
