//! A word as a vector of one lane, and extended output by it.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::mem::MaybeUninit;

use super::columns::{Vector, xof};
use super::contract::Root;
use crate::spec::{BLOCK_LEN, ChainingValue, bytes};

// SAFETY: plain arithmetic, on every CPU.
unsafe impl Vector<1> for u32 {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        word
    }
    #[inline(always)]
    unsafe fn load(words: &[u32; 1]) -> Self {
        words[0]
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        self.rotate_right(R as u32)
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; 1],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        let block: [[u8; 4]; 16] = { inputs[0].add(offset).cast::<[[u8; 4]; 16]>().read() };
        *message = block.map(|bytes| MaybeUninit::new(u32::from_le_bytes(bytes)));
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, _count: usize) {
        *out = bytes(cv)
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], _count: usize) {
        out.cast::<[[u8; 4]; 16]>().write(words.map(u32::to_le_bytes))
    }
}

/// One block of output on one lane. Not inlined: inside a function with wider target features the
/// compiler would vectorise it, which costs latency.
///
/// # Safety
/// `out` has room for a block.
#[inline(never)]
pub(super) unsafe fn xof_block(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN]) {
    xof::<u32, 1>(root, counter, out, 1)
}
