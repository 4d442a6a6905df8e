//! Whether the length of a file is a promise, and whether reading ended there.
//!
//! A file has two ends: the length that the system states, and the place where reading finds nothing more. On most file
//! systems both are the same, and if they are not, bytes are missing: some network file systems report a lost
//! connection as the end of the file. In `/proc`, `/sys` and similar file systems the length is a guess, and only the end
//! of reading counts.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;

/// How the end of reading and the length of a file disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The file is shorter now.
    Shrank { read: u64, len: u64 },
    /// Reading ended before the length, which is still the same.
    Ended { read: u64, len: u64 },
    /// Reading continues after the length, which is still the same.
    GoesOn { len: u64 },
    /// Reading ended elsewhere, and something has written to the file.
    Changed { read: u64, len: u64 },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shrank { read, len } => {
                write!(f, "file shrank while being hashed: {read} of {len} bytes")
            }
            Self::Ended { read, len } => {
                write!(f, "ended at {read} of {len} bytes; check the connection or disk, and retry")
            }
            Self::GoesOn { len } => {
                write!(f, "continues after its length of {len} bytes; check its file system")
            }
            Self::Changed { read, len } => write!(
                f,
                "file changed while being hashed: reading ended at {read} of {len} bytes; hash it again when nothing \
                 writes to it"
            ),
        }
    }
}

impl std::error::Error for Mismatch {}

impl From<Mismatch> for io::Error {
    fn from(mismatch: Mismatch) -> Self {
        let kind = match mismatch {
            Mismatch::Shrank { .. } | Mismatch::Ended { .. } => io::ErrorKind::UnexpectedEof,
            Mismatch::GoesOn { .. } | Mismatch::Changed { .. } => io::ErrorKind::InvalidData,
        };
        Self::new(kind, mismatch)
    }
}

/// Whether the length in `opened` is a promise: reading `file` must end exactly there.
pub(crate) fn is_promise(file: &File, opened: &Metadata) -> bool {
    opened.is_file() && opened.len() > 0 && !is_guess(file, opened)
}

/// Checks that reading a file from its beginning to `end` has read all of it. Returns the metadata of now.
///
/// `opened` is the metadata before the first byte was read. A file that has become longer since may end at its old
/// length, its new length, or between them.
pub(crate) fn check_end(file: &File, opened: &Metadata, end: u64) -> io::Result<Metadata> {
    let now = file.metadata()?;
    let len = opened.len();
    let agrees = end == len && now.len() >= len || end > len && now.len() >= end;
    if agrees || !is_promise(file, opened) {
        return Ok(now);
    }
    Err(match () {
        _ if now.len() < len => Mismatch::Shrank { read: end.min(now.len()), len },
        _ if has_changed(opened, &now) => Mismatch::Changed { read: end, len },
        _ if end < len => Mismatch::Ended { read: first_end(file, end), len },
        _ => Mismatch::GoesOn { len },
    }
    .into())
}

/// Whether something has written to the file, or cut it, between these two looks at it. Within a tick of the system's clock
/// (4 ms on most Linux systems), that may not show.
pub(crate) fn has_changed(before: &Metadata, now: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let times = |it: &Metadata| (it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec());
        times(before) != times(now)
    }
    #[cfg(not(unix))]
    matches!((before.modified(), now.modified()), (Ok(before), Ok(now)) if before != now)
}

/// The error for a file that promises `len` bytes, and in which reading found the end at `end`, perhaps not the
/// first one.
#[cfg(feature = "file")]
pub(crate) fn ended(file: &File, end: u64, len: u64) -> io::Error {
    match file.metadata() {
        Ok(now) if now.len() < len => Mismatch::Shrank { read: end.min(now.len()), len }.into(),
        Ok(_) => Mismatch::Ended { read: first_end(file, end), len }.into(),
        Err(error) => error,
    }
}

