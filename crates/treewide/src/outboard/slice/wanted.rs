//! Wanted ranges of an input: ranges of bytes, in any order, and the chunks that they touch.

use std::ops::Range;

use crate::outboard::ranges::joined;
use crate::spec::CHUNK_LEN;

const CHUNK: u64 = CHUNK_LEN as u64;

pub(super) struct Wanted {
    /// In order, neither touching nor overlapping.
    bytes: Vec<Range<u64>>,
    chunks: Vec<Range<u64>>,
}

impl Wanted {
    pub(super) fn new(ranges: &[Range<u64>], len: u64) -> Self {
        let last = len.div_ceil(CHUNK).max(1) - 1;
        let chunks = ranges.iter().map(|range| {
            let (first, end) = (range.start / CHUNK, range.end.div_ceil(CHUNK));
            // What reaches past the end stands for the last chunk.
            if end > last { first.min(last)..last + 1 } else { first..end }
        });
        let some = ranges.iter().zip(chunks).filter(|(range, _)| !range.is_empty());
        Self {
            chunks: joined(some.map(|(_, chunks)| chunks)),
            bytes: joined(ranges.iter().cloned()),
        }
    }

    /// Whether any of these chunks is wanted.
    pub(super) fn touches(&self, first: u64, chunks: u64) -> bool {
        let next = self.chunks.partition_point(|range| range.end <= first);
        self.chunks.get(next).is_some_and(|range| range.start < first + chunks)
    }

    /// Whether all of these chunks are wanted.
    pub(super) fn covers(&self, first: u64, chunks: u64) -> bool {
        let next = self.chunks.partition_point(|range| range.end <= first);
        let range = self.chunks.get(next);
        range.is_some_and(|range| range.start <= first && first + chunks <= range.end)
    }

    /// The wanted parts of these bytes of the input, in order.
    pub(super) fn parts_of(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let from = self.bytes.partition_point(|wanted| wanted.end <= range.start);
        let until = range.end;
        let wanted = self.bytes[from..].iter().take_while(move |wanted| wanted.start < until);
        wanted.map(move |wanted| wanted.start.max(range.start)..wanted.end.min(range.end))
    }
}
