//! One lane in plain registers: the kernel that every target has, and the one-lane routine of
//! those where scalar registers have the lower latency.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::mem::MaybeUninit;
use core::ptr;

use super::columns::{Vector, words};
use super::contract::Flags;
use crate::spec::{BLOCK_LEN, Words};

/// Compresses the blocks of a node on one lane; see [`super::Kernel`].
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says.
#[inline(always)]
pub(super) unsafe fn compress_in_place(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut done = 0;
    let mut now = flags.each | flags.first;
    loop {
        let left = len - done;
        let mut padded = [0; BLOCK_LEN];
        // `left` bytes are readable, and a block is written where it is read.
        let mut block = input.add(done);
        if left < BLOCK_LEN && !flags.padded {
            ptr::copy_nonoverlapping(block, padded.as_mut_ptr(), left);
            block = padded.as_ptr();
        }
        if left <= BLOCK_LEN {
            now |= flags.last;
        }
        let mut message = [MaybeUninit::uninit(); 16];
        <u32 as Vector<1>>::load_blocks(&[block], 0, &mut message);
        let block_len = left.min(BLOCK_LEN) as u32;
        let tail = [counter as u32, (counter >> 32) as u32, block_len, u32::from(now)];
        <u32 as Vector<1>>::compress(cv, words(&message), &tail);
        if left <= BLOCK_LEN {
            return;
        }
        done += BLOCK_LEN;
        now = flags.each;
    }
}

/// [`compress_in_place`] as a function, which the kernels' tables hold.
#[inline(never)]
pub(super) unsafe fn compress(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    compress_in_place(cv, input, len, counter, flags)
}

crate::kernel::table::kernels!(
    |_| true,
    {
        /// There are no passes, so nothing depends on the cost.
        KERNEL: "portable", Other, compress, 1 @ 60;
    }
);
