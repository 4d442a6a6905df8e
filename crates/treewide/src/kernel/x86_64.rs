//! The instruction sets of x86-64.
//!
//! ```text
//! sse2  sse41  avx2  avx512  the kernels: a table of passes in each
//!   cores                    what differs from core to core
//!   scalar  rows/x1          one lane, in general registers or as rows
//!   rows/                    two lanes and four as rows; assembly: with SSE4.1 and AVX2; zen4: the order
//!                            that this core wants
//!   columns/                 four lanes and more as columns: sse_avx2, avx512 and, as pairs, avx512_pair;
//!                            transpose: how words get into them
//!   assembly                 the macros that columns are written with
//! ```

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![cfg_attr(
    any(without = "avx512", without = "avx2", without = "sse41", without = "sse2"),
    allow(dead_code, reason = "of kernels that are left out")
)]

mod assembly;
pub(super) mod avx2;
pub(super) mod avx512;
pub(super) mod columns;
mod cores;
pub(super) mod rows;
mod scalar;
pub(super) mod sse2;
pub(super) mod sse41;

#[cfg(test)]
use super::array;
use super::contract::Kernel;
use super::portable;

/// Best first; of an instruction set the one for other cores comes last.
pub(super) static ALL: &[&Kernel] = &[
    #[cfg(not(without = "avx512"))]
    &avx512::ZEN5,
    #[cfg(not(without = "avx512"))]
    &avx512::ZEN4,
    #[cfg(not(without = "avx512"))]
    &avx512::INTEL,
    #[cfg(not(without = "avx2"))]
    &avx2::ZEN5,
    #[cfg(not(without = "avx2"))]
    &avx2::ZEN1,
    #[cfg(not(without = "avx2"))]
    &avx2::COMMON,
    #[cfg(not(without = "sse41"))]
    &sse41::KERNEL,
    #[cfg(not(without = "sse2"))]
    &sse2::KERNEL,
    #[cfg(test)]
    &array::KERNEL,
    &portable::KERNEL,
];

const _: () = assert!(size_of::<usize>() == 8, "assembly reads pointers of 64 bits");
