//! Four lanes in SSE registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::columns::blocks::{in_assembly, transposed};
use super::columns::transpose;
use super::cores::{Core, Sse41, vector};
use super::rows::assembly;
use super::rows::pass::Rows;
use super::rows::x1::One;
use super::scalar;
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::pair::Pair;
use crate::kernel::vectors::operations;
use crate::spec::Words;

vector!("A word of four lanes.", X4(__m128i));

// SAFETY: SSE2, or SSSE3 where the core has it.
unsafe impl<C: Core> Vector<4> for X4<C> {
    operations!(4: _mm_set1_epi32, _mm_loadu_si128; xor: _mm_xor_si128, and: _mm_and_si128);
    transposed!(4: transpose::load_4, transpose::store_4);
    in_assembly!(4: C::COMPRESS_4[0], C::COMPRESS_4[1], C::BLOCKS_4);
}

/// One lane as rows; see `rows/assembly.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "sse4.1")]
unsafe fn compress(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
    let mut padded = MaybeUninit::uninit();
    let blocks = scalar::blocks(input, len, flags.padded, false, &mut padded);
    assembly::compress_sse41(cv, input, blocks, counter, flags)
}

crate::kernel::table::kernels!(
    |cpu| cpu.sse41,
    {
        /// Costs are cycles of Sapphire Rapids: `results/spr-2vcpu/limits.md#steps`.
        KERNEL: "sse41", Other, compress, 1 @ 220 as Rows<One<Sse41>>,
            Rows<Pair<One<Sse41>>>: 2 @ 344, X4<Sse41>: 4 @ 540;
    },
    enable = "sse4.1"
);
