//! Four lanes in SSE registers.

use core::arch::x86_64::*;

use super::assembly::Routine;
use super::few_lanes::{Compiled, Rows};
use super::rounds16;
use super::row;
use super::row::{One, SSE41};
use super::run::{Run, in_assembly};
use super::scalar::compress;
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::rows::Pair;
use crate::kernel::vectors::{by_rows, load_blocks, operations, square};
use crate::spec::Words;

/// `BYTES`: words rotate by bytes where that is possible, with SSSE3.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct X4<const BYTES: bool>(__m128i);

impl<const BYTES: bool> X4<BYTES> {
    const COMPRESS: Routine = if BYTES { rounds16::compress_4 } else { rounds16::compress_sse2_4 };
    const COMPRESS_XOF: Routine =
        if BYTES { rounds16::compress_xof_4 } else { rounds16::compress_xof_sse2_4 };
    const RUN: Run = if BYTES { rounds16::run_4 } else { rounds16::run_sse2_4 };
}

/// Defines `quads`, which transposes the 4 by 4 words in every 128-bit part of four vectors, by intrinsics that
/// take the words of two vectors by turns: the first words of every part, and the last, by ones and by twos.
macro_rules! four_by_four {
    ($vector:ident: $low:ident $high:ident $low_twos:ident $high_twos:ident) => {
        #[inline(always)]
        unsafe fn quads(a: $vector, b: $vector, c: $vector, d: $vector) -> [$vector; 4] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let (ab_low, ab_high) = ($low(a, b), $high(a, b));
                let (cd_low, cd_high) = ($low(c, d), $high(c, d));
                [
                    $low_twos(ab_low, cd_low),
                    $high_twos(ab_low, cd_low),
                    $low_twos(ab_high, cd_high),
                    $high_twos(ab_high, cd_high),
                ]
            }
        }
    };
}
pub(super) use four_by_four;

four_by_four!(__m128i: _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: SSE2 only, which every x86-64 CPU has.
    unsafe { quads(a, b, c, d) }
}

square!(X4<BYTES>, 4: transpose, _mm_loadu_si128, _mm_storeu_si128);

// SAFETY: SSE2, with `BYTES` SSSE3.
unsafe impl<const BYTES: bool> Vector<4> for X4<BYTES> {
    operations!(4: _mm_set1_epi32, _mm_loadu_si128; xor: _mm_xor_si128, and: _mm_and_si128);
    by_rows!(4: load_blocks);
    in_assembly!(4: Self::COMPRESS, Self::COMPRESS_XOF, Self::RUN);
}

/// One lane as rows; see `row.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "sse4.1")]
unsafe fn compress_row(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress::<Compiled, SSE41>(cv, input, len, counter, flags) }
}

crate::kernel::entries::entry_points!(
    |cpu| cpu.sse41,
    {
        KERNEL: "sse41-general", [Two] compress, 1 @ 49, X4<true>: 4 @ 120;
        ROW: "sse41-row", [One Rotations] compress_row, 1 @ 220 as Rows<One<SSE41>>,
            Rows<Pair<One<SSE41>, 1, true>>: 2 @ 344, X4<true>: 4 @ 540;
    },
    enable = "sse4.1"
);
