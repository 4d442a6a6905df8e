//! The seven rounds in sixteen vector registers: eight lanes with AVX2, four with SSE4.1 or SSE2.
//!
//! The state fills the registers, messages and the tables of byte rotations are memory operands,
//! and rotations by 12 and 7 (with SSE2 all) need a register to put a part in. So word 11 lives in memory except for
//! its additions, which are far enough apart not to wait for that. It waits in the place of word 0
//! of the output, which is written last. Compilers spill several words, at the wrong places.
//!
//! Four columns (or diagonals) are in flight, but they are issued two by two, in the order in which
//! their `b` comes out of the half-round before: shifts and shuffles have fewer ports than the rest,
//! and columns in step would wait for each other there.
//!
//! There are routines for several blocks (see `blocks.rs`), which also put the blocks in order, and for one compression.
//!
//! The functions are naked, with the System V calling convention on every platform, as in
//! `avx512_pair.rs`. Word `w` of every array is one vector, aligned to its size.

use core::arch::naked_asm;

use crate::kernel::x86_64::assembly::{
    BY_8, BY_16, IV, blocks_routine, fold, high_words, interleave_two, isa, load, next_flags, pair,
    rounds, routine, store,
};

/// The rest of the state, where a block begins.
macro_rules! begin {
    ($isa:tt) => {
        concat!(
            isa!($isa splat 11 "[rip+{iv}+12]"),
            isa!($isa move "[rcx]", isa!($isa register 11)),
            isa!($isa splat 8 "[rip+{iv}]"),
            isa!($isa splat 9 "[rip+{iv}+4]"),
            isa!($isa splat 10 "[rip+{iv}+8]"),
            load!($isa "rdx" 0 12, 1 13, 2 14, 3 15,),
        )
    };
}

macro_rules! body {
    ($isa:tt $($high:expr)?) => {
        naked_asm!(
            load!($isa "rdi"),
            begin!($isa),
            rounds!($isa [11] [[] [] [] [] [] [] []]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            isa!($isa move isa!($isa register 11), "[rcx]"),
            fold!($isa),
            store!($isa "rcx"),
            $($high,)?
            isa!($isa end), "ret",
            iv = sym IV, by_16 = sym BY_16, by_8 = sym BY_8,
        )
    };
}

/// A quarter of the block of a lane, and in the upper half of a register the one of a lane four further.
macro_rules! half {
    ([avx2] $to:literal $lane:literal $other:literal $quarter:literal) => {
        concat!(
            "v", half!([sse] $to $lane $other $quarter),
            "vinserti128 ymm", $to, ",ymm", $to, ",[", $other, "+r11+16*", $quarter, "],1\n",
        )
    };
    ([sse $($bytes:ident)?] $to:literal $lane:literal $other:literal $quarter:literal) => {
        concat!("movdqu xmm", $to, ",[", $lane, "+r11+16*", $quarter, "]\n")
    };
}

/// The words of a quarter of a block of every lane, transposed, to the message.
macro_rules! quarter {
    ($isa:tt $quarter:literal) => {
        quarter!($isa $quarter 0 14, 1 12, 2 15, 3 8,)
    };
    ($isa:tt $quarter:literal $($offset:literal $register:literal,)+) => {
        concat!(
            half!($isa 8 "rdi" "rbx" $quarter), half!($isa 9 "r9" "rbp" $quarter),
            half!($isa 10 "r10" "r12" $quarter), half!($isa 11 "r14" "r13" $quarter),
            interleave_two!($isa "punpckldq" "punpckhdq": 12 8 9), interleave_two!($isa "punpckldq" "punpckhdq": 13 10 11),
            interleave_two!($isa "punpcklqdq" "punpckhqdq": 14 12 13), interleave_two!($isa "punpcklqdq" "punpckhqdq": 15 8 10),
            $(isa!($isa move
                concat!("[rsi+4*", isa!($isa size), "*", $quarter, "+", isa!($isa size), "*", $offset, "]"),
                isa!($isa register $register)),)+
        )
    };
}

/// The addresses of the inputs; those of lanes 4 to 7 where there are eight.
macro_rules! inputs {
    ([avx2]) => {
        concat!(
            inputs!([sse]),
            "mov rbx,[rcx+32]\n mov rbp,[rcx+40]\n mov r12,[rcx+48]\n mov r13,[rcx+56]\n",
        )
    };
    ([sse $($bytes:ident)?]) => {
        "mov rdi,[rcx]\n mov r9,[rcx+8]\n mov r10,[rcx+16]\n mov r14,[rcx+24]\n"
    };
}

/// Prefetches the bytes at the place of this block in later nodes.
macro_rules! fetch {
    ([avx2]) => {
        concat!(fetch!([sse]), fetch!(4 5 6 7))
    };
    ([sse $($bytes:ident)?]) => {
        fetch!(0 1 2 3)
    };
    ($($lane:literal)*) => {
        concat!($("mov rax,[r15+8*", $lane, "]\n prefetcht1 [rax+r11]\n",)*)
    };
}

macro_rules! blocks {
    ($isa:tt $name:ident) => {
        blocks_routine!(
            /// Compresses whole blocks one after the other, as `Blocks` says.
            $name ahead:
            // rsi the message, rcx the place of word 11, rdx what follows, r8 steps that are left, r11 where
            // the block is, r15 ahead; inputs in others.
            "push rbx\n push rbp\n push r12\n push r13\n push r14\n push r15\n push rdi",
            load!($isa "rdi"),
            "mov r15,rcx\n mov rcx,rdx\n mov r11,r9",
            inputs!($isa),
            concat!("lea rcx,[rsi+", isa!($isa size), "*16]\n lea rdx,[rsi+", isa!($isa size), "*32]"),
            // Where the loop begins in a cache line changes its time by 4 to 10 % on Zen 3, so the linker does not decide it
            // (`results/zen3-2vcpu/limits.md#alignment-of-loops`).
            ".p2align 6\n 2:",
            fetch!($isa),
            quarter!($isa 0), quarter!($isa 1), quarter!($isa 2), quarter!($isa 3),
            begin!($isa),
            rounds!($isa [11] [[] [] [] [] [] [] []]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            isa!($isa move isa!($isa register 11), "[rcx]"),
            fold!($isa),
            next_flags!($isa 8),
            "add r11,64\n dec r8\n jnz 2b",
            "pop rcx\n pop r15\n pop r14\n pop r13\n pop r12\n pop rbp\n pop rbx",
            store!($isa "rcx"),
            isa!($isa end), "ret",
            iv = sym IV, by_16 = sym BY_16, by_8 = sym BY_8,
        );
    };
}

routine!([avx2] "AVX2, and the OS saves its registers": compress_8);
routine!([avx2] "AVX2, and the OS saves its registers": compress_xof_8 high_words!([avx2]));
routine!([sse bytes] "SSSE3": compress_4);
routine!([sse bytes] "SSSE3": compress_xof_4 high_words!([sse bytes]));
routine!([sse] "SSE2": compress_sse2_4);
routine!([sse] "SSE2": compress_xof_sse2_4 high_words!([sse]));

blocks!([avx2] blocks_8);
blocks!([sse bytes] blocks_4);
blocks!([sse] blocks_sse2_4);
