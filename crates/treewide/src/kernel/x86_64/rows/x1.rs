//! One lane as rows (see `rows.rs`) in 128-bit registers.
//!
//! A chain of twelve operations for each of the fourteen half rounds, as in general registers
//! (`scalar.rs`), but with a third of the instructions. Which of the two is faster depends on how
//! many cycles an operation takes, and on how many a cycle begins: see `cores.rs`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::assembly;
use super::kit::{barrier, early_operations, load, row_operations, store, turned};
use super::vector::{RowVector, begin, compiled_rounds, fold, loaded_rounds};
use super::zen4::{self, Early};
use crate::kernel::contract::Flags;
use crate::kernel::rows::{Next, Row};
use crate::kernel::vectors::operations;
use crate::kernel::x86_64::cores::{Core, Form, vector};
use crate::kernel::x86_64::scalar::blocks;
use crate::spec::{BLOCK_LEN, Words};

vector!("A row of one lane.", One(__m128i));

// SAFETY: SSE2; SSSE3 and SSE4.1; with these AVX2, or AVX-512F and VL.
unsafe impl<C: Core> Row for One<C> {
    const NEXT: Next = C::NEXT;
    const NEXT_IN_PAIRS: Next = C::NEXT_IN_PAIRS;

    operations!(add: _mm_add_epi32, xor: _mm_xor_si128, last_two: _mm_unpackhi_epi32);
    row_operations!(xmm_reg "sse2" __m128i;
        rotate: _mm_ror_epi32, _mm_srli_epi32, _mm_slli_epi32, _mm_or_si128; shuffle: _mm_shuffle_epi32;
        two_of_each: _mm_castsi128_ps, _mm_shuffle_ps, _mm_castps_si128);
    #[inline(always)]
    unsafe fn with_last(self, other: Self) -> Self {
        if !C::SSE41 {
            let last = self.two_of_each::<0b11_11_10_10>(other);
            self.two_of_each::<0b10_00_01_00>(last)
        } else {
            Self::new(_mm_blend_epi16::<0b11_00_00_00>(self.0, other.0))
        }
    }
}

// SAFETY: as for `Row`.
unsafe impl<C: Core> RowVector<1> for One<C> {
    const MASKS: bool = C::AVX512;

    #[inline(always)]
    unsafe fn rounds(v: &mut [Self; 4], inputs: &[*const u8; 1], offset: usize) {
        if C::EARLY_ROTATIONS {
            zen4::rounds(v, inputs, offset)
        } else {
            loaded_rounds(v, inputs, offset)
        }
    }
    #[inline(always)]
    unsafe fn arranged_rounds(v: &mut [Self; 4], m: [Self; 4]) {
        let (state, message) = (v.as_mut_ptr().cast(), (&raw const m).cast());
        if const { matches!(C::ROWS, Form::Sse41) } {
            assembly::rounds_sse41(&mut *state, message)
        } else if const { matches!(C::ROWS, Form::Avx2) } {
            assembly::rounds_avx2(&mut *state, message)
        } else {
            compiled_rounds(v, m)
        }
    }
    #[inline(always)]
    unsafe fn broadcast(words: &[u32; 4]) -> Self {
        Self::new(load(words.as_ptr().cast()))
    }
    #[inline(always)]
    unsafe fn load(inputs: &[*const u8; 1], offset: usize) -> Self {
        Self::new(load(inputs[0].wrapping_add(offset)))
    }
    #[inline(always)]
    unsafe fn row_3(low: &[u32; 1], high: &[u32; 1], lens: &[u32; 1], flags: &[u32; 1]) -> Self {
        let (counter, rest) = ([low[0] as i32, high[0] as i32], [lens[0] as i32, flags[0] as i32]);
        Self::new(_mm_setr_epi32(counter[0], counter[1], rest[0], rest[1]))
    }
    #[inline(always)]
    unsafe fn replace(self, live: &[u32; 1], new: Self) -> Self {
        if live[0] == 0 { self } else { new }
    }
    #[inline(always)]
    unsafe fn store(self, out: *mut u8, _stride: usize, _count: usize) {
        store(out, self.0)
    }
}

/// Compresses the blocks of a node; see [`crate::kernel::Kernel`].
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions of `C`.
#[inline(always)]
pub(in crate::kernel::x86_64) unsafe fn compress<C: Core>(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = MaybeUninit::uninit();
    // SAFETY: the same contract.
    let (blocks, last, last_len) = blocks(input, len, flags.padded, C::AVX512, &mut padded);
    let words: *mut __m128i = cv.as_mut_ptr().cast();
    let (mut row0, mut row1) =
        (One::new(_mm_loadu_si128(words)), One::new(_mm_loadu_si128(words.add(1))));
    let mut now = flags.each | flags.first;
    for block in 0..blocks {
        let (mut from, mut len) = (input.wrapping_add(block * BLOCK_LEN), BLOCK_LEN);
        if block == blocks - 1 {
            (from, len, now) = (last, last_len, now | flags.last);
        }
        let rest = len as i64 | i64::from(now) << 32;
        let tail = One::new(_mm_set_epi64x(rest, counter as i64));
        let mut v = begin([row0, row1], tail);
        One::<C>::rounds(&mut v, &[from], 0);
        [row0, row1] = fold(v);
        now = flags.each;
    }
    _mm_storeu_si128(words, row0.0);
    _mm_storeu_si128(words.add(1), row1.0);
}

// SAFETY: AVX-512F and VL.
unsafe impl<C: Core> Early<1> for One<C> {
    early_operations!(xmm_reg "sse2" __m128i; _mm_srli_epi32, _mm_slli_epi32, _mm_ternarylogic_epi32);
    #[inline(always)]
    unsafe fn pick([block]: &[__m512i; 1], order: __m512i) -> __m512i {
        _mm512_permutexvar_epi32(order, *block)
    }
}
