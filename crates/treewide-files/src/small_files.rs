//! Small files, next to each other in the lanes of the kernel.
//!
//! A thread reads files one after the other into its buffer, as many as fit, and hashes them as one batch. For a
//! file of a few KiB the system calls are most of the work, so there are four of them: open, fstat (which
//! says what it is and how long), read, close. A path that may be a named pipe is looked
//! at before it is opened, because opening a pipe waits for its writer. A file that does not fit into the
//! buffer is left to be hashed alone.
//!
//! io_uring saves a twentieth of such a run (`results/zen5-2vcpu/trees.txt`), and would take `unsafe`
//! and a buffer for each file under way; it is not used.

use crate::digest::Digest;
use crate::error::ErrorKind;
use crate::group::{Place, Progressed};
use crate::long_path;
use crate::options::{Hashed, Options, check_regular};
use crate::task::{Kind, Task};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use treewide::batch::Packed;
use treewide::file::check_end;
use treewide::{Batch, Hash, Hasher, OUT_LEN};

/// Bytes that files are read into. A file that fills it is not small.
const BUFFER: usize = 1 << 20;
/// Bytes that must be free for the next file; otherwise what is in the buffer is hashed first. A file that is
/// said to be empty, as those of `/proc` are, is small if it is shorter than this.
const ROOM: usize = 128 << 10;

/// A thread's buffer for small files.
pub(crate) struct SmallFiles {
    options: Options,
    batch: Batch,
    buffer: Vec<u8>,
    /// Which files of the group are in the buffer, by their places, and what they have grown to.
    waiting: Vec<(usize, Option<u64>)>,
    /// Where these files end, after a 0.
    ends: Vec<usize>,
    hashes: Vec<Hash>,
}

/// A file that was read.
struct Small {
    /// Where it ends in the buffer.
    end: usize,
    grown_to: Option<u64>,
}

impl SmallFiles {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            batch: Batch::with_mode(options.chosen_mode()),
            buffer: Vec::new(),
            waiting: Vec::new(),
            ends: vec![0],
            hashes: Vec::new(),
        }
    }

    /// Hashes the small files of a group, unless the run is cancelled first.
    pub(crate) fn hash<A, N>(&mut self, group: &mut [Place<A, N>]) {
        // Not before the first group: many runs have none.
        self.buffer.resize(BUFFER, 0);
        for index in 0..group.len() {
            if self.options.is_cancelled() {
                break;
            }
            let Place::File(task, Progressed::ToDo) = &group[index] else { continue };
            let found = if task.kind != Kind::Regular && may_wait(&task.path) {
                Ok(None)
            } else {
                self.open(task).and_then(|(file, opened)| self.read(file, &opened, group))
            };
            let Place::File(_, progressed) = &mut group[index] else { continue };
            match found {
                Ok(Some(Small { end, grown_to })) => {
                    self.waiting.push((index, grown_to));
                    self.ends.push(end);
                }
                Ok(None) => *progressed = Progressed::Alone,
                Err(error) => *progressed = Progressed::Done(Err(error)),
            }
        }
        self.finish(group);
    }

    fn filled(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Opens a file, and looks what it is.
    fn open<A>(&self, task: &Task<A>) -> Result<(File, Metadata), ErrorKind> {
        let file = long_path::open(&task.path, true)?;
        let opened = file.metadata()?;
        // It was looked at before it was opened.
        if task.kind == Kind::Regular || !opened.is_dir() {
            check_regular(&opened)?;
        }
        Ok((file, opened))
    }

    /// Reads a file to its end. `None` if it is not small.
    ///
    /// Reading has found the end when it returns less than it was asked for, at the very place where the length says
    /// that the end is. Everything else is read on until nothing more is returned, and then looked into.
    fn read<A, N>(
        &mut self,
        mut file: File,
        opened: &Metadata,
        group: &mut [Place<A, N>],
    ) -> Result<Option<Small>, ErrorKind> {
        let len = usize::try_from(opened.len()).unwrap_or(usize::MAX);
        if len >= BUFFER {
            return Ok(None);
        }
        let room = ROOM.max(len + 1);
        if BUFFER - self.filled() < room {
            self.finish(group);
        }
        let start = self.filled();
        let read = fill(&mut self.buffer[start..start + room], len, &mut file)?;
        if read == room {
            return Ok(None);
        }
        let grown_to = if read != len || self.options.reports_growth() {
            let now = check_end(&file, opened, read as u64)?;
            grown_to(opened, &now, read)
        } else {
            None
        };
        Ok(Some(Small { end: start + read, grown_to }))
    }

    /// Hashes what is in the buffer.
    fn finish<A, N>(&mut self, group: &mut [Place<A, N>]) {
        let blobs = Packed::new(&self.buffer[..self.filled()], &self.ends[..])
            .expect("ends of files that were read one after the other");
        self.hashes.resize(self.waiting.len(), Hash::from_bytes([0; OUT_LEN]));
        self.batch.hash_into(&blobs, &mut self.hashes);
        for (place, (&(index, grown_to), hash)) in self.waiting.iter().zip(&self.hashes).enumerate()
        {
            let Place::File(task, progressed) = &mut group[index] else { continue };
            let bytes = &self.buffer[self.ends[place]..self.ends[place + 1]];
            let digest = Digest::of_hash(hash, task.extent).unwrap_or_else(|| {
                let mut hasher = Hasher::with_mode(self.options.chosen_mode());
                Digest::new(hasher.update(bytes), task.extent)
            });
            let bytes = bytes.len() as u64;
            *progressed = Progressed::Done(Ok(Hashed { digest, bytes, grown_to }));
        }
        if !self.waiting.is_empty() {
            self.options.has_hashed(self.waiting.len() as u64, self.filled() as u64);
        }
        self.waiting.clear();
        self.ends.truncate(1);
    }
}

