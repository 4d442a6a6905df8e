//! Why a model or a list cannot be read: which file, which tensor, and what is wrong.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use treewide::file;
use treewide_files::name::{shown, shown_text};

/// A file that cannot be used. Its text begins with the name of the file.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: ErrorKind,
}

/// The cause of an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It could not be opened or read, became shorter, or the work was cancelled.
    File(file::ErrorKind),
    /// The header of a model, an index or a list is not valid.
    Invalid {
        /// The number of the line of a list, from 1 on.
        line: Option<u64>,
        /// What is wrong.
        cause: String,
    },
}

/// The error of a file that is not valid.
pub(crate) fn fault(cause: impl Into<String>) -> ErrorKind {
    ErrorKind::Invalid { line: None, cause: cause.into() }
}

impl Error {
    pub(crate) fn new(path: impl Into<PathBuf>, kind: impl Into<ErrorKind>) -> Self {
        Self { path: path.into(), kind: kind.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl From<file::ErrorKind> for ErrorKind {
    fn from(kind: file::ErrorKind) -> Self {
        Self::File(kind)
    }
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        Self::File(file::ErrorKind::Read(error))
    }
}

/// A name or value in a message: in one line, without commands for a terminal, and not too long.
pub(crate) fn short(text: &str) -> String {
    /// The most characters of a name in a message.
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => shown_text(&text[..end]) + "...",
        None => shown_text(text),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.path))?;
        if let ErrorKind::Invalid { line: Some(line), .. } = &self.kind {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(kind) => kind.fmt(f),
            Self::Invalid { cause, .. } => f.write_str(cause),
        }
    }
}

impl std::error::Error for Error {}
