//! Four lanes in NEON registers, or eight as two interleaved states.

use core::arch::aarch64::*;
use core::arch::asm;
use core::mem::MaybeUninit;

use super::rounds;
use crate::kernel::lanes::Vector;
use crate::kernel::portable::compress;
use crate::kernel::twice::{Twice, by_halves, half, state};
use crate::kernel::vectors::{by_rows, load_blocks, load_words, operations, square};

/// A word of four lanes; `SVE2` says that the CPU has that too.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct N4<const SVE2: bool>(uint32x4_t);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // SAFETY: NEON, which this file is compiled for.
    unsafe {
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
}

#[inline(always)]
unsafe fn wide(pairs: uint32x4_t) -> uint64x2_t {
    // SAFETY: NEON.
    unsafe { vreinterpretq_u64_u32(pairs) }
}

/// `low` shifted right by `R` below the bits of `high` that are there. In assembly, as the compiler would add the two
/// while it shifts, which takes cores of Neoverse four cycles for two.
#[inline(always)]
unsafe fn insert<const R: i32>(mut high: uint32x4_t, low: uint32x4_t) -> uint32x4_t {
    // SAFETY: NEON.
    unsafe {
        asm!("sri {0:v}.4s, {1:v}.4s, #{2}", inout(vreg) high, in(vreg) low, const R,
            options(pure, nomem, nostack, preserves_flags));
    }
    high
}

square!(N4<SVE2>, 4: transpose, vld1q_u32, vst1q_u32);

// SAFETY: NEON only.
unsafe impl<const SVE2: bool> Vector<4> for N4<SVE2> {
    operations!(4: vdupq_n_u32, vld1q_u32; add: vaddq_u32, xor: veorq_u32, and: vandq_u32);
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: NEON.
        Self(unsafe {
            match R {
                // Whole halves and whole bytes move in one instruction, other bits in two.
                16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(self.0))),
                8 => {
                    const BYTES: [u8; 16] = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
                    let bytes = vreinterpretq_u8_u32(self.0);
                    vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vld1q_u8(BYTES.as_ptr())))
                }
                12 => insert::<12>(vshlq_n_u32::<20>(self.0), self.0),
                _ => insert::<7>(vshlq_n_u32::<25>(self.0), self.0),
            }
        })
    }
    by_rows!(4: load_blocks);
}

// SAFETY: NEON, or SVE2.
unsafe impl<const SVE2: bool> Vector<8> for Twice<N4<SVE2>> {
    by_halves!(8: N4<SVE2>, 4);
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 8],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: the same contract.
        unsafe {
            for (part, words) in message.chunks_exact_mut(4).enumerate() {
                let load = |second| load_words(half(inputs, second), offset + 16 * part);
                let (first, second): ([N4<SVE2>; 4], [_; 4]) = (load(0), load(1));
                for (word, halves) in words.iter_mut().zip(first.into_iter().zip(second)) {
                    word.write(Self([halves.0, halves.1]));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        // SAFETY: the same contract.
        unsafe {
            let routine = if SVE2 { rounds::compress_sve2 } else { rounds::compress_neon };
            let cv = cv.as_mut_ptr().cast();
            routine(cv, message.as_ptr().cast(), tail.as_ptr().cast(), cv);
        }
    }
    #[inline(always)]
    unsafe fn compress_xof(cv: &[Self; 8], message: &[Self; 16], tail: &[Self; 4]) -> [Self; 16] {
        // SAFETY: the same contract.
        unsafe {
            let routine = if SVE2 { rounds::compress_xof_sve2 } else { rounds::compress_xof_neon };
            let (cv, message, tail) = (cv.as_ptr(), message.as_ptr(), tail.as_ptr());
            let mut out = MaybeUninit::<[Self; 16]>::uninit();
            routine(cv.cast(), message.cast(), tail.cast(), out.as_mut_ptr().cast());
            out.assume_init()
        }
    }
}

crate::kernel::entry_points!(
    |_| true,
    { KERNEL: "neon", Any compress, 1 @ 200, N4<false>: 4 @ 400, Twice<N4<false>>: 8 @ 620; }
);