/// Reads until the buffer is full or the file ends, and returns the number of bytes. `len` is the length of the file.
fn fill(buffer: &mut [u8], len: usize, file: &mut impl Read) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        // The system returned less than it was asked for: with the length, two witnesses of the end.
        if filled == len && filled < buffer.len() {
            break;
        }
    }
    Ok(filled)
}

/// Whether opening the file may wait for another program, as with a pipe.
fn may_wait(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// The length of a file after it was read, if it is more than before and more than was read.
fn grown_to(before: &Metadata, after: &Metadata, read: usize) -> Option<u64> {
    Some(after.len()).filter(|now| *now > before.len().max(read as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// With a writer and without.
    #[cfg(unix)]
    #[test]
    fn open_does_not_wait_for_a_pipe_in_the_place_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let small_files = SmallFiles::new(&Options::new());
        let (kind, extent) = (Kind::Regular, crate::digest::Extent::HASH);
        let task = Task { path: path.clone(), kind, extent, about: () };
        let open = || match small_files.open(&task) {
            Err(ErrorKind::Replaced) => (),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it was opened"),
        };
        open();
        let _reader = long_path::open(&path, true).unwrap();
        let _writer = File::options().write(true).open(&path).unwrap();
        open();
    }

    /// Returns at most three bytes at a time, and no error for more.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let most = to.len().min(3);
            self.0.read(&mut to[..most])
        }
    }

    #[test]
    fn fill_stops_at_the_length_or_at_the_end() {
        let mut buffer = [0; 10];
        for (there, len, read) in [(7, 7, 7), (7, 9, 7), (8, 7, 8), (8, 0, 8), (12, 12, 10)] {
            let bytes = [1; 12];
            let filled = fill(&mut buffer, len, &mut Slow(&bytes[..there])).unwrap();
            assert_eq!(filled, read, "{there} bytes, said to be {len}");
        }
    }

    #[test]
    fn grown_to_is_more_than_was_read() {
        let mut file = tempfile::tempfile().unwrap();
        let mut grow = |by: usize| {
            file.write_all(&vec![0; by]).unwrap();
            file.metadata().unwrap()
        };
        let [before, after] = [grow(100), grow(20)];
        assert_eq!(grown_to(&before, &after, 100), Some(120));
        // All of it was read.
        assert_eq!(grown_to(&before, &after, 120), None);
        // A file of /sys, say, which is never as long as it claims.
        assert_eq!(grown_to(&before, &before, 7), None);
    }
}
