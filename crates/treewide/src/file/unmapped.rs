//! Reads files instead of mapping them, on systems where a mapping cannot be guarded.

use std::fs::File;

use super::error::ErrorKind;
use super::hooks::Hooks;
use super::read;
use crate::parallel::leaves::Sink;

pub(super) fn mapped(
    sink: &mut impl Sink,
    file: &File,
    at: u64,
    len: u64,
    threads: usize,
    _may_copy: bool,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    read::positional(sink, file, at, len, threads, false, hooks)
}

pub(super) fn is_possible() -> bool {
    false
}
