//! A file that is overwritten in place, as it cannot be replaced, and has its old bytes again if that fails.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

/// Bytes that are copied at a time.
const BUFFER: usize = 64 << 10;

/// Copies the content of a file into another one, which could not be replaced because of `error`.
pub(crate) fn overwrite(from: &Path, to: &Path, error: io::Error) -> io::Result<()> {
    // A named pipe that has come in its place would be waited for.
    if !fs::symlink_metadata(to).is_ok_and(|there| there.is_file()) {
        return Err(io::Error::new(error.kind(), format!("cannot be replaced: {error}")));
    }
    let copied = File::open(from).and_then(|mut from| {
        let len = from.metadata()?.len();
        let mut options = OpenOptions::new();
        options.write(true);
        // There are files that may be written and not read.
        let to = options.clone().read(true).open(to).or_else(|_| options.open(to))?;
        copy_over(&mut from, len, to)
    });
    copied.map_err(|copy| {
        let text = format!("cannot be replaced: {error}; and not be overwritten: {copy}");
        io::Error::new(error.kind(), text)
    })
}

/// Bytes of a file that are kept in memory while it is overwritten, to be written back. A larger one is not kept.
const MOST_KEPT: u64 = 1 << 30;

/// Copies `len` bytes over what a file has.
///
/// What makes it longer comes first: a full disk refuses that, and the old bytes are still there then. Every file system
/// can do that, unlike `fallocate`. If the rest fails, the old bytes are written back.
fn copy_over(from: &mut (impl Read + Seek), len: u64, mut to: File) -> io::Result<()> {
    let before = to.metadata()?.len();
    let mut kept = Vec::new();
    let is_kept = before <= MOST_KEPT
        && (&to).take(before).read_to_end(&mut kept).is_ok_and(|read| read as u64 == before);
    let both = before.min(len);
    let mut is_touched = false;
    let mut copy = || {
        copy_range(from, &mut to, both..len)?;
        sync(&to)?;
        is_touched = true;
        copy_range(from, &mut to, 0..both)?;
        to.set_len(len)?;
        sync(&to)
    };
    copy().map_err(|error| {
        let restored = to.set_len(before).and_then(|()| match (is_touched, is_kept) {
            (false, _) => Ok(()),
            (true, true) => to.rewind().and_then(|()| to.write_all(&kept)),
            (true, false) => Err(io::Error::other("nothing has them")),
        });
        let text = match restored.and_then(|()| sync(&to)) {
            Ok(()) => format!("{error}; it is as before"),
            Err(second) => format!("{error}; its old bytes could not be written back: {second}"),
        };
        io::Error::new(error.kind(), text)
    })
}

/// Copies a range of one file to the same place of another, by plain reads and writes, which every file system has.
fn copy_range(from: &mut (impl Read + Seek), to: &mut File, range: Range<u64>) -> io::Result<()> {
    from.seek(SeekFrom::Start(range.start))?;
    to.seek(SeekFrom::Start(range.start))?;
    let (mut rest, mut buffer) = (range.end - range.start, vec![0; BUFFER]);
    while rest > 0 {
        let most = rest.min(BUFFER as u64) as usize;
        from.read_exact(&mut buffer[..most])?;
        to.write_all(&buffer[..most])?;
        rest -= most as u64;
    }
    Ok(())
}

/// Brings the bytes of a file to the disk, if the file system can do that.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput
                    | ErrorKind::Unsupported
                    | ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads until a place that cannot be read.
    struct Fails(io::Cursor<Vec<u8>>, u64);

    impl Read for Fails {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let (at, end) = (self.0.position(), self.0.position() + bytes.len() as u64);
            match (at..end).contains(&self.1) {
                true => Err(io::Error::other("bad sector")),
                false => self.0.read(bytes),
            }
        }
    }

    impl Seek for Fails {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn copy_over_writes_the_old_bytes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        for (before, len) in [(0, 9), (300_000, 200_000), (200_000, 300_000), (9, 9), (9, 0)] {
            let (old, new) = (vec![b'o'; before], vec![b'n'; len]);
            for fails in [0, 70_000, 150_000, 199_999, 299_999, u64::MAX] {
                fs::write(&path, &old).unwrap();
                let mut from = Fails(io::Cursor::new(new.clone()), fails);
                let to = OpenOptions::new().read(true).write(true).open(&path).unwrap();
                let copied = copy_over(&mut from, len as u64, to);
                assert_eq!(copied.is_err(), fails < len as u64, "{before} {len} {fails}");
                let expected = match copied {
                    Ok(()) => &new,
                    Err(error) => {
                        assert_eq!(error.to_string(), "bad sector; it is as before");
                        &old
                    }
                };
                assert!(fs::read(&path).unwrap() == *expected, "{before} {len} {fails}");
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn overwrite_leaves_the_file_as_it_is_where_the_disk_is_full() {
        use std::process::Command;
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        fs::create_dir(&disk).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(&disk)
            .status();
        if !mounted.is_ok_and(|it| it.success()) {
            eprintln!("skipped: a file system can be mounted by root alone");
            return;
        }
        let (from, to) = (folder.path().join("new"), disk.join("list"));
        fs::write(&from, vec![b'n'; 100_000]).unwrap();
        fs::write(&to, vec![b'o'; 20_000]).unwrap();
        let error = overwrite(&from, &to, io::Error::other("refused"));
        let is_as_before = fs::read(&to).unwrap() == [b'o'; 20_000];
        assert!(Command::new("umount").arg(&disk).status().unwrap().success());
        assert!(is_as_before);
        let error = error.unwrap_err().to_string();
        assert!(
            error.ends_with("No space left on device (os error 28); it is as before"),
            "{error}"
        );
    }
}
