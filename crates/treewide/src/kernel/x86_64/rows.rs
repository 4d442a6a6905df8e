//! Lanes as rows (see `kernel/rows.rs`): vectors of one lane, two and four, the passes over them, their assembly with
//! SSE4.1 and AVX2, and the orders of instructions that Zen 4 and Zen 5 want.

pub(super) mod assembly;
pub(super) mod pass;
pub(super) mod x1;
pub(super) mod x2;
pub(super) mod x4;
mod zen4;
pub(super) mod zen5;
