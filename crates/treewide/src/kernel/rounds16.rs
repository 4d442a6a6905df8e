//! The seven rounds in sixteen vector registers: eight lanes with AVX2, four with SSE4.1.
//!
//! The state fills the registers, messages and the tables of byte rotations are memory operands,
//! and rotations by 12 and 7 need a register to put a part in. So word 11 lives in memory but for
//! its additions, which are far enough apart not to wait for that. It waits in the place of word 0
//! of the output, which is written last. Compilers spill several words, at the wrong places.
//!
//! Four columns (or diagonals) are in flight, but they are issued two by two, in the order in which
//! their `b` comes out of the half-round before: shifts and shuffles have fewer ports than the rest,
//! and columns in step would wait for each other there.
//!
//! The functions are naked, with the System V calling convention on every platform, as in
//! `rounds32.rs`. Word `w` of every array is one vector, aligned to its size.

use core::arch::naked_asm;

use crate::spec::IV as WORDS;

static IV: [u32; 8] = WORDS;

/// Where each byte of a vector comes from when every word of it rotates right by 16, and by 8.
#[repr(C, align(32))]
struct Rotations([[u8; 32]; 2]);

static ROTATIONS: Rotations = {
    let mut tables = [[0; 32]; 2];
    let mut i = 0;
    while i < 32 {
        let (word, byte) = (i as u8 % 16 / 4 * 4, i as u8 % 4);
        tables[0][i] = word + (byte + 2) % 4;
        tables[1][i] = word + (byte + 1) % 4;
        i += 1;
    }
    Rotations(tables)
};

/// What an instruction set calls its registers, the bytes of one, and its two forms of operations:
/// `to op= from`, and `to = from op count`.
macro_rules! isa {
    ([avx2] size) => {
        "32"
    };
    ([sse41] size) => {
        "16"
    };
    ([avx2] register $n:literal) => {
        concat!("ymm", $n)
    };
    ([sse41] register $n:literal) => {
        concat!("xmm", $n)
    };
    ([avx2] move $to:expr, $from:expr) => {
        concat!("vmovdqa ", $to, ",", $from, "\n")
    };
    ([sse41] move $to:expr, $from:expr) => {
        concat!("movdqa ", $to, ",", $from, "\n")
    };
    ([avx2] $op:literal $to:literal $from:expr) => {
        concat!("v", $op, " ymm", $to, ",ymm", $to, ",", $from, "\n")
    };
    ([sse41] $op:literal $to:literal $from:expr) => {
        concat!($op, " xmm", $to, ",", $from, "\n")
    };
    ([avx2] $op:literal $to:literal $from:literal by $count:literal) => {
        concat!("v", $op, " ymm", $to, ",ymm", $from, ",", $count, "\n")
    };
    ([sse41] $op:literal $to:literal $from:literal by $count:literal) => {
        concat!("movdqa xmm", $to, ",xmm", $from, "\n", $op, " xmm", $to, ",", $count, "\n")
    };
    // A word in every lane.
    ([avx2] splat $to:literal $from:literal) => {
        concat!("vpbroadcastd ymm", $to, ",dword ptr ", $from, "\n")
    };
    ([sse41] splat $to:literal $from:literal) => {
        concat!("movd xmm", $to, ",dword ptr ", $from, "\n pshufd xmm", $to, ",xmm", $to, ",0\n")
    };
    ([avx2] end) => {
        "vzeroupper"
    };
    ([sse41] end) => {
        ""
    };
}

/// One message addition and what follows it in G, up to the second rotation, for two columns or
/// diagonals; `kept` says that word 11 is among them, in memory before and after.
macro_rules! pair {
    ($isa:tt $bytes:literal $right:literal $left:literal [$($kept:literal)?]
     $($a:literal $b:literal $c:literal $d:literal $m:literal,)*) => {
        concat!(
            $(isa!($isa "paddd" $a concat!("[rsi+", isa!($isa size), "*", $m, "]")),)*
            $(isa!($isa "paddd" $a isa!($isa register $b)),)*
            $(isa!($isa "pxor" $d isa!($isa register $a)),)*
            $(isa!($isa "pshufb" $d concat!("[rip+{rotations}+", $bytes, "]")),)*
            $(isa!($isa move isa!($isa register $kept), "[rcx]"),)?
            $(isa!($isa "paddd" $c isa!($isa register $d)),)*
            $(isa!($isa "pxor" $b isa!($isa register $c)),)*
            $(isa!($isa move "[rcx]", isa!($isa register $kept)),)?
            $(
                isa!($isa "psrld" 11 $b by $right),
                isa!($isa "pslld" $b $left),
                isa!($isa "por" $b isa!($isa register 11)),
            )*
        )
    };
}

