//! Rows (see `kernel/rows.rs`) in assembly: one lane, two, and pairs of such states, with SSE4.1 or AVX2.
//!
//! In assembly because a program's debug build compiles this crate without optimisation: there every intrinsic is a
//! call, and a block would take 25 times as long.
//!
//! ```text
//! registers   0 to 3    the rows of the state        in pairs 0 to 3 and 4 to 7
//!             4 to 7    the message of this round    in pairs in memory, this round's and the next one's
//!             8 to 10, 14, 15  what the next one is made of
//!             11        to spare
//!             12, 13    tables of bytes: rotations by 16 and by 8
//! ```

use core::arch::asm;
use core::arch::x86_64::{__m128i, __m256i};
use core::mem::MaybeUninit;

use super::vector::AHEAD;
use crate::kernel::contract::Flags;
use crate::kernel::x86_64::assembly::{BY_8, BY_16, IV, isa};
use crate::spec::{BLOCK_LEN, Words};

/// Words 0 and 1 of every part picked from `a`, 2 and 3 from `b`; `to` is not `b`.
macro_rules! two_of_each {
    ($isa:tt $to:literal $a:literal $b:expr, $pick:literal) => {
        isa!($isa "shufps" $to $a concat!($b, ",", $pick))
    };
}

/// The words of every part in another order.
macro_rules! shuffle {
    ([sse bytes] $to:literal $from:literal $pick:literal) => {
        concat!("pshufd xmm", $to, ",xmm", $from, ",", $pick, "\n")
    };
    ($isa:tt $to:literal $from:literal $pick:literal) => {
        isa!($isa "pshufd" $to $from $pick)
    };
}

/// All words of a part move by one place, two or three. With AVX2 by an instruction that puts bytes of two vectors
/// together, both the same: from Ice Lake on Intel's CPUs have one port for it, where they have two for a shuffle; so the
/// chain finds a port for a shuffle free more often (`results/gnr-2vcpu/limits.md#one-lane`).
macro_rules! turn {
    ([sse bytes] $row:literal 1) => { shuffle!([sse bytes] $row $row 0x39) };
    ([sse bytes] $row:literal 2) => { shuffle!([sse bytes] $row $row 0x4e) };
    ([sse bytes] $row:literal 3) => { shuffle!([sse bytes] $row $row 0x93) };
    ($isa:tt $row:literal $places:literal) => {
        isa!($isa "palignr" $row $row concat!(isa!($isa register $row), ",4*", $places))
    };
}

/// Word 3 of every part of `a` from `b`.
macro_rules! with_last {
    ([avx2] $to:literal $a:literal $b:expr) => { isa!([avx2] "blendps" $to $a concat!($b, ",0x88")) };
    ($isa:tt $to:literal $a:literal $b:expr) => { isa!($isa "blendps" $to $a concat!($b, ",0x8")) };
}

macro_rules! rotate {
    ($isa:tt $row:literal 16) => { isa!($isa "pshufb" $row isa!($isa register 12)) };
    ($isa:tt $row:literal 8) => { isa!($isa "pshufb" $row isa!($isa register 13)) };
    ($isa:tt $row:literal $by:tt) => { isa!($isa rotate $row $by) };
}

/// Half of G on the four columns or diagonals of each state: rows a to d and the message.
macro_rules! half_g {
    ($isa:tt $by_d:tt $by_b:tt: $($a:literal $b:literal $c:literal $d:literal $m:expr),*) => {
        concat!(
            $(isa!($isa "paddd" $a $m),)*
            $(isa!($isa "paddd" $a isa!($isa register $b)),)*
            $(isa!($isa "pxor" $d isa!($isa register $a)),)*
            $(rotate!($isa $d $by_d),)*
            $(isa!($isa "paddd" $c isa!($isa register $d)),)*
            $(isa!($isa "pxor" $b isa!($isa register $c)),)*
            $(rotate!($isa $b $by_b),)*
        )
    };
}

/// Rotates rows so that what were diagonals are columns; row 1, which is computed last, stays.
macro_rules! to_diagonals {
    ($isa:tt $($a:literal $c:literal $d:literal),*) => {
        concat!($(turn!($isa $a 3),)* $(turn!($isa $d 2),)* $(turn!($isa $c 1),)*)
    };
}

