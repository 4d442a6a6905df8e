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
    /// The header of a model, or its index, is not valid.
    Model(Fault),
    /// A line of a list is not valid.
    List {
        /// The number of the line, from 1 on.
        line: u64,
        /// What is wrong with it.
        cause: String,
    },
}

/// A fault of a header or an index.
#[derive(Debug)]
pub struct Fault {
    tensor: Option<String>,
    cause: String,
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

    /// The tensor that the error is about, if it is about one.
    pub fn tensor(&self) -> Option<&str> {
        match &self.kind {
            ErrorKind::Model(fault) => fault.tensor.as_deref(),
            _ => None,
        }
    }
}

impl Fault {
    /// About the file as a whole.
    pub(crate) fn new(cause: impl Into<String>) -> Self {
        Self { tensor: None, cause: cause.into() }
    }

    /// About a tensor; `cause` names it.
    pub(crate) fn of(tensor: &str, cause: impl Into<String>) -> Self {
        Self { tensor: Some(tensor.to_owned()), cause: cause.into() }
    }
}

impl From<Fault> for ErrorKind {
    fn from(fault: Fault) -> Self {
        Self::Model(fault)
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.path))?;
        match &self.kind {
            ErrorKind::File(kind) => write!(f, ": {kind}"),
            ErrorKind::Model(fault) => write!(f, ": {fault}"),
            ErrorKind::List { line, cause } => write!(f, ":{line}: {cause}"),
        }
    }
}

impl std::error::Error for Error {}
