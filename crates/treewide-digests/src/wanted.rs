//! The digest of a file by one algorithm, when no one says what it should be.

use crate::algorithm::{Algorithm, Digester};
use std::fmt;
use treewide_files::digest::Digest;
use treewide_files::{Next, Other};

/// A digest that a run of [`treewide_files`] finds, as [`Source::other`](treewide_files::Source::other) returns it.
pub struct Wanted {
    algorithm: Algorithm,
    at_hand: Option<Box<dyn Digester>>,
    digest: Option<Vec<u8>>,
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wanted").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl Wanted {
    /// The digest by this algorithm. `None` for BLAKE3, which the run finds itself.
    pub fn new(algorithm: Algorithm) -> Option<Self> {
        algorithm.begin(0).map(|_| Self { algorithm, at_hand: None, digest: None })
    }

    /// The digest, after the run.
    pub fn digest(&self) -> Option<&[u8]> {
        self.digest.as_deref()
    }
}

impl Other for Wanted {
    fn next(&mut self) -> Next {
        if let Some(digester) = self.at_hand.take() {
            self.digest = Some(digester.finish());
        }
        if self.digest.is_some() { Next::Nothing } else { Next::Bytes }
    }

    fn blake3(&mut self, _: &Digest) {}

    fn begin(&mut self, size: u64) -> bool {
        self.at_hand = self.algorithm.begin(size);
        true
    }

    fn update(&mut self, bytes: &[u8]) {
        if let Some(digester) = &mut self.at_hand {
            digester.update(bytes);
        }
    }
}
