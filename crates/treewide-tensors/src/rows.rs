//! Where the bytes of two tensors differ: a second read, for those whose digests do.

use crate::error::Error;
use crate::model::open;
use crate::ranges::TILE;
use crate::tensor::Tensor;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use treewide::file::{ErrorKind, read_at};

/// The rows of a tensor that differ: the slices at each place of its first dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many there are.
    pub all: u64,
    /// How many differ.
    pub different: u64,
    /// The first ranges of rows that differ, at most [`Rows::MOST`].
    pub first: Vec<Range<u64>>,
    /// Ranges after them.
    pub more: u64,
    /// After the last row that differs.
    end: u64,
}

impl Rows {
    /// The most ranges that are kept.
    pub const MOST: usize = 100;

    fn add(&mut self, row: u64) {
        // A row may be in several tiles.
        if self.end > row {
            return;
        }
        let kept = self.first.len();
        match self.first.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            // The range at hand is not kept.
            _ if self.end == row && self.more > 0 => {}
            _ if kept < Self::MOST => self.first.push(row..row + 1),
            _ => self.more += 1,
        }
        self.end = row + 1;
        self.different += 1;
    }
}

/// The rows that differ between two tensors of the same type and shape, each with its file: see [`Model::places`](crate::Model::places).
/// `None` if they do not have the same number of bytes, or do not consist of rows of whole bytes.
///
/// # Errors
/// If a file cannot be read.
pub fn rows(
    (old, is): (&Path, &Tensor),
    (new, now): (&Path, &Tensor),
) -> Result<Option<Rows>, Error> {
    let bytes = is.range.end - is.range.start;
    let all = is.shape.first().copied().unwrap_or(1);
    if now.range.end - now.range.start != bytes || all == 0 || bytes % all != 0 || bytes == 0 {
        return Ok(None);
    }
    let (row, mut rows) = (bytes / all, Rows { all, ..Rows::default() });
    let (one, other) = (open(old)?.0, open(new)?.0);
    let (mut ours, mut theirs) = (vec![0; TILE], vec![0; TILE]);
    let mut at = 0;
    while at < bytes {
        let length = (TILE as u64).min(bytes - at) as usize;
        let (ours, theirs) = (&mut ours[..length], &mut theirs[..length]);
        fill(&one, old, ours, is.range.start + at)?;
        fill(&other, new, theirs, now.range.start + at)?;
        if ours != theirs {
            let mut from = 0;
            while from < length {
                let index = (at + from as u64) / row;
                let end = ((index + 1) * row - at).min(length as u64) as usize;
                if ours[from..end] != theirs[from..end] {
                    rows.add(index);
                }
                from = end;
            }
        }
        at += length as u64;
    }
    Ok(Some(rows))
}

fn fill(file: &File, path: &Path, mut bytes: &mut [u8], mut at: u64) -> Result<(), Error> {
    while !bytes.is_empty() {
        match read_at(file, bytes, at) {
            Ok(0) => {
                return Err(Error::new(
                    path,
                    ErrorKind::Shrank { read: at, len: at + bytes.len() as u64 },
                ));
            }
            Ok(read) => {
                bytes = &mut bytes[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::new(path, ErrorKind::Read(error))),
        }
    }
    Ok(())
}
