//! Lanes as plain arrays, for the compiler to vectorise: POWER VSX, the vector facilities of
//! z/Architecture, RISC-V V, and whatever has no kernel of its own.
//!
//! A compression is one loop over the lanes whose body is the one-lane compression: that is the
//! form that compilers vectorise. Written as operations on all lanes, as for real vectors, it
//! would be seven rounds of straight-line code, and they give up on finding the vectors again.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![allow(dead_code, reason = "where the target has kernels of its own")]

use core::mem::MaybeUninit;

use super::columns::Vector;
use super::contract::Kernel;
use super::portable::{self, compress};
use crate::spec::{BLOCK_LEN, ChainingValue};

/// Whether the compiler reports vectors. Without nightly features it does not report RISC-V V, NEON in
/// 32 bits, of MIPS's MSA and of VSX under big-endian PowerPC, nor 1.89 of s390x's: there this kernel must be forced.
const HAS_VECTORS: bool = cfg!(any(
    target_feature = "sse2",
    target_feature = "neon",
    target_feature = "simd128",
    target_feature = "vector",
    target_feature = "v",
    target_feature = "lsx",
    target_feature = "vsx",
    target_feature = "msa",
    all(target_arch = "powerpc64", target_endian = "little"), // which has VSX always
)) && !cfg!(miri);

/// Without vectors lanes of arrays are one after the other, and what puts them there comes on top. Without an operating
/// system there are most likely no vectors that the compiler does not report, and little flash.
pub(super) static ALL: &[&Kernel] = if HAS_VECTORS {
    &[&KERNEL, &portable::KERNEL]
} else if cfg!(target_os = "none") {
    &[&portable::KERNEL]
} else {
    &[&portable::KERNEL, &KERNEL]
};

#[derive(Clone, Copy)]
struct Lanes<const N: usize>([u32; N]);

impl<const N: usize> Lanes<N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let mut words = self.0;
        for (word, other) in words.iter_mut().zip(other.0) {
            *word = f(*word, other);
        }
        Self(words)
    }
}

/// One lane of vectors.
#[inline(always)]
fn pick<const N: usize, const W: usize>(vectors: &[Lanes<N>; W], lane: usize) -> [u32; W] {
    let mut words = [0; W];
    for (word, vector) in words.iter_mut().zip(vectors) {
        *word = vector.0[lane];
    }
    words
}

/// The inverse of [`pick`].
#[inline(always)]
fn put<const N: usize, const W: usize>(words: &[u32; W], lane: usize, vectors: &mut [Lanes<N>; W]) {
    for (word, vector) in words.iter().zip(vectors) {
        vector.0[lane] = *word;
    }
}

// SAFETY: plain arithmetic, on every CPU.
unsafe impl<const N: usize> Vector<N> for Lanes<N> {
    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self([word; N])
    }
    #[inline(always)]
    unsafe fn load(words: &[u32; N]) -> Self {
        Self(*words)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }
    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    #[inline(never)]
    unsafe fn compress(cv: &mut [Self; 8], message: &[Self; 16], tail: &[Self; 4]) {
        for lane in 0..N {
            let (mut one, message, tail) = (pick(cv, lane), pick(message, lane), pick(tail, lane));
            <u32 as Vector<1>>::compress(&mut one, &message, &tail);
            put(&one, lane, cv);
        }
    }
    #[inline(never)]
    unsafe fn compress_xof(cv: &[Self; 8], message: &[Self; 16], tail: &[Self; 4]) -> [Self; 16] {
        let mut out = [Self([0; N]); 16];
        for lane in 0..N {
            let (one, message, tail) = (pick(cv, lane), pick(message, lane), pick(tail, lane));
            let words = <u32 as Vector<1>>::compress_xof(&one, &message, &tail);
            put(&words, lane, &mut out);
        }
        out
    }
    #[inline(always)]
    unsafe fn load_blocks(
        inputs: &[*const u8; N],
        offset: usize,
        message: &mut [MaybeUninit<Self>; 16],
    ) {
        let mut words = [Self([0; N]); 16];
        for (lane, input) in inputs.iter().enumerate() {
            let block: [[u8; 4]; 16] = { input.add(offset).cast::<[[u8; 4]; 16]>().read() };
            for (word, bytes) in words.iter_mut().zip(block) {
                word.0[lane] = u32::from_le_bytes(bytes);
            }
        }
        *message = words.map(MaybeUninit::new);
    }
    #[inline(always)]
    unsafe fn store_cvs(cv: &[Self; 8], out: *mut ChainingValue, count: usize) {
        for lane in 0..count {
            let bytes = crate::spec::bytes(&cv.map(|word| word.0[lane]));
            out.add(lane).write(bytes);
        }
    }
    #[inline(always)]
    unsafe fn store_blocks(words: &[Self; 16], out: *mut [u8; BLOCK_LEN], count: usize) {
        for lane in 0..count {
            let bytes = words.map(|word| word.0[lane].to_le_bytes());
            out.add(lane).cast::<[[u8; 4]; 16]>().write(bytes);
        }
    }
}

#[cfg(not(target_arch = "riscv64"))]
crate::kernel::table::kernels!(
    |_| true,
    {
        /// Costs are nanoseconds of 32-bit x86 with SSE2 on Granite Rapids (`results/gnr-2vcpu/peers.txt`); elsewhere a guess.
        KERNEL: "array", Other, compress, 1 @ 60, Lanes<4>: 4 @ 118, Lanes<8>: 8 @ 236;
    }
);

// A loop of four is not vectorised where the width of vectors is unknown.
#[cfg(target_arch = "riscv64")]
crate::kernel::table::kernels!(
    |_| true,
    {
        /// Costs are a guess.
        KERNEL: "array", Other, compress, 1 @ 60, Lanes<8>: 8 @ 200;
    }
);
