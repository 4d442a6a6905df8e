//! Why parts are refused, and what is missing.

use std::fmt;
use std::ops::Range;

use super::cut::CutError;

/// Why parts were refused. Nothing of them was added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbsorbError {
    /// The range does not consist of nodes of the tree.
    Cut(CutError),
    /// They are parts of an input of another length.
    Total {
        /// Bytes of the input whose parts are here.
        here: u64,
        /// Bytes of the input whose parts were to be added.
        there: u64,
    },
    /// They were hashed in another mode, or with another key or context.
    Mode,
    /// They are parts of another object.
    Object,
    /// The same bytes have two values. One of the two was hashed from other bytes, or by a broken machine.
    Clash {
        /// The range of the part that is here; a third hash of these bytes says which is wrong.
        here: Range<u64>,
        /// The range of the part that showed it.
        there: Range<u64>,
    },
}

impl fmt::Display for AbsorbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut(cut) => cut.fmt(f),
            Self::Total { here, there } => write!(
                f,
                "parts of an input of {there} bytes do not belong to one of {here} bytes: hash them again, of this object"
            ),
            Self::Mode => f.write_str(
                "the parts were hashed in another mode, or with another key: hash them again, in the mode of the others",
            ),
            Self::Object => f.write_str(
                "the parts belong to another object, or to another version of it: hash them again, of this object",
            ),
            Self::Clash { here, there } => write!(
                f,
                "two values for the same bytes: those of {}..{} here do not agree with {}..{} there; hash {}..{} a third \
                 time, on another machine, to find which one is wrong",
                here.start, here.end, there.start, there.end, here.start, here.end
            ),
        }
    }
}

impl std::error::Error for AbsorbError {}

impl From<CutError> for AbsorbError {
    fn from(cut: CutError) -> Self {
        Self::Cut(cut)
    }
}

/// Parts are missing, so there is no digest yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The first range that is missing.
    pub first: Range<u64>,
    /// The bytes of all ranges that are missing.
    pub bytes: u64,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, bytes } = self;
        write!(f, "{bytes} bytes are not hashed yet, from {}..{} on", first.start, first.end)
    }
}

impl std::error::Error for Missing {}
