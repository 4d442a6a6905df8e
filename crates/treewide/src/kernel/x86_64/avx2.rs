//! Eight lanes in AVX2 registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::assembly::Routine;
use super::few_lanes::{Compiled, Rows};
use super::rounds16;
use super::row::{AVX2, One};
use super::rows256::{Two, joined};
use super::run::{Run, in_assembly};
use super::scalar::compress;
use super::sse41::four_by_four;
use super::{row, run512};
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::rows::Pair;
use crate::kernel::vectors::{by_rows, operations, square};
use crate::spec::Words;

/// `VL`: its assembly has the instructions and the registers of AVX-512VL. The functions around it have AVX2 only, as
/// compilers would use some vectors of 512 bits, which close a port of Intel's CPUs for a while.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct X8<const VL: bool>(__m256i);

four_by_four!(__m256i: _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: AVX2, as everything here.
    unsafe {
        let [a, b, c, d, e, f, g, h] = rows;
        let (low, high) = (quads(a, b, c, d), quads(e, f, g, h));
        [
            _mm256_permute2x128_si256::<0x20>(low[0], high[0]),
            _mm256_permute2x128_si256::<0x20>(low[1], high[1]),
            _mm256_permute2x128_si256::<0x20>(low[2], high[2]),
            _mm256_permute2x128_si256::<0x20>(low[3], high[3]),
            _mm256_permute2x128_si256::<0x31>(low[0], high[0]),
            _mm256_permute2x128_si256::<0x31>(low[1], high[1]),
            _mm256_permute2x128_si256::<0x31>(low[2], high[2]),
            _mm256_permute2x128_si256::<0x31>(low[3], high[3]),
        ]
    }
}

square!(X8<VL>, 8: transpose, _mm256_loadu_si256, _mm256_storeu_si256);

/// [`Vector::load_blocks`]: put together from halves, which any port does; of shuffles two ports do, or one.
#[inline(always)]
unsafe fn load_halves<const VL: bool>(
    inputs: &[*const u8; 8],
    offset: usize,
    message: &mut [MaybeUninit<X8<VL>>; 16],
) {
    // SAFETY: the caller has 64 bytes at each.
    unsafe {
        for (quarter, words) in message.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let part =
                |lane: usize| _mm_loadu_si128(inputs[lane].add(offset + 16 * quarter).cast());
            let row = |lane: usize| joined(part(lane), part(lane + 4));
            for (word, row) in words.iter_mut().zip(quads(row(0), row(1), row(2), row(3))) {
                word.write(X8(row));
            }
        }
    }
}

impl<const VL: bool> X8<VL> {
    const COMPRESS: Routine = if VL { run512::compress_8 } else { rounds16::compress_8 };
    const COMPRESS_XOF: Routine =
        if VL { run512::compress_xof_8 } else { rounds16::compress_xof_8 };
    const RUN: Run = if VL { run512::run_8 } else { rounds16::run_8 };
}

// SAFETY: AVX2 and what it implies; with `VL` AVX-512F and VL.
unsafe impl<const VL: bool> Vector<8> for X8<VL> {
    operations!(8: _mm256_set1_epi32, _mm256_loadu_si256;
        xor: _mm256_xor_si256, and: _mm256_and_si256);
    by_rows!(8: load_halves);
    in_assembly!(8: Self::COMPRESS, Self::COMPRESS_XOF, Self::RUN);
}

/// One lane as rows; see `row.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "avx2")]
unsafe fn compress_row(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress::<Compiled, AVX2>(cv, input, len, counter, flags) }
}

crate::kernel::entries::entry_points!(
    |cpu| cpu.avx2,
    {
        KERNEL: "avx2-general", [Two] compress,
            1 @ 49, Rows<Pair<Two<AVX2>, 2, true>>: 4 @ 114, X8<false>: 8 @ 127;
        ROW: "avx2-row", [One Rotations] compress_row,
            1 @ 216 as Rows<One<AVX2>>, Rows<Two<AVX2>>: 2 @ 219,
            Rows<Pair<Two<AVX2>, 2, true>>: 4 @ 340, X8<false>: 8 @ 460;
    },
    enable = "avx2"
);
