//! The instruction sets of AArch64: `neon` and `sve2`, each with four lanes or eight, compressed by `rounds`.
//! One lane is `portable.rs`, as general registers have the lower latency.

#[cfg(all(test, feature = "std"))]
mod abi;
pub(super) mod neon;
mod rounds;
pub(super) mod sve2;
