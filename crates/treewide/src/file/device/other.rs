use std::fs::{File, Metadata, OpenOptions};
use std::io;
#[cfg(unix)]
use std::io::ErrorKind::{InvalidInput, Unsupported, WouldBlock};
use std::ops::Range;
use std::path::Path;

pub(in crate::file) fn open(path: &Path, waits: bool, follows: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        let mut flags = rustix::fs::OFlags::empty();
        flags.set(rustix::fs::OFlags::NONBLOCK, !waits);
        flags.set(rustix::fs::OFlags::NOFOLLOW, !follows);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    #[cfg(not(unix))]
    let _ = (waits, follows); // opening does not wait there, and no flag refuses links
    let opened = options.read(true).open(path);
    #[cfg(unix)]
    if let Err(error) = &opened
        && !waits
        && matches!(error.kind(), InvalidInput | Unsupported | WouldBlock)
        && std::fs::metadata(path).is_ok_and(|it| it.is_file())
    {
        // A file system refuses `O_NONBLOCK`, or a server wants to be waited for. A regular file does not wait for a writer.
        return self::open(path, true, follows);
    }
    opened
}

/// Whether opening may be left to [`open`] without waiting: never, as `poll` may not wait for the first writer.
pub(in crate::file) fn is_named_pipe(_: &Path) -> bool {
    false
}

pub(in crate::file) fn is_cached(_: &File, _: Range<u64>) -> bool {
    true
}

pub(in crate::file) fn prefers_order(_: &File) -> bool {
    false
}

pub(in crate::file) fn will_read_in_order(_: &File) {}

pub(in crate::file) fn drop_from_cache(_: &File, _: u64, _: u64) {}

pub(in crate::file) fn widen(_: &File, _: &Metadata) {}
