//! Eight lanes in AVX2 registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::few_lanes::{Pair, Rows};
use super::group::Group;
use super::lanes::{self, Vector, rounds};
use super::rounds16;
use super::rows256::Two;
use super::scalar::compress;
use super::sse41::four_by_four;
use super::vectors::{by_rows, operations, square};
use super::{Flags, row, run, run512};
use crate::spec::Words;

/// `VL`: the function around it has AVX-512VL, with which the compiler rotates in one instruction,
/// has 32 registers and so needs no assembly (`rounds16.rs`) but for runs (`run512.rs`).
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

// SAFETY: AVX2 and what it implies.
unsafe impl<const VL: bool> Vector<8> for X8<VL> {
    operations!(8: _mm256_set1_epi32, _mm256_loadu_si256;
        add: _mm256_add_epi32, xor: _mm256_xor_si256, and: _mm256_and_si256);
    /// The compiler makes rotations of it.
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe {
            let bytes = |from: [u64; 2]| {
                let from = _mm_set_epi64x(from[1] as i64, from[0] as i64);
                _mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(from))
            };
            match R {
                16 => bytes(row::BY_16),
                8 => bytes(row::BY_8),
                12 => _mm256_or_si256(_mm256_srli_epi32(self.0, 12), _mm256_slli_epi32(self.0, 20)),
                _ => _mm256_or_si256(_mm256_srli_epi32(self.0, 7), _mm256_slli_epi32(self.0, 25)),
            }
        })
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 8],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: the caller has 64 bytes at each.
        unsafe {
            // Put together from halves, which any port does; of shuffles two ports do, or one.
            for (quarter, words) in message.chunks_exact_mut(4).enumerate() {
                let part =
                    |lane: usize| _mm_loadu_si128(inputs[lane].add(offset + 16 * quarter).cast());
                let row = |lane: usize| {
                    let low = _mm256_castsi128_si256(part(lane));
                    _mm256_inserti128_si256::<1>(low, part(lane + 4))
                };
                for (word, row) in words.iter_mut().zip(quads(row(0), row(1), row(2), row(3))) {
                    word.write(Self(row));
                }
            }
        }
    }
    by_rows!();
    #[inline(always)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        // SAFETY: AVX2; the arrays have the layout that the assembly reads.
        unsafe {
            if VL {
                lanes::compress(cv, message, tail);
            } else {
                let (message, tail) = (message.as_ptr().cast(), tail.as_ptr().cast());
                let cv = cv.as_mut_ptr();
                rounds16::compress_8(cv.cast(), message, tail, cv.cast());
            }
        }
    }
    #[inline(always)]
    unsafe fn compress_xof(cv: &[Self; 8], message: &[Self; 16], tail: &[Self; 4]) -> [Self; 16] {
        // SAFETY: AVX2; the arrays have the layout that the assembly reads.
        unsafe {
            if VL {
                let mut v = rounds(cv, message, tail);
                for i in 0..8 {
                    v[i] = v[i].xor(v[i + 8]);
                    v[i + 8] = v[i + 8].xor(cv[i]);
                }
                v
            } else {
                let mut out = MaybeUninit::<[Self; 16]>::uninit();
                let (message, tail) = (message.as_ptr().cast(), tail.as_ptr().cast());
                let (cv, to) = (cv.as_ptr().cast(), out.as_mut_ptr().cast());
                rounds16::compress_xof_8(cv, message, tail, to);
                out.assume_init()
            }
        }
    }

    const RUN_FROM: usize = run::FROM;

    #[inline(always)]
    unsafe fn run(cv: &mut [Self; 8], nodes: &Group<8>, from: usize, to: usize) {
        let routine = if VL { run512::run_8 } else { rounds16::run_8 };
        // SAFETY: AVX2, or AVX-512VL as `VL` says.
        unsafe { run::run(routine, cv, nodes, from, to) }
    }
    #[inline(always)]
    unsafe fn prefetch(address: *const u8) {
        // SAFETY: a hint; the address need not exist.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
    }
}

/// One lane as rows; see `row.rs`.
///
/// # Safety
/// `input` points to `len` readable bytes; the CPU has the instructions.
#[target_feature(enable = "avx2")]
unsafe fn compress_row(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress(cv, input, len, counter, flags) }
}

super::entry_points!(
    |cpu| cpu.avx2,
    {
        KERNEL: "avx2-general", Two compress,
            1 @ 51, Rows<Pair<Two<false>, 2, true>>: 4 @ 114, X8<false>: 8 @ 127;
        ROW: "avx2-row", One compress_row, 1 @ 216, Rows<Two<false>>: 2 @ 219,
            Rows<Pair<Two<false>, 2, false>>: 4 @ 340, X8<false>: 8 @ 460;
    },
    enable = "avx2"
);
