//! Why a slice could not be made or read.

use std::fmt;
use std::io;
use std::ops::Range;

use crate::outboard::error::Error;

/// Why a slice could not be made. What was written before must not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// The data or the outboard could not be read, or does not belong to the digest.
    Source(Error),
    /// The slice could not be written.
    Write(io::Error),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Write(error) => write!(f, "failed to write the slice: {error}"),
        }
    }
}

impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Source(error) => std::error::Error::source(error),
            Self::Write(error) => Some(error),
        }
    }
}

impl From<Error> for EncodeError {
    fn from(error: Error) -> Self {
        Self::Source(error)
    }
}

/// Why a slice could not be read. What was handed out before is verified.
#[derive(Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The slice could not be read.
    Read(io::Error),
    /// The slice ends before its part for these bytes of the input.
    Ended(Range<u64>),
    /// What the slice has of these bytes of the input does not belong to the digest.
    Wrong(Range<u64>),
    /// What was decoded could not be written.
    Write(io::Error),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "failed to read the slice: {error}"),
            Self::Ended(Range { start, end }) => write!(
                f,
                "the slice ends before it has what it should have of the bytes {start}..{end}: it was cut off, or made \
                 with other ranges, another group or another length"
            ),
            Self::Wrong(Range { start, end }) => write!(
                f,
                "what the slice has of the bytes {start}..{end} does not belong to the digest: it was damaged, or made \
                 of another input, or with other ranges, another group or another length"
            ),
            Self::Write(error) => write!(f, "failed to write what was decoded: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) | Self::Write(error) => Some(error),
            Self::Ended(_) | Self::Wrong(_) => None,
        }
    }
}
