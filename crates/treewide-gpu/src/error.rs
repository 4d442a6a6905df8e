//! Failures between a program and a device.

use std::fmt;

/// Why a device could not do what it was asked for. Its text names the device, if there is one, and the cause.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    device: Option<String>,
    cause: String,
}

/// Kinds of failures, for programs that want to continue in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such device: no driver, or a driver that reports none.
    NoDevice,
    /// There is a device, but it or its driver cannot be used; the message says why.
    Unusable,
    /// The device, or the system for pinned memory, does not have that much memory left.
    OutOfMemory,
    /// This device cannot hold that much in one buffer, or hash that much in one call.
    TooLarge,
    /// An argument is wrong: a range outside its buffer, offsets that decrease.
    Invalid,
    /// This device, or its driver, cannot do this.
    Unsupported,
    /// The device disappeared or failed while it worked. Nothing on it can be used any more.
    Lost,
    /// The bytes to hash could not be read.
    Io,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, cause: impl fmt::Display) -> Self {
        Self { kind, device: None, cause: cause.to_string() }
    }

    /// The same failure, of a device with that name, unless it names one already.
    pub(crate) fn on(mut self, device: &str) -> Self {
        self.device.get_or_insert_with(|| device.to_owned());
        self
    }

    pub(crate) fn invalid(cause: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Invalid, cause)
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The name of the device that failed, if one did.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(device) = &self.device {
            write!(f, "{device}: ")?;
        }
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Error {}
