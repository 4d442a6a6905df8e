//! Where a mapping cannot be guarded, files are read.

use std::fs::File;

use super::{ErrorKind, Hooks, read};
use crate::Hasher;

pub(super) fn mapped(
    hasher: &mut Hasher,
    file: &File,
    len: u64,
    threads: usize,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    read::positional(hasher, file, 0, len, threads, hooks)
}

pub(super) fn is_possible() -> bool {
    false
}

pub(super) fn beats_copying(_: &File) -> bool {
    false
}