/// The inverse.
macro_rules! to_columns {
    ($isa:tt $($a:literal $c:literal $d:literal),*) => {
        concat!($(turn!($isa $a 1),)* $(turn!($isa $d 2),)* $(turn!($isa $c 3),)*)
    };
}

/// A round of one state, with the steps between columns and diagonals, and at the end.
macro_rules! round {
    ($isa:tt $between:expr, $end:expr) => {
        concat!(
            half_g!($isa 16 12: 0 1 2 3 isa!($isa register 4)),
            half_g!($isa 8 7: 0 1 2 3 isa!($isa register 5)),
            to_diagonals!($isa 0 2 3),
            $between,
            half_g!($isa 16 12: 0 1 2 3 isa!($isa register 6)),
            half_g!($isa 8 7: 0 1 2 3 isa!($isa register 7)),
            to_columns!($isa 0 2 3),
            $end,
        )
    };
}

/// The message of the next round (table 2 of the paper), of
/// `0 2 4 6`, `1 3 5 7`, `14 8 10 12` and `15 9 11 13`; [`settle`] puts its words in order.
macro_rules! mix {
    ($isa:tt) => {
        concat!(
            two_of_each!($isa 8 4 isa!($isa register 5), 0xd9), // 2 4 3 7
            with_last!($isa 11 6 isa!($isa register 7)),
            two_of_each!($isa 9 4 isa!($isa register 11), 0xe3), // 6 0 10 13
            with_last!($isa 11 5 isa!($isa register 6)),
            two_of_each!($isa 10 7 isa!($isa register 11), 0xc4), // 15 9 1 12
            isa!($isa "unpckhps" 11 7 isa!($isa register 5)),
            two_of_each!($isa 15 6 isa!($isa register 11), 0x41), // 8 14 11 5
        )
    };
}

macro_rules! settle {
    ($isa:tt) => {
        concat!(
            shuffle!($isa 4 8 0x78), // 2 3 7 4
            shuffle!($isa 5 9 0xd8), // 6 10 0 13
            shuffle!($isa 6 10 0x78), // 15 1 12 9
            shuffle!($isa 7 15 0x78), // 8 11 5 14
        )
    };
}

/// The seven rounds of one state. Uses `eax`.
macro_rules! rounds {
    ($isa:tt) => {
        concat!(
            "mov eax,6\n .p2align 4\n 3:\n",
            round!($isa mix!($isa), settle!($isa)),
            "dec eax\n jnz 3b\n",
            round!($isa "", ""),
        )
    };
}

/// A row in memory.
macro_rules! row {
    ($isa:tt $base:literal $n:literal) => { concat!("[", $base, "+", isa!($isa size), "*", $n, "]") };
}

/// The first half of [`mix`] and [`settle`], of four rows in memory to two.
macro_rules! next_columns {
    ($isa:tt $base:literal [$m0:literal $m1:literal $m2:literal $m3:literal] $n0:literal $n1:literal) => {
        concat!(
            isa!($isa move isa!($isa register 8), row!($isa $base $m0)),
            isa!($isa move isa!($isa register 9), row!($isa $base $m2)),
            two_of_each!($isa 10 8 row!($isa $base $m1), 0xd9),
            with_last!($isa 11 9 row!($isa $base $m3)),
            shuffle!($isa 10 10 0x78),
            two_of_each!($isa 9 8 isa!($isa register 11), 0xe3),
            isa!($isa move row!($isa $base $n0), isa!($isa register 10)),
            shuffle!($isa 9 9 0xd8),
            isa!($isa move row!($isa $base $n1), isa!($isa register 9)),
        )
    };
}

/// The other half.
macro_rules! next_diagonals {
    ($isa:tt $base:literal [$m0:literal $m1:literal $m2:literal $m3:literal] $n2:literal $n3:literal) => {
        concat!(
            isa!($isa move isa!($isa register 8), row!($isa $base $m1)),
            isa!($isa move isa!($isa register 9), row!($isa $base $m3)),
            with_last!($isa 10 8 row!($isa $base $m2)),
            isa!($isa "unpckhps" 11 9 isa!($isa register 8)),
            isa!($isa move isa!($isa register 8), row!($isa $base $m2)),
            two_of_each!($isa 14 9 isa!($isa register 10), 0xc4),
            two_of_each!($isa 15 8 isa!($isa register 11), 0x41),
            shuffle!($isa 14 14 0x78),
            shuffle!($isa 15 15 0x78),
            isa!($isa move row!($isa $base $n2), isa!($isa register 14)),
            isa!($isa move row!($isa $base $n3), isa!($isa register 15)),
        )
    };
}

