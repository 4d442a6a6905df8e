//! Small files, next to each other in the lanes of the kernel.
//!
//! A thread reads files one after the other into its buffer, as many as fit, and hashes them as one batch. For a
//! file of a few KiB the system calls are most of the work, so there are four of them: open, read, the length (where
//! the end must have been), close. A path that may be a named pipe is looked
//! at before it is opened, because opening a pipe waits for its writer. A file that does not fit into the
//! buffer is left to be hashed alone, and so is one whose end and length disagree: reading it again says why.
//!
//! io_uring saves a twentieth of such a run (`results/zen5-2vcpu/trees.txt`), and would take `unsafe`
//! and a buffer for each file under way; it is not used.

use crate::digest::Digest;
use crate::error::ErrorKind;
#[cfg(target_os = "linux")]
use crate::folder::Folder;
use crate::group::{Place, Progressed};
use crate::identity::Identity;
use crate::links::Claim;
use crate::long_path;
use crate::options::{Hashed, Options};
use crate::other::{feed_both, feed_bytes};
use crate::stamp::{Stamp, Stamps};
use crate::task::{Kind, Next, OtherOf};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use treewide::batch::Packed;
use treewide::file::{promises_length, read_at};
use treewide::{Batch, Hash, Hasher, OUT_LEN};

/// Bytes that files are read into. A file that fills it is not small.
const BUFFER: usize = 1 << 20;
/// Bytes that must be free for the next file; otherwise what is in the buffer is hashed first. No more
/// is read of a file before asking for its length.
const ROOM: usize = 128 << 10;

/// Where the buffer begins in a page. The system copies from the start of a page, and on Zen 3 it takes four times as long to copy to a place
/// 16 bytes past the start of another, as memory of an allocator is (`results/zen3-2vcpu/digests.md`).
const PAST_PAGE: usize = 256;
const PAGE: usize = 4096;

