//! Small files, side by side in the lanes of the kernel.
//!
//! Files are read one behind the other into a buffer, as many as it holds, and hashed as one batch.
//! For a file of a few KiB the system calls are most of the work, so there are four of them: open,
//! read, read (which finds the end; asking for the length costs more), close. Operands are looked at
//! before, as opening a pipe would wait for its writer. A file that does not fit is left for
//! [`crate::input::Input::hash`].
//!
//! io_uring saves a twentieth of such a run (`results/zen5-2vcpu/trees.txt`), and would take `unsafe`
//! and a buffer for each file under way; it is not used.

use crate::deep;
use crate::digest::Digest;
use crate::input::{InputError, is_stdin};
use crate::mode::Mode;
use crate::pipeline::{Entry, Hashed, Progressed};
use crate::progress::Counters;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use treewide::batch::Packed;
use treewide::{Hash, OUT_LEN, file};

/// Where files are read to. One that fills it is not small.
const BUFFER: usize = 1 << 20;
/// Room for the next file, or what is there is hashed first. It is all that is read of a file before
/// asking whether it is small.
const ROOM: usize = 128 << 10;

/// A thread's place to read small files to.
pub(crate) struct Lanes {
    mode: Mode,
    counters: Arc<Counters>,
    buffer: Vec<u8>,
    /// Which entries of the group are in the buffer.
    waiting: Vec<usize>,
    /// Where they end, after a 0.
    ends: Vec<usize>,
    hashes: Vec<Hash>,
}

/// What became of reading the beginning of a file.
enum Begun {
    /// That is all there is; it ends there in the buffer.
    Whole(usize),
    /// There may be more.
    Long(File),
}

impl Lanes {
    pub(crate) fn new(mode: &Mode, counters: Arc<Counters>) -> Self {
        Self {
            mode: mode.clone(),
            counters,
            buffer: Vec::new(),
            waiting: Vec::new(),
            ends: vec![0],
            hashes: Vec::new(),
        }
    }

    /// Hash the small files of a group.
    pub(crate) fn hash<A, N>(&mut self, group: &mut [Entry<A, N>]) {
        // Not before the first group: many runs have none.
        self.buffer.resize(BUFFER, 0);
        for index in 0..group.len() {
            if BUFFER - self.filled() < ROOM {
                self.finish(group);
            }
            let Entry::File(task, Progressed::ToDo) = &group[index] else { continue };
            let found = if is_stdin(&task.path) || !task.is_regular && may_wait(&task.path) {
                Ok(None)
            } else {
                self.begin(&task.path).and_then(|begun| match begun {
                    Begun::Whole(end) => Ok(Some(end)),
                    Begun::Long(file) => self.go_on(file, group),
                })
            };
            let Entry::File(_, progressed) = &mut group[index] else { continue };
            match found {
                Ok(Some(end)) => {
                    self.waiting.push(index);
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

    fn begin(&mut self, path: &Path) -> Result<Begun, InputError> {
        let mut file = deep::open(path)?;
        let start = self.filled();
        let read = fill(&mut self.buffer[start..start + ROOM], &mut file)?;
        Ok(if read < ROOM { Begun::Whole(start + read) } else { Begun::Long(file) })
    }

    /// Read the rest of a file behind what [`Self::begin`] has read, and return where it ends;
    /// `None` if it is not small.
    fn go_on<A, N>(
        &mut self,
        mut file: File,
        group: &mut [Entry<A, N>],
    ) -> Result<Option<usize>, InputError> {
        let opened = file.metadata()?;
        let len = usize::try_from(opened.len()).unwrap_or(usize::MAX);
        if !(ROOM..BUFFER).contains(&len) {
            return Ok(None);
        }
        let mut start = self.filled();
        if start + len > BUFFER {
            self.finish(group);
            self.buffer.copy_within(start..start + ROOM, 0);
            start = 0;
        }
        let read = ROOM + fill(&mut self.buffer[start + ROOM..start + len], &mut file)?;
        if read < len && was_changed(&opened, &file.metadata()?) {
            let (read, len) = (read as u64, len as u64);
            return Err(file::ErrorKind::Shrank { read, len }.into());
        }
        Ok(Some(start + read))
    }

    /// Hash what is in the buffer.
    fn finish<A, N>(&mut self, group: &mut [Entry<A, N>]) {
        let blobs = Packed::new(&self.buffer[..self.filled()], &self.ends[..])
            .expect("ends of files that were read one behind the other");
        self.hashes.resize(self.waiting.len(), Hash::from_bytes([0; OUT_LEN]));
        self.mode.batch.hash_into(&blobs, &mut self.hashes);
        for (place, (&index, hash)) in self.waiting.iter().zip(&self.hashes).enumerate() {
            let Entry::File(task, progressed) = &mut group[index] else { continue };
            let bytes = &self.buffer[self.ends[place]..self.ends[place + 1]];
            let digest = Digest::of_hash(hash, task.extent).unwrap_or_else(|| {
                Digest::new(self.mode.hasher.clone().update(bytes), task.extent)
            });
            let bytes = bytes.len() as u64;
            *progressed = Progressed::Done(Ok(Hashed { digest, bytes }));
        }
        self.counters.add(self.waiting.len() as u64, self.filled() as u64);
        self.waiting.clear();
        self.ends.truncate(1);
    }
}

/// Read until the buffer is full or the file ends, and return how many bytes that were.
fn fill(buffer: &mut [u8], file: &mut File) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Whether opening the file may mean to wait for someone, as with a pipe.
fn may_wait(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Whether a file that ended early did so because someone cut it.
///
/// There are files (/sys) whose length is only ever a guess: they end early and stay as they were.
fn was_changed(before: &Metadata, after: &Metadata) -> bool {
    before.len() != after.len() || before.modified().ok() != after.modified().ok()
}
