//! The rounds of a transposed state of four lanes, and of two side by side, in assembly.
//!
//! One state has four chains of operations of two cycles or more. That fills two vector ports, if operations
//! come as they are written: one of each chain after the other. Where there are four ports, they wait half
//! of the time. Two states have eight chains, but with the other operands of a step they do not fit 32 registers, and
//! compilers keep in memory what is wanted next. Within a G, `a` and `c` are wanted alternately. So two words of each
//! share registers in the second state, and wait in memory while it is the other's turn.
//!
//! ```text
//! word             0   1   2   3    4 ..  7    8   9  10  11   12 .. 15
//! first state     v0  v1  v2  v3   v4 .. v7   v8  v9 v10 v11  v12 .. v15
//! second state   v16 v17 v18 v19  v20 .. v23 v28 v29 v18 v19  v24 .. v27     v30, v31 to spare
//! ```

use core::arch::aarch64::uint32x4_t;
use core::arch::asm;

use crate::spec::IV;

/// An operation on a list of registers.
macro_rules! each {
    (add [$($to:literal)*] [$($by:literal)*]) => {
        concat!($("add v", $to, ".4s,v", $to, ".4s,v", $by, ".4s\n",)*)
    };
    (xor [$($to:literal)*] [$($by:literal)*]) => {
        concat!($("eor v", $to, ".16b,v", $to, ".16b,v", $by, ".16b\n",)*)
    };
    // Pairs of vectors in an array: a word of both states, or two words of one.
    (load $array:literal [$($pair:literal)*] [$($to:literal)*] [$($other:literal)*]) => {
        concat!($("ldp q", $to, ",q", $other, ",[{", $array, "},#32*", $pair, "]\n",)*)
    };
    (store $array:literal [$($pair:literal)*] [$($from:literal)*] [$($other:literal)*]) => {
        concat!($("stp q", $from, ",q", $other, ",[{", $array, "},#32*", $pair, "]\n",)*)
    };
    // Adds words of the message of one state, by way of registers to spare, or of both.
    (message one [$($word:literal)*] [$($to:literal)*] [$($spare:literal)*]) => {
        concat!(
            $("ldr q", $spare, ",[{message},#16*", $word, "]\n",)*
            each!(add [$($to)*] [$($spare)*]),
        )
    };
    (message both [$($word:literal)*] [$($to:literal)*] [$($other:literal)*]) => {
        concat!($(
            each!(load "message" [$word] [30] [31]), each!(add [$to $other] [30 31]),
        )*)
    };
    // Exclusive or, and rotation to the right. One instruction of SVE2 does both, but on one port of up to four, so
    // where whole halves move it is left out.
    (neon xor_rotate 16 $to:tt [$($by:literal)*]) => { each!(sve2 xor_rotate 16 $to [$($by)*]) };
    (sve2 xor_rotate 16 [$($to:literal)*] $by:tt) => {
        concat!(each!(xor [$($to)*] $by), $("rev32 v", $to, ".8h,v", $to, ".8h\n",)*)
    };
    (neon xor_rotate 8 [$($to:literal)*] $by:tt) => {
        concat!(
            each!(xor [$($to)*] $by), "ldr q31,[{constants},#16]\n",
            $("tbl v", $to, ".16b,{{v", $to, ".16b}},v31.16b\n",)*
        )
    };
    (neon xor_rotate $right:literal [] []) => { "" };
    (neon xor_rotate $right:literal [$a:literal $b:literal $($to:literal)*] [$c:literal $d:literal $($by:literal)*]) => {
        concat!(
            each!(neon xor_rotate $right [$a $b] [$c $d] [30 31]),
            each!(neon xor_rotate $right [$($to)*] [$($by)*]),
        )
    };
    (neon xor_rotate $right:literal [$($to:literal)*] [$($by:literal)*] [$($spare:literal)*]) => {
        concat!(
            $("eor v", $spare, ".16b,v", $to, ".16b,v", $by, ".16b\n",)*
            $("shl v", $to, ".4s,v", $spare, ".4s,#32-", $right, "\n",)*
            $("sri v", $to, ".4s,v", $spare, ".4s,#", $right, "\n",)*
        )
    };
    (sve2 xor_rotate $right:literal [$($to:literal)*] [$($by:literal)*] $([$($spare:literal)*])?) => {
        concat!($("xar z", $to, ".s,z", $to, ".s,z", $by, ".s,#", $right, "\n",)*)
    };
}