/// A round of two states side by side, each fills the waiting of the other. Half of the next message is made where
/// the columns wait, half where the diagonals do (`kernel/rows.rs`).
macro_rules! paired_round {
    ($isa:tt $base:literal [$m0:literal $m1:literal $m2:literal $m3:literal]
     [$k0:literal $k1:literal $k2:literal $k3:literal] by $columns:expr, $diagonals:expr) => {
        concat!(
            half_g!($isa 16 12: 0 1 2 3 row!($isa $base $m0), 4 5 6 7 row!($isa $base $k0)),
            $columns,
            half_g!($isa 8 7: 0 1 2 3 row!($isa $base $m1), 4 5 6 7 row!($isa $base $k1)),
            to_diagonals!($isa 0 2 3, 4 6 7),
            half_g!($isa 16 12: 0 1 2 3 row!($isa $base $m2), 4 5 6 7 row!($isa $base $k2)),
            $diagonals,
            half_g!($isa 8 7: 0 1 2 3 row!($isa $base $m3), 4 5 6 7 row!($isa $base $k3)),
            to_columns!($isa 0 2 3, 4 6 7),
        )
    };
    ($isa:tt $base:literal $m:tt $k:tt to [$n0:literal $n1:literal $n2:literal $n3:literal]
     [$l0:literal $l1:literal $l2:literal $l3:literal]) => {
        paired_round!($isa $base $m $k by
            concat!(next_columns!($isa $base $m $n0 $n1), next_columns!($isa $base $k $l0 $l1)),
            concat!(next_diagonals!($isa $base $m $n2 $n3), next_diagonals!($isa $base $k $l2 $l3)))
    };
}

/// The seven rounds of a pair of states. The messages are in memory, of this round and of the next one alternately:
/// [`MESSAGES`] rows. Uses `eax`.
macro_rules! paired_rounds {
    ($isa:tt $base:literal) => {
        concat!(
            "mov eax,3\n .p2align 4\n 3:\n",
            paired_round!($isa $base [0 1 2 3] [4 5 6 7] to [8 9 10 11] [12 13 14 15]),
            paired_round!($isa $base [8 9 10 11] [12 13 14 15] to [0 1 2 3] [4 5 6 7]),
            "dec eax\n jnz 3b\n",
            paired_round!($isa $base [0 1 2 3] [4 5 6 7] by "", ""),
        )
    };
}
const MESSAGES: usize = 16;

/// 16 bytes of each lane to a register, from these addresses.
macro_rules! part {
    ([sse bytes] $to:literal [$lane:literal] $at:literal) => { concat!("movdqu xmm", $to, ",[", $lane, "+", $at, "]\n") };
    ([avx] $to:literal $lanes:tt $at:literal) => { concat!("v", part!([sse bytes] $to $lanes $at)) };
    ([avx2] $to:literal [$lane:literal $other:literal] $at:literal) => {
        concat!(
            part!([avx] $to [$lane] $at),
            "vinserti128 ymm", $to, ",ymm", $to, ",[", $other, "+", $at, "],1\n",
        )
    };
}

/// The message of the first round, of the blocks at these addresses.
macro_rules! arrange {
    ($isa:tt $lanes:tt $m0:literal $m1:literal $m2:literal $m3:literal) => {
        concat!(
            part!($isa 8 $lanes 0), part!($isa 9 $lanes 16),
            part!($isa 10 $lanes 32), part!($isa 11 $lanes 48),
            two_of_each!($isa $m0 8 isa!($isa register 9), 0x88),
            two_of_each!($isa $m1 8 isa!($isa register 9), 0xdd),
            two_of_each!($isa $m2 10 isa!($isa register 11), 0x88),
            two_of_each!($isa $m3 10 isa!($isa register 11), 0xdd),
            shuffle!($isa $m2 $m2 0x93),
            shuffle!($isa $m3 $m3 0x93),
        )
    };
}

