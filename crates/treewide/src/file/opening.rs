//! Opening files for hashing.

use std::fs::File;
use std::path::Path;

use super::device;
use super::error::{Error, ErrorKind};

/// Opens a file for hashing. Its access time stays as it is where the system allows that (`O_NOATIME`).
///
/// # Errors
/// If the file cannot be opened.
pub fn open(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, true, true).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}

/// Opens as [`open`], but never blocks on a named pipe that has replaced the file since it was found; check the
/// [metadata](File::metadata) of the returned file. It still waits for a server to release a lease.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_at_once(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, false, true).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}

/// Opens as [`open`], for hashing with a [watcher](super::Options::watch): on Linux, it does not wait for the writer of a named pipe.
/// Hashing waits, and asks the watcher as long as there is none.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_watched(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    if device::is_named_pipe(path) { open_at_once(path) } else { open(path) }
}

/// Opens as [`open_at_once`], but does not follow a symbolic link that has replaced the file since it was found: that is an error
/// (not on Windows).
///
/// # Errors
/// If the file cannot be opened, or is a symbolic link.
pub fn open_found(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, false, false).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}