/// Half of G on the columns or the diagonals, of one state or of both; `d` rotates by the first number, `b` by the other.
macro_rules! half_g {
    (one $isa:ident $m:tt $b:tt $c:tt $d:tt $by_d:tt $by_b:tt) => {
        concat!(
            each!(message one $m [0 1 2 3] [16 17 18 19]),
            each!(add [0 1 2 3] $b),
            each!($isa xor_rotate $by_d $d [0 1 2 3]),
            each!(add $c $d),
            each!($isa xor_rotate $by_b $b $c [20 21 22 23]),
        )
    };
    (both $isa:ident $m:tt $b:tt $c:tt $d:tt $by_d:tt $by_b:tt) => {
        concat!(
            each!(message both $m [0 1 2 3] [16 17 18 19]),
            each!(add [0 1 2 3 16 17 18 19] $b),
            each!($isa xor_rotate $by_d $d [0 1 2 3 16 17 18 19]),
            each!(store "out" [0] [18] [19]), each!(load "out" [1] [18] [19]),
            each!(add $c $d),
            each!($isa xor_rotate $by_b $b $c),
            each!(store "out" [1] [18] [19]), each!(load "out" [0] [18] [19]),
        )
    };
}

macro_rules! half_round {
    ($states:ident $isa:ident $x:tt $y:tt $b:tt $c:tt $d:tt) => {
        concat!(half_g!($states $isa $x $b $c $d 16 12), half_g!($states $isa $y $b $c $d 8 7))
    };
}

