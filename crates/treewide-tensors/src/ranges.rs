//! Many ranges of one file, each an input, in one pass over the file: for files that contain tensors.
//!
//! ```text
//! ranges    a b c | dddddddddddddddddddddddddddddd | e
//! pieces    [ 1 ]   [  2   ] [  3   ] [  4   ] [ 5 ] [6]
//! ```
//!
//! Small neighbours are one piece, which is read at once and hashed in lanes. A long range has several pieces, which are
//! subtrees. Threads take pieces in the order of the file.

use crate::options::Options;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use treewide::file::{self, ErrorKind};
use treewide::hazmat::{ChainingValue, HasherExt, Subtrees};
use treewide::{Batch, CHUNK_LEN, Hash, Hasher, Mode};

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
    Digests(usize, Vec<Hash>),
    /// The chaining value of a part of a range, by its number.
    Subtree(usize, u64, ChainingValue),
}

/// What all threads share.
struct Pass<'a> {
    file: &'a File,
    opened: &'a Metadata,
    ranges: &'a [Range<u64>],
    pieces: &'a [Piece],
    next: AtomicUsize,
    options: &'a Options,
    failure: Mutex<Option<ErrorKind>>,
}

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Cuts ranges, which are in the order of the file, into pieces.
fn cut(ranges: &[Range<u64>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut first = 0;
    while first < ranges.len() {
        let range = &ranges[first];
        if len(range) > PART {
            pieces.extend((0..len(range).div_ceil(PART)).map(|part| Piece::Part(first, part)));
            first += 1;
            continue;
        }
        let mut last = first + 1;
        while last < ranges.len()
            && ranges[last].start == ranges[last - 1].end
            && ranges[last].end - range.start <= TILE as u64
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
                let (start, end) = (ranges[0].start, ranges[ranges.len() - 1].end);
                let digests = if end - start <= TILE as u64 {
                    let bytes = &mut buffer[..(end - start) as usize];
                    self.read(bytes, start)?;
                    let place = |at: u64| (at - start) as usize;
                    let inputs: Vec<&[u8]> = ranges
                        .iter()
                        .map(|range| &bytes[place(range.start)..place(range.end)])
                        .collect();
                    Batch::new().hash(&inputs)
                } else {
                    let mut hasher = Hasher::new();
                    self.append(&mut hasher, start, end, buffer)?;
                    vec![hasher.finalize()]
                };
                Ok(Done::Digests(first, digests))
            }
            Piece::Part(index, part) => {
                let Range { start, end } = self.ranges[index];
                let mut hasher = Hasher::new();
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
        if self.options.cancel.is_cancelled() {
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
        self.options.progress.hashed(0, bytes.len() as u64);
        Ok(())
    }

    /// Hashes all pieces. Returns the digests of the ranges.
    fn run(&self) -> Result<Vec<Hash>, ErrorKind> {
        let most = self.options.threads;
        let threads = if most == 1 { 1 } else { most.min(treewide::explain(u64::MAX).threads()) };
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

    fn join(&self, done: Vec<Done>) -> Vec<Hash> {
        let mut digests = vec![Hash::from_bytes([0; 32]); self.ranges.len()];
        let mut subtrees = Vec::new();
        for done in done {
            match done {
                Done::Digests(first, some) => {
                    digests[first..][..some.len()].copy_from_slice(&some);
                }
                Done::Subtree(index, part, cv) => subtrees.push((index, part, cv)),
            }
        }
        subtrees.sort_unstable_by_key(|&(index, part, _)| (index, part));
        for parts in subtrees.chunk_by(|one, other| one.0 == other.0) {
            let index = parts[0].0;
            let mut tree = Subtrees::new(Mode::PLAIN);
            for &(_, part, cv) in parts {
                match len(&self.ranges[index]) - part * PART {
                    PART.. => tree.push(&[cv], LEVEL),
                    rest => tree.push_last(&cv, rest.div_ceil(CHUNK_LEN as u64)),
                }
            }
            digests[index] = tree.finalize();
        }
        digests
    }
}

/// The digests of ranges of an open file. Ranges are in the order of the file, and do not overlap.
pub(crate) fn hash(
    file: &File,
    ranges: &[Range<u64>],
    options: &Options,
) -> Result<Vec<Hash>, ErrorKind> {
    let opened = file.metadata().map_err(ErrorKind::Open)?;
    // The header was written for a longer file.
    if let Some(last) = ranges.last()
        && last.end > opened.len()
    {
        return Err(ErrorKind::Shrank { read: opened.len(), len: last.end });
    }
    let (pieces, next) = (cut(ranges), AtomicUsize::new(0));
    let failure = Mutex::new(None);
    Pass { file, opened: &opened, ranges, pieces: &pieces, next, options, failure }.run()
}