/// A thread's buffer for small files.
pub(crate) struct SmallFiles {
    options: Options,
    batch: Batch,
    buffer: Vec<u8>,
    /// Which files of the group are in the buffer, by their places.
    waiting: Vec<(usize, Option<Box<Stamps>>)>,
    /// Where the first of these files begins, and where they end.
    ends: Vec<usize>,
    hashes: Vec<Hash>,
    /// The directory of the last file that a walk has found.
    #[cfg(target_os = "linux")]
    folder: Folder,
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
            #[cfg(target_os = "linux")]
            folder: Folder::default(),
        }
    }

    /// Hashes the small files of a group, unless the run is cancelled first.
    pub(crate) fn hash<A, N>(&mut self, group: &mut [Place<A, N>], other: OtherOf<A>) {
        // Not before the first group: many runs have none.
        if self.buffer.is_empty() {
            self.buffer = vec![0; BUFFER + PAGE];
            self.ends = vec![(PAST_PAGE + PAGE - self.buffer.as_ptr().addr() % PAGE) % PAGE];
        }
        for index in 0..group.len() {
            if self.options.is_cancelled() {
                break;
            }
            let Place::File(task, Progressed::ToDo) = &mut group[index] else { continue };
            let next = other(&mut task.about).map(|it| it.next());
            let is_both = next == Some(Next::Both) && matches!(task.kind, Kind::Found(_));
            match next {
                Some(Next::Bytes) => {
                    let result = self.feed(index, group, other);
                    let Place::File(_, progressed) = &mut group[index] else { continue };
                    *progressed = result.map_or(Progressed::Alone, Progressed::Done);
                    continue;
                }
                Some(_) if !self.options.may_batch() && !is_both => {
                    group[index].leave_alone();
                    continue;
                }
                _ => {}
            }
            let Place::File(task, progressed) = &mut group[index] else { continue };
            let found = match task.kind {
                Kind::Found(identity) => {
                    let (opened, extent) = (self.open_found(identity, &task.path), task.extent);
                    let of_task = other(&mut task.about);
                    match opened {
                        Ok((file, before)) => {
                            match self.options.claim(identity, &before, extent, of_task) {
                                Claim::Read => {
                                    let read = match self.options.may_batch() {
                                        true => self.read_stamped(&file, before, group, other),
                                        false => None,
                                    };
                                    if read.is_none() && is_both {
                                        self.feed_found(&file, before, &mut group[index], other);
                                        continue;
                                    }
                                    Ok(read)
                                }
                                Claim::Wait => Ok(None),
                                Claim::Known(digest, _) => {
                                    let hashed = self.options.linked(before, digest);
                                    *progressed = Progressed::Done(Ok(hashed));
                                    continue;
                                }
                            }
                        }
                        Err(error) => Err(error),
                    }
                }
                Kind::Regular => {
                    let opened = long_path::open(&task.path, true);
                    opened.map(|file| Some((self.read(&file, None, group, other)?, None)))
                }
                Kind::Unknown | Kind::Alone => match look(&task.path) {
                    Look::MayWait => Ok(None),
                    Look::Len(len) => {
                        let opened = long_path::open(&task.path, true);
                        opened.map(|file| Some((self.read(&file, len, group, other)?, None)))
                    }
                },
            };
            let Place::File(_, progressed) = &mut group[index] else { continue };
            match found {
                Ok(Some((end, stamps))) => {
                    self.waiting.push((index, stamps));
                    self.ends.push(end);
                }
                Ok(None) => *progressed = Progressed::Alone,
                Err(error) => *progressed = Progressed::Done(Err(error)),
            }
        }
        self.finish(group, other);
    }

    /// Reads a file whose bytes are wanted by another algorithm, on this thread. `None` if opening it may wait.
    fn feed<A, N>(
        &mut self,
        index: usize,
        group: &mut [Place<A, N>],
        other_of: OtherOf<A>,
    ) -> Option<Result<Hashed, ErrorKind>> {
        let Place::File(task, _) = &group[index] else { return None };
        let mut asked = None;
        let opened = match task.kind {
            Kind::Found(identity) => self.open_found(identity, &task.path).map(|(file, now)| {
                asked = usize::try_from(now.len).ok();
                file
            }),
            Kind::Unknown | Kind::Alone => match look(&task.path) {
                Look::MayWait => return None,
                Look::Len(len) => {
                    asked = len;
                    long_path::open(&task.path, true)
                }
            },
            Kind::Regular => long_path::open(&task.path, true),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) => return Some(Err(error)),
        };
        let end = match self.options.may_batch() {
            true => self.read(&file, asked, group, other_of),
            false => None,
        };
        let start = self.filled();
        let Place::File(task, _) = &mut group[index] else { return None };
        let other = other_of(&mut task.about)?;
        let result = match end {
            Some(end) => {
                feed_bytes(&self.buffer[start..end], other);
                let bytes = (end - start) as u64;
                self.options.has_hashed(1, bytes);
                Ok(Hashed { digest: Digest::empty(), bytes, stamps: None })
            }
            None if file.metadata().is_ok_and(|it| !it.is_file()) => return None,
            None => {
                let extent = task.extent;
                self.options.feed_found(&file, None, &task.path, extent, other, false)
            }
        };
        // It may want the BLAKE3 digest after all, which is another way of reading.
        if other.next() == Next::Nothing || result.is_err() { Some(result) } else { None }
    }

    /// Reads a file that is not small, on this thread, for BLAKE3 and another algorithm. One that a caller may hash is left for later.
    fn feed_found<A, N>(
        &self,
        file: &File,
        before: Stamp,
        place: &mut Place<A, N>,
        other: OtherOf<A>,
    ) {
        let Place::File(task, progressed) = place else { return };
        *progressed = match other(&mut task.about) {
            Some(other) if !self.options.is_alone(before.len) => {
                let (path, extent) = (&*task.path, task.extent);
                let fed = self.options.feed_found(file, Some(before), path, extent, other, false);
                Progressed::Done(fed)
            }
            _ => Progressed::Alone,
        };
    }

    /// Opens a file that a walk has found.
    fn open_found(&mut self, identity: Identity, path: &Path) -> Result<(File, Stamp), ErrorKind> {
        #[cfg(target_os = "linux")]
        return identity.open_in(&mut self.folder, path);
        #[cfg(not(target_os = "linux"))]
        identity.open_stamped(path)
    }

    fn filled(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// As [`read`](Self::read), and looks at the file again if that is wanted. `before` is what it was when it was opened.
    fn read_stamped<A, N>(
        &mut self,
        file: &File,
        before: Stamp,
        group: &mut [Place<A, N>],
        other: OtherOf<A>,
    ) -> Option<(usize, Option<Box<Stamps>>)> {
        let end = self.read(file, usize::try_from(before.len).ok(), group, other)?;
        if !self.options.wants_stamps() {
            return Some((end, None));
        }
        let after = Stamp::of(file).ok()?;
        Some((end, Some(Box::new(Stamps { before, after, linked: false }))))
    }

    /// Reads a file to its end, and returns where that is in the buffer. `None` if it is hashed alone: if it is not small, or
    /// if anything about it is unusual. `len` is its length, if that was asked for already.
    fn read<A, N>(
        &mut self,
        file: &File,
        asked: Option<usize>,
        group: &mut [Place<A, N>],
        other: OtherOf<A>,
    ) -> Option<usize> {
        if self.buffer.len() - self.filled() < ROOM {
            self.finish(group, other);
        }
        let mut start = self.filled();
        let read = read_at(file, &mut self.buffer[start..start + ROOM], 0).ok()?;
        let len = match asked {
            Some(len) => len,
            None => len(file)?,
        };
        if self.options.is_alone(len as u64) {
            return None;
        }
        // One byte more than there should be.
        let room = if (ROOM..BUFFER).contains(&len) { len + 1 } else { ROOM };
        if start + room > self.buffer.len() {
            let before = start..start + read;
            self.finish(group, other);
            start = self.filled();
            self.buffer.copy_within(before, start);
        }
        let read = read_on(file, &mut self.buffer[start..start + room], read, len).ok()?;
        // Where lengths are guesses, the end of reading counts.
        let is_whole = read == len
            || read < room && file.metadata().is_ok_and(|now| !promises_length(file, &now));
        is_whole.then_some(start + read)
    }

    /// Hashes what is in the buffer.
    fn finish<A, N>(&mut self, group: &mut [Place<A, N>], other: OtherOf<A>) {
        let blobs = Packed::new(&self.buffer[..self.filled()], &self.ends[..])
            .expect("ends of files that were read one after the other");
        self.hashes.resize(self.waiting.len(), Hash::from_bytes([0; OUT_LEN]));
        self.batch.hash_into(&blobs, &mut self.hashes);
        let files = self.waiting.len() as u64;
        for (place, ((index, stamps), hash)) in self.waiting.drain(..).zip(&self.hashes).enumerate()
        {
            let Place::File(task, progressed) = &mut group[index] else { continue };
            let bytes = &self.buffer[self.ends[place]..self.ends[place + 1]];
            let digest = Digest::of_hash(hash, task.extent).unwrap_or_else(|| {
                let mut hasher = Hasher::with_mode(self.options.chosen_mode());
                Digest::new(hasher.update(bytes), task.extent)
            });
            if let Some(other) = other(&mut task.about) {
                feed_both(bytes, &digest, other);
            }
            let bytes = bytes.len() as u64;
            if let Some(stamps) = &stamps {
                let other = other(&mut task.about).map(|it| &*it);
                self.options.was_read(stamps, bytes, task.extent, &digest, other);
            }
            *progressed = Progressed::Done(Ok(Hashed { digest, bytes, stamps }));
        }
        if files > 0 {
            self.options.has_hashed(files, (self.filled() - self.ends[0]) as u64);
        }
        self.ends.truncate(1);
    }
}

