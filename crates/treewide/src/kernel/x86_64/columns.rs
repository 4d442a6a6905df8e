//! Lanes as columns (see `kernel/columns.rs`), in assembly.

pub(super) mod avx512;
pub(super) mod avx512_pair;
pub(super) mod blocks;
pub(super) mod sse_avx2;
pub(super) mod transpose;
