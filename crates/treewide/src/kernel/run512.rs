//! Runs (see `run.rs`) of sixteen lanes and of eight with the 32 registers of AVX-512.
//!
//! Of sixteen lanes the next block is transposed while this one is compressed: that needs one port of the
//! two, and would leave the other idle. Of eight it is not, as three ports take vectors of 256 bits: the
//! message stays in registers instead, and so do the addresses of the inputs.
//!
//! The functions are naked, with the System V calling convention on every platform, as in `rounds32.rs`.
//! Word `w` of every array is one vector, aligned to its size.

use core::arch::naked_asm;

use super::assembly::{fold, isa, load, next_flags, store};
use crate::spec::IV;

/// A word of the message: in memory, or in a register.
macro_rules! message {
    ([zmm] $m:literal) => { concat!("[rsi+64*", $m, "]") };
    ([ymm] $m:literal) => { isa!([ymm] register $m) };
}

/// Half of the bytes of one register from each of two lanes, at this place of their next block. Some also
/// fetch: the block after that one, or what is at the same place of two later nodes.
macro_rules! row {
    (16 $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            "mov rax,[rcx+8*", $lane, "]\n vmovdqu32 ymm", $to, ",[rax+r11+", $at, "]\n",
            "mov rax,[rcx+8*", $other, "]\n",
            "vinserti64x4 zmm", $to, ",zmm", $to, ",[rax+r11+", $at, "],1\n",
        )
    };
    (16 near $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            row!(16 $to $at $lane $other),
            "prefetcht0 [rax+r11+128]\n mov rax,[rcx+8*", $lane, "]\n prefetcht0 [rax+r11+128]\n",
        )
    };
    (16 far $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            row!(16 $to $at $lane $other),
            "mov rax,[r9+8*", $lane, "]\n prefetcht1 [rax+r11]\n",
            "mov rax,[r9+8*", $other, "]\n prefetcht1 [rax+r11]\n",
        )
    };
    (8 $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            "vmovdqu32 xmm", $to, ",[", $lane, "+r11+", $at, "]\n",
            "vinserti32x4 ymm", $to, ",ymm", $to, ",[", $other, "+r11+", $at, "],1\n",
        )
    };
}

/// The words of registers `a` and `b`, by turns, in two others: by ones, by twos, or by fours.
macro_rules! turns {
    ($isa:tt 1 $low:literal $high:literal $a:literal $b:literal) => {
        concat!(
            isa!($isa "vpunpckldq" $low $a isa!($isa register $b)),
            isa!($isa "vpunpckhdq" $high $a isa!($isa register $b)),
        )
    };
    ($isa:tt 2 $low:literal $high:literal $a:literal $b:literal) => {
        concat!(
            isa!($isa "vpunpcklqdq" $low $a isa!($isa register $b)),
            isa!($isa "vpunpckhqdq" $high $a isa!($isa register $b)),
        )
    };
    // Even parts of 128 bits of both, odd parts of both.
    ($isa:tt 4 $low:literal $high:literal $a:literal $b:literal) => {
        concat!(
            isa!($isa "vshufi32x4" $low $a concat!(isa!($isa register $b), ",0x88")),
            isa!($isa "vshufi32x4" $high $a concat!(isa!($isa register $b), ",0xdd")),
        )
    };
}

/// One message addition and what follows it in G, up to the second rotation, for two columns or
/// diagonals.
macro_rules! pair {
    ($isa:tt $r1:literal $r2:literal $($a:literal $b:literal $c:literal $d:literal $m:literal,)*) => {
        concat!(
            $(isa!($isa "vpaddd" $a $a message!($isa $m)),)*
            $(isa!($isa "vpaddd" $a $a isa!($isa register $b)),)*
            $(isa!($isa "vpxord" $d $d isa!($isa register $a)),)*
            $(concat!("vprord ", isa!($isa register $d), ",", isa!($isa register $d), ",", $r1, "\n"),)*
            $(isa!($isa "vpaddd" $c $c isa!($isa register $d)),)*
            $(isa!($isa "vpxord" $b $b isa!($isa register $c)),)*
            $(concat!("vprord ", isa!($isa register $b), ",", isa!($isa register $b), ",", $r2, "\n"),)*
        )
    };
}

