//! Four lanes in SSE registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::few_lanes::{Pair, Rows};
use super::group::Group;
use super::lanes::{Vector, operations};
use super::rounds16;
use super::row::One;
use super::scalar::compress;
use super::{Flags, row, run};
use crate::spec::{BLOCK_LEN, ChainingValue, Words};

#[derive(Clone, Copy)]
pub(super) struct X4(__m128i);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: SSE2 only, which every x86-64 CPU has.
    unsafe {
        let [a, b, c, d] = rows;
        let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
        [
            _mm_unpacklo_epi64(ab_low, cd_low),
            _mm_unpackhi_epi64(ab_low, cd_low),
            _mm_unpacklo_epi64(ab_high, cd_high),
            _mm_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}

/// Stores rows of `WORDS` words, the first `count` of the four lanes.
#[inline(always)]
unsafe fn store_rows<const WORDS: usize>(words: &[X4; WORDS], out: *mut u8, count: usize) {
    for quad in 0..WORDS / 4 {
        // SAFETY: the caller has room for `count` rows.
        unsafe {
            let w = &words[4 * quad..];
            let rows = transpose([w[0].0, w[1].0, w[2].0, w[3].0]);
            for (lane, row) in rows.into_iter().enumerate().take(count) {
                _mm_storeu_si128(out.add(lane * 4 * WORDS + 16 * quad).cast(), row);
            }
        }
    }
}

// SAFETY: SSE4.1 and what it implies (SSSE3 for the byte shuffle).
unsafe impl Vector<4> for X4 {
    operations!(4: _mm_set1_epi32, _mm_loadu_si128; xor: _mm_xor_si128, and: _mm_and_si128);
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 4],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: the caller has 64 bytes at each.
        unsafe {
            for quad in 0..4 {
                let mut rows = [_mm_setzero_si128(); 4];
                for (row, input) in rows.iter_mut().zip(inputs) {
                    *row = _mm_loadu_si128(input.add(offset + 16 * quad).cast());
                }
                for (word, row) in message[4 * quad..].iter_mut().zip(transpose(rows)) {
                    word.write(Self(row));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize) {
        // SAFETY: the caller has room for `count`.
        unsafe { store_rows(cv, out.cast(), count) }
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize) {
        // SAFETY: the caller has room for `count`.
        unsafe { store_rows(words, out.cast(), count) }
    }
    #[inline(always)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        // SAFETY: SSE4.1; the arrays have the layout that the assembly reads.
        unsafe { rounds16::compress_4(cv, message, tail, cv) }
    }
    #[inline(always)]
    unsafe fn compress_xof(cv: &[Self; 8], message: &[Self; 16], tail: &[Self; 4]) -> [Self; 16] {
        // SAFETY: SSE4.1; the arrays have the layout that the assembly reads.
        unsafe {
            let mut out = MaybeUninit::uninit();
            rounds16::compress_xof_4(cv, message, tail, out.as_mut_ptr());
            out.assume_init()
        }
    }

    const RUN_FROM: usize = 1;

    #[inline(always)]
    unsafe fn run(cv: &mut [Self; 8], nodes: &Group<4>, steps: usize, last: &[u32; 4]) {
        // SAFETY: SSE4.1.
        unsafe { run::run(rounds16::run_4, cv, nodes, steps, last) }
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
#[target_feature(enable = "sse4.1")]
unsafe fn compress_row(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress(cv, input, len, counter, flags) }
}

super::entry_points!(
    |cpu| cpu.sse41,
    {
        KERNEL: "sse41-general", Two compress, 1 @ 51, X4: 4 @ 120;
        ROW: "sse41-row", One compress_row, 1 @ 220, Rows<Pair<One<false>>>: 2 @ 344, X4: 4 @ 540;
    },
    enable = "sse4.1"
);
