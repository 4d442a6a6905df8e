//! Rows for Zen 5: four lanes or eight, at the pace of the core.
//!
//! There a vector operation of one cycle takes two if it waits in the scheduler for its operands:
//! a chain of operations runs at half speed because the core runs ahead of it. An operation that
//! comes when its operands are ready takes one. So here nothing comes early: `beat!` fills what is
//! issued in one cycle, eight instructions, with instructions that do nothing, and every operation
//! is in the beat in which the one before it is done (rotations take two). Before each block the
//! core is made to wait until it has caught up, as a delay would otherwise last: what comes early
//! once, by an interrupt or a late load, makes all that follows come early.
//!
//! The message of the next round and of the next block, which is not in the chain, is in beats
//! between. Rounds are a loop, as even operations without an effect take room in the cache of
//! decoded instructions: unrolled, passes of different width would push each other out.
//!
//! Parents and extended output, one block each, have no pace (`pass.rs`): it begins by waiting.
//!
//! What it costs: all that a core can issue. While the other hardware thread of the core works, 2, 4 and
//! 8 KiB take 1.1 to 1.5 times as long as by the `blake3` crate, and by rows without pace as long as ever, 0.99 to
//! 1.01 of it (`results/zen5-2vcpu/limits.md#a-busy-neighbour`). On servers that keep
//! both threads of every core busy with inputs of 2 to 8 KiB, force `avx512-intel`.
//!
//! In assembly, naked, and with that calling convention, for the reasons in `columns/avx512_pair.rs`.

use core::arch::naked_asm;
use core::arch::x86_64::__m512i;

use super::vector::AHEAD;
use crate::kernel::x86_64::assembly::IV;
use crate::spec::BLOCK_LEN;

/// Word indices for permutations of two vectors, which are the same in every 128-bit part: 0 to 3
/// are the part's words of the first vector, 4 to 7 those of the second.
#[repr(C, align(64))]
struct Orders([[u32; 16]; 11]);

static ORDERS: Orders = {
    const PICKS: [[u32; 4]; 11] = [
        // What `arrange!` makes of words 0 to 7, and of words 8 to 15.
        [0, 2, 4, 6],
        [1, 3, 5, 7],
        [6, 0, 2, 4],
        [7, 1, 3, 5],
        // The message of the next round (table 2 of the paper), made of
        // 0 2 4 6, 1 3 5 7, 14 8 10 12, 15 9 11 13.
        [1, 5, 7, 2], // 2 3 7 4
        [3, 6, 0, 0],
        [0, 0, 7, 1],
        [1, 6, 0, 0],
        [0, 1, 2, 7], // 6 10 0 13
        [0, 4, 2, 3], // 15 1 12 9
        [0, 1, 6, 2], // 8 11 5 14
    ];
    let mut orders = [[0; 16]; 11];
    let mut i = 0;
    while i < 11 * 16 {
        let (part, pick) = (i as u32 % 16 / 4, PICKS[i / 16][i % 4]);
        orders[i / 16][i % 16] = 4 * part + pick % 4 + pick / 4 * 16;
        i += 1;
    }
    Orders(orders)
};

/// A register: a row (a to d), a vector of this round's message or of the next one's (m0 to n3), or
/// one to spare (s), of a set.
macro_rules! zmm {
    ($set:literal $name:ident) => {
        concat!("zmm{", stringify!($name), $set, "}")
    };
}

