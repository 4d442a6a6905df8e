//! Files so deep down that the system takes no name for them: Linux stops at 4095 bytes.
//!
//! Such a name is taken piece by piece, each relative to the directory that the one before leads to.
//! Elsewhere it stays an error.

use crate::input::InputError;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use treewide::file;

/// Open a file for hashing, however long its name is. Of one that was `regular` when it was found, a pipe
/// that has taken its place is opened without waiting for its writer.
pub(crate) fn open(path: &Path, regular: bool) -> Result<File, InputError> {
    match if regular { file::open_at_once(path) } else { file::open(path) } {
        Ok(file) => Ok(file),
        Err(error) => match error.into_kind() {
            file::ErrorKind::Open(error) if is_too_long(&error) => Ok(by_pieces(path, error)?),
            error => Err(error.into()),
        },
    }
}

/// A directory with a name that is too long, and a short one that it has as long as it is open.
#[cfg(target_os = "linux")]
pub(crate) fn directory(path: &Path) -> Option<(File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let directory = by_pieces(path, ErrorKind::InvalidFilename.into()).ok()?;
    let name = format!("/proc/self/fd/{}", directory.as_raw_fd()).into();
    Some((directory, name))
}

/// There is no short name for it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn directory(_: &Path) -> Option<(File, PathBuf)> {
    None
}

pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidFilename
}

#[cfg(target_os = "linux")]
fn by_pieces(path: &Path, error: io::Error) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use std::os::fd::{AsFd, OwnedFd};

    const LONGEST: usize = 4095;
    let mut rest = path.as_os_str().as_encoded_bytes();
    let mut folder: Option<OwnedFd> = None;
    while rest.len() > LONGEST {
        // With the slash, as the first piece may be the root. Without one it is a single name that
        // is too long, and is in no directory.
        let Some(cut) = rest[..LONGEST].iter().rposition(|byte| *byte == b'/') else {
            return Err(error);
        };
        let at = folder.as_ref().map_or(CWD, AsFd::as_fd);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        folder = Some(openat(at, &rest[..=cut], flags, Mode::empty())?);
        rest = &rest[cut + 1..];
    }
    let at = folder.as_ref().map_or(CWD, AsFd::as_fd);
    Ok(openat(at, rest, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
fn by_pieces(_: &Path, error: io::Error) -> io::Result<File> {
    Err(error)
}
