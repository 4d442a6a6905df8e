//! Runs (see `blocks.rs`) of sixteen lanes and of eight with the 32 registers of AVX-512.
//!
//! Of sixteen lanes the next block is transposed while this one is compressed: that needs one port of the
//! two, and would leave the other idle. Of eight it is not, as three ports take vectors of 256 bits: the
//! message stays in registers instead, and so do the addresses of the inputs. Single compressions of eight lanes are
//! here too, as compiled code around them has the registers of AVX2 only (`avx2.rs`), and extended output of sixteen,
//! where compilers keep part of the message in memory.
//!
//! The functions are naked, with the System V calling convention on every platform, as in `avx512_pair.rs`.
//! Word `w` of every array is one vector, aligned to its size.

use core::arch::naked_asm;

use crate::kernel::x86_64::assembly::{
    IV, blocks_routine, fold, high_words, interleave, isa, iv, load, next_flags, pair, rounds,
    routine, store,
};
use crate::spec::{BLOCK_LEN, IV as WORDS, Words};

/// Half of the bytes of one register from each of two lanes, at this place of their next block. Some also
/// fetch: the block after that one, or what is at the same place of two later nodes.
macro_rules! half {
    (16 $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            "mov rax,[rcx+8*", $lane, "]\n vmovdqu32 ymm", $to, ",[rax+r11+", $at, "]\n",
            "mov rax,[rcx+8*", $other, "]\n",
            "vinserti64x4 zmm", $to, ",zmm", $to, ",[rax+r11+", $at, "],1\n",
        )
    };
    (16 near $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            half!(16 $to $at $lane $other),
            "prefetcht0 [rax+r11+128]\n mov rax,[rcx+8*", $lane, "]\n prefetcht0 [rax+r11+128]\n",
        )
    };
    (16 far $to:literal $at:literal $lane:literal $other:literal) => {
        concat!(
            half!(16 $to $at $lane $other),
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
        $with!([zmm] [] [
            [half!(16 near 16 0 0 4), half!(16 near 17 0 1 5), half!(16 near 18 0 2 6),
             half!(16 near 19 0 3 7), half!(16 near 20 0 8 12), half!(16 near 21 0 9 13),
             half!(16 near 22 0 10 14), half!(16 near 23 0 11 15)]
            [interleave!([zmm] 1: 24 25 16 17), interleave!([zmm] 1: 26 27 18 19), interleave!([zmm] 1: 28 29 20 21),
             interleave!([zmm] 1: 30 31 22 23), interleave!([zmm] 2: 16 17 24 26), interleave!([zmm] 2: 18 19 25 27),
             interleave!([zmm] 2: 20 21 28 30), interleave!([zmm] 2: 22 23 29 31)]
            [interleave!([zmm] 4: 24 28 16 20), interleave!([zmm] 4: 25 29 17 21), interleave!([zmm] 4: 26 30 18 22),
             interleave!([zmm] 4: 27 31 19 23), word!(0 24), word!(1 25),
             word!(2 26), word!(3 27)]
            [word!(4 28), word!(5 29), word!(6 30),
             word!(7 31), half!(16 far 16 32 0 4), half!(16 far 17 32 1 5),
             half!(16 far 18 32 2 6), half!(16 far 19 32 3 7)]
            [half!(16 far 20 32 8 12), half!(16 far 21 32 9 13), half!(16 far 22 32 10 14),
             half!(16 far 23 32 11 15), interleave!([zmm] 1: 24 25 16 17), interleave!([zmm] 1: 26 27 18 19),
             interleave!([zmm] 1: 28 29 20 21), interleave!([zmm] 1: 30 31 22 23)]
            [interleave!([zmm] 2: 16 17 24 26), interleave!([zmm] 2: 18 19 25 27), interleave!([zmm] 2: 20 21 28 30),
             interleave!([zmm] 2: 22 23 29 31), interleave!([zmm] 4: 24 28 16 20), interleave!([zmm] 4: 25 29 17 21),
             interleave!([zmm] 4: 26 30 18 22), interleave!([zmm] 4: 27 31 19 23)]
            [word!(8 24), word!(9 25), word!(10 26),
             word!(11 27), word!(12 28), word!(13 29),
             word!(14 30), word!(15 31)]
        ]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
}

/// All that [`next_16`] lists, without rounds.
macro_rules! at_once {
    ($isa:tt $kept:tt [$([$($step:expr),*])*]; $($m:literal)*) => {
        concat!($($($step,)*)*)
    };
}

/// Half of the message of sixteen lanes, where it is in the blocks, and the registers of its words.
macro_rules! half_16 {
    ($kind:ident $at:literal [$a:literal $b:literal $c:literal $d:literal
        $e:literal $f:literal $g:literal $h:literal]) => {
        concat!(
            half!(16 $kind 8 $at 0 4), half!(16 $kind 9 $at 1 5), half!(16 $kind 10 $at 2 6),
            half!(16 $kind 11 $at 3 7), half!(16 $kind 12 $at 8 12), half!(16 $kind 13 $at 9 13),
            half!(16 $kind 14 $at 10 14), half!(16 $kind 15 $at 11 15),
            interleave!([zmm] 1: $a $b 8 9, $c $d 10 11, $e $f 12 13, $g $h 14 15),
            interleave!([zmm] 2: 8 9 $a $c, 10 11 $b $d, 12 13 $e $g, 14 15 $f $h),
            interleave!([zmm] 4: $a $e 8 12, $b $f 9 13, $c $g 10 14, $d $h 11 15),
        )
    };
}

/// The message of eight lanes: for each quarter of the block the registers of its words, four to spare, and
/// where it is.
macro_rules! message_8 {
    ($([$a:literal $b:literal $c:literal $d:literal
        $e:literal $f:literal $g:literal $h:literal] $at:literal,)*) => {
        concat!($(
            half!(8 $a $at "rbx" "rdi"), half!(8 $b $at "rbp" "r9"),
            half!(8 $c $at "r12" "r10"), half!(8 $d $at "rsi" "rcx"),
            interleave!([ymm] 1: $e $f $a $b), interleave!([ymm] 1: $g $h $c $d),
            interleave!([ymm] 2: $a $b $e $g), interleave!([ymm] 2: $c $d $f $h),
        )*)
    };
}

/// The rest of the state, where a block begins whose message is in registers. (Words that are not loaded take a
/// shuffle each, and those all have one port.)
macro_rules! begin {
    ($isa:tt) => {
        concat!(
            load!($isa "rdx" 0 12, 1 13, 2 14, 3 15,),
            isa!($isa splat 8 "[rip+{iv}]"), isa!($isa splat 9 "[rip+{iv}+4]"),
            isa!($isa splat 10 "[rip+{iv}+8]"), isa!($isa splat 11 "[rip+{iv}+12]"),
        )
    };
}

/// Words at `base`, each to all lanes of a register.
macro_rules! splats {
    ($base:literal $($w:literal $to:literal,)*) => {
        concat!($(isa!([zmm] splat $to concat!("[", $base, "+4*", $w, "]")),)*)
    };
}

macro_rules! body {
    ($isa:tt $($high:expr)?) => {
        naked_asm!(
            load!($isa "rsi" 0 16, 1 17, 2 18, 3 19, 4 20, 5 21, 6 22, 7 23,
                8 24, 9 25, 10 26, 11 27, 12 28, 13 29, 14 30, 15 31,),
            load!($isa "rdi"),
            begin!($isa),
            rounds!($isa [] [[] [] [] [] [] [] []]; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
            fold!($isa),
            store!($isa "rcx"),
            $($high,)?
            "vzeroupper\n ret",
            iv = sym IV,
        )
    };
}

routine!([ymm] "AVX-512F and VL, and the OS saves its registers": compress_8);
routine!([ymm] "AVX-512F and VL, and the OS saves its registers": compress_xof_8 high_words!([ymm]));

blocks_routine!(
    /// Compresses `steps` blocks of sixteen lanes as `Blocks` says.
    blocks_16 ahead:
    // rsi this message, r10 the next one, rdx what follows the messages, rcx inputs, r9 ahead, r8 steps that
    // are left, r11 where the next block is.
    "mov r11,r9\n mov r9,rcx\n mov rcx,rdx\n lea rdx,[rsi+64*32]\n mov r10,rsi\n lea rsi,[rsi+64*16]",
    load!([zmm] "rdi"),
    next_16!(at_once),
    "2:",
    "xchg rsi,r10",
    // There is no block after the last: the first is read again.
    "add r11,64\n xor eax,eax\n cmp r8,1\n cmove r11,rax",
    load!([zmm] "rdx" 0 12, 1 13, 2 14, 3 15,),
    iv!([zmm] 0 8, 1 9, 2 10, 3 11,),
    next_16!(rounds),
    fold!([zmm]),
    next_flags!([zmm] 16),
    "dec r8\n jnz 2b",
    store!([zmm] "rdi"),
    "vzeroupper\n ret",
    iv0 = const WORDS[0], iv1 = const WORDS[1], iv2 = const WORDS[2], iv3 = const WORDS[3],
);

blocks_routine!(
    /// The same with the message in registers, for CPUs where loads of 512 bits are dear (`results/gnr-2vcpu/limits.md#16-lanes`).
    /// The next one's first half takes the places of words that the last round has done with.
    blocks_16_held ahead:
    // rdx what follows the messages, rcx inputs, r9 ahead, r8 steps that are left, r11 where the block is.
    "mov r11,r9\n mov r9,rcx\n mov rcx,rdx\n lea rdx,[rsi+64*32]",
    load!([zmm] "rdi"),
    half_16!(near 0 [16 17 18 19 20 21 22 23]),
    "2:",
    half_16!(far 32 [24 25 26 27 28 29 30 31]),
    begin!([zmm]),
    // There is no block after the last: the first is read again.
    "add r11,64\n xor eax,eax\n cmp r8,1\n cmove r11,rax",
    rounds!([zmm held] [] [[] [] [] [] [] [] [
        "",
        concat!(half!(16 near 17 0 0 4), half!(16 near 24 0 1 5), half!(16 near 27 0 2 6), half!(16 near 21 0 3 7)),
        concat!(half!(16 near 16 0 8 12), half!(16 near 31 0 9 13)),
        concat!(half!(16 near 25 0 10 14), half!(16 near 22 0 11 15)),
        interleave!([zmm] 1: 23 24 17 24, 30 17 27 21),
        interleave!([zmm] 1: 19 18 16 31, 16 31 25 22),
        interleave!([zmm] 2: 27 25 23 30, 22 24 24 17),
        interleave!([zmm] 2: 26 29 19 16, 19 30 18 31)
    ]]; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
    fold!([zmm]),
    interleave!([zmm] 4: 16 20 27 26, 17 21 25 29, 18 22 22 19, 19 23 24 30),
    next_flags!([zmm] 8),
    "dec r8\n jnz 2b",
    store!([zmm] "rdi"),
    "vzeroupper\n ret",
    iv = sym IV,
);

blocks_routine!(
    /// The same for eight lanes, but that nothing is fetched: groups after one of eight lanes are rare.
    blocks_8 _ahead:
    // rdx what follows the messages, r8 steps that are left, r11 where the block is; inputs in the others.
    "push rbx\n push rbp\n push r12\n push rdi",
    load!([ymm] "rdi"),
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
    rounds!([ymm] [] [[] [] [] [] [] [] []]; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
    fold!([ymm]),
    next_flags!([ymm] 16),
    "add r11,64\n dec r8\n jnz 2b",
    "pop rdi\n pop r12\n pop rbp\n pop rbx",
    store!([ymm] "rdi"),
    "vzeroupper\n ret",
    iv = sym IV,
);

/// All words of output of sixteen lanes by the chaining value and the block of the root.
///
/// # Safety
/// The CPU has AVX-512F and AVX-512VL, and the OS saves its registers; `tail` is four vectors of 512 bits, `out` has
/// room for sixteen, and is not `cv`, which is read again when half of it is written.
#[unsafe(naked)]
pub(in crate::kernel) unsafe extern "sysv64" fn output_16(
    cv: *const Words,
    block: *const [u8; BLOCK_LEN],
    tail: *const u8,
    out: *mut u8,
) {
    naked_asm!(
        splats!("rsi" 0 16, 1 17, 2 18, 3 19, 4 20, 5 21, 6 22, 7 23,
            8 24, 9 25, 10 26, 11 27, 12 28, 13 29, 14 30, 15 31,),
        splats!("rdi" 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,),
        begin!([zmm held]),
        rounds!([zmm held] [] [[] [] [] [] [] [] []]; 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31),
        fold!([zmm held]),
        store!([zmm] "rcx"),
        splats!("rdi" 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,),
        fold!([zmm held] 8 0, 9 1, 10 2, 11 3, 12 4, 13 5, 14 6, 15 7,),
        store!([zmm] "rcx" 8 8, 9 9, 10 10, 11 11, 12 12, 13 13, 14 14, 15 15,),
        "vzeroupper\n ret",
        iv = sym IV,
    )
}
