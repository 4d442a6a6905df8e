//! Lanes as columns (see `kernel/columns.rs`), in assembly.

pub(in crate::kernel) mod avx512;
pub(in crate::kernel) mod avx512_pair;
pub(super) mod blocks;
pub(in crate::kernel) mod sse_avx2;
pub(super) mod transpose;
