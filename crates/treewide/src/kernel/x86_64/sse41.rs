//! Four lanes in SSE registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::columns::blocks::in_assembly;
use super::cores::{Core, Sse41, vector};
use super::rows::assembly;
use super::rows::pass::Rows;
use super::rows::x1::One;
use super::scalar;
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::pair::Pair;
use crate::kernel::vectors::{by_rows, load_blocks, operations, square};
use crate::spec::Words;

vector!("A word of four lanes.", X4(__m128i));

/// Defines `quads`, which transposes the 4 by 4 words in every 128-bit part of four vectors, by intrinsics that
/// take words of two vectors alternately: the first words of every part, and the last, by ones and by twos.
macro_rules! four_by_four {
    ($vector:ident: $low:ident $high:ident $low_twos:ident $high_twos:ident) => {
        #[inline(always)]
        unsafe fn quads(a: $vector, b: $vector, c: $vector, d: $vector) -> [$vector; 4] {
            let (ab_low, ab_high) = ($low(a, b), $high(a, b));
            let (cd_low, cd_high) = ($low(c, d), $high(c, d));
            [
                $low_twos(ab_low, cd_low),
                $high_twos(ab_low, cd_low),
                $low_twos(ab_high, cd_high),
                $high_twos(ab_high, cd_high),
            ]
        }
    };
}
pub(super) use four_by_four;

four_by_four!(__m128i: _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    quads(a, b, c, d)
}

square!(X4<C: Core>, 4: transpose, _mm_loadu_si128, _mm_storeu_si128);

// SAFETY: SSE2, or SSSE3 where the core has it.
unsafe impl<C: Core> Vector<4> for X4<C> {
    operations!(4: _mm_set1_epi32, _mm_loadu_si128; xor: _mm_xor_si128, and: _mm_and_si128);
    by_rows!(4: load_blocks);
    in_assembly!(4: C::COMPRESS_4[0], C::COMPRESS_4[1], C::BLOCKS_4);
}

/// One lane as rows; see `rows/assembly.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "sse4.1")]
unsafe fn compress(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    let mut padded = MaybeUninit::uninit();
    let blocks = scalar::blocks(input, len, flags.padded, false, &mut padded);
    assembly::compress_sse41(cv, input, blocks, counter, flags)
}

crate::kernel::table::kernels!(
    |cpu| cpu.sse41,
    {
        /// Costs are cycles of Sapphire Rapids: `results/spr-2vcpu/limits.md#steps`.
        KERNEL: "sse41", Other, compress, 1 @ 220 as Rows<One<Sse41>>,
            Rows<Pair<One<Sse41>>>: 2 @ 344, X4<Sse41>: 4 @ 540;
    },
    enable = "sse4.1"
);
