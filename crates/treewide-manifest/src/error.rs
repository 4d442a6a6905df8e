//! Why a manifest cannot be read, written or compared at all.

use crate::loss::Loss;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use treewide_files::name::shown;

/// Failure that stopped a whole run. A file that fails is a [`Verdict`](crate::Verdict), not an error.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    line: Option<u64>,
    kind: ErrorKind,
}

/// Why a run stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file or directory could not be read.
    Read(io::Error),
    /// The manifest could not be written.
    Write(io::Error),
    /// The list is damaged, or is not a list. The text says what is wrong and what to do.
    List(String),
    /// An invalid request, such as a glob that cannot be parsed.
    Usage(String),
    /// The new manifest would have lost something that no one allowed to lose. Nothing was written.
    Refused(Box<Loss>),
    /// The run was [cancelled](treewide_files::Cancel).
    Cancelled,
}

impl Error {
    pub(crate) fn new(path: impl Into<PathBuf>, kind: ErrorKind) -> Self {
        Self { path: path.into(), line: None, kind }
    }

    pub(crate) fn read(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self::new(path, ErrorKind::Read(error))
    }

    pub(crate) fn write(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self::new(path, ErrorKind::Write(error))
    }

    pub(crate) fn list(path: impl Into<PathBuf>, line: u64, cause: impl Into<String>) -> Self {
        Self { path: path.into(), line: Some(line), kind: ErrorKind::List(cause.into()) }
    }

    /// Adds what else can be done about a list.
    pub(crate) fn and(mut self, what: &str) -> Self {
        if let ErrorKind::List(cause) = &mut self.kind {
            *cause += &format!("; {what}");
        }
        self
    }

    pub(crate) fn refused(path: impl Into<PathBuf>, loss: Loss) -> Self {
        Self::new(path, ErrorKind::Refused(Box::new(loss)))
    }

    pub(crate) fn usage(cause: impl Into<String>) -> Self {
        Self::new("", ErrorKind::Usage(cause.into()))
    }

    pub(crate) fn cancelled() -> Self {
        Self::new("", ErrorKind::Cancelled)
    }

    /// The file or directory; empty where the error is about none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

/// What was tried, and what the system says. Errors of ours name the reason themselves.
fn failed_to(f: &mut fmt::Formatter<'_>, what: &str, error: &io::Error) -> fmt::Result {
    match error.raw_os_error() {
        Some(_) => write!(f, "cannot {what}: {error}"),
        None => fmt::Display::fmt(error, f),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path != Path::new("") {
            f.write_str(&shown(&self.path))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        match &self.kind {
            ErrorKind::Read(error) => failed_to(f, "read", error),
            ErrorKind::Write(error) => failed_to(f, "write", error),
            ErrorKind::List(cause) | ErrorKind::Usage(cause) => f.write_str(cause),
            ErrorKind::Refused(loss) => write!(f, "{loss}; nothing was written"),
            ErrorKind::Cancelled => f.write_str("cancelled before the end"),
        }
    }
}

impl std::error::Error for Error {}
