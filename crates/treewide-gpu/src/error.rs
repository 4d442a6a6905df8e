//! What can go wrong between a program and a device.

use std::fmt;

/// A failure of a device, or of what it was asked for. It names the device and the cause.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    device: Option<String>,
    cause: String,
}

/// What kind of failure it is, for programs that want to go on in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such device: no driver, or a driver that knows of none.
    NoDevice,
    /// There is a device, but it or its driver cannot be used; the message says why.
    Unusable,
    /// The device (or the system, for pinned memory) has not so much memory left.
    OutOfMemory,
    /// It is more than this device can hold in one buffer, or address in one hash.
    TooLarge,
    /// What was asked for makes no sense: a range outside its buffer, offsets that decrease.
    Invalid,
    /// This device, or its driver, has no such thing.
    Unsupported,
    /// The device went away or failed while it worked. Nothing on it can be used any more.
    Lost,
    /// The bytes to hash could not be read.
    Io,
    /// It was cancelled.
    Cancelled,
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

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The name of the device, if the failure is of one.
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
