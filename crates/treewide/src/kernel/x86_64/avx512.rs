//! Sixteen lanes in AVX-512 registers, or 32 as two interleaved states.
//!
//! One 16-lane state keeps fewer than two vector operations a cycle in flight, as each waits for
//! the one before it. Two states fill the 32 registers, with the message as memory operands
//! and rotations in place, and fill the waiting of each other. The compiler would pull the two
//! apart again, so the order of their instructions is fixed in assembly (`columns/avx512_pair.rs`).
//!
//! That is Zen 5, where an operation that waits takes two cycles. Where it takes one, as on Intel, one state
//! keeps the two ports for 512 bits busy, and what is left to gain lies between the steps (`columns/blocks.rs`). On Zen 4 one
//! state takes 493 cycles a step, and two 910, or 1,002 while the core's other thread is busy: they count as 950.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::avx2::{self, X8};
use super::columns::avx512::output_16;
use super::columns::avx512_pair;
use super::columns::blocks::in_assembly;
use super::cores::{Core, Intel, Zen4, Zen5, vector};
use super::rows::pass::Rows;
use super::rows::x1::{self, One};
use super::rows::x2::Two;
use super::rows::x4::Four;
use super::scalar;
use crate::kernel::columns::{self, Vector};
use crate::kernel::contract::{Flags, Root};
use crate::kernel::pair::{Pair, by_halves, half, state};
use crate::kernel::vectors::operations;
use crate::spec::{BLOCK_LEN, ChainingValue, Words};

vector!("A word of sixteen lanes.", X16(__m512i));

/// Transposes the 4 by 4 words in every 128-bit part of four vectors.
#[inline(always)]
unsafe fn quads(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: &[__m512i; 16]) -> [__m512i; 16] {
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

// SAFETY: AVX-512F and, for the byte masks, AVX-512BW.
unsafe impl<C: Core> Vector<16> for X16<C> {
    operations!(16: _mm512_set1_epi32, _mm512_loadu_si512;
        add: _mm512_add_epi32, xor: _mm512_xor_si512, and: _mm512_and_si512);
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        Self::new(_mm512_ror_epi32::<R>(self.0))
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 16],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
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
                words[w].write(Self::new(_mm512_shuffle_i32x4::<0x88>(low[w], high[w])));
                words[w + 4].write(Self::new(_mm512_shuffle_i32x4::<0xdd>(low[w], high[w])));
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
        // Bytes outside the mask are not read.
        let mut rows = [_mm512_setzero_si512(); 16];
        for lane in 0..16 {
            let mask = !(u64::MAX.checked_shl(lens[lane]).unwrap_or(0));
            let input = inputs[lane].wrapping_add(offset);
            rows[lane] = _mm512_maskz_loadu_epi8(mask, input.cast());
        }
        for (word, column) in message.iter_mut().zip(&transpose(&rows)) {
            word.write(Self::new(*column));
        }
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize) {
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
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize) {
        let mut rows = [_mm512_setzero_si512(); 16];
        for (row, word) in rows.iter_mut().zip(words) {
            *row = word.0;
        }
        let rows = transpose(&rows);
        for (lane, row) in rows.into_iter().enumerate().take(count) {
            _mm512_storeu_si512(out.add(lane).cast(), row);
        }
    }
    #[inline(always)]
    unsafe fn output(root: Root<'_>, tail: &[Self; 4]) -> [Self; 16] {
        let mut out = MaybeUninit::<[Self; 16]>::uninit();
        if !C::HELD {
            return columns::output(root, tail);
        }
        output_16(root.cv, root.block, tail.as_ptr().cast(), out.as_mut_ptr().cast());
        out.assume_init()
    }
    in_assembly!(16: C::BLOCKS_16);
}

// SAFETY: as for `X16`, twice.
unsafe impl<C: Core> Vector<32> for Pair<X16<C>> {
    by_halves!(32: X16<C>, 16);

    const ORDER: [usize; 16] = avx512_pair::CYCLES;

    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 32],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        avx512_pair::load(inputs, offset, message.as_mut_ptr().cast())
    }
    #[inline(always)]
    unsafe fn load_ragged(
        inputs: &[*const u8; 32],
        offset: usize,
        lens: &[u32; 32],
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // Bytes past `lens` are not read.
        let [mut first, mut second] = [[MaybeUninit::uninit(); 16]; 2];
        X16::<C>::load_ragged(half(inputs, 0), offset, half(lens, 0), &mut first);
        X16::<C>::load_ragged(half(inputs, 1), offset, half(lens, 1), &mut second);
        for (pair, word) in message.iter_mut().zip(Self::ORDER) {
            pair.write(Self([first[word].assume_init(), second[word].assume_init()]));
        }
    }
    in_assembly!(32: avx512_pair::compress, avx512_pair::compress_xof, avx512_pair::blocks_32);
}

/// Defines the one-lane compression of a core.
macro_rules! compress {
    ($name:ident: $routine:expr) => {
        /// The blocks of a node on one lane, the last one padded by masked loads.
        ///
        /// # Safety
        /// `input` is as [`Compress`](crate::kernel::contract::Compress) says; AVX-512F, BW and VL, and BMI2.
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
        unsafe fn $name(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
            $routine(cv, input, len, counter, flags)
        }
    };
}

compress!(compress_zen5: scalar::compress_for::<Zen5>);
compress!(compress_zen4: x1::compress::<Zen4>);
compress!(compress_intel: x1::compress::<Intel>);

crate::kernel::table::kernels!(
    |cpu| cpu.avx512,
    {
        /// Costs are nanoseconds of Zen 5: `results/zen5-2vcpu/limits.md#a-busy-neighbour`, and `lengths.json` there. Four and sixteen
        /// lanes have passes of Intel's cores, which take no longer while the other hardware thread of the core works.
        ZEN5: "avx512-zen5", Zen5, compress_zen5,
            1 @ 49, Rows<Four<Intel>>: 4 @ 86, X16<Intel>: 16 @ 100, Pair<X16<Zen5>>: 32 @ 130;
        /// Costs are cycles of Zen 4: `results/zen4-2vcpu/limits.md#steps`.
        ZEN4: "avx512-zen4", Zen4, compress_zen4,
            1 @ 194 as Rows<One<Zen4>>, Rows<Two<Zen4>>: 2 @ 197, Rows<Pair<Two<Zen4>>>: 4 @ 251,
            // As columns it is like others, whose functions it shares.
            X8<Intel>: 8 @ 312 by avx2, X16<Zen5>: 16 @ 493, Pair<X16<Zen5>>: 32 @ 950;
        /// Costs are cycles of Granite Rapids: `results/gnr-2vcpu/limits.md#steps`.
        INTEL: "avx512-intel", Other, compress_intel,
            1 @ 175 as Rows<One<Intel>>, Rows<Two<Intel>>: 2 @ 174, Rows<Four<Intel>>: 4 @ 181,
            X8<Intel>: 8 @ 308 by avx2, X16<Intel>: 16 @ 440;
    },
    enable = "avx512f,avx512bw,avx512vl,bmi2"
);
