//! Why an outboard could not be read, written, or verified.

use core::fmt;
use core::ops::Range;

/// Why bytes could not be read or written. With `std` it may hold an `std::io::Error`, and turns into one.
#[derive(Debug)]
pub struct IoError(Repr);

#[derive(Debug)]
enum Repr {
    /// There are no bytes at this place.
    End(u64),
    Message(&'static str),
    #[cfg(feature = "std")]
    Io(std::io::Error),
}

impl IoError {
    /// The error for a byte `at` that does not exist, as the bytes end before it.
    pub const fn end(at: u64) -> Self {
        Self(Repr::End(at))
    }

    /// An error with a text, for stores other than files.
    pub const fn new(message: &'static str) -> Self {
        Self(Repr::Message(message))
    }

    /// Whether the bytes end before the place that was asked for.
    pub fn is_end(&self) -> bool {
        match &self.0 {
            Repr::End(_) => true,
            Repr::Message(_) => false,
            #[cfg(feature = "std")]
            Repr::Io(error) => error.kind() == std::io::ErrorKind::UnexpectedEof,
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::End(at) => write!(f, "there is no byte {at}: the bytes end before it"),
            Repr::Message(message) => f.write_str(message),
            #[cfg(feature = "std")]
            Repr::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for IoError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.0 {
            // It shows the text of this one already.
            #[cfg(feature = "std")]
            Repr::Io(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(feature = "std")]
impl From<std::io::Error> for IoError {
    fn from(error: std::io::Error) -> Self {
        Self(Repr::Io(error))
    }
}

#[cfg(feature = "std")]
impl From<IoError> for std::io::Error {
    fn from(error: IoError) -> Self {
        match error.0 {
            Repr::Io(error) => error,
            Repr::End(_) => Self::new(std::io::ErrorKind::UnexpectedEof, error),
            Repr::Message(_) => Self::other(error),
        }
    }
}

/// Failure of an outboard. Its text does not name files, as it does not know them.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The data could not be read.
    Data(IoError),
    /// The outboard could not be read or written.
    Outboard(IoError),
    /// The copy could not be read.
    Copy(IoError),
    /// These bytes of the data differ from those of the digest. They are one group.
    Bad(Range<u64>),
    /// The outboard is broken above these bytes of the data, so nothing is known of them.
    Unknown(Range<u64>),
    /// The data continues past its end: these bytes are too many.
    Extra(Range<u64>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(error) => write!(f, "failed to read or write the data: {error}"),
            Self::Copy(error) => write!(f, "failed to read the copy: {error}"),
            Self::Outboard(error) => write!(f, "failed to read or write the outboard: {error}"),
            Self::Bad(range) => {
                let Range { start, end } = range;
                write!(
                    f,
                    "the bytes {start}..{end} are not those of the digest; restore them from a copy"
                )
            }
            Self::Extra(range) => {
                let Range { start, end } = range;
                write!(
                    f,
                    "the data has {end} bytes, but those of the digest end at {start}; cut it off there, or see what wrote more"
                )
            }
            Self::Unknown(range) => {
                let Range { start, end } = range;
                write!(
                    f,
                    "the outboard is broken above the bytes {start}..{end}, or does not belong to the digest; \
                     make it again from data that you trust"
                )
            }
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Data(error) | Self::Outboard(error) | Self::Copy(error) => Some(error),
            Self::Bad(_) | Self::Unknown(_) | Self::Extra(_) => None,
        }
    }
}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Data(error) | Error::Outboard(error) | Error::Copy(error) => error.into(),
            Error::Bad(_) | Error::Unknown(_) | Error::Extra(_) => {
                Self::new(std::io::ErrorKind::InvalidData, error)
            }
        }
    }
}