/// Looks by one read at `from`, which is `len` or one byte before it, whether reading finds the end at `len`: returns the place
/// where it ends, at most one byte further. A read of two bytes is short only at the end.
pub(crate) fn end_of_reading(file: &File, from: u64, len: u64) -> io::Result<u64> {
    let mut bytes = [0; 2];
    let wanted = &mut bytes[..(len + 1 - from) as usize];
    loop {
        match read_at(file, wanted, from) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(|read| from + read as u64),
        }
    }
}

/// Returns the first place up to `end` at which nothing can be read.
fn first_end(file: &File, end: u64) -> u64 {
    let can_read = |at| end_of_reading(file, at, at).is_ok_and(|end| end > at);
    let (mut low, mut high) = (0, end);
    if high == 0 || can_read(high - 1) {
        return high;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if can_read(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Reads at a place of a file, and leaves the position where it was.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    use io::ErrorKind::{
        InvalidInput, NotSeekable, PermissionDenied, ReadOnlyFilesystem, Unsupported,
    };
    use std::sync::{Mutex, PoisonError};
    /// One thread at a time, as all share the position of the file.
    static POSITION: Mutex<()> = Mutex::new(());
    match std::os::unix::fs::FileExt::read_at(file, buffer, at) {
        Err(error)
            if matches!(
                error.kind(),
                InvalidInput | NotSeekable | PermissionDenied | ReadOnlyFilesystem | Unsupported
            ) =>
        {
            let _position = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
            seek_and_read(file, buffer, at)
        }
        result => result,
    }
}

/// Reads at a place of a file. The position stays, except where several threads read at once.
#[cfg(windows)]
pub(crate) fn read_at(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    use std::io::{Seek, SeekFrom};
    let position = file.stream_position()?;
    let read = std::os::windows::fs::FileExt::seek_read(file, buffer, at);
    file.seek(SeekFrom::Start(position))?;
    read
}

#[cfg(not(any(unix, windows)))]
pub(crate) use seek_and_read as read_at;

/// Reads at a place by way of the position, and puts that back.
#[cfg(not(windows))]
pub(crate) fn seek_and_read(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    let position = file.stream_position()?;
    file.seek(SeekFrom::Start(at))?;
    let read = file.read(buffer);
    file.seek(SeekFrom::Start(position))?;
    read
}

/// Only Linux has file systems whose lengths are guesses and not 0.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_guess(_: &File, _: &Metadata) -> bool {
    false
}

#[cfg(all(feature = "file", any(target_os = "linux", target_os = "android")))]
pub(crate) use linux::file_system;
#[cfg(any(target_os = "linux", target_os = "android"))]
use linux::is_guess;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::fs::{File, Metadata};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    /// File systems that make up the content when it is read, by their numbers in `linux/magic.h` and similar headers.
    const GUESSES: &[u32] = &[
        0x0000_9fa0, // proc
        0x0000_9fa1, // openpromfs
        0x0000_9fa2, // usbdevfs
        0x6265_6572, // sysfs
        0x7472_6163, // tracefs
        0x6462_6720, // debugfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x6265_6570, // configfs
        0x7363_6673, // securityfs
        0xf97c_ff8c, // selinuxfs
        0x4341_5d53, // smackfs
        0x5a3c_69f0, // apparmorfs
        0x0765_5821, // resctrl
        0xde5e_81e4, // efivarfs
        0x4249_4e4d, // binfmt_misc
        0xcafe_4a11, // bpf
        0x1980_0202, // mqueue
        0x6759_6969, // rpc_pipefs
        0x6573_5543, // fusectl
        0x6e73_6673, // nsfs
        0xabba_1974, // xenfs
    ];

    /// FUSE: nearly all of them have real lengths.
    const FUSE: u32 = 0x6573_5546;

    pub(super) fn is_guess(file: &File, opened: &Metadata) -> bool {
        if libc::major(opened.dev()) != 0 {
            // What lies on a device is not made up: a system call less for each file.
            return false;
        }
        match file_system(file) {
            FUSE => is_lxcfs(opened.dev()),
            number => GUESSES.contains(&number),
        }
    }

    /// Whether a device is lxcfs, which shows containers their own files of `/proc`, with lengths that are guesses.
    fn is_lxcfs(device: u64) -> bool {
        let name = format!(" {}:{} ", libc::major(device), libc::minor(device));
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        mounts.lines().any(|mount| mount.contains(&name) && mount.contains(" - fuse.lxcfs "))
    }

    /// Returns the number of the file system that the file is on; 0 if the system does not say.
    pub(crate) fn file_system(file: &File) -> u32 {
        // SAFETY: all zeros are a value of this plain struct.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open, and the struct is ours.
        match unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) } {
            // The type is wider on some architectures; the numbers are not.
            0 => found.f_type as u32,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::PathBuf;

    /// A file of 100 bytes. Its metadata serve as those of a file that lies.
    fn file(name: &str, len: usize) -> (PathBuf, File) {
        let name = format!("treewide-length-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let options = File::options().read(true).write(true).create_new(true).clone();
        let mut file = options.open(&path).expect("a file can be made");
        file.write_all(&vec![1; len]).expect("it can be written");
        (path, file)
    }

    fn message(result: io::Result<Metadata>) -> String {
        result.map_or_else(|error| error.to_string(), |now| format!("{} bytes", now.len()))
    }

    #[test]
    fn check_end_compares_the_end_of_reading_with_both_lengths() {
        let (path, mut file) = file("end", 100);
        let opened = file.metadata().expect("it is open");
        let check = |end| message(check_end(&file, &opened, end));
        assert_eq!(check(100), "100 bytes");
        assert!(check(99).starts_with("ended at 99 of 100 bytes"), "{}", check(99));
        assert!(check(0).starts_with("ended at 0 of 100 bytes"), "{}", check(0));
        assert!(check(101).starts_with("continues after its length of 100"), "{}", check(101));
        // Reading at a place has left the position at the end.
        file.write_all(&[1; 20]).expect("it can be written");
        let check = |end| message(check_end(&file, &opened, end));
        assert!([100, 110, 120].iter().all(|end| check(*end) == "120 bytes"), "it grew");
        // The clock of the file system may not have moved since.
        file.set_modified(std::time::UNIX_EPOCH).expect("its time can be set");
        for end in [99, 121] {
            let expected =
                format!("file changed while being hashed: reading ended at {end} of 100 bytes; ");
            assert!(check(end).starts_with(&expected), "{}", check(end));
        }
        file.set_len(50).expect("it can be cut");
        for end in [50, 100] {
            assert_eq!(
                message(check_end(&file, &opened, end)),
                "file shrank while being hashed: 50 of 100 bytes"
            );
        }
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
    }

    #[test]
    fn end_of_reading_is_one_byte_further_if_the_file_goes_on() {
        let (path, file) = file("probe", 100);
        for (from, len, end) in [
            (99, 100, 100),
            (100, 100, 100),
            (49, 50, 51),
            (50, 50, 51),
            (0, 0, 1),
            (149, 150, 149),
        ] {
            assert_eq!(end_of_reading(&file, from, len).expect("it can be read"), end, "{len}");
        }
        assert_eq!(
            (first_end(&file, 1000), first_end(&file, 100), first_end(&file, 30)),
            (100, 100, 30)
        );
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn is_promise_knows_file_systems_that_guess() {
        let is = |path: &str| {
            let file = File::open(path).ok()?;
            let opened = file.metadata().ok()?;
            Some(is_promise(&file, &opened))
        };
        assert_ne!(is("/sys/kernel/mm/transparent_hugepage/enabled"), Some(true));
        assert_ne!(is("/proc/self/status"), Some(true));
        assert_ne!(is("/dev/null"), Some(true));
        let own = std::env::current_exe().expect("a test has a file");
        assert_eq!(is(own.to_str().expect("it is text")), Some(true));
    }
}
