//! Two lanes as rows (see `rows.rs`), with AVX2 or AVX-512.

use core::arch::x86_64::*;

use super::assembly;
use super::kit::{active, barrier, early_operations, joined, load, row_operations, store, turned};
use super::vector::{RowOperands, RowVector, compiled_blocks, compiled_rounds, loaded_rounds};
use super::zen4::{self, Early};
use crate::kernel::rows::{Next, Row};
use crate::kernel::vectors::operations;
use crate::kernel::x86_64::cores::{Core, Form, vector};

vector!("A row of two lanes.", Two(__m256i));

// SAFETY: AVX2, or AVX-512F and VL.
unsafe impl<C: Core> Row for Two<C> {
    const NEXT: Next = C::NEXT;
    const NEXT_IN_PAIRS: Next = C::NEXT_IN_PAIRS;

    operations!(add: _mm256_add_epi32, xor: _mm256_xor_si256, last_two: _mm256_unpackhi_epi32);
    row_operations!(ymm_reg "avx2" __m256i;
        rotate: _mm256_ror_epi32, _mm256_srli_epi32, _mm256_slli_epi32, _mm256_or_si256; shuffle: _mm256_shuffle_epi32;
        two_of_each: _mm256_castsi256_ps, _mm256_shuffle_ps, _mm256_castps_si256);
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        Self::new(_mm256_blend_epi32::<0b1000_1000>(self.0, other.0))
    }
}

// SAFETY: AVX2, or AVX-512F, BW and VL, and BMI2.
unsafe impl<C: Core> RowVector<2> for Two<C> {
    const MASKS: bool = C::AVX512;
    const ASSEMBLED: bool = matches!(C::ROWS, Form::Avx2);

    #[inline(always)]
    unsafe fn rounds(v: &mut [Self; 4], inputs: &[*const u8; 2], offset: usize) {
        if C::EARLY_ROTATIONS {
            zen4::rounds(v, inputs, offset)
        } else {
            loaded_rounds(v, inputs, offset)
        }
    }
    #[inline(always)]
    unsafe fn arranged_rounds(v: &mut [Self; 4], m: [Self; 4]) {
        if const { Self::ASSEMBLED } {
            assembly::rounds_avx2_2(&mut *v.as_mut_ptr().cast(), (&raw const m).cast())
        } else {
            compiled_rounds(v, m)
        }
    }
    #[inline(always)]
    unsafe fn blocks(
        rows: &mut RowOperands<Self>,
        inputs: &[*const u8; 2],
        offset: usize,
        count: usize,
    ) {
        if const { Self::ASSEMBLED } {
            let cv = &mut *rows.cv.as_mut_ptr().cast();
            assembly::blocks_avx2_2(cv, rows.tails.as_ptr().cast(), inputs, offset, count)
        } else {
            compiled_blocks(rows, inputs, offset, count)
        }
    }
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        Self::new(_mm256_broadcastsi128_si256(load(words.as_ptr().cast())))
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 2], offset: usize) -> Self {
        let first = load(inputs[0].wrapping_add(offset));
        Self::new(joined(first, load(inputs[1].wrapping_add(offset))))
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 2], high: &[u32; 2], lens: &[u32; 2], flags: &[u32; 2]) -> Self {
        Self::new({
            let part = |low: u32, high: u32, len: u32, flags: u32| {
                _mm_setr_epi32(low as i32, high as i32, len as i32, flags as i32)
            };
            joined(
                part(low[0], high[0], lens[0], flags[0]),
                part(low[1], high[1], lens[1], flags[1]),
            )
        })
    }
    #[inline(always)]
    unsafe fn replace(self, live: &[u32; 2], new: Self) -> Self {
        Self::new({
            if Self::MASKS {
                _mm256_mask_mov_epi32(self.0, active(live) as u8, new.0)
            } else {
                let live = joined(_mm_set1_epi32(live[0] as i32), _mm_set1_epi32(live[1] as i32));
                _mm256_blendv_epi8(self.0, new.0, live)
            }
        })
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, stride: usize, count: usize) {
        store(out, _mm256_castsi256_si128(self.0));
        if count > 1 {
            // Hidden, so that the compiler does not make vectors of 512 bits of halves that are stored side by side.
            let row = self.hidden().0;
            store(out.wrapping_add(stride), _mm256_extracti128_si256::<1>(row));
        }
    }
}

// SAFETY: AVX-512F and VL.
unsafe impl<C: Core> Early<2> for Two<C> {
    early_operations!(ymm_reg "avx2" __m256i; _mm256_srli_epi32, _mm256_slli_epi32, _mm256_ternarylogic_epi32);
    #[inline(always)]
    unsafe fn pick([first, second]: &[__m512i; 2], order: __m512i) -> __m512i {
        _mm512_permutex2var_epi32(*first, order, *second)
    }
}