/// The initialisation vector's first words, in every lane, and the tables of bytes.
macro_rules! iv {
    ([avx2] $to:literal) => {
        concat!("vbroadcasti128 ymm", $to, ",[rip+{iv}]\n")
    };
    ([avx] $to:literal) => {
        concat!("vmovdqu xmm", $to, ",[rip+{iv}]\n")
    };
    ([sse bytes] $to:literal) => {
        concat!("movdqu xmm", $to, ",[rip+{iv}]\n")
    };
}
macro_rules! tables {
    ($isa:tt) => {
        concat!(
            isa!($isa move isa!($isa register 12), "[rip+{by_16}]"),
            isa!($isa move isa!($isa register 13), "[rip+{by_8}]"),
        )
    };
}

/// The last row before the rounds of one lane: the counter, and a length with flags.
macro_rules! tail {
    ([sse bytes]) => {
        "movdqa xmm3,xmm14\n pinsrq xmm3,r8,1"
    };
    ([avx]) => {
        "vpinsrq xmm3,xmm14,r8,1"
    };
}
macro_rules! counter {
    ([sse bytes]) => {
        "movq xmm14,r9"
    };
    ([avx]) => {
        "vmovq xmm14,r9"
    };
}
macro_rules! unaligned {
    ([sse bytes] $to:expr, $from:expr) => {
        concat!("movdqu ", $to, ",", $from, "\n")
    };
    ($isa:tt $to:expr, $from:expr) => {
        concat!("vmovdqu ", $to, ",", $from, "\n")
    };
}

/// Defines the compression of the blocks of a node on one lane: the first ones at `input`, the last one elsewhere.
macro_rules! compress {
    ($name:ident $isa:tt) => {
        /// Compresses `blocks` blocks of a node: the last one, with `last_len` bytes, is at `last`, those before it at `input`.
        ///
        /// # Safety
        /// The bytes are readable, `blocks` is not 0, and the CPU has the instructions.
        #[inline(always)]
        pub(in crate::kernel::x86_64) unsafe fn $name(
            cv: &mut Words,
            input: *const u8,
            (blocks, last, last_len): (usize, *const u8, usize),
            counter: u64,
            flags: Flags,
        ) {
            const LEN: u64 = BLOCK_LEN as u64;
            let (each, first) = (flags.each as u64, (flags.each | flags.first) as u64);
            let before = if blocks == 1 { first } else { each };
            let last_rest = last_len as u64 | (before | flags.last as u64) << 32;
            asm!(
                unaligned!($isa isa!($isa register 0), "[rdi]"),
                unaligned!($isa isa!($isa register 1), "[rdi+16]"),
                tables!($isa),
                counter!($isa),
                ".p2align 4\n 2:",
                "cmp rcx,1\n cmove rsi,rdx\n cmove r8,r10",
                tail!($isa),
                "mov r8,r11",
                arrange!($isa ["rsi"] 4 5 6 7),
                iv!($isa 2),
                rounds!($isa),
                isa!($isa "pxor" 0 isa!($isa register 2)),
                isa!($isa "pxor" 1 isa!($isa register 3)),
                "add rsi,64\n dec rcx\n jnz 2b",
                unaligned!($isa "[rdi]", isa!($isa register 0)),
                unaligned!($isa "[rdi+16]", isa!($isa register 1)),
                iv = sym IV, by_16 = sym BY_16, by_8 = sym BY_8,
                in("rdi") cv.as_mut_ptr(),
                inout("rsi") input => _,
                inout("rcx") blocks => _,
                in("rdx") last,
                inout("r8") LEN | first << 32 => _,
                in("r9") counter,
                in("r10") last_rest,
                in("r11") LEN | each << 32,
                out("rax") _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(nostack),
            );
        }
    };
}

compress!(compress_sse41 [sse bytes]);
compress!(compress_avx2[avx]);

