//! Four lanes in NEON registers, or eight as two interleaved states.

use core::arch::aarch64::*;
use core::mem::MaybeUninit;

use super::columns;
use crate::kernel::columns::Vector;
use crate::kernel::pair::{Pair, by_halves, half, state};
use crate::kernel::portable::compress;
use crate::kernel::square::{by_rows, load_blocks, load_words, square};
use crate::kernel::vectors::{compressions, operations};

/// A word of four lanes; `SVE2` says that the CPU has that too.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct N4<const SVE2: bool>(uint32x4_t);

impl<const SVE2: bool> N4<SVE2> {
    #[inline(always)]
    fn new(words: uint32x4_t) -> Self {
        Self(words)
    }
}

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    let [a, b, c, d] = rows;
    // Words 0 and 2, and 1 and 3, of two rows each, then of all four.
    let (ab_even, ab_odd) = (wide(vtrn1q_u32(a, b)), wide(vtrn2q_u32(a, b)));
    let (cd_even, cd_odd) = (wide(vtrn1q_u32(c, d)), wide(vtrn2q_u32(c, d)));
    [
        vreinterpretq_u32_u64(vtrn1q_u64(ab_even, cd_even)),
        vreinterpretq_u32_u64(vtrn1q_u64(ab_odd, cd_odd)),
        vreinterpretq_u32_u64(vtrn2q_u64(ab_even, cd_even)),
        vreinterpretq_u32_u64(vtrn2q_u64(ab_odd, cd_odd)),
    ]
}

#[inline(always)]
unsafe fn wide(pairs: uint32x4_t) -> uint64x2_t {
    vreinterpretq_u64_u32(pairs)
}

square!(N4[SVE2], 4: transpose, vld1q_u32, vst1q_u32);

macro_rules! four_lanes {
    ($sve2:literal: $compress:path, $compress_xof:path) => {
        // SAFETY: NEON, or SVE2.
        unsafe impl Vector<4> for N4<$sve2> {
            operations!(4: vdupq_n_u32, vld1q_u32; xor: veorq_u32, and: vandq_u32);
            compressions!($compress, $compress_xof);
            by_rows!(4: load_blocks);
        }
    };
}

four_lanes!(false: columns::compress_4, columns::compress_xof_4);
four_lanes!(true: columns::compress_sve2_4, columns::compress_xof_sve2_4);

macro_rules! eight_lanes {
    ($sve2:literal: $compress:path, $compress_xof:path) => {
        // SAFETY: NEON, or SVE2.
        unsafe impl Vector<8> for Pair<N4<$sve2>> {
            by_halves!(8: N4<$sve2>, 4);
            #[inline(always)]
            unsafe fn load_blocks(
                inputs: &[*const u8; 8],
                offset: usize,
                message: &mut [MaybeUninit<Self>; 16],
            ) {
                for (part, words) in message.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                        let load = |second| load_words(half(inputs, second), offset + 16 * part);
                        let (first, second): ([_; 4], [_; 4]) = (load(0), load(1));
                        for (word, halves) in words.iter_mut().zip(first.into_iter().zip(second)) {
                            word.write(Self([halves.0, halves.1]));
                        }
                    }
            }
            compressions!($compress, $compress_xof);
        }
    };
}

eight_lanes!(false: columns::compress_8, columns::compress_xof_8);
eight_lanes!(true: columns::compress_sve2_8, columns::compress_xof_sve2_8);

crate::kernel::table::kernels!(
    |_| true,
    {
        /// Costs are cycles of Neoverse V1, V2 and N1 by models: `results/models/aarch64.txt`.
        FOUR_PORTS: "neon-four-ports", FourPorts, compress, 1 @ 200, N4<false>: 4 @ 380, Pair<N4<false>>: 8 @ 530;
        /// Costs are cycles of Neoverse V1, V2 and N1 by models: `results/models/aarch64.txt`.
        TWO_PORTS: "neon-two-ports", Other, compress, 1 @ 280, N4<false>: 4 @ 500;
    }
);
