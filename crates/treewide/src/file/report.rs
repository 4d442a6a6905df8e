//! Result of hashing a file.

use super::strategy::Strategy;
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::xof::OutputReader;

/// How a file was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub(super) bytes: u64,
    pub(super) grown_to: Option<u64>,
    pub(super) strategy: Strategy,
}

impl Report {
    /// Returns the number of bytes that were hashed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the length that the file has now, if that is more than was hashed.
    pub fn grown_to(&self) -> Option<u64> {
        self.grown_to
    }

    /// Returns the strategy that was used; never [`Strategy::Auto`].
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }
}

/// The digest of a file, of any length, and how it was hashed.
#[derive(Clone, Debug)]
pub struct Hashed {
    pub(super) hasher: Hasher,
    pub(super) report: Report,
}

impl Hashed {
    /// Returns the digest of 32 bytes.
    pub fn hash(&self) -> Hash {
        self.hasher.finalize()
    }

    /// Returns extended output.
    pub fn output(&self) -> OutputReader {
        self.hasher.finalize_xof()
    }

    /// Returns how the file was hashed.
    pub fn report(&self) -> Report {
        self.report
    }
}