/// Defines the seven rounds of one state, with the message of the first.
macro_rules! one_state {
    ($name:ident $isa:tt $features:literal $vector:ty: $a:tt $b:tt $c:tt $d:tt
     $m0:tt $m1:tt $m2:tt $m3:tt $($other:tt)*) => {
        /// The seven rounds on the rows of a state, with the message of the first round.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(v: &mut [$vector; 4], m: *const [$vector; 4]) {
            let ([a, b, c, d], m) = (v, *m);
            asm!(
                tables!($isa),
                rounds!($isa),
                by_16 = sym BY_16, by_8 = sym BY_8,
                inout($a) *a, inout($b) *b, inout($c) *c, inout($d) *d,
                inout($m0) m[0] => _, inout($m1) m[1] => _, inout($m2) m[2] => _, inout($m3) m[3] => _,
                $(out($other) _,)*
                out("rax") _,
                options(nostack),
            );
        }
    };
}

one_state!(rounds_sse41 [sse bytes] "sse4.1" __m128i: "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"
    "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm15");
one_state!(rounds_avx2 [avx] "avx2" __m128i: "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"
    "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm15");
one_state!(rounds_avx2_2 [avx2] "avx2" __m256i: "ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5" "ymm6" "ymm7"
    "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm15");

/// Defines the same for a pair of states.
macro_rules! two_states {
    ($name:ident $isa:tt $features:literal $vector:ty: $a:tt $b:tt $c:tt $d:tt
     $e:tt $f:tt $g:tt $h:tt $($other:tt)*) => {
        /// The seven rounds on the rows of two states, with the messages of the first round.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(v: &mut [[$vector; 2]; 4], m: *const [[$vector; 2]; 4]) {
            let ([[a, e], [b, f], [c, g], [d, h]], m) = (v, *m);
            let mut messages = MaybeUninit::<[$vector; MESSAGES]>::uninit();
            let first: *mut [$vector; 8] = messages.as_mut_ptr().cast();
            first.write([m[0][0], m[1][0], m[2][0], m[3][0], m[0][1], m[1][1], m[2][1], m[3][1]]);
            asm!(
                tables!($isa),
                paired_rounds!($isa "rdi"),
                by_16 = sym BY_16, by_8 = sym BY_8,
                inout($a) *a, inout($b) *b, inout($c) *c, inout($d) *d,
                inout($e) *e, inout($f) *f, inout($g) *g, inout($h) *h,
                $(out($other) _,)*
                in("rdi") first,
                out("rax") _,
                options(nostack),
            );
        }
    };
}

two_states!(rounds_sse41_pair [sse bytes] "sse4.1" __m128i: "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"
    "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15");
two_states!(rounds_avx2_pair [avx2] "avx2" __m256i: "ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5" "ymm6" "ymm7"
    "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15");

/// Asks for blocks that come later, unless this is the last.
macro_rules! fetch {
    ($($lane:literal)*) => {
        concat!("cmp rcx,1\n je 4f\n", $("prefetcht0 [", $lane, "+{ahead}]\n",)* "4:\n")
    };
}

/// To the next block, whose tail is that of the blocks between, or of the last.
macro_rules! next {
    ($isa:tt $rows:literal $($lane:literal)*) => {
        concat!(
            "lea rdx,[rdi+", isa!($isa size), "*", $rows, "]\n lea rax,[rdx+", isa!($isa size), "*", $rows, "]\n",
            "cmp rcx,2\n cmove rdx,rax\n",
            $("add ", $lane, ",64\n",)*
            "dec rcx\n jnz 2b\n",
        )
    };
}

/// Compresses blocks of two lanes with AVX2, as [`RowVector::blocks`](super::vector::RowVector::blocks) says.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn blocks_avx2_2(
    [a, b]: &mut [__m256i; 2],
    tails: *const [__m256i; 3],
    [p, q]: &[*const u8; 2],
    offset: usize,
    count: usize,
) {
    asm!(
        tables!([avx2]),
        "mov rdx,rdi",
        ".p2align 4\n 2:",
        fetch!("r8" "r9"),
        arrange!([avx2] ["r8" "r9"] 4 5 6 7),
        iv!([avx2] 2),
        isa!([avx2] move "ymm3", "[rdx]"),
        rounds!([avx2]),
        isa!([avx2] "pxor" 0 "ymm2"),
        isa!([avx2] "pxor" 1 "ymm3"),
        next!([avx2] 1 "r8" "r9"),
        iv = sym IV, by_16 = sym BY_16, by_8 = sym BY_8,
        ahead = const AHEAD * BLOCK_LEN,
        inout("ymm0") *a, inout("ymm1") *b,
        in("rdi") tails,
        inout("r8") p.add(offset) => _, inout("r9") q.add(offset) => _,
        inout("rcx") count => _,
        out("rax") _, out("rdx") _,
        out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _, out("ymm8") _,
        out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _, out("ymm13") _, out("ymm15") _,
        options(nostack),
    );
}