/// One round for each `x`, the message words permuted between rounds (table 2 of the paper). The columns and the
/// diagonals are the registers of words 4 to 15, four by four.
macro_rules! rounds {
    ($states:ident $isa:ident $columns:tt $diagonals:tt []; $($m:literal)*) => { "" };
    ($states:ident $isa:ident ($($columns:tt)*) ($($diagonals:tt)*) [x $($more:tt)*];
     $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal $m6:literal $m7:literal
     $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal $m13:literal $m14:literal $m15:literal) => {
        concat!(
            half_round!($states $isa [$m0 $m2 $m4 $m6] [$m1 $m3 $m5 $m7] $($columns)*),
            half_round!($states $isa [$m8 $m10 $m12 $m14] [$m9 $m11 $m13 $m15] $($diagonals)*),
            rounds!($states $isa ($($columns)*) ($($diagonals)*) [$($more)*];
                $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

/// The parts of a compression: the state, the rounds, the chaining value, and the last eight words of output.
macro_rules! part {
    (one begin) => {
        concat!(
            each!(load "cv" [0 1 2 3] [0 2 4 6] [1 3 5 7]),
            each!(load "tail" [0 1] [12 14] [13 15]),
        )
    };
    (one rounds $isa:ident) => {
        rounds!(one $isa ([4 5 6 7] [8 9 10 11] [12 13 14 15]) ([5 6 7 4] [10 11 8 9] [15 12 13 14])
            [x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (one end) => {
        concat!(
            each!(xor [0 1 2 3 4 5 6 7] [8 9 10 11 12 13 14 15]),
            each!(store "out" [0 1 2 3] [0 2 4 6] [1 3 5 7]),
        )
    };
    (one high) => {
        concat!(
            each!(load "cv" [0 1 2 3] [0 2 4 6] [1 3 5 7]),
            each!(xor [0 1 2 3 4 5 6 7] [8 9 10 11 12 13 14 15]),
            each!(store "out" [4 5 6 7] [0 2 4 6] [1 3 5 7]),
        )
    };
    (both begin) => {
        concat!(
            each!(load "cv" [0 1 2 3 4 5 6 7] [0 1 2 3 4 5 6 7] [16 17 18 19 20 21 22 23]),
            each!(load "tail" [0 1 2 3] [12 13 14 15] [24 25 26 27]),
            each!(store "out" [1] [10] [11]),
            "mov v28.16b,v8.16b\n mov v29.16b,v9.16b\n",
        )
    };
    (both rounds $isa:ident) => {
        rounds!(both $isa
            ([4 5 6 7 20 21 22 23] [8 9 10 11 28 29 18 19] [12 13 14 15 24 25 26 27])
            ([5 6 7 4 21 22 23 20] [10 11 8 9 18 19 28 29] [15 12 13 14 27 24 25 26])
            [x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (both end) => {
        concat!(
            each!(load "out" [1] [30] [31]),
            each!(xor [0 1 2 3 4 5 6 7] [8 9 10 11 12 13 14 15]),
            each!(xor [16 17 18 19 20 21 22 23] [28 29 30 31 24 25 26 27]),
            each!(store "out" [0 1 2 3 4 5 6 7] [0 1 2 3 4 5 6 7] [16 17 18 19 20 21 22 23]),
        )
    };
    (both high) => {
        concat!(
            each!(load "cv" [0 1 2 3 4 5 6 7] [0 1 2 3 4 5 6 7] [16 17 18 19 20 21 22 23]),
            each!(xor [0 1 2 3 4 5 6 7] [8 9 10 11 12 13 14 15]),
            each!(xor [16 17 18 19 20 21 22 23] [28 29 30 31 24 25 26 27]),
            each!(store "out" [8 9 10 11 12 13 14 15] [0 1 2 3 4 5 6 7] [16 17 18 19 20 21 22 23]),
        )
    };
}

/// The third row of a state, and from where `tbl` takes the bytes of words that rotate by eight bits.
static CONSTANTS: Constants =
    Constants([IV[0], IV[1], IV[2], IV[3], 0x0003_0201, 0x0407_0605, 0x080b_0a09, 0x0c0f_0e0d]);

/// Aligned, so that no load straddles a line of the cache: NEON has two in each round.
#[repr(align(32))]
struct Constants([u32; 8]);

/// A compression from `cv` to `out`, which of two states also has places for the words that wait.
macro_rules! compression {
    ($states:ident $isa:ident $cv:ident $message:ident $tail:ident $out:ident $(, $high:expr)?) => {
        asm!(
            "ldr q31,[{constants}]\n dup v8.4s,v31.s[0]\n dup v9.4s,v31.s[1]\n dup v10.4s,v31.s[2]",
            "dup v11.4s,v31.s[3]",
            part!($states begin),
            part!($states rounds $isa),
            part!($states end),
            $($high,)?
            cv = in(reg) $cv, message = in(reg) $message, tail = in(reg) $tail, out = in(reg) $out,
            constants = in(reg) &CONSTANTS.0,
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _,
            out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _, out("v12") _, out("v13") _,
            out("v14") _, out("v15") _, out("v16") _, out("v17") _, out("v18") _, out("v19") _,
            out("v20") _, out("v21") _, out("v22") _, out("v23") _, out("v24") _, out("v25") _,
            out("v26") _, out("v27") _, out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            options(nostack, preserves_flags),
        )
    };
}

/// Defines the compressions of one state or of both by an instruction set, with and without the last eight words
/// of output; they are called as C's, so that `tests/abi_aarch64.rs` knows where arguments go.
macro_rules! routines {
    ($states:ident $isa:ident $cpu:literal $vector:ty, $compress:ident, $compress_xof:ident
     $(, enable = $features:literal)?) => {
        /// One compression in each lane; `out`, which may be `cv`, gets the next chaining value.
        ///
        /// # Safety
        #[doc = concat!("The CPU has ", $cpu, ".")]
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) unsafe extern "C" fn $compress(
            cv: *const [$vector; 8], message: *const [$vector; 16], tail: *const [$vector; 4],
            out: *mut [$vector; 8],
        ) {
            compression!($states $isa cv message tail out)
        }

        /// One compression in each lane, with all sixteen words of output.
        ///
        /// # Safety
        #[doc = concat!("The CPU has ", $cpu, "; `out` is not `cv`.")]
        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        pub(in crate::kernel) unsafe extern "C" fn $compress_xof(
            cv: *const [$vector; 8], message: *const [$vector; 16], tail: *const [$vector; 4],
            out: *mut [$vector; 16],
        ) {
            compression!($states $isa cv message tail out, part!($states high))
        }
    };
}

routines!(one neon "NEON" uint32x4_t, compress_4, compress_xof_4);
routines!(both neon "NEON" [uint32x4_t; 2], compress_8, compress_xof_8);
routines!(one sve2 "SVE2" uint32x4_t, compress_sve2_4, compress_xof_sve2_4, enable = "sve2");
routines!(both sve2 "SVE2" [uint32x4_t; 2], compress_sve2_8, compress_xof_sve2_8, enable = "sve2");
