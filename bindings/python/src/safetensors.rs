//! Many ranges of one file, each an input, in one pass over the file: for files that contain tensors.
//!
//! ```text
//! ranges    a b c | dddddddddddddddddddddddddddddd | e
//! pieces    [ 1 ]   [  2   ] [  3   ] [  4   ] [ 5 ] [6]
//! ```
//!
//! Small neighbours are one piece, which is read at once and hashed in lanes. A long range has several pieces, which are
//! subtrees. Threads take pieces in the order of the file.

use std::fs::{File, Metadata};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use treewide::file::{self, ErrorKind};
use treewide::hazmat::{ChainingValue, HasherExt, Subtrees};
use treewide::{Batch, CHUNK_LEN, Hasher, Mode};

use crate::failure;
use crate::files::{Course, SHORT, watched};
use crate::mode::mode;
use crate::oneshot::check_length;
use crate::threads::{self, Threads};

/// Bytes that a thread reads at a time, and the most bytes of a piece of several ranges. A buffer of this size stays in the
/// second-level cache between reading and hashing, as for other files (`results/zen5-2vcpu/files.md#tiles`).
pub(crate) const TILE: usize = 512 * 1024;

/// The chunks of a subtree of a long range are two to the power of this: 4 MiB. A guess: a thread needs half a
/// millisecond for them, and the last pieces keep all threads busy.
const LEVEL: u32 = 12;

const PART: u64 = (CHUNK_LEN as u64) << LEVEL;

/// What one thread does at a time.
enum Piece {
    /// The ranges from the first to before the last, which follow each other.
    Ranges(usize, usize),
    /// A part of a range, by its number.
    Part(usize, u64),
}

/// What became of a piece.
enum Done {
    /// Digests of ranges from this one on.
    Digests(usize, Vec<u8>),
    /// The chaining value of a part of a range, by its number.
    Subtree(usize, u64, ChainingValue),
}

/// What all threads share.
struct Pass<'a> {
    file: &'a File,
    opened: &'a Metadata,
    ranges: &'a [(u64, u64)],
    pieces: &'a [Piece],
    next: AtomicUsize,
    mode: Mode,
    length: usize,
    course: &'a Course,
    failure: Mutex<Option<ErrorKind>>,
}

fn len((start, end): (u64, u64)) -> u64 {
    end - start
}

/// Cuts ranges, which are in the order of the file, into pieces.
fn cut(ranges: &[(u64, u64)]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < ranges.len() {
        let range = ranges[first];
        if len(range) > PART {
            pieces.extend((0..len(range).div_ceil(PART)).map(|part| Piece::Part(first, part)));
            first += 1;
            continue;
        }
        let mut last = first + 1;
        while last < ranges.len()
            && ranges[last].0 == ranges[last - 1].1
            && ranges[last].1 - range.0 <= TILE as u64
        {
            last += 1;
        }
        pieces.push(Piece::Ranges(first, last));
        first = last;
    }
    pieces
}