/// One instruction.
macro_rules! op {
    (add $set:literal $to:ident $from:ident) => { op!("vpaddd" $set $to $to zmm!($set $from)) };
    (xor $set:literal $to:ident $from:ident) => { op!("vpxord" $set $to $to zmm!($set $from)) };
    (ror $set:literal $to:ident $count:literal) => { op!("vprord" $set $to $to $count) };
    // The words of each part of a row change places.
    (rotate_words $set:literal $to:ident $places:literal) => { op!("vpshufd" $set $to $to $places) };
    // A permutation of two vectors, by an order that is loaded first,
    (order $set:literal $to:ident $order:literal) => {
        concat!("vmovdqa64 ", zmm!($set $to), ",[r11+64*", $order, "]\n")
    };
    (pick $set:literal $to:ident $a:ident $b:ident) => { op!("vpermi2d" $set $to $a zmm!($set $b)) };
    // or by one that is kept, of the old words and another vector.
    (mix $set:literal $to:ident $order:literal $from:ident) => {
        concat!("vpermt2d ", zmm!($set $to), ",zmm", $order, ",", zmm!($set $from), "\n")
    };
    // The 128-bit parts 0 and 2, or 1 and 3, of two vectors.
    (even $set:literal $to:ident $a:ident $b:ident) => {
        op!("vshufi32x4" $set $to $a concat!(zmm!($set $b), ",0x88"))
    };
    (odd $set:literal $to:ident $a:ident $b:ident) => {
        op!("vshufi32x4" $set $to $a concat!(zmm!($set $b), ",0xdd"))
    };
    // A block of a lane, and one that it will want later.
    (at $lane:literal) => { concat!("mov rax,[rsi+8*", $lane, "]\n") };
    (load $set:literal $to:ident) => { concat!("vmovdqu64 ", zmm!($set $to), ",[rax+rdx]\n") };
    (fetch) => { "prefetcht0 [rax+rdx+{ahead}]\n" };
    ($op:literal $set:literal $to:ident $a:ident $b:expr) => {
        concat!($op, " ", zmm!($set $to), ",", zmm!($set $a), ",", $b, "\n")
    };
}

/// What is issued in one cycle: these operations, and what does nothing up to eight.
macro_rules! beat {
    ($([$($op:tt)+])*) => {
        concat!($(op!($($op)+),)* pad!([$([$($op)+])*] "" "" "" "" "" "" "" ""))
    };
}

/// What fills the slots that the operations leave. An exchange takes two: with half as many
/// instructions there is room for all in the cache of decoded ones, and where they do not come from
/// there, four in a cycle are decoded, enough for the pace. The odd slot gets a no-operation of five
/// bytes.
macro_rules! pad {
    ([$op:tt $($more:tt)*] $slot:literal $($rest:literal)*) => { pad!([$($more)*] $($rest)*) };
    ([] $slot:literal $other:literal $($rest:literal)*) => {
        concat!("xchg r8,r8\n", pad!([] $($rest)*))
    };
    ([] $slot:literal) => { ".byte 0x0f,0x1f,0x44,0,0\n" };
    ([$($op:tt)*]) => { "" };
}

/// A round of the sets: a line is a beat. First of all comes the chain, then what is to be done for the
/// other half of G, for the diagonals (or columns) and for the next round. Two sets would take each
/// other's ports without the idle beats.
macro_rules! round {
    ([$($set:literal)*] [$($idle:tt)*] $m0:ident $m1:ident $m2:ident $m3:ident,
     $n0:ident $n1:ident $n2:ident $n3:ident) => {
        concat!(
            beat!($([add $set a b])*),
            beat!($([xor $set d a])*),
            beat!($([ror $set d 16])*),
            beat!(),
            beat!($([add $set c d])* $([add $set a $m1])*),
            beat!($([xor $set b c])* $([order $set $n0 4] [pick $set $n0 $m0 $m1])*),
            beat!($([ror $set b 12])*),
            beat!(),
            $(beat!$idle,)*
            beat!($([add $set a b])* $([order $set $n1 5] [pick $set $n1 $m0 $m2])*),
            beat!($([xor $set d a])*),
            beat!($([ror $set d 8])*),
            beat!($([rotate_words $set a 0x93])* $([order $set $n2 6] [pick $set $n2 $m3 $m2])*),
            beat!($([add $set c d])*),
            beat!($([xor $set b c])* $([add $set a $m2] [rotate_words $set d 0x4e])*),
            beat!($([ror $set b 7])* $([order $set $n3 7] [pick $set $n3 $m2 $m3])*),
            beat!($([rotate_words $set c 0x39])*),
            $(beat!$idle,)*
            beat!($([add $set a b])*),
            beat!($([xor $set d a])* $([mix $set $n1 24 $m3])*),
            beat!($([ror $set d 16])*),
            beat!(),
            beat!($([add $set c d])* $([add $set a $m3])* $([mix $set $n2 25 $m1])*),
            beat!($([xor $set b c])*),
            beat!($([ror $set b 12])*),
            beat!($([mix $set $n3 26 $m1])*),
            $(beat!$idle,)*
            beat!($([add $set a b])*),
            beat!($([xor $set d a])*),
            beat!($([ror $set d 8])*),
            beat!($([rotate_words $set a 0x39])*),
            beat!($([add $set c d])*),
            beat!($([xor $set b c])* $([add $set a $n0] [rotate_words $set d 0x4e])*),
            beat!($([ror $set b 7])*),
            beat!($([rotate_words $set c 0x93])*),
            $(beat!$idle,)*
        )
    };
}

