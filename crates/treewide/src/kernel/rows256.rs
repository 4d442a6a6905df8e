//! Two lanes as rows (see `rows.rs`), with AVX2.

use core::arch::asm;
use core::arch::x86_64::*;

use super::few_lanes::Lanes;
use super::row::{BY_8, BY_16};
use super::rows::Row;

/// A row of two lanes.
#[derive(Clone, Copy)]
pub(super) struct Two(__m256i);

/// A table of bytes, of which the compiler knows nothing: see `row.rs`.
#[inline(always)]
unsafe fn table(words: [u64; 2]) -> __m256i {
    // SAFETY: AVX2.
    unsafe { Two(_mm256_broadcastsi128_si256(_mm_loadu_si128(words.as_ptr().cast()))).hidden().0 }
}

// SAFETY: AVX2.
unsafe impl Row for Two {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe {
            match R {
                16 => _mm256_shuffle_epi8(self.0, table(BY_16)),
                8 => _mm256_shuffle_epi8(self.0, table(BY_8)),
                _ => {
                    let right = _mm256_srli_epi32::<R>(self.0);
                    _mm256_or_si256(right, _mm256_slli_epi32::<LEFT>(self.0))
                }
            }
        })
    }
    #[inline(always)]
    unsafe fn shuffle<const PICK: i32>(self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_shuffle_epi32::<PICK>(self.0) })
    }
    #[inline(always)]
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
        // SAFETY: AVX.
        Self(unsafe {
            let [a, b] = [_mm256_castsi256_ps(self.0), _mm256_castsi256_ps(other.0)];
            _mm256_castps_si256(_mm256_shuffle_ps::<PICK>(a, b))
        })
    }
    #[inline(always)]
    unsafe fn last_two(self, other: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_unpackhi_epi32(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { _mm256_blend_epi32::<0b1000_1000>(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn hidden(self) -> Self {
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn pass(mut row: __m256i) -> __m256i {
            // SAFETY: nothing happens.
            unsafe {
                asm!(
                    "/* {0} */",
                    inout(ymm_reg) row,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            row
        }
        // SAFETY: AVX2.
        Self(unsafe { pass(self.0) })
    }
}

/// `a` below `b`.
#[inline(always)]
pub(super) unsafe fn joined(a: __m128i, b: __m128i) -> __m256i {
    // SAFETY: AVX2.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b) }
}

/// The 16 bytes at `inputs[lane] + offset`.
///
/// # Safety
/// They are there; AVX2, here and below.
#[inline(always)]
pub(super) unsafe fn load(inputs: &[*const u8; 2], offset: usize) -> __m256i {
    // SAFETY: just that.
    unsafe {
        let part = |lane: usize| _mm_loadu_si128(inputs[lane].add(offset).cast());
        joined(part(0), part(1))
    }
}

/// [`Lanes::row_3`].
#[inline(always)]
pub(super) unsafe fn row_3(
    low: &[u32; 2],
    high: &[u32; 2],
    lens: &[u32; 2],
    flags: &[u32; 2],
) -> __m256i {
    // SAFETY: AVX2.
    unsafe {
        let part = |lane: usize| {
            let words = [low, high, lens, flags].map(|words| words[lane] as i32);
            _mm_setr_epi32(words[0], words[1], words[2], words[3])
        };
        joined(part(0), part(1))
    }
}

/// [`Lanes::store`].
#[inline(always)]
pub(super) unsafe fn store(row: __m256i, out: *mut u8, stride: usize, count: usize) {
    // SAFETY: the caller has room.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(row));
        if count > 1 {
            _mm_storeu_si128(out.add(stride).cast(), _mm256_extracti128_si256::<1>(row));
        }
    }
}

// SAFETY: AVX2.
unsafe impl Lanes<2> for Two {
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        // SAFETY: AVX2; sixteen readable bytes.
        Self(unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(words.as_ptr().cast())) })
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 2], offset: usize) -> Self {
        // SAFETY: the same contract.
        Self(unsafe { load(inputs, offset) })
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 2], high: &[u32; 2], lens: &[u32; 2], flags: &[u32; 2]) -> Self {
        // SAFETY: AVX2.
        Self(unsafe { row_3(low, high, lens, flags) })
    }
    #[inline(always)]
    unsafe fn replace(self, runs: &[u32; 2], new: Self) -> Self {
        // SAFETY: AVX2.
        Self(unsafe {
            let runs = joined(_mm_set1_epi32(runs[0] as i32), _mm_set1_epi32(runs[1] as i32));
            _mm256_blendv_epi8(self.0, new.0, runs)
        })
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
        // SAFETY: the same contract.
        unsafe { store(self.0, out, stride, count) }
    }
}
