//! Sixteen lanes in AVX-512 registers, or 32 as two interleaved states.
//!
//! One 16-lane state keeps fewer than two vector operations a cycle in flight, as each waits for
//! the one before it. Two states fill the 32 registers, with the message as memory operands
//! and rotations in place, and fill the waiting of each other. The compiler would pull the two
//! apart again, so the order of their instructions is fixed in assembly (`rounds32.rs`).
//!
//! That is Zen 5, where an operation that waits takes two cycles. Where it takes one, as on Intel, one state
//! keeps the two ports for 512 bits busy, and what is left to gain lies between the steps (`run.rs`). On Zen 4 one
//! state takes 493 cycles a step, and two 910, or 1,002 while the core's other thread is busy: they count as 950.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::apart::Apart;
use super::avx2::X8;
use super::few_lanes::{Compiled, Rows};
use super::paced::{self, Eight, Paced};
use super::rounds32;
use super::row::{AVX512, One, ZEN4};
use super::rows256::Two;
use super::rows512::Four;
use super::run::{Run, in_assembly};
use super::sse41::four_by_four;
use super::{avx2, row, run512, scalar};
use crate::kernel::columns::{self, Vector};
use crate::kernel::contract::Flags;
use crate::kernel::contract::Root;
use crate::kernel::rows::Pair;
use crate::kernel::twice::{Twice, by_halves, half, state};
use crate::kernel::vectors::operations;
use crate::spec::{BLOCK_LEN, ChainingValue, Words};

/// A word of sixteen lanes. `HELD`: runs hold the message in registers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct X16<const HELD: bool>(__m512i);

impl<const HELD: bool> X16<HELD> {
    const RUN: Run = if HELD { run512::run_16_held } else { run512::run_16 };
}

four_by_four!(__m512i: _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: &[__m512i; 16]) -> [__m512i; 16] {
    // SAFETY: AVX-512F, as everything here.
    unsafe {
        let zero = _mm512_setzero_si512();
        let (mut pairs, mut quads, mut out) = ([zero; 16], [zero; 16], [zero; 16]);
        for i in 0..8 {
            pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
            pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
        }
        // quads[4 * i + w], 128-bit part p: words 4 * p + w of rows 4 * i to 4 * i + 3.
        for i in 0..4 {
            quads[4 * i] = _mm512_unpacklo_epi64(pairs[4 * i], pairs[4 * i + 2]);
            quads[4 * i + 1] = _mm512_unpackhi_epi64(pairs[4 * i], pairs[4 * i + 2]);
            quads[4 * i + 2] = _mm512_unpacklo_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
            quads[4 * i + 3] = _mm512_unpackhi_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
        }
        // What is left is to transpose the 128-bit parts, four by four.
        for w in 0..4 {
            let even_low = _mm512_shuffle_i32x4::<0x88>(quads[w], quads[w + 4]);
            let odd_low = _mm512_shuffle_i32x4::<0xdd>(quads[w], quads[w + 4]);
            let even_high = _mm512_shuffle_i32x4::<0x88>(quads[w + 8], quads[w + 12]);
            let odd_high = _mm512_shuffle_i32x4::<0xdd>(quads[w + 8], quads[w + 12]);
            out[w] = _mm512_shuffle_i32x4::<0x88>(even_low, even_high);
            out[w + 8] = _mm512_shuffle_i32x4::<0xdd>(even_low, even_high);
            out[w + 4] = _mm512_shuffle_i32x4::<0x88>(odd_low, odd_high);
            out[w + 12] = _mm512_shuffle_i32x4::<0xdd>(odd_low, odd_high);
        }
        out
    }
}

