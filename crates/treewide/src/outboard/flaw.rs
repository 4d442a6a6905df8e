//! Bytes that are not verified, and why.

use core::ops::Range;

use super::error::Error;

/// Fault of some bytes of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlawKind {
    /// They differ from those of the digest, or are missing.
    Bad,
    /// The outboard is broken above them, so nothing is known of them.
    Unknown,
    /// They are past the end.
    Extra,
}

/// Bytes of the data that are not verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flaw {
    /// Where they are: whole groups.
    pub range: Range<u64>,
    /// The kind of fault.
    pub kind: FlawKind,
}

impl Flaw {
    pub(super) fn error(self) -> Error {
        match self.kind {
            FlawKind::Bad => Error::Bad(self.range),
            FlawKind::Unknown => Error::Unknown(self.range),
            FlawKind::Extra => Error::Extra(self.range),
        }
    }
}
