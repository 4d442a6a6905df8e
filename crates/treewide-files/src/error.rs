//! Why a file could not be hashed, or a directory could not be read.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use treewide::file;

/// Which file or directory failed, and why.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: ErrorKind,
}

/// Why a file or directory failed. Its text does not name the file; that of [`Error`] does.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be opened or hashed, or the directory could not be read.
    File(file::ErrorKind),
    /// What was opened is not the regular file that was found.
    Replaced,
    /// A symbolic link leads back to a directory that contains it.
    LinkLoop {
        /// That directory.
        leads_to: PathBuf,
    },
    /// The directory is so deep that the system takes no name for its entries.
    TooDeep(io::Error),
    /// The run was [cancelled](crate::Cancel).
    Cancelled,
    /// Whatever the caller's own way of hashing reports, such as the failure of a device.
    Other(Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// An error of this file or directory.
    pub fn new(path: impl Into<PathBuf>, kind: ErrorKind) -> Self {
        Self { path: path.into(), kind }
    }

    /// The file or directory. Empty if a whole run was cancelled.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The file or directory, and the cause.
    pub fn into_parts(self) -> (PathBuf, ErrorKind) {
        (self.path, self.kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path != Path::new("") {
            write!(f, "{}: ", crate::name::shown(&self.path))?;
        }
        self.kind.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.kind.source()
    }
}

impl ErrorKind {
    /// A file or directory that could not be opened.
    pub fn open(error: io::Error) -> Self {
        Self::File(file::ErrorKind::Open(error))
    }

    /// Returns the same failure again, for the verdict on another digest of the file.
    pub fn again(&self) -> Self {
        if let Self::File(file::ErrorKind::Open(error)) = self
            && let Some(code) = error.raw_os_error()
        {
            return Self::open(io::Error::from_raw_os_error(code));
        }
        Self::Other(self.to_string().into())
    }

    /// A file or directory that could not be read.
    pub fn read(error: io::Error) -> Self {
        Self::File(file::ErrorKind::Read(error))
    }

    /// The kind of the operating system's error, if opening or reading failed.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.io_error().map(io::Error::kind)
    }

    /// Returns the operating system's error, if opening or reading failed.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::File(file::ErrorKind::Open(error) | file::ErrorKind::Read(error)) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(kind) => kind.fmt(f),
            Self::Replaced => f.write_str(
                "was replaced while the tree was being hashed; hash it again when nothing changes it",
            ),
            Self::LinkLoop { leads_to } => {
                let leads_to = crate::name::shown(leads_to);
                write!(f, "symbolic link loop: it leads back to {leads_to}")
            }
            Self::TooDeep(error) => {
                write!(f, "{error}; start from a directory further down to reach what is below")
            }
            Self::Cancelled => f.write_str("cancelled before the end"),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl StdError for ErrorKind {
    // The text shows the error itself, so a chain of causes continues after it.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::File(kind) => kind.source(),
            Self::TooDeep(error) => error.source(),
            Self::Other(error) => error.source(),
            _ => None,
        }
    }
}

impl From<file::ErrorKind> for ErrorKind {
    fn from(cause: file::ErrorKind) -> Self {
        match cause {
            file::ErrorKind::Stopped => Self::Cancelled,
            kind => Self::File(kind),
        }
    }
}

impl From<file::Error> for ErrorKind {
    fn from(error: file::Error) -> Self {
        error.into_kind().into()
    }
}

/// The error of reading.
impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        Self::read(error)
    }
}