// SAFETY: AVX-512F and, for the byte masks, AVX-512BW.
unsafe impl<const HELD: bool> Vector<16> for X16<HELD> {
    operations!(16: _mm512_set1_epi32, _mm512_loadu_si512;
        add: _mm512_add_epi32, xor: _mm512_xor_si512, and: _mm512_and_si512);
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: AVX-512F.
        Self(unsafe { _mm512_ror_epi32::<R>(self.0) })
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 16],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: the caller has 64 bytes at each.
        unsafe {
            // Put together from halves, which any port does; shuffles have one port, or two.
            for (half, words) in message.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let part =
                    |lane: usize| _mm256_loadu_si256(inputs[lane].add(offset + 32 * half).cast());
                // Lanes 0 to 3 and 8 to 11, each with the one four after it.
                let row = |i: usize| {
                    let lane = i + i / 4 * 4;
                    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(part(lane)), part(lane + 4))
                };
                let low = quads(row(0), row(1), row(2), row(3));
                let high = quads(row(4), row(5), row(6), row(7));
                for w in 0..4 {
                    words[w].write(Self(_mm512_shuffle_i32x4::<0x88>(low[w], high[w])));
                    words[w + 4].write(Self(_mm512_shuffle_i32x4::<0xdd>(low[w], high[w])));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn load_ragged(
        inputs: &[*const u8; 16],
        offset: usize,
        lens: &[u32; 16],
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: bytes outside the mask are not read.
        unsafe {
            let mut rows = [_mm512_setzero_si512(); 16];
            for lane in 0..16 {
                let mask = !(u64::MAX.checked_shl(lens[lane]).unwrap_or(0));
                let input = inputs[lane].wrapping_add(offset);
                rows[lane] = _mm512_maskz_loadu_epi8(mask, input.cast());
            }
            for (word, column) in message.iter_mut().zip(&transpose(&rows)) {
                word.write(Self(*column));
            }
        }
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize) {
        // SAFETY: the caller has room for `count`.
        unsafe {
            // 128-bit part p of low[i] and of high[i]: words 0 to 3, and 4 to 7, of lane 4 * p + i.
            let low = quads(cv[0].0, cv[1].0, cv[2].0, cv[3].0);
            let high = quads(cv[4].0, cv[5].0, cv[6].0, cv[7].0);
            let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            for i in 0..4 {
                let lanes = [
                    _mm512_permutex2var_epi64(low[i], first, high[i]),
                    _mm512_permutex2var_epi64(low[i], second, high[i]),
                ];
                for (pair, lanes) in lanes.into_iter().enumerate() {
                    let lane = 8 * pair + i;
                    if lane < count {
                        let out = out.add(lane).cast();
                        _mm256_storeu_si256(out, _mm512_castsi512_si256(lanes));
                    }
                    if lane + 4 < count {
                        let out = out.add(lane + 4).cast();
                        _mm256_storeu_si256(out, _mm512_extracti64x4_epi64::<1>(lanes));
                    }
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize) {
        // SAFETY: the caller has room for `count`.
        unsafe {
            let mut rows = [_mm512_setzero_si512(); 16];
            for (row, word) in rows.iter_mut().zip(words) {
                *row = word.0;
            }
            let rows = transpose(&rows);
            for (lane, row) in rows.into_iter().enumerate().take(count) {
                _mm512_storeu_si512(out.add(lane).cast(), row);
            }
        }
    }
    #[inline(always)]
    unsafe fn output(root: Root<'_>, tail: &[Self; 4]) -> [Self; 16] {
        let mut out = MaybeUninit::<[Self; 16]>::uninit();
        // SAFETY: AVX-512F; the arrays have the layout that the assembly reads.
        unsafe {
            if !HELD {
                return columns::output(root, tail);
            }
            run512::output_16(root.cv, root.block, tail.as_ptr().cast(), out.as_mut_ptr().cast());
            out.assume_init()
        }
    }
    in_assembly!(16: Self::RUN);
}

/// A word of 32 lanes, in memory as `rounds32` expects it.
pub(super) type X32 = Twice<X16<false>>;

// SAFETY: as for `X16`, twice.
unsafe impl Vector<32> for X32 {
    by_halves!(32: X16<false>, 16);

    const ORDER: [usize; 16] = rounds32::CYCLES;

    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 32],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: AVX-512F; the caller has 64 bytes at each.
        unsafe { rounds32::load(inputs, offset, message.as_mut_ptr().cast()) }
    }
    #[inline(always)]
    unsafe fn load_ragged(
        inputs: &[*const u8; 32],
        offset: usize,
        lens: &[u32; 32],
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: bytes past `lens` are not read.
        unsafe {
            let [mut first, mut second] = [[MaybeUninit::uninit(); 16]; 2];
            X16::<false>::load_ragged(half(inputs, 0), offset, half(lens, 0), &mut first);
            X16::<false>::load_ragged(half(inputs, 1), offset, half(lens, 1), &mut second);
            for (pair, word) in message.iter_mut().zip(Self::ORDER) {
                pair.write(Self([first[word].assume_init(), second[word].assume_init()]));
            }
        }
    }
    in_assembly!(32: rounds32::compress, rounds32::compress_xof, rounds32::run);
}

/// One lane in the general registers, the last block padded by a masked load.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; AVX-512F, BW and VL, and BMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
unsafe fn compress(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { scalar::compress_by::<true>(cv, input, len, counter, flags) }
}

/// The same as rows.
///
/// # Safety
/// As for [`compress`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
unsafe fn compress_row(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress::<Compiled, AVX512>(cv, input, len, counter, flags) }
}

/// The same with rotations apart.
///
/// # Safety
/// As for [`compress`].
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
unsafe fn compress_apart(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    // SAFETY: the same contract.
    unsafe { row::compress::<Apart, ZEN4>(cv, input, len, counter, flags) }
}

crate::kernel::entries::entry_points!(
    |cpu| cpu.avx512,
    {
        KERNEL: "avx512-general", [Two] compress,
            1 @ 49, Rows<paced::Four, Paced>: 4 @ 67, Rows<Eight, Paced>: 8 @ 84,
            X16<false>: 16 @ 97, X32: 32 @ 130;
        ROW: "avx512-row", [One] compress_row,
            1 @ 175 as Rows<One<AVX512>>, Rows<Two<AVX512>>: 2 @ 174, Rows<Four<true>>: 4 @ 181,
            X8<true>: 8 @ 308 by avx2, X16<true>: 16 @ 440;
        SPLIT: "avx512-split", [Rotations] compress_apart,
            1 @ 194 as Rows<One<ZEN4>>, Rows<Two<ZEN4>, Apart>: 2 @ 197, Rows<Pair<Two<ZEN4>, 2, false>>: 4 @ 251,
            X8<true>: 8 @ 312 by avx2, X16<false>: 16 @ 493, X32: 32 @ 950;
    },
    enable = "avx512f,avx512bw,avx512vl,bmi2"
);