/// Defines the same for pairs of states.
macro_rules! blocks_of_pairs {
    ($name:ident $isa:tt $features:literal $vector:ty, $lanes:literal: $first:tt $second:tt [$($lane:tt $n:literal)*]
     $a:tt $b:tt $e:tt $f:tt $($other:tt)*) => {
        /// Compresses blocks of pairs, as [`RowVector::blocks`](super::vector::RowVector::blocks) says.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(
            [[a, e], [b, f]]: &mut [[$vector; 2]; 2],
            tails: *const [[$vector; 2]; 3],
            inputs: &[*const u8; $lanes],
            offset: usize,
            count: usize,
        ) {
            let mut messages = MaybeUninit::<[$vector; MESSAGES]>::uninit();
            asm!(
                tables!($isa),
                "mov rdx,rdi",
                ".p2align 4\n 2:",
                fetch!($($lane)*),
                arrange!($isa $first 2 3 6 7),
                isa!($isa move row!($isa "rsi" 0), isa!($isa register 2)),
                isa!($isa move row!($isa "rsi" 1), isa!($isa register 3)),
                isa!($isa move row!($isa "rsi" 2), isa!($isa register 6)),
                isa!($isa move row!($isa "rsi" 3), isa!($isa register 7)),
                arrange!($isa $second 2 3 6 7),
                isa!($isa move row!($isa "rsi" 4), isa!($isa register 2)),
                isa!($isa move row!($isa "rsi" 5), isa!($isa register 3)),
                isa!($isa move row!($isa "rsi" 6), isa!($isa register 6)),
                isa!($isa move row!($isa "rsi" 7), isa!($isa register 7)),
                iv!($isa 2),
                isa!($isa move isa!($isa register 6), isa!($isa register 2)),
                isa!($isa move isa!($isa register 3), row!($isa "rdx" 0)),
                isa!($isa move isa!($isa register 7), row!($isa "rdx" 1)),
                paired_rounds!($isa "rsi"),
                isa!($isa "pxor" 0 isa!($isa register 2)),
                isa!($isa "pxor" 4 isa!($isa register 6)),
                isa!($isa "pxor" 1 isa!($isa register 3)),
                isa!($isa "pxor" 5 isa!($isa register 7)),
                next!($isa 2 $($lane)*),
                iv = sym IV, by_16 = sym BY_16, by_8 = sym BY_8,
                ahead = const AHEAD * BLOCK_LEN,
                inout($a) *a, inout($b) *b, inout($e) *e, inout($f) *f,
                in("rdi") tails,
                in("rsi") messages.as_mut_ptr(),
                $(inout($lane) inputs[$n].add(offset) => _,)*
                inout("rcx") count => _,
                out("rax") _, out("rdx") _,
                $(out($other) _,)*
                options(nostack),
            );
        }
    };
}

blocks_of_pairs!(blocks_avx2_pair [avx2] "avx2" __m256i, 4: ["r8" "r9"] ["r10" "r11"] ["r8" 0 "r9" 1 "r10" 2 "r11" 3]
    "ymm0" "ymm1" "ymm4" "ymm5" "ymm2" "ymm3" "ymm6" "ymm7" "ymm8" "ymm9" "ymm10" "ymm11" "ymm12" "ymm13" "ymm14" "ymm15");
blocks_of_pairs!(blocks_sse41_pair [sse bytes] "sse4.1" __m128i, 2: ["r8"] ["r9"] ["r8" 0 "r9" 1]
    "xmm0" "xmm1" "xmm4" "xmm5" "xmm2" "xmm3" "xmm6" "xmm7" "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15");