/// The last round, in which the next block is loaded and arranged. With a set come its four lanes.
macro_rules! last_round {
    ([$($set:literal: $lane0:literal $lane1:literal $lane2:literal $lane3:literal,)*]
     [$($idle:tt)*]) => {
        concat!(
            beat!($([add $set a b])* $([at $lane0] [load $set n0] [fetch])*),
            beat!($([xor $set d a])* $([at $lane1] [load $set n1] [fetch])*),
            beat!($([ror $set d 16])* $([at $lane2] [load $set n2] [fetch])*),
            beat!($([at $lane3] [load $set n3] [fetch])*),
            beat!($([add $set c d])* $([add $set a m1])*),
            beat!($([xor $set b c])* $([even $set s n0 n1])*),
            beat!($([ror $set b 12])*),
            beat!($([odd $set n0 n0 n1])*),
            $(beat!$idle,)*
            beat!($([add $set a b])*),
            beat!($([xor $set d a])* $([even $set n1 n2 n3])*),
            beat!($([ror $set d 8])*),
            beat!($([rotate_words $set a 0x93])* $([odd $set n2 n2 n3])*),
            beat!($([add $set c d])*),
            beat!($([xor $set b c])* $([add $set a m2] [rotate_words $set d 0x4e])* $([even $set n3 s n1])*),
            beat!($([ror $set b 7])*),
            beat!($([rotate_words $set c 0x39])* $([odd $set s s n1])*),
            $(beat!$idle,)*
            beat!($([add $set a b])*),
            beat!($([xor $set d a])* $([even $set n1 n0 n2])*),
            beat!($([ror $set d 16])*),
            beat!($([odd $set n0 n0 n2])*),
            beat!($([add $set c d])* $([add $set a m3])*),
            beat!($([xor $set b c])* $([order $set m0 0] [pick $set m0 n3 n1])*),
            beat!($([ror $set b 12])*),
            beat!($([order $set m1 1] [pick $set m1 n3 n1])*),
            $(beat!$idle,)*
            beat!($([add $set a b])*),
            beat!($([xor $set d a])* $([order $set m2 2] [pick $set m2 s n0])*),
            beat!($([ror $set d 8])*),
            beat!($([order $set m3 3] [pick $set m3 s n0])*),
            beat!($([add $set c d])*),
            beat!($([xor $set b c])* $([rotate_words $set d 0x4e])*),
            beat!($([ror $set b 7])*),
            beat!($([rotate_words $set a 0x39] [rotate_words $set c 0x93])*),
        )
    };
}

macro_rules! rounds {
    ($idle:tt [$($set:literal: $($lane:literal)*,)*]) => {
        concat!(
            "mov r10d,3\n lfence\n .p2align 6\n 3:\n",
            round!([$($set)*] $idle m0 m1 m2 m3, n0 n1 n2 n3),
            round!([$($set)*] $idle n0 n1 n2 n3, m0 m1 m2 m3),
            "dec r10d\n jnz 3b\n",
            last_round!([$($set: $($lane)*,)*] $idle),
        )
    };
}

/// The message of the first round of the first block, for which nothing waits to be interleaved with.
macro_rules! arrange {
    ($set:literal: $lane0:literal $lane1:literal $lane2:literal $lane3:literal) => {
        concat!(
            op!(at $lane0), op!(load $set n0), op!(at $lane1), op!(load $set n1),
            op!(at $lane2), op!(load $set n2), op!(at $lane3), op!(load $set n3),
            op!(even $set s n0 n1), op!(odd $set n0 n0 n1),
            op!(even $set n1 n2 n3), op!(odd $set n2 n2 n3),
            op!(even $set n3 s n1), op!(odd $set s s n1),
            op!(even $set n1 n0 n2), op!(odd $set n0 n0 n2),
            op!(order $set m0 0), op!(pick $set m0 n3 n1), op!(order $set m1 1), op!(pick $set m1 n3 n1),
            op!(order $set m2 2), op!(pick $set m2 s n0), op!(order $set m3 3), op!(pick $set m3 s n0),
        )
    };
}