macro_rules! columns {
    ($isa:tt $bytes:literal $right:literal $left:literal $p:literal $q:literal $r:literal $s:literal) => {
        concat!(
            pair!($isa $bytes $right $left [] 0 4 8 12 $p, 1 5 9 13 $q,),
            pair!($isa $bytes $right $left [11] 2 6 10 14 $r, 3 7 11 15 $s,),
        )
    };
}

macro_rules! diagonals {
    ($isa:tt $bytes:literal $right:literal $left:literal $p:literal $q:literal $r:literal $s:literal) => {
        concat!(
            pair!($isa $bytes $right $left [] 3 4 9 14 $s, 0 5 10 15 $p,),
            pair!($isa $bytes $right $left [11] 1 6 11 12 $q, 2 7 8 13 $r,),
        )
    };
}

macro_rules! rounds {
    // One round for each `x`, the message words permuted between rounds (table 2 of the paper).
    ($isa:tt []; $($m:literal)*) => { "" };
    ($isa:tt [x $($more:tt)*]; $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal
     $m5:literal $m6:literal $m7:literal $m8:literal $m9:literal $m10:literal $m11:literal
     $m12:literal $m13:literal $m14:literal $m15:literal) => {
        concat!(
            columns!($isa 0 12 20 $m0 $m2 $m4 $m6),
            columns!($isa 32 7 25 $m1 $m3 $m5 $m7),
            diagonals!($isa 0 12 20 $m8 $m10 $m12 $m14),
            diagonals!($isa 32 7 25 $m9 $m11 $m13 $m15),
            rounds!($isa [$($more)*]; $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

/// Words `w` at `base` to or from registers.
macro_rules! load {
    ($isa:tt $base:literal $($w:literal $to:literal,)*) => {
        concat!($(
            isa!($isa move isa!($isa register $to), concat!("[", $base, "+", isa!($isa size), "*", $w, "]")),
        )*)
    };
}

macro_rules! store {
    ($isa:tt $($w:literal)*) => {
        concat!($(
            isa!($isa move concat!("[rcx+", isa!($isa size), "*", $w, "]"), isa!($isa register $w)),
        )*)
    };
}

/// `to ^= from`, registers.
macro_rules! fold {
    ($isa:tt $($to:literal $from:literal,)*) => {
        concat!($(isa!($isa "pxor" $to isa!($isa register $from)),)*)
    };
}

/// The last eight words of output.
macro_rules! high_words {
    ($isa:tt $($w:literal $r:literal,)*) => {
        concat!(
            $(isa!($isa "pxor" $r concat!("[rdi+", isa!($isa size), "*", $w, "]")),)*
            store!($isa $($r)*)
        )
    };
}

macro_rules! body {
    ($isa:tt $($high:expr)?) => {
        naked_asm!(
            load!($isa "rdi" 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,),
            isa!($isa splat 11 "[rip+{iv}+12]"),
            isa!($isa move "[rcx]", isa!($isa register 11)),
            isa!($isa splat 8 "[rip+{iv}]"),
            isa!($isa splat 9 "[rip+{iv}+4]"),
            isa!($isa splat 10 "[rip+{iv}+8]"),
            load!($isa "rdx" 0 12, 1 13, 2 14, 3 15,),
            rounds!($isa [x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            isa!($isa move isa!($isa register 11), "[rcx]"),
            fold!($isa 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,),
            store!($isa 0 1 2 3 4 5 6 7),
            $($high,)?
            isa!($isa end),
            "ret",
            iv = sym IV,
            rotations = sym ROTATIONS,
        )
    };
}

macro_rules! routines {
    ($isa:tt $cpu:literal $vector:ty, $compress:ident, $compress_xof:ident) => {
        /// One compression in each lane; `out`, which may be `cv`, gets the next chaining value.
        ///
        /// # Safety
        #[doc = concat!("The CPU has ", $cpu, ".")]
        #[unsafe(naked)]
        pub(super) unsafe extern "sysv64" fn $compress(
            cv: *const [$vector; 8],
            message: *const [$vector; 16],
            tail: *const [$vector; 4],
            out: *mut [$vector; 8],
        ) {
            body!($isa)
        }

        /// One compression in each lane, with all sixteen words of output.
        ///
        /// # Safety
        #[doc = concat!("The CPU has ", $cpu, "; `out` is not `cv`.")]
        #[unsafe(naked)]
        pub(super) unsafe extern "sysv64" fn $compress_xof(
            cv: *const [$vector; 8],
            message: *const [$vector; 16],
            tail: *const [$vector; 4],
            out: *mut [$vector; 16],
        ) {
            body!($isa high_words!($isa 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,))
        }
    };
}

routines!([avx2] "AVX2, and the OS saves its registers" super::avx2::X8<false>, compress_8, compress_xof_8);
routines!([sse41] "SSE4.1" super::sse41::X4, compress_4, compress_xof_4);
