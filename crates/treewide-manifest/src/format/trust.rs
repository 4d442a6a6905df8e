//! Decides when metadata proves that a file's content is unchanged.
//!
//! A file that was hashed gets a *key*: length, times, inode and device. A later run that finds the same key does not read
//! the file. So a key must not stay the same when someone writes to the file afterwards. It would, if the clock of the
//! file system did not move in between: its times move in steps. And a program that has mapped the file moves no time
//! at all as long as the page that it writes to has not been written to the disk since its last write.
//!
//! ```text
//!            last write (mtime, ctime)     sync begins          file is read
//!   ──────────────┼───────── slack ─────────────┼─────────────────────┼──────▶ the file system's clock
//!                 └── a write from here on has another time, or is seen by the reading ──▶
//! ```
//!
//! So a key is given only if ctime, which no one can set, is older than the last sync by more than the step of the clock, which is the
//! file system's own: that of this machine may be another. A file that has no key is read each time.
//!
//! Nothing here asks the system. `tree/clock.rs` does, and tests choose the answers.

use serde::Deserialize;
use treewide_files::Stamp;

/// How a later run sees that no program wrote to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Key {
    /// When the content was changed, in nanoseconds since 1970.
    pub mtime: i64,
    /// When the content or anything else about the file was changed.
    pub ctime: i64,
    /// The inode, where files keep theirs.
    #[serde(rename = "ino")]
    pub inode: Option<u64>,
    /// The device, where it keeps its number.
    #[serde(rename = "dev")]
    pub device: Option<u64>,
}

/// Facts about a file system, taken before its files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The file system's clock when the last sync began, in nanoseconds since 1970. `None` if nothing was synced.
    pub synced: Option<i64>,
    /// The longest step of its clock, in nanoseconds.
    pub slack: i64,
    /// Whether its files keep their inodes.
    pub keeps_inodes: bool,
    /// Whether its device keeps its number.
    pub keeps_device: bool,
}

/// Says what is known of file systems. [`crate::tree::clock::Clock`] asks the system.
pub trait Moments: Send {
    /// What is known of the file system of this device, on which `near` is.
    fn moment(&mut self, device: u64, near: &std::path::Path) -> Moment;
}

impl Moment {
    /// The key of a file that was read after this moment, and was like this before and after. `None` if no key can be
    /// trusted.
    pub fn key(&self, file: &Stamp) -> Option<Key> {
        let (mtime, ctime) = (file.mtime?, file.ctime?);
        // Programs set mtime as they like, also to times to come. Each write moves ctime, which no one can set.
        let is_old = ctime.checked_add(self.slack)? <= self.synced?;
        is_old.then(|| self.times(mtime, ctime, file))
    }

    /// Times and numbers of a file, whether or not they are a key. `None` if the system does not say them.
    pub fn seen(&self, file: &Stamp) -> Option<Key> {
        Some(self.times(file.mtime?, file.ctime?, file))
    }

    fn times(&self, mtime: i64, ctime: i64, file: &Stamp) -> Key {
        Key {
            mtime,
            ctime,
            inode: self.keeps_inodes.then_some(file.inode),
            device: (self.keeps_inodes && self.keeps_device).then_some(file.device),
        }
    }
}

/// The units in which times are kept, in nanoseconds: NTFS, `utimes`, ext3 and tar, FAT and zip.
const UNITS: [i64; 6] = [1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000];

/// Times that differ by less are the same: a floating-point number of seconds has steps of 238 ns.
const ROUNDED: u64 = 1_000;

/// File systems that keep local time, such as FAT, show times by whole hours later or earlier when the clocks change. Their inodes do
/// not last, so that no key of them has one.
const HOUR: u64 = 3_600_000_000_000;

impl Key {
    /// Names the stamps that moved, such as `ctime`, while mtime is as it was, or cut to a coarser unit. `None` if mtime moved as well:
    /// someone wrote to the file.
    pub fn moved(&self, other: &Self) -> Option<Vec<&'static str>> {
        let differ = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a != b);
        let by = self.mtime.abs_diff(other.mtime);
        // Where inodes last, times are those of a clock without time zones.
        let is_shifted =
            self.inode.is_none() && (HOUR..24 * HOUR).contains(&by) && by.is_multiple_of(HOUR);
        let moved = [
            (self.ctime != other.ctime, "ctime"),
            (differ(self.inode, other.inode), "inode"),
            (self.compares_device() && differ(self.device, other.device), "device"),
            (is_shifted, "mtime by whole hours"),
            (by > 0 && !is_shifted, "fraction of mtime"),
        ];
        let moved = moved.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
        (is_shifted || is_kept(self.mtime, other.mtime)).then_some(moved)
    }

    /// All that the system says of a file now. `None` if it does not say its times.
    pub(crate) fn of(file: &Stamp) -> Option<Self> {
        let (inode, device) = (Some(file.inode), Some(file.device));
        Some(Self { mtime: file.mtime?, ctime: file.ctime?, inode, device })
    }

    /// The number of a device is a label. No program sets ctime, so that a ctime with a fraction of a second says enough.
    fn compares_device(&self) -> bool {
        self.ctime % 1_000_000_000 == 0
    }

    /// Whether the file still has this key.
    pub fn is_of(&self, file: &Stamp) -> bool {
        file.mtime == Some(self.mtime)
            && file.ctime == Some(self.ctime)
            && self.inode.is_none_or(|inode| inode == file.inode)
            && (!self.compares_device() || self.device.is_none_or(|device| device == file.device))
    }
}

