//! Four lanes in the 128-bit vectors of WebAssembly, and two as rows.
//!
//! A module is compiled as a whole or refused, so there is nothing to detect when it runs: the
//! kernel is there if the build has the feature `simd128`.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::arch::wasm32::*;
use core::cell::UnsafeCell;

#[cfg(test)]
use super::array;
use super::columns::{self, Vector};
use super::contract::Kernel;
use super::portable::{self, compress};
use super::square::{by_rows, load_blocks, square};
use super::vectors::operations;

mod rows;

#[derive(Clone, Copy)]
struct W4(v128);

impl W4 {
    #[inline(always)]
    fn new(words: v128) -> Self {
        Self(words)
    }
}

/// Where each byte comes from when every word rotates.
///
/// Memory that others may write, for all that the compiler knows: of constant places it would make a
/// shuffle. V8 builds the places of each shuffle anew, and of one by 16 bits makes two, one after the
/// other.
struct Places(UnsafeCell<v128>);

// SAFETY: no one writes it.
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
        // SAFETY: no one writes it.
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

square!(W4, 4: transpose, v128_load, v128_store);

// SAFETY: simd128, which this file is compiled for.
unsafe impl Vector<4> for W4 {
    operations!(4: u32x4_splat, v128_load; add: u32x4_add, xor: v128_xor, and: v128_and);
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
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
        columns::compress(cv, message, tail)
    }
    by_rows!(4: load_blocks);
}

crate::kernel::table::kernels!(
    |_| true,
    {
        /// Costs are nanoseconds of Granite Rapids under Node: `results/gnr-2vcpu/peers.txt`.
        KERNEL: "wasm", Other, compress, 1 @ 60, W4: 2 @ 75 then 60 by rows, W4: 4 @ 104;
    }
);

pub(super) static ALL: &[&Kernel] = &[
    &KERNEL,
    #[cfg(test)]
    &array::KERNEL,
    &portable::KERNEL,
];
