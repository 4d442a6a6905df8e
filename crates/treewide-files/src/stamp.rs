//! Metadata of a file: length, times and numbers, by which a later run sees whether
//! the file was written to.

use crate::long_path;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// Length, times and numbers of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub len: u64,
    /// When its content was changed, in nanoseconds since 1970. What does not fit is the first or the last that does. `None` if it is not known.
    pub mtime: Option<i64>,
    /// When its content or anything else about it was changed. `None` also on FAT on Windows.
    pub ctime: Option<i64>,
    /// Its inode; 0 where files have none. On Windows its number, or the beginning of the hash of that if it has more than 64 bits.
    pub inode: u64,
    /// Its device; 0 where that has no number.
    pub device: u64,
    /// The permission bits on Unix, with those of setuid, setgid and sticky; 0 elsewhere.
    pub mode: u32,
    /// The number of its names (hard links); 1 where that is not known.
    pub links: u64,
    /// Whether it is a regular file.
    pub is_file: bool,
}

/// A file before and after it was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// When it was open, before the first byte was read.
    pub before: Stamp,
    /// After the last byte was read.
    pub after: Stamp,
    /// Whether it was read under another name, with [`Options::links_once`](crate::Options::links_once).
    pub linked: bool,
}

impl Stamp {
    /// Asks the system about a file that is open.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn of(file: &File) -> io::Result<Self> {
        // Faster than the standard library's way, which asks for the time of birth as well.
        #[cfg(target_os = "linux")]
        if let Ok(now) = rustix::fs::fstat(file) {
            return Ok(Self::of_stat(&now));
        }
        #[cfg(windows)]
        return Ok(Self::of_metadata(&file.metadata()?).numbered(file));
        #[cfg(not(windows))]
        Ok(Self::of_metadata(&file.metadata()?))
    }

    /// With the facts of Windows about an open file.
    #[cfg(windows)]
    fn numbered(self, file: &File) -> Self {
        use treewide::file::windows::{change_time, numbers};
        // From 1601, in steps of 100 ns.
        const TO_1970: i64 = 116_444_736_000_000_000;
        let changed = change_time(file).ok().filter(|time| *time != 0);
        let (device, id) = numbers(file).unwrap_or_default();
        let inode = u64::try_from(id).unwrap_or_else(|_| {
            let hash = treewide::hash(&id.to_le_bytes());
            u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("it has 32 bytes"))
        });
        let ctime = changed.map(|time| time.saturating_sub(TO_1970).saturating_mul(100));
        Self { ctime, inode, device, ..self }
    }

    /// Reads the stamp of `path`. `follows` says whether a symbolic link there is followed.
    ///
    /// # Errors
    /// If there is nothing, or the system does not say.
    pub fn at(path: &Path, follows: bool) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{lstat, stat};
            if let Ok(now) = if follows { stat(path) } else { lstat(path) } {
                return Ok(Self::of_stat(&now));
            }
        }
        #[cfg(windows)]
        {
            use std::os::windows::fs::OpenOptionsExt;
            // Directories as well, and links themselves.
            let flags = if follows { 0x0200_0000 } else { 0x0220_0000 };
            let open = File::options().access_mode(0).custom_flags(flags).open(path);
            if let Ok(now) = open.and_then(|file| Self::of(&file)) {
                return Ok(now);
            }
        }
        match if follows { fs::metadata(path) } else { fs::symlink_metadata(path) } {
            Ok(now) => Ok(Self::of_metadata(&now)),
            Err(error) if long_path::is_too_long(&error) => {
                let open = long_path::open_found(path, follows);
                Self::of(&open.map_err(|_| error)?)
            }
            Err(error) => Err(error),
        }
    }

    #[cfg(target_os = "linux")]
    #[allow(clippy::unnecessary_cast, reason = "their types depend on the architecture")]
    fn of_stat(now: &rustix::fs::Stat) -> Self {
        use rustix::fs::FileType;
        Self {
            len: now.st_size as u64,
            mtime: nanoseconds(now.st_mtime as i64, now.st_mtime_nsec as i64),
            ctime: nanoseconds(now.st_ctime as i64, now.st_ctime_nsec as i64),
            inode: now.st_ino as u64,
            device: now.st_dev as u64,
            mode: now.st_mode as u32 & 0o7777,
            links: now.st_nlink as u64,
            is_file: FileType::from_raw_mode(now.st_mode) == FileType::RegularFile,
        }
    }

    /// Converts the standard library's metadata.
    #[cfg(unix)]
    pub fn of_metadata(now: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            len: now.len(),
            mtime: nanoseconds(now.mtime(), now.mtime_nsec()),
            ctime: nanoseconds(now.ctime(), now.ctime_nsec()),
            inode: now.ino(),
            device: now.dev(),
            mode: now.mode() & 0o7777,
            links: now.nlink(),
            is_file: now.is_file(),
        }
    }

    /// Converts the standard library's metadata.
    #[cfg(not(unix))]
    pub fn of_metadata(now: &Metadata) -> Self {
        let since_1970 = |time: std::time::SystemTime| match time
            .duration_since(std::time::UNIX_EPOCH)
        {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |it| -it),
        };
        Self {
            len: now.len(),
            mtime: now.modified().ok().map(since_1970),
            ctime: None,
            inode: 0,
            device: 0,
            mode: 0,
            links: 1,
            is_file: now.is_file(),
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it is not known")]
fn nanoseconds(seconds: i64, rest: i64) -> Option<i64> {
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_and_at_agree_with_the_standard_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "abc").unwrap();
        let expected = match cfg!(windows) {
            // It knows less.
            true => Stamp::at(&path, false).unwrap(),
            false => Stamp::of_metadata(&fs::metadata(&path).unwrap()),
        };
        assert_eq!(Stamp::of(&File::open(&path).unwrap()).unwrap(), expected);
        assert_eq!(Stamp::at(&path, true).unwrap(), expected);
        assert_eq!(Stamp::at(&path, false).unwrap(), expected);
        assert_eq!((expected.len, expected.is_file), (3, true));
        assert!(!Stamp::at(folder.path(), true).unwrap().is_file);
        assert!(Stamp::at(&folder.path().join("b"), true).is_err());
    }
}
