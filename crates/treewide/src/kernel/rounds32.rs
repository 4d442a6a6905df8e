//! The seven rounds on two 16-lane states, interleaved instruction by instruction.
//!
//! State 0 lives in zmm0 to zmm15 and state 1 in zmm16 to zmm31, so there is no register left:
//! messages are memory operands. Each step of a half-round is issued for the four columns of
//! state 0, then of state 1; the next step follows. Word `w` of state `s` is at byte
//! `128 * w + 64 * s` of every array.

use core::arch::asm;

use super::avx512::X32;
use crate::spec::IV;

/// One message addition and what follows it in G, up to the second rotation, for eight columns:
/// registers a, b, c, d, then the byte offset of the state, then the message word.
macro_rules! half_g {
    ($r1:literal $r2:literal $($a:literal $b:literal $c:literal $d:literal $s:literal $m:literal,)*) => {
        concat!(
            $("vpaddd zmm", $a, ",zmm", $a, ",[{m}+128*", $m, "+", $s, "]\n",)*
            $("vpaddd zmm", $a, ",zmm", $a, ",zmm", $b, "\n",)*
            $("vpxord zmm", $d, ",zmm", $d, ",zmm", $a, "\n",)*
            $("vprord zmm", $d, ",zmm", $d, ",", $r1, "\n",)*
            $("vpaddd zmm", $c, ",zmm", $c, ",zmm", $d, "\n",)*
            $("vpxord zmm", $b, ",zmm", $b, ",zmm", $c, "\n",)*
            $("vprord zmm", $b, ",zmm", $b, ",", $r2, "\n",)*
        )
    };
}

macro_rules! columns {
    ($r1:literal $r2:literal $p:literal $q:literal $r:literal $s:literal) => {
        half_g!($r1 $r2
            0 4 8 12 0 $p, 1 5 9 13 0 $q, 2 6 10 14 0 $r, 3 7 11 15 0 $s,
            16 20 24 28 64 $p, 17 21 25 29 64 $q, 18 22 26 30 64 $r, 19 23 27 31 64 $s,)
    };
}

macro_rules! diagonals {
    ($r1:literal $r2:literal $p:literal $q:literal $r:literal $s:literal) => {
        half_g!($r1 $r2
            0 5 10 15 0 $p, 1 6 11 12 0 $q, 2 7 8 13 0 $r, 3 4 9 14 0 $s,
            16 21 26 31 64 $p, 17 22 27 28 64 $q, 18 23 24 29 64 $r, 19 20 25 30 64 $s,)
    };
}

macro_rules! rounds {
    // One round for each `x`, the message words permuted between rounds (table 2 of the paper).
    ([]; $($m:literal)*) => { "" };
    ([x $($more:tt)*]; $m0:literal $m1:literal $m2:literal $m3:literal $m4:literal $m5:literal
     $m6:literal $m7:literal $m8:literal $m9:literal $m10:literal $m11:literal $m12:literal
     $m13:literal $m14:literal $m15:literal) => {
        concat!(
            columns!(16 12 $m0 $m2 $m4 $m6),
            columns!(8 7 $m1 $m3 $m5 $m7),
            diagonals!(16 12 $m8 $m10 $m12 $m14),
            diagonals!(8 7 $m9 $m11 $m13 $m15),
            rounds!([$($more)*]; $m2 $m6 $m3 $m10 $m7 $m0 $m4 $m13 $m1 $m11 $m12 $m5 $m9 $m14 $m15 $m8)
        )
    };
}

macro_rules! each {
    // The template for every word w with the registers of both states.
    ($macro:ident) => {
        concat!(
            $macro!(0 0 8 16 24), $macro!(1 1 9 17 25), $macro!(2 2 10 18 26),
            $macro!(3 3 11 19 27), $macro!(4 4 12 20 28), $macro!(5 5 13 21 29),
            $macro!(6 6 14 22 30), $macro!(7 7 15 23 31)
        )
    };
}

macro_rules! load_cv {
    ($w:literal $low0:literal $high0:literal $low1:literal $high1:literal) => {
        concat!(
            "vmovdqa64 zmm",
            $low0,
            ",[{cv}+128*",
            $w,
            "]\n",
            "vmovdqa64 zmm",
            $low1,
            ",[{cv}+128*",
            $w,
            "+64]\n",
        )
    };
}

