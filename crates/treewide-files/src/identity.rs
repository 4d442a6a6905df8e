//! Which file a walk has found, so that nothing else is hashed in its place.
//!
//! Between finding a file and opening it, another program may put another file, a link, a pipe or a device in its place,
//! or a link in the place of a directory on the way. What is opened then has another device or inode.

use crate::error::ErrorKind;
use crate::long_path;
use crate::stamp::Stamp;
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
    pub(crate) fn open_by_path(self, path: &Path) -> Result<(File, Stamp), ErrorKind> {
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
        self.stamped(file, path)
    }

    /// A file that was opened at `path`, if it is still the same.
    pub(crate) fn stamped(self, file: File, path: &Path) -> Result<(File, Stamp), ErrorKind> {
        let now = Stamp::of(&file)?;
        let is_same = now.is_file && self.is(&now, &file, path);
        if is_same { Ok((file, now)) } else { Err(ErrorKind::Replaced) }
    }

    /// Its device and its inode, as far as the walk knows them: both are 0 on Windows, and the inode may change on some
    /// file systems.
    pub fn numbers(self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Whether a regular file that was opened is the same.
    #[cfg(target_os = "linux")]
    fn is(self, now: &Stamp, file: &File, path: &Path) -> bool {
        let is_inode = now.inode == self.inode || !self.has_inode;
        now.device == self.device && is_inode || self.is_mounted(file, path)
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn is(self, now: &Stamp, _: &File, _: &Path) -> bool {
        (now.device, now.inode) == (self.device, self.inode)
    }

    #[cfg(not(unix))]
    fn is(self, _: &Stamp, _: &File, _: &Path) -> bool {
        true
    }

    /// Whether a file is mounted in this place (as `docker -v` does): its directory then has the inode of the file below it.
    #[cfg(target_os = "linux")]
    fn is_mounted(self, file: &File, path: &Path) -> bool {
        use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};
        use std::os::unix::fs::MetadataExt;
        let is_folder =
            |it: &fs::Metadata| (it.dev(), Some(it.ino())) == (self.device, self.folder);
        let Some(folder) = path.parent().filter(|_| self.folder.is_some()) else { return false };
        fs::metadata(folder).as_ref().is_ok_and(is_folder)
            && match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS) {
                Ok(it) if it.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
                    it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
                }
                // Refused, or before Linux 5.8.
                _ => is_mounted_below(file, folder),
            }
    }
}

/// Whether a file is in another mount than the directory that it was opened in, according to `/proc`. Without `/proc`, it
/// counts as replaced.
#[cfg(target_os = "linux")]
fn is_mounted_below(file: &File, folder: &Path) -> bool {
    use rustix::fs::{Mode, OFlags, open};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    let mount = |fd: BorrowedFd<'_>| {
        let lines = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
        lines.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse::<u64>().ok()
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(folder, flags, Mode::empty()).ok().and_then(|folder| mount(folder.as_fd()));
    matches!((mount(file.as_fd()), folder), (Some(mount), Some(around)) if mount != around)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn is_mounted_below_compares_mounts() {
        let file = |path: &str| File::open(path).unwrap();
        assert!(is_mounted_below(&file("/proc/self/status"), Path::new("/")));
        assert!(!is_mounted_below(&file("/proc/self/status"), Path::new("/proc/self")));
    }
}
