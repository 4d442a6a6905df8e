//! Hooks for each tile of a file that is read.

use std::fs::File;
use std::ops::ControlFlow;

use super::device;
use super::error::ErrorKind;
use super::watch::Watch;

/// How much is read and hashed at a time, and what else happens for each tile.
pub(super) struct Hooks<'a> {
    pub(super) tile: usize,
    pub(super) watch: Option<&'a Watch<'a>>,
    /// The file whose pages are dropped from the cache.
    pub(super) drop_cache: Option<&'a File>,
}

impl Hooks<'_> {
    /// Reports the number of bytes read, and asks whether to continue.
    pub(super) fn read(&self, bytes: usize) -> Result<(), ErrorKind> {
        match self.watch.map(|watch| watch(bytes as u64)) {
            Some(ControlFlow::Break(())) => Err(ErrorKind::Stopped),
            _ => Ok(()),
        }
    }

    /// Called when that part of the file is finished.
    pub(super) fn done(&self, at: u64, len: u64) {
        if let Some(file) = self.drop_cache {
            device::drop_from_cache(file, at, len);
        }
    }
}
