//! Shared by the assembly of transposed states: names of instruction sets, the rounds, and the code
//! between those of two blocks.

use crate::spec::Words;

/// What an instruction set calls its registers, the bytes of one, and its forms of operations: `to op= from`, and
/// `to = a op b`, where `to` is not `b`; `b` may be a count. There are `[zmm]` and `[ymm]` with AVX-512, `[avx2]`,
/// `[avx]` for a lane of that, and `[sse]`; `[zmm held]` has the message in registers, as `[ymm]` has, and `[sse bytes]` SSSE3.
macro_rules! isa {
    ([zmm $($held:ident)?] size) => { "64" };
    ([sse $($bytes:ident)?] size) => { "16" };
    ([avx] size) => { "16" };
    ($isa:tt size) => { "32" };
    ([zmm $($held:ident)?] register $n:literal) => { concat!("zmm", $n) };
    ([sse $($bytes:ident)?] register $n:literal) => { concat!("xmm", $n) };
    ([avx] register $n:literal) => { concat!("xmm", $n) };
    ($isa:tt register $n:literal) => { concat!("ymm", $n) };
    ([avx2] move $to:expr, $from:expr) => { concat!("vmovdqa ", $to, ",", $from, "\n") };
    ([avx] move $to:expr, $from:expr) => { concat!("vmovdqa ", $to, ",", $from, "\n") };
    ([sse $($bytes:ident)?] move $to:expr, $from:expr) => { concat!("movdqa ", $to, ",", $from, "\n") };
    ($isa:tt move $to:expr, $from:expr) => { concat!("vmovdqa32 ", $to, ",", $from, "\n") };
    ([sse $($bytes:ident)?] $op:literal $to:literal $from:expr) => { concat!($op, " xmm", $to, ",", $from, "\n") };
    ($isa:tt $op:literal $to:literal $from:expr) => { isa!($isa $op $to $to $from) };
    ([sse $($bytes:ident)?] $op:literal $to:literal $a:literal $b:expr) => {
        concat!("movdqa xmm", $to, ",xmm", $a, "\n", $op, " xmm", $to, ",", $b, "\n")
    };
    ($isa:tt $op:literal $to:literal $a:literal $b:expr) => {
        concat!("v", $op, " ", isa!($isa register $to), ",", isa!($isa register $a), ",", $b, "\n")
    };
    ([zmm $($held:ident)?] xor $to:literal $from:expr) => { isa!([zmm] "pxord" $to $from) };
    ([ymm] xor $to:literal $from:expr) => { isa!([ymm] "pxord" $to $from) };
    ($isa:tt xor $to:literal $from:expr) => { isa!($isa "pxor" $to $from) };
    // Rotations to the right; without an instruction for them by bytes, or by shifts and register 11.
    ([zmm $($held:ident)?] rotate $to:literal $by:tt) => { isa!([zmm] "prord" $to $by) };
    ([ymm] rotate $to:literal $by:tt) => { isa!([ymm] "prord" $to $by) };
    ([sse] rotate $to:literal 16) => { isa!([sse] rotate $to 16 16) };
    ([sse] rotate $to:literal 8) => { isa!([sse] rotate $to 8 24) };
    ($isa:tt rotate $to:literal 16) => { isa!($isa "pshufb" $to "[rip+{by_16}]") };
    ($isa:tt rotate $to:literal 12) => { isa!($isa rotate $to 12 20) };
    ($isa:tt rotate $to:literal 8) => { isa!($isa "pshufb" $to "[rip+{by_8}]") };
    ($isa:tt rotate $to:literal 7) => { isa!($isa rotate $to 7 25) };
    ($isa:tt rotate $to:literal $right:literal $left:literal) => {
        concat!(
            isa!($isa "psrld" 11 $to $right),
            isa!($isa "pslld" $to $left),
            isa!($isa "por" $to isa!($isa register 11)),
        )
    };
    // A word of the message, in memory or in a register.
    ([ymm] message $m:literal) => { isa!([ymm] register $m) };
    ([zmm held] message $m:literal) => { isa!([zmm] register $m) };
    ($isa:tt message $m:literal) => { concat!("[rsi+", isa!($isa size), "*", $m, "]") };
    // A word in every lane.
    ([sse $($bytes:ident)?] splat $to:literal $from:literal) => {
        concat!("movd xmm", $to, ",dword ptr ", $from, "\n pshufd xmm", $to, ",xmm", $to, ",0\n")
    };
    ($isa:tt splat $to:literal $from:expr) => {
        concat!("vpbroadcastd ", isa!($isa register $to), ",dword ptr ", $from, "\n")
    };
    ([sse bytes] end) => { "" };
    // All that is passed to assembly must be named there.
    ([sse] end) => { "/* {by_16} {by_8} */" };
    ($isa:tt end) => { "vzeroupper" };
}
pub(super) use isa;

