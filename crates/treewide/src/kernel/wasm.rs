//! Four lanes in the 128-bit vectors of WebAssembly.
//!
//! A module is compiled as a whole or refused, so there is nothing to detect when it runs: the
//! kernel is there if the build has the feature `simd128`.

use core::arch::wasm32::*;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use super::lanes::{self, Vector, operations};
use super::portable::compress;
use crate::spec::{BLOCK_LEN, ChainingValue};

#[derive(Clone, Copy)]
struct W4(v128);

/// Where each byte comes from when every word rotates.
///
/// Memory that others may write, for all that the compiler knows: of constant places it would make a
/// shuffle. V8 builds the places of each shuffle anew, and of one by 16 bits makes two, one after the
/// other.
struct Places(UnsafeCell<v128>);

// SAFETY: nobody writes it.
unsafe impl Sync for Places {}

#[used]
static BY_16: Places =
    Places(UnsafeCell::new(u8x16(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)));
#[used]
static BY_8: Places =
    Places(UnsafeCell::new(u8x16(1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12)));

impl Places {
    #[inline(always)]
    fn pick(&self, v: v128) -> v128 {
        // SAFETY: nobody writes it.
        u8x16_swizzle(v, unsafe { *self.0.get() })
    }
}

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
fn transpose(rows: [v128; 4]) -> [v128; 4] {
    let [a, b, c, d] = rows;
    let (ab_low, ab_high) = (i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b));
    let (cd_low, cd_high) = (i32x4_shuffle::<0, 4, 1, 5>(c, d), i32x4_shuffle::<2, 6, 3, 7>(c, d));
    [
        i64x2_shuffle::<0, 2>(ab_low, cd_low),
        i64x2_shuffle::<1, 3>(ab_low, cd_low),
        i64x2_shuffle::<0, 2>(ab_high, cd_high),
        i64x2_shuffle::<1, 3>(ab_high, cd_high),
    ]
}

/// Stores rows of `WORDS` words, the first `count` of the four lanes.
#[inline(always)]
unsafe fn store_rows<const WORDS: usize>(words: &[W4; WORDS], out: *mut u8, count: usize) {
    for quad in 0..WORDS / 4 {
        let w = &words[4 * quad..];
        let rows = transpose([w[0].0, w[1].0, w[2].0, w[3].0]);
        for (lane, row) in rows.into_iter().enumerate().take(count) {
            // SAFETY: the caller has room for `count` rows.
            unsafe { v128_store(out.add(lane * 4 * WORDS + 16 * quad).cast(), row) };
        }
    }
}

// SAFETY: simd128, which this file is compiled for.
unsafe impl Vector<4> for W4 {
    operations!(4: u32x4_splat, v128_load; add: u32x4_add, xor: v128_xor, and: v128_and);
    #[inline(always)]
    unsafe fn rotate<const R: u32>(self) -> Self {
        let v = self.0;
        Self(match R {
            // Whole bytes move in one instruction, other bits in three.
            16 => BY_16.pick(v),
            8 => BY_8.pick(v),
            12 => v128_or(u32x4_shr(v, 12), u32x4_shl(v, 20)),
            _ => v128_or(u32x4_shr(v, 7), u32x4_shl(v, 25)),
        })
    }
    /// A function of its own: V8 takes a twentieth longer for the same as a part of a loop.
    #[inline(never)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        // SAFETY: the same contract.
        unsafe { lanes::compress(cv, message, tail) }
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 4],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        // SAFETY: the caller has 64 bytes at each.
        unsafe {
            for quad in 0..4 {
                let mut rows = [u32x4_splat(0); 4];
                for (row, input) in rows.iter_mut().zip(inputs) {
                    *row = v128_load(input.add(offset + 16 * quad).cast());
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
}

super::entry_points!(
    |_| true, { KERNEL: "wasm", Any compress, 1 @ 60, W4: 4 @ 100; }
);
