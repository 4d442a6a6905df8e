//! Which file a walk has found, so that nothing else is hashed in its place.
//!
//! Between finding a file and opening it, another program may put another file, a link, a pipe or a device in its place,
//! or a link in the place of a directory on the way. What is opened then has another device or inode.

use crate::error::ErrorKind;
use crate::long_path;
use std::fs::{self, File};
use std::path::Path;

/// A regular file that a walk has found. On Windows nothing is known of it except that it was a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Whether it keeps that inode.
    pub(crate) has_inode: bool,
    /// The inode of the directory, if the walk has not looked at the file itself.
    pub(crate) folder: Option<u64>,
    /// Whether links are followed.
    pub(crate) follows: bool,
}

impl Identity {
    /// Opens the file at `path` if it is still the same, and returns its length, too.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if it is another file, and [`ErrorKind::Open`].
    pub fn open(self, path: &Path) -> Result<(File, u64), ErrorKind> {
        let file = match long_path::open_found(path, self.follows) {
            Ok(file) => file,
            Err(error) if self.follows => return Err(error),
            // A link that is not followed, or a socket.
            Err(_) if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) => {
                return Err(ErrorKind::Replaced);
            }
            // Where the system refuses the flag that keeps links away, what is opened is compared all the same.
            Err(_) => long_path::open_found(path, true)?,
        };
        match self.len(&file, path)? {
            Some(len) => Ok((file, len)),
            None => Err(ErrorKind::Replaced),
        }
    }

    /// The length of a file that was opened, if it is the same.
    #[cfg(target_os = "linux")]
    fn len(self, file: &File, path: &Path) -> Result<Option<u64>, ErrorKind> {
        use rustix::fs::FileType;
        use std::os::unix::fs::MetadataExt;
        // Faster than the standard library's way, which asks for the time of birth as well.
        let (is_file, device, inode, len) = match rustix::fs::fstat(file) {
            Ok(now) => {
                let is_file = FileType::from_raw_mode(now.st_mode) == FileType::RegularFile;
                (is_file, now.st_dev, now.st_ino, now.st_size as u64)
            }
            // Refused, it may still be there in another form.
            Err(_) => {
                let now = file.metadata()?;
                (now.is_file(), now.dev(), now.ino(), now.len())
            }
        };
        let is_same = device == self.device && (inode == self.inode || !self.has_inode);
        let is_found = is_file && (is_same || self.is_mounted(file, path));
        Ok(is_found.then_some(len))
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn len(self, file: &File, _: &Path) -> Result<Option<u64>, ErrorKind> {
        use std::os::unix::fs::MetadataExt;
        let now = file.metadata()?;
        let is_same = (now.dev(), now.ino()) == (self.device, self.inode);
        Ok((now.is_file() && is_same).then_some(now.len()))
    }

    #[cfg(not(unix))]
    fn len(self, file: &File, _: &Path) -> Result<Option<u64>, ErrorKind> {
        let now = file.metadata()?;
        Ok(now.is_file().then_some(now.len()))
    }

    /// Whether a file is mounted in this place (as `docker -v` does): its directory then has the inode of what is below it.
    #[cfg(target_os = "linux")]
    fn is_mounted(self, file: &File, path: &Path) -> bool {
        use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
        use std::os::unix::fs::MetadataExt;
        let is_folder =
            |it: &fs::Metadata| (it.dev(), Some(it.ino())) == (self.device, self.folder);
        self.folder.is_some()
            && path.parent().and_then(|it| fs::metadata(it).ok()).as_ref().is_some_and(is_folder)
            && statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
                .is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }
}
