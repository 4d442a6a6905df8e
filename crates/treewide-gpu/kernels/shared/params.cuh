// What all stages take: integer types, two parameters of the kernels, and the mode.
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
#define IMADS 40

// Blocks of threads that fit on one multiprocessor by their registers, at least; for blocks of 128.
#define RESIDENT 8

// Key words and flag of the mode, the same for all nodes of a launch.
struct Mode {
    u32 key[8];
    u32 flags;
};
