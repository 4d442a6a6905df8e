//! Why a file could not be hashed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Which file could not be hashed, and why.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: ErrorKind,
}

/// Why a file could not be hashed. Its text does not name the file; the text of [`Error`] does.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It could not be opened.
    Open(io::Error),
    /// It could not be read.
    Read(io::Error),
    /// The file became shorter than it was at the beginning.
    Shrank {
        /// Bytes that could be read.
        read: u64,
        /// Bytes at the beginning.
        len: u64,
    },
    /// The watcher stopped it, or the future was dropped.
    Stopped,
}

impl Error {
    pub(super) fn new(path: &Path, kind: ErrorKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns the cause, for callers who name the file themselves.
    pub fn into_kind(self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) | Self::Read(error) => error.fmt(f),
            Self::Shrank { read, len } => {
                write!(f, "file shrank while being hashed: {read} of {len} bytes")
            }
            Self::Stopped => f.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for ErrorKind {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open(error) | Self::Read(error) => Some(error),
            _ => None,
        }
    }
}
