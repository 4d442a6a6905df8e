//! Eight lanes as plain arrays, for the compiler to vectorise: POWER VSX, the vector facilities of
//! z/Architecture, RISC-V V, and whatever has no kernel of its own.

use super::lanes::Vector;
use super::portable::compress;
use crate::spec::{BLOCK_LEN, ChainingValue};

const LANES: usize = 8;

#[derive(Clone, Copy)]
struct Lanes([u32; LANES]);

impl Lanes {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let mut words = self.0;
        for (word, other) in words.iter_mut().zip(other.0) {
            *word = f(*word, other);
        }
        Self(words)
    }
}

// SAFETY: plain arithmetic, on every CPU.
unsafe impl Vector<LANES> for Lanes {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self([word; LANES])
    }
    #[inline(always)]
    unsafe fn load(words: &[u32; LANES]) -> Self {
        Self(*words)
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(always)]
    unsafe fn rotate<const R: u32>(self) -> Self {
        self.zip(self, |a, _| a.rotate_right(R))
    }
    #[inline(always)]
    unsafe fn load_blocks(inputs: &[*const u8; LANES], offset: usize, message: &mut [Self; 16]) {
        for (lane, input) in inputs.iter().enumerate() {
            // SAFETY: the caller has 64 bytes there.
            let block: [[u8; 4]; 16] = unsafe { input.add(offset).cast::<[[u8; 4]; 16]>().read() };
            for (word, bytes) in message.iter_mut().zip(block) {
                word.0[lane] = u32::from_le_bytes(bytes);
            }
        }
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize) {
        for lane in 0..count {
            let bytes = crate::spec::bytes(&cv.map(|word| word.0[lane]));
            // SAFETY: the caller has room for `count`.
            unsafe { out.add(lane).write(bytes) };
        }
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize) {
        for lane in 0..count {
            let bytes = words.map(|word| word.0[lane].to_le_bytes());
            // SAFETY: the caller has room for `count`.
            unsafe { out.add(lane).cast::<[[u8; 4]; 16]>().write(bytes) };
        }
    }
}

super::entry_points!("array", 8, |_| true, compress, { Lanes: 8 });
