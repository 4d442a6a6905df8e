//! The instruction sets of x86-64.
//!
//! ```text
//! sse2  sse41  avx2  avx512  the kernels
//!   scalar  row              one lane, in general registers or as rows
//!   few_lanes                two to eight as rows: rows256, rows512; at the pace of Zen 5 paced, for Zen 4 apart
//!   run                      many, as a transposed state: rounds16, run512 and, as two, rounds32
//!   assembly                 what these three are written with
//! ```

#[cfg(all(test, feature = "std"))]
mod abi;
mod apart;
mod assembly;
pub(super) mod avx2;
pub(super) mod avx512;
mod few_lanes;
mod paced;
mod rounds16;
mod rounds32;
mod row;
mod rows256;
mod rows512;
mod run;
mod run512;
mod scalar;
pub(super) mod sse2;
pub(super) mod sse41;

const _: () = assert!(size_of::<usize>() == 8, "assembly reads pointers of 64 bits");