macro_rules! load_iv {
    ($($w:literal $r0:literal $r1:literal,)*) => {
        concat!($(
            "vpbroadcastd zmm", $r0, ",dword ptr [{iv}+4*", $w, "]\n",
            "vmovdqa64 zmm", $r1, ",zmm", $r0, "\n",
        )*)
    };
}

macro_rules! load_tail {
    ($($w:literal $r0:literal $r1:literal,)*) => {
        concat!($(
            "vmovdqa64 zmm", $r0, ",[{tail}+128*", $w, "]\n",
            "vmovdqa64 zmm", $r1, ",[{tail}+128*", $w, "+64]\n",
        )*)
    };
}

/// The first eight words of output.
macro_rules! store_low {
    ($w:literal $low0:literal $high0:literal $low1:literal $high1:literal) => {
        concat!(
            "vpxord zmm",
            $low0,
            ",zmm",
            $low0,
            ",zmm",
            $high0,
            "\n",
            "vpxord zmm",
            $low1,
            ",zmm",
            $low1,
            ",zmm",
            $high1,
            "\n",
            "vmovdqa64 [{out}+128*",
            $w,
            "],zmm",
            $low0,
            "\n",
            "vmovdqa64 [{out}+128*",
            $w,
            "+64],zmm",
            $low1,
            "\n",
        )
    };
}

/// The last eight words of output.
macro_rules! store_high {
    ($w:literal $low0:literal $high0:literal $low1:literal $high1:literal) => {
        concat!(
            "vpxord zmm",
            $high0,
            ",zmm",
            $high0,
            ",[{cv}+128*",
            $w,
            "]\n",
            "vpxord zmm",
            $high1,
            ",zmm",
            $high1,
            ",[{cv}+128*",
            $w,
            "+64]\n",
            "vmovdqa64 [{out}+1024+128*",
            $w,
            "],zmm",
            $high0,
            "\n",
            "vmovdqa64 [{out}+1024+128*",
            $w,
            "+64],zmm",
            $high1,
            "\n",
        )
    };
}

macro_rules! run {
    ($cv:expr, $message:expr, $tail:expr, $out:expr, $($store:expr),+) => {
        asm!(
            each!(load_cv),
            load_iv!(0 8 24, 1 9 25, 2 10 26, 3 11 27,),
            load_tail!(0 12 28, 1 13 29, 2 14 30, 3 15 31,),
            rounds!([x x x x x x x]; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            $($store,)+
            cv = in(reg) $cv, m = in(reg) $message, tail = in(reg) $tail, out = in(reg) $out,
            iv = in(reg) IV.as_ptr(),
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
            out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
            out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
            out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
            out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
            options(nostack, preserves_flags)
        )
    };
}

/// One compression in each of 32 lanes; `cv` becomes the next chaining value.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers.
#[target_feature(enable = "avx512f")]
#[inline(never)]
pub(super) unsafe fn compress(cv: &mut [X32; 8], message: &[X32; 16], tail: &[X32; 4]) {
    let cv = cv.as_mut_ptr();
    // SAFETY: reads and writes the arrays only, which are aligned to 64 bytes; every register that
    // is written is declared.
    unsafe { run!(cv, message.as_ptr(), tail.as_ptr(), cv, each!(store_low)) }
}

/// One compression in each of 32 lanes, with all sixteen words of output.
///
/// # Safety
/// The CPU has AVX-512F and the OS saves its registers.
#[target_feature(enable = "avx512f")]
#[inline(never)]
pub(super) unsafe fn compress_xof(
    cv: &[X32; 8],
    message: &[X32; 16],
    tail: &[X32; 4],
) -> [X32; 16] {
    let mut words = core::mem::MaybeUninit::<[X32; 16]>::uninit();
    // SAFETY: as above; both halves of the output are written.
    unsafe {
        run!(
            cv.as_ptr(),
            message.as_ptr(),
            tail.as_ptr(),
            words.as_mut_ptr(),
            each!(store_low),
            each!(store_high)
        );
        words.assume_init()
    }
}
