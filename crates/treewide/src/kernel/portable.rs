//! One lane in plain registers: the kernel that every target has, and the one-lane routine of
//! those where scalar registers have the lower latency.

use super::lanes::{Root, Vector, xof};
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
    unsafe fn rotate<const R: u32>(self) -> Self {
        self.rotate_right(R)
    }
    #[inline(always)]
    unsafe fn load_blocks(inputs: &[*const u8; 1], offset: usize, message: &mut [Self; 16]) {
        // SAFETY: the caller has 64 bytes there.
        let block: [[u8; 4]; 16] = unsafe { inputs[0].add(offset).cast::<[[u8; 4]; 16]>().read() };
        *message = block.map(u32::from_le_bytes);
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, _count: usize) {
        // SAFETY: the caller has room for one.
        unsafe { *out = bytes(cv) }
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], _count: usize) {
        // SAFETY: the caller has room for one.
        unsafe { out.cast::<[[u8; 4]; 16]>().write(words.map(u32::to_le_bytes)) }
    }
}

/// Compresses `count` consecutive blocks on one lane; see [`super::Kernel`].
///
/// # Safety
/// `blocks` points to `count * 64` readable bytes.
pub(super) unsafe fn compress(
    cv: &mut Words,
    blocks: *const u8,
    count: usize,
    block_len: u32,
    counter: u64,
    flags: u8,
) {
    let tail = [counter as u32, (counter >> 32) as u32, block_len, u32::from(flags)];
    for block in 0..count {
        // SAFETY: within the readable bytes.
        unsafe {
            let mut message = [0; 16];
            <u32 as Vector<1>>::load_blocks(&[blocks], block * BLOCK_LEN, &mut message);
            <u32 as Vector<1>>::compress(cv, &message, &tail);
        }
    }
}

/// One block of output on one lane. Not inlined: inside a function with wider target features the
/// compiler would vectorise it, which costs latency.
///
/// # Safety
/// `out` has room for a block.
#[inline(never)]
pub(super) unsafe fn xof_block(root: Root<'_>, counter: u64, out: *mut [u8; BLOCK_LEN]) {
    // SAFETY: any CPU; the caller has room.
    unsafe { xof::<u32, 1>(root, counter, out, 1) }
}

super::entry_points!("portable", 1, |_| true, compress, { 1 @ 60, u32: 1 @ 60 });
