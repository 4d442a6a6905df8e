//! One lane in plain registers: the kernel that every target has, and the one-lane routine of
//! those where scalar registers have the lower latency.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::mem::MaybeUninit;
use core::ptr;

use super::columns::{Vector, words, xof};
use super::contract::Flags;
use super::contract::Root;
use crate::spec::{BLOCK_LEN, ChainingValue, Words, bytes};

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

/// One block of output on one lane. Not inlined: inside a function with wider target features the
/// compiler would vectorise it, which costs latency.
///
/// # Safety
/// `out` has room for a block.
#[inline(never)]
pub(super) unsafe fn xof_block(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN]) {
    xof::<u32, 1>(root, counter, out, 1)
}

crate::kernel::table::kernels!(
    |_| true,
    {
        /// There are no passes, so nothing depends on the cost.
        KERNEL: "portable", Other, compress, 1 @ 60;
    }
);
