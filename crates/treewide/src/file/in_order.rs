//! A file that is read in order on the calling thread, for digests of other algorithms.

use std::fs::File;
use std::path::Path;

use super::error::Error;
use super::options::Options;
use super::report::Report;
use super::strategy::Strategy;
use crate::parallel::leaves::Sink;
use crate::spec::ChainingValue;
use crate::tree::WIDE;

impl Options<'_> {
    /// Reads a file that is open, from its position on, and calls `each` with its bytes in order, on the calling thread. Nothing is
    /// hashed; all else is as in [`update_file`](Self::update_file).
    ///
    /// ```
    /// # let path = std::env::temp_dir().join("treewide-doc-in-order");
    /// # std::fs::write(&path, "content").unwrap();
    /// use treewide::file::{Options, open};
    ///
    /// let mut bytes = Vec::new();
    /// let report = Options::new().read_in_order(&open(&path)?, &path, |more| bytes.extend(more))?;
    /// assert_eq!((report.bytes(), &bytes[..]), (7, &b"content"[..]));
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Self::hash). `each` has then got an unknown part of the file.
    pub fn read_in_order(
        &self,
        file: &File,
        path: impl AsRef<Path>,
        each: impl FnMut(&[u8]) + Sync,
    ) -> Result<Report, Error> {
        let options = self.clone().strategy(Strategy::Read).threads(1);
        let read = options.absorb(&mut InOrder { each, count: 0 }, file);
        read.map_err(|kind| Error::new(path.as_ref(), kind))
    }
}

struct InOrder<F> {
    each: F,
    count: u64,
}

impl<F: FnMut(&[u8]) + Sync> Sink for InOrder<F> {
    fn count(&self) -> u64 {
        self.count
    }

    fn next_chunk(&self) -> u64 {
        0
    }

    fn update(&mut self, input: &[u8]) {
        self.count += input.len() as u64;
        (self.each)(input);
    }

    fn leaf(&self, _: u64, _: &[u8], _: &mut [ChainingValue; WIDE]) {
        unreachable!("`Strategy::Read` has no leaves");
    }

    fn append(&mut self, _: &[ChainingValue], _: usize) {
        unreachable!("`Strategy::Read` has no leaves");
    }
}
