//! The kernel contract, the kernels of this build, and the choice among them.
//!
//! A [`Kernel`] compresses many independent nodes of the tree side by side; everything else in
//! this crate is a way of feeding it. Which one runs is decided once, at the first use, from what
//! the CPU and the operating system offer. The variable `TREEWIDE_KERNEL` (feature `std`) or
//! [`force`] overrides the choice. Digests never depend on it.
//!
//! ```
//! println!("{}", treewide::kernel::detected().name());
//! for kernel in treewide::kernel::all() {
//!     println!("{} {} lanes, supported: {}", kernel.name(), kernel.degree(), kernel.is_supported());
//! }
//! ```

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod aarch64;
mod array;
mod choice;
mod columns;
pub(crate) mod contract;
mod cores;
mod cpu;
mod inputs;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod pair;
pub(crate) mod passes;
mod portable;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod rows;
mod runnable;
mod table;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(any(
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod vectors;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
// Programs without an operating system may be compiled without SSE, and then have no vectors at all.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86_64;

#[cfg(feature = "std")]
pub(crate) use choice::asked_for;
pub(crate) use choice::running;
pub use choice::{ForceError, all, detected, force};
pub use contract::Kernel;
pub(crate) use contract::{Flags, Marks, Own};
pub(crate) use runnable::Runnable;

pub use crate::explain::{Explanation, Passes, explain};
