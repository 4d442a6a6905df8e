//! Eight lanes in AVX2 registers.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::columns::blocks::in_assembly;
use super::cores::{Avx2, Core, vector};
use super::rows::assembly;
use super::rows::pass::Rows;
use super::rows::x1::One;
use super::rows::x2::{Two, joined};
use super::scalar;
use super::sse41::four_by_four;
use crate::kernel::columns::Vector;
use crate::kernel::contract::Flags;
use crate::kernel::pair::Pair;
use crate::kernel::vectors::{by_rows, operations, square};
use crate::spec::Words;

// The assembly of cores with AVX-512 has its instructions and registers. The functions around it have AVX2 only, as
// compilers would use some vectors of 512 bits, which close a port of Intel's CPUs for a while
// (`results/gnr-2vcpu/limits.md#one-vector-of-512-bits`).
vector!("A word of eight lanes.", X8(__m256i));

four_by_four!(__m256i: _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64);

/// Rows become columns: `rows[i]` word `j` goes to row `j` word `i`.
#[inline(always)]
unsafe fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (low, high) = (quads(a, b, c, d), quads(e, f, g, h));
    [
        _mm256_permute2x128_si256::<0x20>(low[0], high[0]),
        _mm256_permute2x128_si256::<0x20>(low[1], high[1]),
        _mm256_permute2x128_si256::<0x20>(low[2], high[2]),
        _mm256_permute2x128_si256::<0x20>(low[3], high[3]),
        _mm256_permute2x128_si256::<0x31>(low[0], high[0]),
        _mm256_permute2x128_si256::<0x31>(low[1], high[1]),
        _mm256_permute2x128_si256::<0x31>(low[2], high[2]),
        _mm256_permute2x128_si256::<0x31>(low[3], high[3]),
    ]
}

square!(X8<C: Core>, 8: transpose, _mm256_loadu_si256, _mm256_storeu_si256);

/// [`Vector::load_blocks`]: put together from halves, which any port does; of shuffles two ports do, or one.
#[inline(always)]
unsafe fn load_halves<C: Core>(
    inputs: &[*const u8; 8],
    offset: usize,
    message: &mut [MaybeUninit<X8<C>>; 16],
) {
    for (quarter, words) in message.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let part = |lane: usize| _mm_loadu_si128(inputs[lane].add(offset + 16 * quarter).cast());
        let row = |lane: usize| joined(part(lane), part(lane + 4));
        for (word, row) in words.iter_mut().zip(quads(row(0), row(1), row(2), row(3))) {
            word.write(X8::new(row));
        }
    }
}

// SAFETY: AVX2 and what it implies, or AVX-512F and VL where the core has them.
unsafe impl<C: Core> Vector<8> for X8<C> {
    operations!(8: _mm256_set1_epi32, _mm256_loadu_si256;
        xor: _mm256_xor_si256, and: _mm256_and_si256);
    by_rows!(8: load_halves);
    in_assembly!(8: C::COMPRESS_8[0], C::COMPRESS_8[1], C::BLOCKS_8);
}

/// One lane as rows; see `rows/assembly.rs`.
///
/// # Safety
/// `input` is as [`Compress`](crate::kernel::contract::Compress) says; the CPU has the instructions.
#[target_feature(enable = "avx2")]
unsafe fn compress(cv: &mut Words, input: *const u8, len: usize, counter: u64, flags: Flags) {
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
        /// Costs are cycles of Sapphire Rapids: `results/spr-2vcpu/limits.md#steps`.
        COMMON: "avx2-common", Other, compress,
            1 @ 216 as Rows<One<Avx2>>, Rows<Two<Avx2>>: 2 @ 219,
            Rows<Pair<Two<Avx2>>>: 4 @ 340, X8<Avx2>: 8 @ 460;
    },
    enable = "avx2"
);
