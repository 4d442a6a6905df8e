//! Asks the system about file systems: their kind, the steps of their clocks, and the time there.

use crate::format::trust::{Moment, Moments};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The steps of clocks on file systems of Linux that take times from the kernel: these move once a jiffy, which is at most
/// 10 ms, and may be one behind.
#[cfg(target_os = "linux")]
const FINE: i64 = 20_000_000;
/// FAT has steps of 2 s. No less can be assumed of unknown ones.
const COARSE: i64 = 2_000_000_000;

/// The clock of a server is not ours. Where it cannot be asked, only what is older than a day by our clock is taken for old.
const FOREIGN: i64 = 86_400_000_000_000;

/// A sync counts for files that are read in this time after it.
const SYNCED_FOR: Duration = Duration::from_secs(60);

/// Asks the system.
#[derive(Debug, Default)]
pub struct Clock {
    systems: Vec<(u64, Known)>,
    /// Whether nothing is synced.
    leaves_out_sync: bool,
}

#[derive(Debug)]
struct Known {
    moment: Moment,
    since: Instant,
}

impl Clock {
    /// A clock that syncs a file system (`syncfs`) before the first file of it is read, and every minute.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out the syncs. What a program writes through a mapping may then go unseen.
    pub fn without_sync() -> Self {
        Self { leaves_out_sync: true, ..Self::default() }
    }

    fn look(&self, near: &Path) -> Known {
        let folder = near.parent().unwrap_or(near);
        let kind = Kind::of(folder);
        // Before the sync: what was written after this moment has this time or a later one.
        let behind = if kind.is_foreign { FOREIGN } else { COARSE };
        let clock = now(folder).unwrap_or_else(|| local().saturating_sub(behind));
        let is_synced = self.leaves_out_sync || sync(folder);
        let moment = Moment {
            synced: is_synced.then_some(clock),
            slack: kind.slack,
            keeps_inodes: kind.keeps_inodes,
            keeps_device: kind.keeps_device,
        };
        Known { moment, since: Instant::now() }
    }
}

impl Moments for Clock {
    fn moment(&mut self, device: u64, near: &Path) -> Moment {
        match self.systems.iter().position(|(known, _)| *known == device) {
            Some(at) if self.systems[at].1.since.elapsed() < SYNCED_FOR => {
                self.systems[at].1.moment
            }
            Some(at) => {
                self.systems[at].1 = self.look(near);
                self.systems[at].1.moment
            }
            None => {
                let known = self.look(near);
                let moment = known.moment;
                self.systems.push((device, known));
                moment
            }
        }
    }
}

/// A kind of file system.
struct Kind {
    name: &'static str,
    slack: i64,
    keeps_inodes: bool,
    keeps_device: bool,
    /// Whether times may come from another machine.
    is_foreign: bool,
}

impl Kind {
    #[cfg(target_os = "linux")]
    fn of(path: &Path) -> Self {
        let Ok(found) = rustix::fs::statfs(path) else { return Self::unknown() };
        // By their numbers in `linux/magic.h`, and in the sources of the others. Numbers of devices that no disk has
        // (btrfs, overlay, NFS) are given anew each time the file system is mounted.
        let (name, slack, keeps_inodes, keeps_device) = match found.f_type as u32 {
            0xef53 => ("ext4", FINE, true, true),
            0x5846_5342 => ("xfs", FINE, true, true),
            0xf2f5_2010 => ("f2fs", FINE, true, true),
            0x9123_683e => ("btrfs", FINE, true, false),
            0x0102_1994 => ("tmpfs", FINE, true, false),
            0x794c_7630 => ("overlay", FINE, true, false),
            0x2fc1_2fc1 => ("zfs", COARSE, true, false),
            0x6969 => ("nfs", COARSE, true, false),
            0x4d44 => ("fat", COARSE, false, true),
            0x2011_bab0 => ("exfat", COARSE, false, true),
            0x6573_5546 => ("fuse", COARSE, false, false),
            0xff53_4d42 | 0xfe53_4d42 => ("smb", COARSE, false, false),
            0x0102_1997 => ("9p", COARSE, false, false),
            _ => return Self::unknown(),
        };
        let is_foreign = matches!(name, "nfs" | "fuse" | "smb" | "9p");
        Self { name, slack, keeps_inodes, keeps_device, is_foreign }
    }

    #[cfg(windows)]
    fn of(path: &Path) -> Self {
        use std::os::windows::fs::OpenOptionsExt;
        let open = std::fs::File::options().access_mode(0).custom_flags(0x0200_0000).open(path);
        let name = open.ok().and_then(|it| treewide::file::windows::file_system(&it));
        let name = match name.as_deref() {
            Some("NTFS") => "ntfs",
            Some("ReFS") => "refs",
            _ => return Self::unknown(),
        };
        Self { name, slack: COARSE, keeps_inodes: true, keeps_device: true, is_foreign: false }
    }

    #[cfg(not(any(target_os = "linux", windows)))]
    fn of(_: &Path) -> Self {
        Self::unknown()
    }

    fn unknown() -> Self {
        Self {
            name: "unknown",
            slack: COARSE,
            keeps_inodes: true,
            keeps_device: false,
            is_foreign: cfg!(any(target_os = "linux", windows)),
        }
    }
}

/// The name of the file system of `path` and the longest step of its clock in nanoseconds, for the index.
pub(crate) fn kind(path: &Path) -> (&'static str, i64) {
    let kind = Kind::of(path);
    (kind.name, kind.slack)
}

/// What the file system's clock shows: the time of a file that is made there and has no name.
#[cfg(target_os = "linux")]
fn now(folder: &Path) -> Option<i64> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let made = openat(CWD, folder, flags, Mode::RUSR).ok()?;
    treewide_files::Stamp::of(&made.into()).ok()?.ctime
}

#[cfg(not(target_os = "linux"))]
fn now(_: &Path) -> Option<i64> {
    None
}

fn local() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().try_into().unwrap_or(i64::MAX)
}

/// Writes what programs have changed in mappings to the disk, so that the next write to a page moves the times of its file.
#[cfg(target_os = "linux")]
pub(crate) fn sync(folder: &Path) -> bool {
    std::fs::File::open(folder).is_ok_and(|it| rustix::fs::syncfs(it).is_ok())
}

/// There is nothing that syncs one file system. Files that a program writes through a mapping may go unseen.
#[cfg(not(target_os = "linux"))]
pub(crate) fn sync(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn now_is_the_time_of_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let Some(now) = now(folder.path()) else {
            println!("SKIPPED: the file system has no files without names");
            return;
        };
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        let later = treewide_files::Stamp::at(&path, false).unwrap().mtime.unwrap();
        assert!((now..now + 60_000_000_000).contains(&later), "{now} {later}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn moment_of_the_same_device_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut clock = Clock::new();
        let moment = clock.moment(1, &folder.path().join("a"));
        assert_eq!(clock.moment(1, Path::new("/nowhere/at/all")), moment);
        assert_eq!(clock.systems.len(), 1);
    }
}
