//! Files so deep that the system takes no name for them: on Linux a name has at most 4095 bytes.
//!
//! A longer path is taken piece by piece, each piece relative to the directory that the piece before leads
//! to. On other systems it stays an error.

use crate::error::ErrorKind;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use treewide::file;

/// Opens a file for hashing, however long its name is.
///
/// `regular` says that it was a regular file when it was found. If a named pipe has taken its place since,
/// the pipe is opened without waiting for its writer.
///
/// # Errors
/// [`ErrorKind::File`].
pub fn open(path: &Path, regular: bool) -> Result<File, ErrorKind> {
    let file = if regular { file::open_at_once(path) } else { file::open(path) };
    file.or_else(|error| open_long(path, error, true, !regular))
}

/// Opens a file that is hashed by a run, which may be cancelled while a named pipe has no writer.
pub(crate) fn open_to_watch(path: &Path) -> Result<File, ErrorKind> {
    file::open_watched(path).or_else(|error| open_long(path, error, true, true))
}

/// Opens a regular file that a walk has found, without waiting for a named pipe that has taken its place. `follows`
/// says whether it may be a symbolic link.
pub(crate) fn open_found(path: &Path, follows: bool) -> Result<File, ErrorKind> {
    let file = if follows { file::open_at_once(path) } else { file::open_found(path) };
    file.or_else(|error| open_long(path, error, follows, false))
}

fn open_long(
    path: &Path,
    error: file::Error,
    follows: bool,
    waits: bool,
) -> Result<File, ErrorKind> {
    match error.into_kind() {
        file::ErrorKind::Open(error) if is_too_long(&error) => {
            by_pieces(path, error, follows, waits).map_err(ErrorKind::open)
        }
        error => Err(error.into()),
    }
}

/// A directory whose name is too long: the directory, open, and a short name that it has as long as it is.
#[cfg(target_os = "linux")]
pub(crate) fn directory(path: &Path) -> Option<(File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let directory = by_pieces(path, io::ErrorKind::InvalidFilename.into(), true, false).ok()?;
    let name = format!("/proc/self/fd/{}", directory.as_raw_fd()).into();
    Some((directory, name))
}

/// There is no short name for it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn directory(_: &Path) -> Option<(File, PathBuf)> {
    None
}

/// Reads the target of a symbolic link, however long its name is.
///
/// # Errors
/// As [`std::fs::read_link`].
pub fn read_link(path: &Path) -> io::Result<PathBuf> {
    match std::fs::read_link(path) {
        Err(error) if is_too_long(&error) => {
            by_short_name(path, |short| std::fs::read_link(short)).unwrap_or(Err(error))
        }
        read => read,
    }
}

/// Calls `work` with a short path to a file whose own path exceeds the system's limit. `None` if there is no such path.
pub fn by_short_name<T>(path: &Path, work: impl FnOnce(&Path) -> T) -> Option<T> {
    let (_open, folder) = directory(path.parent()?)?;
    Some(work(&folder.join(path.file_name()?)))
}

/// Whether the system found a name too long.
pub fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidFilename
}

#[cfg(target_os = "linux")]
fn by_pieces(path: &Path, error: io::Error, follows: bool, waits: bool) -> io::Result<File> {
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
    use rustix::io::Errno;
    use std::os::fd::{AsFd, OwnedFd};

    const LONGEST: usize = 4095;
    let mut rest = path.as_os_str().as_encoded_bytes();
    let mut folder: Option<OwnedFd> = None;
    while rest.len() > LONGEST {
        // With the slash, as the first piece may be the root. Without a slash it is a single name that
        // is too long, and no directory can hold it.
        let Some(cut) = rest[..LONGEST].iter().rposition(|byte| *byte == b'/') else {
            return Err(error);
        };
        let at = folder.as_ref().map_or(CWD, AsFd::as_fd);
        let open = |how| {
            openat(at, &rest[..=cut], how | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        // Where the system refuses a mere place, the directory must be readable.
        let next = open(OFlags::PATH);
        folder = Some(next.or_else(|error| open(OFlags::RDONLY).map_err(|_| error))?);
        rest = &rest[cut + 1..];
    }
    let at = folder.as_ref().map_or(CWD, AsFd::as_fd);
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follows);
    flags.set(OFlags::NONBLOCK, !waits);
    let opened = openat(at, rest, flags, Mode::empty());
    // As when a whole path is opened: only a regular file is sure not to wait.
    let is_file = || {
        let how = if follows { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        statat(at, rest, how)
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile)
    };
    let opened = match opened {
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::AGAIN) if !waits && is_file() => {
            openat(at, rest, flags - OFlags::NONBLOCK, Mode::empty())
        }
        opened => opened,
    };
    Ok(opened?.into())
}

#[cfg(not(target_os = "linux"))]
fn by_pieces(_: &Path, error: io::Error, _: bool, _: bool) -> io::Result<File> {
    Err(error)
}
