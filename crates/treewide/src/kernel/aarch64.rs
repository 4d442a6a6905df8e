//! The instruction sets of AArch64: `neon` and `sve2`, each with four lanes or eight, compressed by `columns`.
//! One lane is `portable.rs`, as general registers have the lower latency.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

pub(super) mod columns;
pub(super) mod neon;
pub(super) mod sve2;
