//! Why a file could not be hashed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::length::Mismatch;

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
    /// Reading ended before the length of the file, which is still the same.
    Ended {
        /// Bytes that could be read.
        read: u64,
        /// The length.
        len: u64,
    },
    /// Reading continues after the length of the file, which is still the same.
    GoesOn {
        /// The length.
        len: u64,
    },
    /// Reading did not end at the length, and something has written to the file while it was being hashed.
    Changed {
        /// Where reading ended.
        read: u64,
        /// The length when the file was opened.
        len: u64,
    },
    /// The watcher stopped it, or the future was dropped.
    Stopped,
}

impl ErrorKind {
    /// The cause of an error of reading: a kind or a mismatch of ours, or what the system says.
    pub(super) fn of(error: io::Error) -> Self {
        let mismatch = match error.downcast::<Mismatch>() {
            Ok(mismatch) => mismatch,
            // An error of ours, if the reader is a stream of `device`.
            Err(error) => return error.downcast().unwrap_or_else(Self::Read),
        };
        match mismatch {
            Mismatch::Shrank { read, len } => Self::Shrank { read, len },
            Mismatch::Ended { read, len } => Self::Ended { read, len },
            Mismatch::GoesOn { len } => Self::GoesOn { len },
            Mismatch::Changed { read, len } => Self::Changed { read, len },
        }
    }
}

/// For readers that compare the end with the length of a file.
impl From<ErrorKind> for io::Error {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Open(error) | ErrorKind::Read(error) => error,
            ErrorKind::Shrank { read, len } => Mismatch::Shrank { read, len }.into(),
            ErrorKind::Ended { read, len } => Mismatch::Ended { read, len }.into(),
            ErrorKind::GoesOn { len } => Mismatch::GoesOn { len }.into(),
            ErrorKind::Changed { read, len } => Mismatch::Changed { read, len }.into(),
            ErrorKind::Stopped => Self::other(kind),
        }
    }
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

/// What was tried, and what the system says. Errors of ours name the reason themselves.
fn failed_to(f: &mut fmt::Formatter<'_>, what: &str, error: &io::Error) -> fmt::Result {
    match error.raw_os_error() {
        Some(_) => write!(f, "cannot {what}: {error}"),
        None => fmt::Display::fmt(error, f),
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => failed_to(f, "open", error),
            Self::Read(error) => failed_to(f, "read", error),
            Self::Shrank { read, len } => Mismatch::Shrank { read: *read, len: *len }.fmt(f),
            Self::Ended { read, len } => Mismatch::Ended { read: *read, len: *len }.fmt(f),
            Self::GoesOn { len } => Mismatch::GoesOn { len: *len }.fmt(f),
            Self::Changed { read, len } => Mismatch::Changed { read: *read, len: *len }.fmt(f),
            Self::Stopped => f.write_str("stopped before the end"),
        }
    }
}

impl std::error::Error for ErrorKind {
    // The text shows the error itself, so a chain of causes continues after it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open(error) | Self::Read(error) => error.source(),
            _ => None,
        }
    }
}
