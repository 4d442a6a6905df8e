//! Eight lanes in AVX2 registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::columns::blocks::{in_assembly, transposed};
use super::columns::transpose;
use super::cores::{Avx2, Core, Sse41, vector};
use super::rows::assembly;
use super::rows::pass::Rows;
use super::rows::x1::One;
use super::rows::x2::Two;
use super::sse41::X4;
use super::{scalar, sse41};
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::pair::Pair;
use crate::kernel::vectors::operations;
use crate::spec::Words;

// The assembly of cores with AVX-512 has its instructions and registers. The functions around it have AVX2 only, as
// compilers would use some vectors of 512 bits, which close a port of Intel's CPUs for a while
// (`results/gnr-2vcpu/limits.md#one-vector-of-512-bits`).
vector!("A word of eight lanes.", X8(__m256i));

// SAFETY: AVX2 and what it implies, or AVX-512F and VL where the core has them.
unsafe impl<C: Core> Vector<8> for X8<C> {
    operations!(8: _mm256_set1_epi32, _mm256_loadu_si256;
        xor: _mm256_xor_si256, and: _mm256_and_si256);
    transposed!(8: transpose::load_8, transpose::store_8);
    in_assembly!(8: C::COMPRESS_8[0], C::COMPRESS_8[1], C::BLOCKS_8);
}

/// One lane as rows; see `rows/assembly.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn compress(
    cv: &mut Words,
    input: *const u8,
    len: usize,
    counter: u64,
    flags: Flags,
) {
    let mut padded = MaybeUninit::uninit();
    let blocks = scalar::blocks(input, len, flags.padded, false, &mut padded);
    assembly::compress_avx2(cv, input, blocks, counter, flags)
}

crate::kernel::table::kernels!(
    |cpu| cpu.avx2,
    {
        /// Costs are nanoseconds of Zen 5: `results/zen5-2vcpu/limits.md`, `lengths.json` and `peers.txt` there.
        ZEN5: "avx2-zen5", Zen5, scalar::compress,
            1 @ 49, Rows<Pair<Two<Avx2>>>: 4 @ 114, X8<Avx2>: 8 @ 127;
        /// Costs are nanoseconds of Zen 1, of 1, 2, 4 and 8 KiB by 16: `results/zen1-2vcpu/latency.json`. Four lanes take 166 alone and
        /// 215 on a busy core (`operations.txt` there). With 205, five nodes and six take the pass of eight, which takes 290 on both.
        ZEN1: "avx2-zen1", Zen1, compress,
            1 @ 88 as Rows<One<Avx2>>, Rows<Two<Avx2>>: 2 @ 122,
            X4<Sse41>: 4 @ 205 by sse41, X8<Avx2>: 8 @ 289;
        /// Costs are cycles of Sapphire Rapids: `results/spr-2vcpu/limits.md#steps`.
        COMMON: "avx2-common", Other, compress,
            1 @ 216 as Rows<One<Avx2>>, Rows<Two<Avx2>>: 2 @ 219,
            Rows<Pair<Two<Avx2>>>: 4 @ 340, X8<Avx2>: 8 @ 460;
    },
    enable = "avx2"
);