/// Reads a file whose first `read` bytes are in the buffer, until the buffer is full, `len` bytes are read, or nothing more
/// comes. Returns how many there are then.
fn read_on(file: &File, buffer: &mut [u8], mut read: usize, len: usize) -> io::Result<usize> {
    while read != len && read < buffer.len() {
        match read_at(file, &mut buffer[read..], read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// The length of a regular file that has its position at the beginning; `None` for anything else.
fn len(file: &File) -> Option<usize> {
    // This takes an eighth of the time of `fstat`. Of lengths from 2 GiB on it reports the low 32 bits, and reading does not
    // end there.
    #[cfg(target_os = "linux")]
    if let Ok(len) = rustix::io::ioctl_fionread(file) {
        return usize::try_from(len).ok();
    }
    let now = file.metadata().ok().filter(|now| now.is_file())?;
    usize::try_from(now.len()).ok()
}

/// What the system says of a file before it is opened.
enum Look {
    /// Opening it may wait for another program, as with a pipe.
    MayWait,
    /// Its length, if it is a regular file.
    Len(Option<usize>),
}

fn look(path: &Path) -> Look {
    match fs::metadata(path) {
        Ok(it) if it.is_file() => Look::Len(usize::try_from(it.len()).ok()),
        Ok(it) if !it.is_dir() => Look::MayWait,
        _ => Look::Len(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(small_files: &mut SmallFiles, file: &File) -> Option<usize> {
        small_files.buffer.resize(BUFFER, 0);
        small_files.read::<(), ()>(file, None, &mut [], |()| None)
    }

    /// With a writer and without.
    #[cfg(unix)]
    #[test]
    fn read_does_not_wait_for_a_pipe_in_the_place_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut small_files = SmallFiles::new(&Options::new());
        let pipe = long_path::open(&path, true).unwrap();
        assert_eq!(read(&mut small_files, &pipe), None);
        let mut writer = File::options().write(true).open(&path).unwrap();
        assert_eq!(read(&mut small_files, &pipe), None);
        writer.write_all(b"bytes").unwrap();
        assert_eq!(read(&mut small_files, &pipe), None);
    }

    #[test]
    fn read_takes_files_that_fit_into_the_buffer() {
        let mut file = tempfile::tempfile().unwrap();
        let mut small_files = SmallFiles::new(&Options::new());
        let mut len = 0;
        for (more, fits) in [
            (0, true),
            (1, true),
            (ROOM - 2, true),
            (1, true),
            (1, true),
            (BUFFER - ROOM - 2, true),
            (1, false),
        ] {
            file.write_all(&vec![0; more]).unwrap();
            len += more;
            let mut file = file.try_clone().unwrap();
            io::Seek::rewind(&mut file).unwrap();
            assert_eq!(read(&mut small_files, &file), fits.then_some(len), "{len} bytes");
            io::Seek::seek(&mut file, io::SeekFrom::End(0)).unwrap();
        }
    }

    /// A buffer that is nearly full of other files.
    #[test]
    fn read_makes_room() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; ROOM + 1000]).unwrap();
        io::Seek::rewind(&mut file).unwrap();
        for filled in [BUFFER - ROOM - 500, BUFFER - 500] {
            let mut small_files = SmallFiles::new(&Options::new());
            (small_files.ends, small_files.waiting) = (vec![0, filled], vec![(0, None)]);
            small_files.buffer.resize(BUFFER, 0);
            let mut group = [Place::<(), ()>::Note(())];
            assert_eq!(
                small_files.read(&file, None, &mut group, |()| None),
                Some(ROOM + 1000),
                "{filled}"
            );
            assert!(small_files.buffer[..ROOM + 1000].iter().all(|byte| *byte == 7), "{filled}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn read_takes_files_whose_lengths_are_guesses() {
        let mut small_files = SmallFiles::new(&Options::new());
        for path in ["/proc/self/cmdline", "/sys/kernel/mm/transparent_hugepage/enabled"] {
            let Ok(expected) = fs::read(path) else { continue };
            let end = read(&mut small_files, &File::open(path).unwrap());
            assert_eq!(&small_files.buffer[..end.unwrap()], expected, "{path}");
        }
    }
}
