//! The instruction sets of AArch64: `neon` and `sve2`, each with four lanes or eight, compressed by `columns`.
//! One lane is `portable.rs`, as general registers have the lower latency.

#[cfg(all(test, feature = "std"))]
mod abi;
mod columns;
pub(super) mod neon;
pub(super) mod sve2;
