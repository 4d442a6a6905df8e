use std::fs::{File, Metadata, OpenOptions};
use std::io;
#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, OFlags, fadvise, major, minor};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::io::{ReadWriteFlags, preadv2};

use crate::length::file_system;

/// Places of a file at which the page cache is tested. A guess: few enough to cost less than reading 1 MiB.
#[cfg(target_os = "linux")]
const PROBES: u64 = 16;

/// File systems whose files come over a network, by their numbers in `linux/magic.h` and similar headers.
const NETWORK: &[u32] = &[
    0x0000_6969, // NFS
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x0000_517b, // SMB
    0x00c3_6400, // Ceph
    0x0102_1997, // 9P
    0x5346_414f, // AFS
    0x6b41_4653, // kAFS
    0x7375_7245, // Coda
    0x0bd0_0bd0, // Lustre
    0x6573_5546, // FUSE: sshfs, s3fs and others
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
    0x0116_1970, // GFS2, shared by several machines
    0x7461_636f, // OCFS2, likewise
];

/// File systems that are memory.
#[cfg(target_os = "linux")]
const MEMORY: &[u32] = &[
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x9584_58f6, // hugetlbfs
];

pub(in crate::file) fn open(path: &Path, waits: bool, follows: bool) -> io::Result<File> {
    let open =
        |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let mut flags = OFlags::NOATIME;
    flags.set(OFlags::NONBLOCK, !waits);
    flags.set(OFlags::NOFOLLOW, !follows);
    loop {
        let error = match open(flags) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        let errno = error.raw_os_error().map(Errno::from_raw_os_error);
        // What has nothing to do with the flags.
        if matches!(
            errno,
            Some(
                Errno::NOENT
                    | Errno::NOTDIR
                    | Errno::LOOP
                    | Errno::NAMETOOLONG
                    | Errno::MFILE
                    | Errno::NFILE
                    | Errno::ACCESS
            )
        ) {
            return Err(error);
        }
        if errno != Some(Errno::AGAIN) && flags.contains(OFlags::NOATIME) {
            // Only the owner of a file may request it (EPERM), and some file systems do not know it (EROFS, EINVAL).
            flags -= OFlags::NOATIME;
        } else if flags.contains(OFlags::NONBLOCK) {
            // With EAGAIN, a server (SMB, NFS) holds a lease on a regular file, and was asked to release it; pipes do
            // not return that. With another error, the flag may be refused: without it, only a file is sure not to wait.
            if errno != Some(Errno::AGAIN) && !std::fs::metadata(path).is_ok_and(|it| it.is_file())
            {
                return Err(error);
            }
            flags -= OFlags::NONBLOCK;
        } else {
            return Err(error);
        }
    }
}

/// Whether opening the file waits for another program. Without waiting, it has nothing to read until there is a writer, and `poll`
/// waits for that; on other systems it may seem to be at its end.
pub(in crate::file) fn is_named_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo())
}

/// Whether the page cache has all tested places. The reads do not wait, but where a page is missing the system may
/// begin to read ahead. So the last place is tested first: read-ahead at the beginning shall start with the first
/// large read, not with this small one.
#[cfg(target_os = "linux")]
pub(in crate::file) fn is_cached(file: &File, range: Range<u64>) -> bool {
    let is_there = |at| {
        let mut byte = [0];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT);
        match read {
            Ok(_) => true,
            Err(Errno::OPNOTSUPP) => MEMORY.contains(&file_system(file)),
            Err(_) => false,
        }
    };
    let last = range.end.saturating_sub(1);
    let step = last.saturating_sub(range.start) / (PROBES - 1);
    is_there(last) && (0..PROBES).rev().all(|probe| is_there(range.start + step * probe))
}

/// Android's C library has no `preadv2`: there a file counts as cached.
#[cfg(target_os = "android")]
pub(in crate::file) fn is_cached(_: &File, _: Range<u64>) -> bool {
    true
}

/// Whether reading out of order is much slower: a rotating disk, or a network.
pub(in crate::file) fn prefers_order(file: &File) -> bool {
    NETWORK.contains(&file_system(file)) || is_rotating(file).unwrap_or(false)
}

/// `None` if the system names no block device for the file.
fn is_rotating(file: &File) -> Option<bool> {
    let device = file.metadata().ok()?.dev();
    let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    let folder = std::fs::canonicalize(link).ok()?;
    // The disks of virtual machines always call themselves rotating.
    if folder.components().any(|it| it.as_os_str().as_encoded_bytes().starts_with(b"virtio")) {
        return None;
    }
    // A partition has no queue; the folder above is its disk.
    let read = |queue: &str| std::fs::read(folder.join(queue).join("rotational")).ok();
    let answer = read("queue").or_else(|| read("../queue"))?;
    Some(answer.starts_with(b"1"))
}

/// Makes the system read further ahead.
pub(in crate::file) fn will_read_in_order(file: &File) {
    let _ = fadvise(file, 0, None, Advice::Sequential); // only a hint
}

pub(in crate::file) fn drop_from_cache(file: &File, at: u64, len: u64) {
    if let Some(len) = NonZeroU64::new(len) {
        let _ = fadvise(file, at, Some(len), Advice::DontNeed); // only a hint
    }
}

/// Enlarges the buffer of a pipe, so that its two ends wake each other less often.
pub(in crate::file) fn widen(file: &File, opened: &Metadata) {
    if opened.file_type().is_fifo() {
        // The most that a user without privileges may request. If it is refused, the pipe stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_lease_is_waited_for() {
        let path = std::env::temp_dir().join(format!("treewide-lease-{}", std::process::id()));
        let options = OpenOptions::new().read(true).write(true).create_new(true).clone();
        let leased = options.open(&path).expect("a file can be made");
        let tell = |command, value: libc::c_int| {
            // SAFETY: both commands take a number, and the file is open.
            unsafe { libc::fcntl(leased.as_raw_fd(), command, value) }
        };
        // By a signal that is ignored; and there are file systems without leases.
        tell(10 /* F_SETSIG */, libc::SIGURG);
        if tell(libc::F_SETLEASE, libc::F_WRLCK) == 0 {
            std::thread::scope(|scope| {
                let opening = scope.spawn(|| open(&path, false, true));
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(!opening.is_finished(), "it has not waited");
                tell(libc::F_SETLEASE, libc::F_UNLCK);
                opening.join().expect("no panic").expect("it can be opened");
            });
        }
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
    }
}