/// Whether an mtime is as it was, or cut or rounded: archives and file systems cut times, and programs round them that put them back
/// as floating-point numbers. No edit does: it moves mtime forward, by more than that.
fn is_kept(was: i64, is: i64) -> bool {
    let cut = |unit: &i64| was.saturating_sub(was.rem_euclid(*unit));
    UNITS.iter().any(|unit| is == cut(unit)) || is.abs_diff(was) < ROUNDED
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    const MOMENT: Moment = Moment {
        synced: Some(100 * SECOND),
        slack: 2 * SECOND,
        keeps_inodes: true,
        keeps_device: true,
    };

    fn file(mtime: i64, ctime: i64) -> Stamp {
        Stamp {
            len: 3,
            mtime: Some(mtime),
            ctime: Some(ctime),
            inode: 7,
            device: 9,
            mode: 0o644,
            links: 1,
            is_file: true,
        }
    }

    #[test]
    fn mtime_that_an_archive_cut_is_as_before() {
        let was = MOMENT.seen(&file(13 * SECOND + 123_456_789, 20)).unwrap();
        for (mtime, is_same) in [
            (13 * SECOND + 123_456_700, true),
            (13 * SECOND + 123_456_000, true),
            (13 * SECOND + 123_000_000, true),
            (13 * SECOND, true),
            (12 * SECOND, true),
            (13 * SECOND + 123_457_000, true),
            (13 * SECOND + 123_457_789, false),
            (13 * SECOND + 100_000_000, false),
            (14 * SECOND, false),
            (10 * SECOND, false),
            (13 * SECOND + 123_456_788 - 3600 * SECOND, false),
            (13 * SECOND + 123_456_789 + 30 * 3600 * SECOND, false),
        ] {
            let moved = was.moved(&MOMENT.seen(&file(mtime, 30)).unwrap());
            assert_eq!(moved, is_same.then(|| vec!["ctime", "fraction of mtime"]), "{mtime}");
        }
        let an_hour_before = file(13 * SECOND + 123_456_789 - 3600 * SECOND, 30);
        let an_hour_before = MOMENT.seen(&an_hour_before).unwrap();
        assert_eq!(was.moved(&an_hour_before), None);
        let fat = Key { inode: None, device: None, ..was };
        assert_eq!(fat.moved(&an_hour_before), Some(vec!["ctime", "mtime by whole hours"]));
    }

    #[test]
    fn key_needs_ctime_to_be_older_than_the_sync_by_a_step() {
        let edge = 98 * SECOND;
        for (mtime, ctime, expected) in [
            (0, 0, true),
            (edge, edge, true),
            (edge + 1, 0, true),
            (0, edge + 1, false),
            // Put back by utimensat: that moves ctime.
            (0, 99 * SECOND, false),
            // In the year 2099, as programs set it, and where the sum is too large.
            (4_070_908_800 * SECOND, 0, true),
            (i64::MAX, 0, true),
            (0, i64::MAX, false),
            (-SECOND, -SECOND, true),
        ] {
            assert_eq!(MOMENT.key(&file(mtime, ctime)).is_some(), expected, "{mtime} {ctime}");
        }
    }

    #[test]
    fn key_needs_a_sync_and_both_times() {
        assert_eq!(Moment { synced: None, ..MOMENT }.key(&file(0, 0)), None);
        assert_eq!(MOMENT.key(&Stamp { ctime: None, ..file(0, 0) }), None);
        assert_eq!(MOMENT.key(&Stamp { mtime: None, ..file(0, 0) }), None);
    }

    /// A write of the same length within one step of the clock, before or after the file was read.
    #[test]
    fn write_within_a_step_of_the_clock_leaves_no_key_that_stays() {
        for step in [4_000_000, SECOND, 2 * SECOND] {
            let moment = Moment { slack: step, ..MOMENT };
            let stamp = |time: i64| time / step * step;
            for written in (90 * SECOND..100 * SECOND).step_by(7_777_777) {
                let Some(key) = moment.key(&file(stamp(written), stamp(written))) else { continue };
                // Whatever was written after the sync began has a later time.
                let later = stamp(100 * SECOND);
                assert!(!key.is_of(&file(later, later)), "written at {written}, step {step}");
            }
        }
    }

    /// The clock of the machine is set back by an hour between two runs: new times may equal old ones only by their value.
    #[test]
    fn key_is_of_a_file_only_if_everything_is_the_same() {
        let key = MOMENT.key(&file(10, 20)).unwrap();
        assert!(key.is_of(&file(10, 20)));
        for other in [
            file(11, 20),
            file(10, 21),
            Stamp { inode: 8, ..file(10, 20) },
            Stamp { ctime: None, ..file(10, 20) },
        ] {
            assert!(!key.is_of(&other), "{other:?}");
        }
        // What is not a part of it.
        assert!(key.is_of(&Stamp { mode: 0, device: 8, ..file(10, 20) }));
        // Where ctime has no fraction, a number of the device.
        let key = MOMENT.key(&file(10, SECOND)).unwrap();
        assert!(!key.is_of(&Stamp { device: 8, ..file(10, SECOND) }));
    }

    #[test]
    fn key_leaves_out_numbers_that_do_not_last() {
        let fuse = Moment { keeps_inodes: false, ..MOMENT };
        let key = fuse.key(&file(10, 20)).unwrap();
        assert!(key.is_of(&Stamp { inode: 8, device: 8, ..file(10, 20) }));
        let btrfs = Moment { keeps_device: false, ..MOMENT };
        let key = btrfs.key(&file(10, 20)).unwrap();
        assert!(key.is_of(&Stamp { device: 8, ..file(10, 20) }));
        assert!(!key.is_of(&Stamp { inode: 8, ..file(10, 20) }));
    }
}
