//! Four lanes as rows (see `rows.rs`), with AVX-512.

use core::arch::x86_64::*;

use super::kit::{active, barrier, joined, load};
use super::vector::RowVector;
use crate::kernel::rows::Row;
use crate::kernel::x86_64::cores::{Core, vector};

vector!("A row of four lanes.", Four(__m512i));

impl<C: Core> Four<C> {
    /// Where the core wants it, a row that is made after those before it in the source, and before those after it.
    #[inline(always)]
    unsafe fn ordered(row: __m512i) -> Self {
        let row = Self::new(row);
        if !C::IN_ORDER {
            return row;
        }
        let [row] = barrier!(zmm_reg "avx512f" [__m512i; 1] row,);
        Self::new(row)
    }
}

// SAFETY: AVX-512F.
unsafe impl<C: Core> Row for Four<C> {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self::ordered(_mm512_add_epi32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        Self::ordered(_mm512_xor_si512(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn rotate<const R: i32, const LEFT: i32>(self) -> Self {
        Self::ordered(_mm512_ror_epi32::<R>(self.0))
    }
    #[inline(always)]
    unsafe fn shuffle<const PICK: i32>(self) -> Self {
        Self::ordered(_mm512_shuffle_epi32::<PICK>(self.0))
    }
    #[inline(always)]
    unsafe fn two_of_each<const PICK: i32>(self, other: Self) -> Self {
        let [a, b] = [_mm512_castsi512_ps(self.0), _mm512_castsi512_ps(other.0)];
        Self::ordered(_mm512_castps_si512(_mm512_shuffle_ps::<PICK>(a, b)))
    }
    #[inline(always)]
    unsafe fn last_two(self, other: Self) -> Self {
        Self::ordered(_mm512_unpackhi_epi32(self.0, other.0))
    }
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        Self::ordered(_mm512_mask_blend_epi32(0x8888, self.0, other.0))
    }
    #[inline(always)]
    unsafe fn hidden(self) -> Self {
        Self::ordered(self.0)
    }
}

// SAFETY: AVX-512F, BW and VL, and BMI2.
unsafe impl<C: Core> RowVector<4> for Four<C> {
    const MASKS: bool = true;

    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        Self::new(_mm512_broadcast_i32x4(load(words.as_ptr().cast())))
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 4], offset: usize) -> Self {
        Self::new({
            let part = |lane: usize| _mm_loadu_si128(inputs[lane].add(offset).cast());
            let row = _mm512_castsi128_si512(part(0));
            let row = _mm512_inserti32x4::<1>(row, part(1));
            let row = _mm512_inserti32x4::<2>(row, part(2));
            _mm512_inserti32x4::<3>(row, part(3))
        })
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 4], high: &[u32; 4], lens: &[u32; 4], flags: &[u32; 4]) -> Self {
        // By shuffles, as a load of words that were stored one by one would wait.
        Self::new({
            let two = |counters, rest| {
                joined(_mm_unpacklo_epi64(counters, rest), _mm_unpackhi_epi64(counters, rest))
            };
            let load = |words: &[u32; 4]| load(words.as_ptr().cast());
            let (low, high, lens, flags) = (load(low), load(high), load(lens), load(flags));
            let first = two(_mm_unpacklo_epi32(low, high), _mm_unpacklo_epi32(lens, flags));
            let second = two(_mm_unpackhi_epi32(low, high), _mm_unpackhi_epi32(lens, flags));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second)
        })
    }
    #[inline(always)]
    unsafe fn replace(self, live: &[u32; 4], new: Self) -> Self {
        Self::new(_mm512_mask_mov_epi32(self.0, active(live), new.0))
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
        let parts = [
            _mm512_extracti32x4_epi32::<0>(self.0),
            _mm512_extracti32x4_epi32::<1>(self.0),
            _mm512_extracti32x4_epi32::<2>(self.0),
            _mm512_extracti32x4_epi32::<3>(self.0),
        ];
        for (lane, part) in parts.into_iter().enumerate().take(count) {
            _mm_storeu_si128(out.add(lane * stride).cast(), part);
        }
    }
}