macro_rules! rounds {
    // One round for each list of what is done between, the message words permuted between rounds (table
    // 2 of the paper).
    ($isa:tt []; $($m:literal)*) => { "" };
    ($isa:tt [[] $($more:tt)*]; $($m:literal)*) => {
        rounds!($isa [["", "", "", "", "", "", "", ""] $($more)*]; $($m)*)
    };
    ($isa:tt [[$b0:expr, $b1:expr, $b2:expr, $b3:expr, $b4:expr, $b5:expr, $b6:expr, $b7:expr] $($more:tt)*];
     $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal $m6:literal $m7:literal
     $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal $m13:literal $m14:literal $m15:literal) => {
        concat!(
            pair!($isa 16 12 0 4 8 12 $m0, 1 5 9 13 $m2,), $b0,
            pair!($isa 16 12 2 6 10 14 $m4, 3 7 11 15 $m6,), $b1,
            pair!($isa 8 7 0 4 8 12 $m1, 1 5 9 13 $m3,), $b2,
            pair!($isa 8 7 2 6 10 14 $m5, 3 7 11 15 $m7,), $b3,
            pair!($isa 16 12 3 4 9 14 $m14, 0 5 10 15 $m8,), $b4,
            pair!($isa 16 12 1 6 11 12 $m10, 2 7 8 13 $m12,), $b5,
            pair!($isa 8 7 3 4 9 14 $m15, 0 5 10 15 $m9,), $b6,
            pair!($isa 8 7 1 6 11 12 $m11, 2 7 8 13 $m13,), $b7,
            rounds!($isa [$($more)*]; $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

/// The first words of the initialisation vector.
macro_rules! iv {
    ($isa:tt $($i:literal $r:literal,)*) => {
        concat!($("mov eax,{iv", $i, "}\n vpbroadcastd ", isa!($isa register $r), ",eax\n",)*)
    };
}

/// A word of the next message of sixteen lanes.
macro_rules! word {
    ($word:literal $from:literal) => {
        isa!([zmm] move concat!("[r10+64*", $word, "]"), isa!([zmm] register $from))
    };
}

/// What orders the next message of sixteen lanes, by `$with`, in lists of eight for a round each: first the
/// words of one half of the block, then those of the other.
macro_rules! next_16 {
    ($with:ident) => {
        $with!([zmm] [
            [row!(16 near 16 0 0 4), row!(16 near 17 0 1 5), row!(16 near 18 0 2 6),
             row!(16 near 19 0 3 7), row!(16 near 20 0 8 12), row!(16 near 21 0 9 13),
             row!(16 near 22 0 10 14), row!(16 near 23 0 11 15)]
            [turns!([zmm] 1 24 25 16 17), turns!([zmm] 1 26 27 18 19), turns!([zmm] 1 28 29 20 21),
             turns!([zmm] 1 30 31 22 23), turns!([zmm] 2 16 17 24 26), turns!([zmm] 2 18 19 25 27),
             turns!([zmm] 2 20 21 28 30), turns!([zmm] 2 22 23 29 31)]
            [turns!([zmm] 4 24 28 16 20), turns!([zmm] 4 25 29 17 21), turns!([zmm] 4 26 30 18 22),
             turns!([zmm] 4 27 31 19 23), word!(0 24), word!(1 25),
             word!(2 26), word!(3 27)]
            [word!(4 28), word!(5 29), word!(6 30),
             word!(7 31), row!(16 far 16 32 0 4), row!(16 far 17 32 1 5),
             row!(16 far 18 32 2 6), row!(16 far 19 32 3 7)]
            [row!(16 far 20 32 8 12), row!(16 far 21 32 9 13), row!(16 far 22 32 10 14),
             row!(16 far 23 32 11 15), turns!([zmm] 1 24 25 16 17), turns!([zmm] 1 26 27 18 19),
             turns!([zmm] 1 28 29 20 21), turns!([zmm] 1 30 31 22 23)]
            [turns!([zmm] 2 16 17 24 26), turns!([zmm] 2 18 19 25 27), turns!([zmm] 2 20 21 28 30),
             turns!([zmm] 2 22 23 29 31), turns!([zmm] 4 24 28 16 20), turns!([zmm] 4 25 29 17 21),
             turns!([zmm] 4 26 30 18 22), turns!([zmm] 4 27 31 19 23)]
            [word!(8 24), word!(9 25), word!(10 26),
             word!(11 27), word!(12 28), word!(13 29),
             word!(14 30), word!(15 31)]
        ]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
}

/// All that [`next_16`] lists, without rounds.
macro_rules! at_once {
    ($isa:tt [$([$($step:expr),*])*]; $($m:literal)*) => {
        concat!($($($step,)*)*)
    };
}

/// The message of eight lanes: for each quarter of the block the registers of its words, four to spare, and
/// where it is.
macro_rules! message_8 {
    ($([$a:literal $b:literal $c:literal $d:literal
        $e:literal $f:literal $g:literal $h:literal] $at:literal,)*) => {
        concat!($(
            row!(8 $a $at "rbx" "rdi"), row!(8 $b $at "rbp" "r9"),
            row!(8 $c $at "r12" "r10"), row!(8 $d $at "rsi" "rcx"),
            turns!([ymm] 1 $e $f $a $b), turns!([ymm] 1 $g $h $c $d),
            turns!([ymm] 2 $a $b $e $g), turns!([ymm] 2 $c $d $f $h),
        )*)
    };
}

/// The rest of the state, where a block begins, for the rounds.
macro_rules! begin {
    ($isa:tt) => {
        concat!(
            load!($isa "rdx" 0 12, 1 13, 2 14, 3 15,),
            iv!($isa 0 8, 1 9, 2 10, 3 11,),
        )
    };
}

/// Compresses `steps` blocks of sixteen lanes as `run::Run` says.
///
/// # Safety
/// The CPU has AVX-512F and AVX-512VL, and the OS saves its registers; the blocks are readable; `cv` and
/// `operands` are vectors of 512 bits, as [`run`](super::run::run) has them.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn run_16(
    cv: *mut u8,
    operands: *mut u8,
    inputs: *const *const u8,
    ahead: *const *const u8,
    steps: usize,
    offset: usize,
) {
    // rsi this message, r10 the next one, rdx what follows the messages, rcx inputs, r9 ahead, r8 steps that
    // are left, r11 where the next block is.
    naked_asm!(
        "mov r11,r9\n mov r9,rcx\n mov rcx,rdx\n lea rdx,[rsi+64*32]\n mov r10,rsi\n lea rsi,[rsi+64*16]",
        load!([zmm] "rdi" 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,),
        next_16!(at_once),
        "2:",
        "xchg rsi,r10",
        // There is no block after the last: the first is read again.
        "add r11,64\n xor eax,eax\n cmp r8,1\n cmove r11,rax",
        begin!([zmm]),
        next_16!(rounds),
        fold!([zmm]),
        next_flags!([zmm] 16),
        "dec r8\n jnz 2b",
        store!([zmm] "rdi" 0 1 2 3 4 5 6 7),
        "vzeroupper\n ret",
        iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
    )
}

/// The same for eight lanes, but that nothing is fetched: groups after one of eight lanes are rare.
///
/// # Safety
/// As for [`run_16`], with vectors of 256 bits.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn run_8(
    cv: *mut u8,
    operands: *mut u8,
    inputs: *const *const u8,
    _ahead: *const *const u8,
    steps: usize,
    offset: usize,
) {
    // rdx what follows the messages, r8 steps that are left, r11 where the block is; inputs in the others.
    naked_asm!(
        "push rbx\n push rbp\n push r12\n push rdi",
        load!([ymm] "rdi" 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,),
        "mov rcx,rdx\n lea rdx,[rsi+32*32]\n mov r11,r9",
        "mov rbx,[rcx]\n mov rbp,[rcx+8]\n mov r12,[rcx+16]\n mov rsi,[rcx+24]",
        "mov rdi,[rcx+32]\n mov r9,[rcx+40]\n mov r10,[rcx+48]\n mov rcx,[rcx+56]",
        "2:",
        message_8!(
            [16 17 18 19 8 9 10 11] 0,
            [20 21 22 23 12 13 14 15] 16,
            [24 25 26 27 8 9 10 11] 32,
            [28 29 30 31 12 13 14 15] 48,
        ),
        begin!([ymm]),
        rounds!([ymm] [[] [] [] [] [] [] []]; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
        fold!([ymm]),
        next_flags!([ymm] 16),
        "add r11,64\n dec r8\n jnz 2b",
        "pop rdi\n pop r12\n pop rbp\n pop rbx",
        store!([ymm] "rdi" 0 1 2 3 4 5 6 7),
        "vzeroupper\n ret",
        iv0 = const IV[0], iv1 = const IV[1], iv2 = const IV[2], iv3 = const IV[3],
    )
}
