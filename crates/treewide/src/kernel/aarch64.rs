//! The instruction sets of AArch64: `neon` and `sve2`, each with four lanes or eight, compressed by `columns`.
//! One lane is `portable.rs`, as general registers have the lower latency.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]
#![cfg_attr(without = "neon", allow(dead_code, reason = "of kernels that are left out"))]

pub(super) mod columns;
pub(super) mod neon;
pub(super) mod sve2;

#[cfg(test)]
use super::array;
use super::contract::Kernel;
use super::portable;

/// Best first; of an instruction set the one for other cores comes last.
pub(super) static ALL: &[&Kernel] = &[
    #[cfg(not(without = "neon"))]
    &sve2::KERNEL,
    #[cfg(not(without = "neon"))]
    &neon::FOUR_PORTS,
    #[cfg(not(without = "neon"))]
    &neon::TWO_PORTS,
    #[cfg(test)]
    &array::KERNEL,
    &portable::KERNEL,
];