/// The blocks of these sets, with their bytes a row in [`RowOperands`](super::vector::RowOperands) and their lanes.
macro_rules! body {
    ($bytes:literal $idle:tt
     $($set:literal: $($lane:literal)*;)* $($register:ident = $n:literal)*) => {
        naked_asm!(
            "lea r11,[rip+{orders}]",
            "vmovdqa64 zmm24,[r11+64*8]\n vmovdqa64 zmm25,[r11+64*9]\n vmovdqa64 zmm26,[r11+64*10]",
            $(concat!("vmovdqa64 ", zmm!($set a), ",[rdi+64*", $set, "]"),
            concat!("vmovdqa64 ", zmm!($set b), ",[rdi+", $bytes, "+64*", $set, "]"),
            arrange!($set: $($lane)*),)*
            concat!("lea r9,[rdi+2*", $bytes, "]"),
            ".p2align 6",
            "2:",
            // What is loaded during the last block is that block again.
            "lea rax,[rdx+64]\n cmp rcx,1\n cmova rdx,rax",
            $(concat!("vbroadcasti32x4 ", zmm!($set c), ",[rip+{iv}]"),
            concat!("vmovdqa64 ", zmm!($set d), ",[r9+64*", $set, "]"),
            op!(add $set a m0),)*
            rounds!($idle [$($set: $($lane)*,)*]),
            $(op!(xor $set a c), op!(xor $set b d),)*
            // The tail of the blocks between, or of the last.
            concat!("lea r9,[rdi+3*", $bytes, "]\n lea rax,[rdi+4*", $bytes, "]"),
            "cmp rcx,2\n cmove r9,rax\n dec rcx\n jnz 2b",
            $(concat!("vmovdqa64 [rdi+64*", $set, "],", zmm!($set a)),
            concat!("vmovdqa64 [rdi+", $bytes, "+64*", $set, "],", zmm!($set b)),)*
            "vzeroupper\n ret",
            orders = sym ORDERS,
            iv = sym IV,
            // From the block after this one on, which is where `rdx` is by then.
            ahead = const (AHEAD - 1) * BLOCK_LEN,
            $($register = const $n,)*
        )
    };
}

/// Compresses blocks of four lanes, as [`RowVector::blocks`](super::vector::RowVector::blocks) says.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers; the bytes are readable.
#[unsafe(naked)]
pub(in crate::kernel) unsafe extern "sysv64" fn blocks_4(
    operands: *mut [__m512i; 5],
    inputs: *const [*const u8; 4],
    offset: usize,
    count: usize,
) {
    body!(
        64 []
        0: 0 1 2 3;
        a0 = 0 b0 = 1 c0 = 2 d0 = 3 m00 = 4 m10 = 5 m20 = 6 m30 = 7
        n00 = 8 n10 = 9 n20 = 10 n30 = 11 s0 = 27
    )
}

/// The same of eight lanes.
#[unsafe(naked)]
pub(in crate::kernel) unsafe extern "sysv64" fn blocks_8(
    operands: *mut [[__m512i; 2]; 5],
    inputs: *const [*const u8; 8],
    offset: usize,
    count: usize,
) {
    body!(
        128 [() ()]
        0: 0 1 2 3;
        1: 4 5 6 7;
        a0 = 0 b0 = 1 c0 = 2 d0 = 3 m00 = 4 m10 = 5 m20 = 6 m30 = 7
        n00 = 8 n10 = 9 n20 = 10 n30 = 11 s0 = 27
        a1 = 12 b1 = 13 c1 = 14 d1 = 15 m01 = 16 m11 = 17 m21 = 18 m31 = 19
        n01 = 20 n11 = 21 n21 = 22 n31 = 23 s1 = 28
    )
}
