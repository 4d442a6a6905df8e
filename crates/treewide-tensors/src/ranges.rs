//! Many ranges of one file, each an input: for files that contain tensors.
//!
//! ```text
//! ranges    a b c | dddddddddddddddddddddddddddddd | e
//! pieces    [ 1 ] | all threads, as for a file     | [2]
//! ```
//!
//! Small neighbours are one piece, which is read at once and hashed in lanes. Threads take their share of the pieces that follow
//! each other.

use crate::options::Options;
use rayon::prelude::*;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use treewide::file::{self, ErrorKind};
use treewide::{Batch, Hash, Hasher};

/// Bytes that a thread reads at a time, and the most bytes of a piece of several ranges. A buffer of this size stays in the
/// second-level cache between reading and hashing, as for other files (`results/zen5-2vcpu/files.md#tiles`).
pub(crate) const TILE: usize = 512 * 1024;

/// A longer range is hashed by all threads. A guess: a thread needs half a millisecond for it.
const LARGE: u64 = 4 << 20;

fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Cuts ranges, which are in the order of the file, into pieces: neighbours that fit into a tile, or single ranges.
fn cut(mut ranges: &[Range<u64>]) -> Vec<&[Range<u64>]> {
    let mut pieces = Vec::new();
    while let Some(first) = ranges.first() {
        let follow = ranges
            .windows(2)
            .take_while(|it| it[0].end == it[1].start && it[1].end - first.start <= TILE as u64);
        let (piece, rest) = ranges.split_at(1 + follow.count());
        pieces.push(piece);
        ranges = rest;
    }
    pieces
}

/// Fills `bytes` from a place of a file.
pub(crate) fn fill(file: &File, mut bytes: &mut [u8], mut at: u64) -> Result<(), ErrorKind> {
    while !bytes.is_empty() {
        match file::read_at(file, bytes, at) {
            Ok(0) => return Err(ErrorKind::Shrank { read: at, len: at + bytes.len() as u64 }),
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ErrorKind::Read(error)),
        }
    }
    Ok(())
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
    let seen = |bytes| {
        options.progress.hashed(0, bytes);
        if options.cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let one = |range: &Range<u64>, threads| {
        let mut hasher = Hasher::new();
        let reading = file::Options::new().threads(threads).watch(seen);
        reading
            .update_range(&mut hasher, file, "", range.clone())
            .map_err(file::Error::into_kind)?;
        Ok(hasher.finalize())
    };
    let small = |pieces: &[&[Range<u64>]]| {
        let (mut digests, mut buffer) = (Vec::new(), vec![0; TILE]);
        for piece in pieces {
            let (start, end) = (piece[0].start, piece[piece.len() - 1].end);
            let Some(bytes) = buffer.get_mut(..(end - start) as usize) else {
                digests.push(one(&piece[0], 1)?);
                continue;
            };
            fill(file, bytes, start)?;
            if seen(end - start).is_break() {
                return Err(ErrorKind::Stopped);
            }
            let place = |it: &Range<u64>| (it.start - start) as usize..(it.end - start) as usize;
            let inputs: Vec<&[u8]> = piece.iter().map(|it| &bytes[place(it)]).collect();
            digests.extend(Batch::new().hash(&inputs));
        }
        Ok(digests)
    };
    let is_large = |piece: &[Range<u64>]| len(&piece[0]) > LARGE;
    let mut digests = Vec::with_capacity(ranges.len());
    for pieces in cut(ranges).chunk_by(|one, next| !is_large(one) && !is_large(next)) {
        if is_large(pieces[0]) {
            digests.push(one(&pieces[0][0], options.threads)?);
        } else if options.threads == 1 {
            digests.extend(small(pieces)?);
        } else {
            let threads = options.threads.min(treewide::explain(u64::MAX).threads());
            let shares = pieces.par_chunks(pieces.len().div_ceil(threads));
            let found: Vec<Vec<Hash>> = shares.map(small).collect::<Result<_, _>>()?;
            digests.extend(found.into_iter().flatten());
        }
    }
    file::check_length(file, &opened)?;
    Ok(digests)
}