impl Pass<'_> {
    /// Hashes pieces that no thread has taken yet.
    fn work(&self) -> Vec<Done> {
        let (mut all, mut buffer) = (Vec::new(), vec![0; TILE]);
        while let Some(piece) = self.pieces.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            match self.piece(piece, &mut buffer) {
                Ok(done) => all.push(done),
                Err(error) => {
                    // So that no thread takes another piece.
                    self.next.store(self.pieces.len(), Ordering::Relaxed);
                    let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error);
                    break;
                }
            }
        }
        all
    }

    fn piece(&self, piece: &Piece, buffer: &mut [u8]) -> Result<Done, ErrorKind> {
        match *piece {
            Piece::Ranges(first, last) => {
                let ranges = &self.ranges[first..last];
                let (start, end) = (ranges[0].0, ranges[ranges.len() - 1].1);
                let mut digests = vec![0; ranges.len() * self.length];
                if end - start <= TILE as u64 {
                    let bytes = &mut buffer[..(end - start) as usize];
                    self.read(bytes, start)?;
                    let place = |at: u64| (at - start) as usize;
                    let inputs: Vec<&[u8]> =
                        ranges.iter().map(|range| &bytes[place(range.0)..place(range.1)]).collect();
                    let batch = Batch::with_mode(self.mode).output_len(self.length);
                    batch.fill(&inputs, &mut digests);
                } else {
                    let mut hasher = Hasher::with_mode(self.mode);
                    self.append(&mut hasher, start, end, buffer)?;
                    hasher.finalize_xof().fill(&mut digests);
                }
                Ok(Done::Digests(first, digests))
            }
            Piece::Part(index, part) => {
                let (start, end) = self.ranges[index];
                let mut hasher = Hasher::with_mode(self.mode);
                hasher.set_input_offset(part * PART);
                let from = start + part * PART;
                self.append(&mut hasher, from, end.min(from + PART), buffer)?;
                Ok(Done::Subtree(index, part, hasher.finalize_non_root()))
            }
        }
    }

    fn append(
        &self,
        hasher: &mut Hasher,
        start: u64,
        end: u64,
        buffer: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let mut at = start;
        while at < end {
            let bytes = &mut buffer[..TILE.min((end - at) as usize)];
            self.read(bytes, at)?;
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Fills `bytes` from a place of the file.
    fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), ErrorKind> {
        if self.course.cancel.is_cancelled() {
            return Err(ErrorKind::Stopped);
        }
        let mut read = 0;
        while read < bytes.len() {
            match file::read_at(self.file, &mut bytes[read..], at + read as u64) {
                Ok(0) => {
                    let (end, len) = (at + read as u64, self.opened.len());
                    file::check_end(self.file, self.opened, end)?;
                    return Err(ErrorKind::Ended { read: end, len });
                }
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ErrorKind::Read(error)),
            }
        }
        self.course.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Hashes all pieces with at most `most` threads. Returns the digests of the ranges, one after the other.
    fn run(&self, most: usize) -> Result<Vec<u8>, ErrorKind> {
        let threads = if most == 1 { 1 } else { most.min(threads::of_pool()) };
        let done = Mutex::new(Vec::new());
        if threads.min(self.pieces.len()) <= 1 {
            done.lock().unwrap_or_else(PoisonError::into_inner).extend(self.work());
        } else {
            rayon::scope(|scope| {
                for _ in 0..threads.min(self.pieces.len()) {
                    scope.spawn(|_| {
                        let work = self.work();
                        done.lock().unwrap_or_else(PoisonError::into_inner).extend(work);
                    });
                }
            });
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure.take() {
            return Err(error);
        }
        file::check_length(self.file, self.opened)?;
        Ok(self.join(done.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    fn join(&self, done: Vec<Done>) -> Vec<u8> {
        let mut digests = vec![0; self.ranges.len() * self.length];
        let mut subtrees = Vec::new();
        for done in done {
            match done {
                Done::Digests(first, some) => {
                    digests[first * self.length..][..some.len()].copy_from_slice(&some);
                }
                Done::Subtree(index, part, cv) => subtrees.push((index, part, cv)),
            }
        }
        subtrees.sort_unstable_by_key(|&(index, part, _)| (index, part));
        for parts in subtrees.chunk_by(|one, other| one.0 == other.0) {
            let index = parts[0].0;
            let mut tree = Subtrees::new(self.mode);
            for &(_, part, cv) in parts {
                match len(self.ranges[index]) - part * PART {
                    PART.. => tree.push(&[cv], LEVEL),
                    rest => tree.push_last(&cv, rest.div_ceil(CHUNK_LEN as u64)),
                }
            }
            tree.finalize_xof().fill(&mut digests[index * self.length..][..self.length]);
        }
        digests
    }
}

/// The file behind a handle of the system, which stays open for the caller.
pub(crate) fn open(handle: i64) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::BorrowedFd;

        let number = i32::try_from(handle).ok().filter(|&number| number >= 0);
        let number = number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: the caller holds the file open during this call; a number that is not open is an error of the system.
        Ok(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()?.into())
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::BorrowedHandle;

        // SAFETY: as above.
        let borrowed = unsafe { BorrowedHandle::borrow_raw(handle as usize as *mut _) };
        Ok(borrowed.try_clone_to_owned()?.into())
    }
}

/// The digests of ranges of an open file. `ranges` are pairs of offsets in the order of the file.
#[pyfunction]
#[pyo3(signature = (handle, path, ranges, /, *, key, derive_key_context, length, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _hash_ranges<'py>(
    py: Python<'py>,
    handle: i64,
    path: PathBuf,
    ranges: Vec<(u64, u64)>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    check_length(length.saturating_mul(ranges.len()))?;
    if ranges.iter().any(|range| range.0 > range.1) || !ranges.is_sorted_by(|a, b| a.1 <= b.0) {
        return Err(PyValueError::new_err(
            "ranges are in the order of the file, and do not overlap",
        ));
    }
    let course = Course::default();
    let hash = || {
        let file = open(handle).map_err(ErrorKind::Open)?;
        let opened = file.metadata().map_err(ErrorKind::Open)?;
        // The caller has seen a longer file.
        if let Some(&(_, end)) = ranges.last()
            && end > opened.len()
        {
            return Err(ErrorKind::Shrank { read: opened.len(), len: end });
        }
        let pieces = cut(&ranges);
        let pass = Pass {
            file: &file,
            opened: &opened,
            ranges: &ranges,
            pieces: &pieces,
            next: AtomicUsize::new(0),
            mode,
            length,
            course: &course,
            failure: Mutex::new(None),
        };
        threads.run_at_most(|most| pass.run(most))
    };
    let bytes = ranges.iter().fold(0_u64, |sum, &range| sum.saturating_add(len(range)));
    let hashed = if progress.is_none() && bytes < SHORT {
        py.detach(hash)
    } else {
        let report = |_: Python<'_>| match progress {
            Some(progress) => progress.call1((course.bytes.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        };
        watched(py, &course, hash, report)?
    };
    let digests = hashed.map_err(|error| failure::of_kind(py, &path, &error))?;
    let digest = |index: usize| PyBytes::new(py, &digests[index * length..][..length]);
    PyList::new(py, (0..ranges.len()).map(digest))
}
