//! Four lanes in NEON registers.

use core::arch::aarch64::*;

use super::lanes::Vector;
use super::portable::compress;
use super::vectors::{by_rows, load_blocks, operations, square};

#[derive(Clone, Copy)]
struct N4(uint32x4_t);

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

square!(N4, 4: transpose, vld1q_u32, vst1q_u32);

// SAFETY: NEON only.
unsafe impl Vector<4> for N4 {
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
                12 => vsriq_n_u32::<12>(vshlq_n_u32::<20>(self.0), self.0),
                _ => vsriq_n_u32::<7>(vshlq_n_u32::<25>(self.0), self.0),
            }
        })
    }
    by_rows!(4: load_blocks);
}

crate::kernel::entry_points!(
    |_| true, { KERNEL: "neon", Any compress, 1 @ 60, N4: 4 @ 100; }
);
