//! A directory that stays open while what is in it is looked at or opened.
//!
//! A walk finds the files of a directory one after the other. The system opens a file in less time by its name in a
//! directory that is open than by its whole path, whose directories it has to look up each time
//! (`results/zen4-2vcpu/trees.md#what-the-check-of-identities-costs`). And what is opened by its name there is in that
//! directory, whatever takes the places of directories on the way at the same time.

use crate::error::ErrorKind;
use crate::identity::Identity;
use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A directory that stays open until another one is asked for.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// Its path, with a slash at the end.
    path: Vec<u8>,
    open: Option<OwnedFd>,
    /// Its device and inode.
    is: (u64, u64),
}

impl Folder {
    /// The directory at `path`, which ends in a slash. `None` if the system refuses to open it, so that whole paths must do.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if its device and inode are others, and [`ErrorKind::File`].
    fn at(
        &mut self,
        path: &[u8],
        expected: (u64, u64),
    ) -> Result<Option<BorrowedFd<'_>>, ErrorKind> {
        if self.open.is_none() || self.is != expected || self.path != path {
            self.open = None;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = openat(CWD, path, flags, Mode::empty());
            let found = opened.and_then(|folder| Ok((numbers(&fstat(&folder)?), folder)));
            let (is, folder) = match found {
                Ok(found) => found,
                // It has another name then, which is shorter.
                Err(Errno::NAMETOOLONG) => return Ok(None),
                Err(error) if is_refusal(error) => return Ok(None),
                Err(error) => return Err(ErrorKind::open(error.into())),
            };
            self.is = is;
            if self.is != expected {
                return Err(ErrorKind::Replaced);
            }
            self.path.clear();
            self.path.extend(path);
            self.open = Some(folder);
        }
        Ok(self.open.as_ref().map(AsFd::as_fd))
    }

    /// Opens a file that a walk has found. `None` if it is to be opened by its whole path.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if its directory is another one, or it is a link or a socket, and [`ErrorKind::File`].
    pub(crate) fn open(
        &mut self,
        identity: Identity,
        path: &Path,
    ) -> Result<Option<File>, ErrorKind> {
        // Of files that are looked at one by one, the directory is not known; and links are followed by whole paths.
        let inode = identity.folder.filter(|_| !identity.follows);
        let (Some(inode), Some((folder, name))) = (inode, split(path)) else { return Ok(None) };
        let Some(folder) = self.at(folder, (identity.device, inode))? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = openat(folder, name, flags | OFlags::NOATIME, Mode::empty());
        // Only the owner of a file may request that its time of access stays.
        let opened = match opened {
            Err(Errno::PERM) => openat(folder, name, flags, Mode::empty()),
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::LOOP | Errno::NXIO) => Err(ErrorKind::Replaced),
            // A flag may be refused, or a server holds a lease.
            Err(error) if is_refusal(error) => Ok(None),
            Err(error) => Err(ErrorKind::open(error.into())),
        }
    }
}

/// Device and inode.
#[allow(clippy::unnecessary_cast, reason = "their types depend on the architecture")]
pub(crate) fn numbers(of: &Stat) -> (u64, u64) {
    (of.st_dev as u64, of.st_ino as u64)
}

/// The directory, with the slash, and the name in it.
fn split(path: &Path) -> Option<(&[u8], &[u8])> {
    let path = path.as_os_str().as_bytes();
    Some(path.split_at(path.iter().rposition(|byte| *byte == b'/')? + 1))
}

/// Whether an error is about the way of asking, and not about the file.
fn is_refusal(error: Errno) -> bool {
    matches!(
        error,
        Errno::PERM | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS | Errno::AGAIN
    )
}
