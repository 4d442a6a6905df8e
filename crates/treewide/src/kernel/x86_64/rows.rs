//! Lanes as rows (see `kernel/rows.rs`), in four floors: the kit that all are written with, what a vector of rows is, the
//! vectors of one lane, two and four with their assembly and the order of instructions that Zen 4 wants, and on top the
//! passes over them.

pub(super) mod assembly;
mod kit;
pub(super) mod pass;
mod vector;
pub(super) mod x1;
pub(super) mod x2;
pub(super) mod x4;
mod zen4;
