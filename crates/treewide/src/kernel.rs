//! Kernels: the code that compresses many independent nodes of the tree side by side, for each instruction set.
//!
//! Everything else in this crate is a way of feeding a [`Kernel`]. One is chosen at the first use, by the instructions that the CPU and the
//! operating system offer. Digests never depend on the choice.
//!
//! | name | instruction set | for | lanes |
//! |---|---|---|---:|
//! | `avx512-zen5` | AVX-512 F, BW, VL | AMD Zen 5 | 32 |
//! | `avx512-zen4` | the same | AMD Zen 4 | 32 |
//! | `avx512-intel` | the same | Intel, and all other CPUs | 16 |
//! | `avx2-zen5` | AVX2 | AMD Zen 5 without AVX-512, as in some virtual machines | 8 |
//! | `avx2-zen1` | AVX2 | AMD Zen 1 and Zen+ | 8 |
//! | `avx2-common` | AVX2 | all other CPUs | 8 |
//! | `sse41` | SSE4.1 | all CPUs | 4 |
//! | `sse2` | SSE2 | all CPUs | 4 |
//! | `sve2` | SVE2, in vectors of 128 bits | all CPUs | 8 |
//! | `neon-four-ports` | NEON | cores with four vector ports, which have instructions for SHA-3 | 8 |
//! | `neon-two-ports` | NEON | all other CPUs | 4 |
//! | `wasm` | WebAssembly built with `simd128` | all engines | 4 |
//! | `array` | vectors of the compiler | targets without a kernel of their own, but with an operating system; not in builds for others | 8 |
//! | `portable` | none | every target | 1 |
//!
//! A build without optimisation has no AVX-512 and no SSE2, whose passes are not all assembly: they would be slow there, and
//! take up to 450 KB of stack.
//!
//! To force one, set the environment variable `TREEWIDE_KERNEL` (feature `std`) to its name, or call [`force`]. The name of an
//! instruction set alone, `avx512`, `avx2` or `neon`, is the form of it that suits this CPU. The form for another core is
//! correct everywhere, but may be slow.
//!
//! ```
//! println!("{}", treewide::kernel::detected().name());
//! for kernel in treewide::kernel::all() {
//!     println!("{} {} lanes, supported: {}", kernel.name(), kernel.degree(), kernel.is_supported());
//! }
//! ```
//!
//! # Inside
//! `contract` says what a kernel is, and `choice` lists all of them and chooses. `passes` plans which nodes go into which
//! pass, by the cost of each; `inputs` gathers them. A pass has its lanes as `columns` (one word of every lane in a vector)
//! or as `rows` (four words of one lane); `table` makes a kernel of the passes of an instruction set.
//!
//! - To add a CPU, measure the forms there, add its row to the table in `cores.rs`, and name the record. If it wants another
//!   order of instructions, add a marker to `x86_64/cores.rs` and a row to the table of its instruction set (`avx512.rs`).
//! - To add an instruction set, write one file that implements `columns::Vector` for its vectors and ends in `kernels!` with
//!   its passes and their costs; add its question to `cpu.rs` and its line to `ALL` in `choice.rs`.
//!
//! Tests loop over all kernels and compare them with the reference.

mod array;
mod choice;
mod columns;
pub(crate) mod contract;
mod cores;
mod cpu;
mod inputs;
mod pair;
pub(crate) mod passes;
mod portable;
mod rows;
mod runnable;
mod square;
mod table;
#[cfg(all(test, feature = "std"))]
mod tests;
mod vectors;
mod word;

// Kernels for the vectors of the target, `target::ALL`. Miri runs no assembly, and programs without an operating system may
// be compiled without vectors.
#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little", not(miri)))]
mod aarch64;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
mod x86_64;

#[cfg(all(
    target_arch = "aarch64",
    target_feature = "neon",
    target_endian = "little",
    not(miri)
))]
use aarch64 as target;
#[cfg(not(any(
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little", not(miri)),
    all(target_arch = "wasm32", target_feature = "simd128"),
    all(target_arch = "x86_64", target_feature = "sse2", not(miri)),
)))]
use array as target;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use wasm as target;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
use x86_64 as target;

#[cfg(feature = "std")]
pub(crate) use choice::asked_for;
pub use choice::{ForceError, all, detected, force};
pub(crate) use choice::{is_passed_over, running};
pub use contract::Kernel;
pub(crate) use contract::{Flags, Marks, Own};
pub(crate) use runnable::Runnable;
