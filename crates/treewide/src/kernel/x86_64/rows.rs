//! Lanes as rows (see `kernel/rows.rs`), in four floors: the kit that all are written with, what a vector of rows is, the
//! vectors of one lane, two and four with their assembly and the orders of instructions that Zen 4 and Zen 5 want, and on
//! top the passes over them.

pub(super) mod assembly;
mod kit;
pub(super) mod pass;
mod vector;
pub(super) mod x1;
pub(super) mod x2;
pub(super) mod x4;
mod zen4;
pub(in crate::kernel) mod zen5;
