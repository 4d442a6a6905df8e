//! The nodes below a group, which no outboard has: they follow from the bytes of the group.

use std::ops::Range;

use super::place::Place;
use crate::hazmat::groups;
use crate::kernel::running;
use crate::mode::Mode;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::{left_len, level};

/// A group that is in memory and verified.
pub(super) struct LoadedGroup<'a> {
    bytes: &'a [u8],
    /// The number of its first chunk.
    first: u64,
    /// The chaining values of each level, chunks first. An odd last node rises, so it is on several levels.
    levels: Vec<Vec<ChainingValue>>,
}

impl<'a> LoadedGroup<'a> {
    /// `bytes` begin with chunk `first`, and are more than a chunk.
    pub(super) fn new(bytes: &'a [u8], first: u64, mode: &Mode) -> Self {
        let mut cvs = vec![[0; 32]; bytes.len().div_ceil(CHUNK_LEN)];
        groups::fill(bytes, first * CHUNK_LEN as u64, 1, *mode, &mut cvs);
        let mut levels = vec![cvs.clone()];
        while cvs.len() > 2 {
            let count = cvs.len();
            let count = level(running(), &mut cvs, count, mode);
            cvs.truncate(count);
            levels.push(cvs.clone());
        }
        Self { bytes, first, levels }
    }

    /// The chaining values below `place`, which has more than a chunk of this group.
    pub(super) fn halves(&self, place: &Place) -> [ChainingValue; 2] {
        let left = left_len(place.chunks);
        let values = &self.levels[left.ilog2() as usize];
        let at = ((place.first - self.first) / left) as usize;
        [values[at], values[at + 1]]
    }

    pub(super) fn bytes_of(&self, range: Range<u64>) -> &[u8] {
        let start = self.first * CHUNK_LEN as u64;
        &self.bytes[(range.start - start) as usize..(range.end - start) as usize]
    }
}