/// Words `w` at `base` to registers; without a list chaining values, to the first eight.
macro_rules! load {
    ($isa:tt $base:literal) => {
        load!($isa $base 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,)
    };
    ($isa:tt $base:literal $($w:literal $to:literal,)*) => {
        concat!($(
            isa!($isa move isa!($isa register $to), concat!("[", $base, "+", isa!($isa size), "*", $w, "]")),
        )*)
    };
}
pub(super) use load;

/// The inverse of [`load`].
macro_rules! store {
    ($isa:tt $base:literal) => {
        store!($isa $base 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7,)
    };
    ($isa:tt $base:literal $($w:literal $from:literal,)*) => {
        concat!($(
            isa!($isa move concat!("[", $base, "+", isa!($isa size), "*", $w, "]"), isa!($isa register $from)),
        )*)
    };
}
pub(super) use store;

/// Words of the initialisation vector, for routines that load them.
pub(super) static IV: Words = crate::spec::IV;

/// A table of bytes for each of two lanes.
#[repr(align(32))]
pub(super) struct Table(#[allow(dead_code, reason = "assembly reads it")] [[u64; 2]; 2]);

/// Where each byte comes from when every word rotates right by 16, and by 8.
pub(super) static BY_16: Table = Table([[0x0504_0706_0100_0302, 0x0d0c_0f0e_0908_0b0a]; 2]);
pub(super) static BY_8: Table = Table([[0x0407_0605_0003_0201, 0x0c0f_0e0d_080b_0a09]; 2]);

/// The same as immediate values, some to two registers: where message words are stored a load may wait for one of
/// those, one whose address has the same last twelve bits.
macro_rules! iv {
    ($isa:tt $($i:literal $to:literal $($copy:literal)?,)*) => {
        concat!($(
            "mov eax,{iv", $i, "}\n vpbroadcastd ", isa!($isa register $to), ",eax\n",
            $(isa!($isa move isa!($isa register $copy), isa!($isa register $to)),)?
        )*)
    };
}
pub(super) use iv;

/// One message addition and what follows it in G, up to the second rotation, for two columns or diagonals:
/// registers a, b, c, d, and the message word. `kept` says that word 11 is among them, in memory before and after.
macro_rules! pair {
    ($isa:tt $r1:tt $r2:tt [$($kept:literal)?]
     $($a:literal $b:literal $c:literal $d:literal $m:expr,)*) => {
        concat!(
            $(isa!($isa "paddd" $a $m),)*
            $(isa!($isa "paddd" $a isa!($isa register $b)),)*
            $(isa!($isa xor $d isa!($isa register $a)),)*
            $(isa!($isa rotate $d $r1),)*
            $(isa!($isa move isa!($isa register $kept), "[rcx]"),)?
            $(isa!($isa "paddd" $c isa!($isa register $d)),)*
            $(isa!($isa xor $b isa!($isa register $c)),)*
            $(isa!($isa move "[rcx]", isa!($isa register $kept)),)?
            $(isa!($isa rotate $b $r2),)*
        )
    };
}
pub(super) use pair;

/// One round for each list of steps between, the message words permuted between rounds (table 2 of the
/// paper). `[11]` says that word 11 is kept in memory, `[]` that it is not.
macro_rules! rounds {
    ($isa:tt $kept:tt []; $($m:literal)*) => { "" };
    ($isa:tt $kept:tt [[] $($more:tt)*]; $($m:literal)*) => {
        rounds!($isa $kept [["", "", "", "", "", "", "", ""] $($more)*]; $($m)*)
    };
    ($isa:tt $kept:tt
     [[$b0:expr, $b1:expr, $b2:expr, $b3:expr, $b4:expr, $b5:expr, $b6:expr, $b7:expr] $($more:tt)*];
     $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal $m6:literal $m7:literal
     $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal $m13:literal $m14:literal $m15:literal) => {
        concat!(
            pair!($isa 16 12 [] 0 4 8 12 isa!($isa message $m0), 1 5 9 13 isa!($isa message $m2),), $b0,
            pair!($isa 16 12 $kept 2 6 10 14 isa!($isa message $m4), 3 7 11 15 isa!($isa message $m6),), $b1,
            pair!($isa 8 7 [] 0 4 8 12 isa!($isa message $m1), 1 5 9 13 isa!($isa message $m3),), $b2,
            pair!($isa 8 7 $kept 2 6 10 14 isa!($isa message $m5), 3 7 11 15 isa!($isa message $m7),), $b3,
            pair!($isa 16 12 [] 3 4 9 14 isa!($isa message $m14), 0 5 10 15 isa!($isa message $m8),), $b4,
            pair!($isa 16 12 $kept 1 6 11 12 isa!($isa message $m10), 2 7 8 13 isa!($isa message $m12),), $b5,
            pair!($isa 8 7 [] 3 4 9 14 isa!($isa message $m15), 0 5 10 15 isa!($isa message $m9),), $b6,
            pair!($isa 8 7 $kept 1 6 11 12 isa!($isa message $m11), 2 7 8 13 isa!($isa message $m13),), $b7,
            rounds!($isa $kept [$($more)*];
                $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}
pub(super) use rounds;

/// The chaining value, from the state after the rounds, both in registers.
macro_rules! fold {
    ($isa:tt) => {
        fold!($isa 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15,)
    };
    ($isa:tt $($to:literal $from:literal,)*) => {
        concat!($(isa!($isa xor $to isa!($isa register $from)),)*)
    };
}
pub(super) use fold;

/// The last eight words of output: of a word of the chaining value and a register, to a place.
macro_rules! high_words {
    ($isa:tt) => {
        high_words!($isa 0 8 8, 1 9 9, 2 10 10, 3 11 11, 4 12 12, 5 13 13, 6 14 14, 7 15 15,)
    };
    ($isa:tt $($w:literal $r:literal $to:literal,)*) => {
        concat!(
            $(isa!($isa xor $r concat!("[rdi+", isa!($isa size), "*", $w, "]")),)*
            store!($isa "rcx" $($to $r,)*)
        )
    };
}
pub(super) use high_words;

/// The words of registers `a` and `b`, alternately, in two others: by ones, by twos, or by fours.
macro_rules! interleave {
    ($isa:tt 1: $($registers:tt)*) => {
        interleave!($isa "punpckldq" "punpckhdq" "" "": $($registers)*)
    };
    ($isa:tt 2: $($registers:tt)*) => {
        interleave!($isa "punpcklqdq" "punpckhqdq" "" "": $($registers)*)
    };
    // Even parts of 128 bits of both, odd parts of both.
    ($isa:tt 4: $($registers:tt)*) => {
        interleave!($isa "shufi32x4" "shufi32x4" ",0x88" ",0xdd": $($registers)*)
    };
    ($isa:tt $low_op:literal $high_op:literal $low_parts:literal $high_parts:literal:
     $($low:literal $high:literal $a:literal $b:literal),*) => {
        concat!($(
            isa!($isa $low_op $low $a concat!(isa!($isa register $b), $low_parts)),
            isa!($isa $high_op $high $a concat!(isa!($isa register $b), $high_parts)),
        )*)
    };
}
pub(super) use interleave;

/// Two registers' words by interleave, the first ones in `low`, the others in `a`.
macro_rules! interleave_two {
    ($isa:tt $low_op:literal $high_op:literal: $low:literal $a:literal $b:literal) => {
        concat!(
            isa!($isa $low_op $low $a isa!($isa register $b)),
            isa!($isa $high_op $a isa!($isa register $b)),
        )
    };
}
pub(super) use interleave_two;

/// Where several blocks are compressed (`columns/blocks.rs`): the flags of the next block, which are those of the last if `r8` says that two
/// blocks are left. `rdx` points to `Operands::tail`; a register to spare.
macro_rules! next_flags {
    ($isa:tt $spare:literal) => {
        concat!(
            "xor eax,eax\n cmp r8,2\n sete al\n imul eax,eax,", isa!($isa size), "\n",
            isa!($isa move isa!($isa register $spare), concat!("[rdx+rax+", isa!($isa size), "*4]")),
            isa!($isa move concat!("[rdx+", isa!($isa size), "*3]"), isa!($isa register $spare)),
        )
    };
}
pub(super) use next_flags;

/// One compression in each lane: `(cv, message, tail, out)`. Word `w` of every array is one vector, aligned to its
/// size.
pub(super) type Routine = unsafe extern "sysv64" fn(*const u8, *const u8, *const u8, *mut u8);

/// Defines a compression of a state by `body!`; with an ending that makes the last eight words of output, of all sixteen words.
macro_rules! routine {
    ($isa:tt $cpu:literal: $name:ident $($high:expr)?) => {
        /// A [`Routine`](crate::kernel::x86_64::assembly::Routine).
        ///
        /// # Safety
        #[doc = concat!("The CPU has ", $cpu, "; `out` may be `cv` if it gets eight words.")]
        #[unsafe(naked)]
        pub(in crate::kernel) unsafe extern "sysv64" fn $name(
            cv: *const u8,
            message: *const u8,
            tail: *const u8,
            out: *mut u8,
        ) {
            body!($isa $($high)?)
        }
    };
}
pub(super) use routine;

/// Defines [`Blocks`](super::columns::blocks::Blocks): whole blocks of each lane, one after the other.
macro_rules! blocks_routine {
    ($(#[$doc:meta])* $name:ident $ahead:ident: $($assembly:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The CPU has the instructions, and the OS saves its registers; the blocks are readable; `cv` and `operands` are
        /// vectors, as [`blocks`](crate::kernel::x86_64::columns::blocks::blocks) has them.
        #[unsafe(naked)]
        pub(in crate::kernel) unsafe extern "sysv64" fn $name(
            cv: *mut u8,
            operands: *mut u8,
            inputs: *const *const u8,
            $ahead: *const *const u8,
            steps: usize,
            offset: usize,
        ) {
            naked_asm!($($assembly)*)
        }
    };
}
pub(super) use blocks_routine;
