//! A node of the tree of a slice, with the hash that it must have.

use std::ops::Range;

use super::wanted::Wanted;
use crate::kernel::running;
use crate::mode::Mode;
use crate::outboard::layout::PAIR_LEN;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::{self, left_len};

/// A node with its hash as the parent has it: the digest at the root.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of its first chunk, and how many chunks it has.
    pub(super) first: u64,
    pub(super) chunks: u64,
    pub(super) expected: ChainingValue,
    pub(super) is_root: bool,
}

impl Place {
    pub(super) fn root(len: u64, digest: &ChainingValue) -> Self {
        let chunks = len.div_ceil(CHUNK_LEN as u64).max(1);
        Self { first: 0, chunks, expected: *digest, is_root: true }
    }

    /// The bytes of the input that it has.
    pub(super) fn range(&self, len: u64) -> Range<u64> {
        let bytes = |chunks: u64| chunks.saturating_mul(CHUNK_LEN as u64).min(len);
        bytes(self.first)..bytes(self.first + self.chunks)
    }

    /// Whether its bytes are sent without pairs, in groups of `group_chunks`.
    pub(super) fn is_sent_whole(&self, wanted: &Wanted, group_chunks: u64) -> bool {
        self.chunks == 1 || self.chunks <= group_chunks && wanted.covers(self.first, self.chunks)
    }

    /// Whether these are its bytes.
    pub(super) fn has_bytes(&self, bytes: &[u8], mode: &Mode) -> bool {
        self.is(&tree::root(running(), bytes, self.first, mode))
    }

    /// The two nodes below it, if this is its pair.
    pub(super) fn children(&self, pair: &[u8; PAIR_LEN], mode: &Mode) -> Option<[Self; 2]> {
        let halves: &[ChainingValue; 2] = pair.as_chunks().0.first_chunk().expect("two");
        let [left, right] = halves;
        self.is(&tree::Node::parent(left, right, mode)).then(|| self.split(halves))
    }

    pub(super) fn split(&self, halves: &[ChainingValue; 2]) -> [Self; 2] {
        let left = left_len(self.chunks);
        let side = |first, chunks, expected| Self { first, chunks, expected, is_root: false };
        [side(self.first, left, halves[0]), side(self.first + left, self.chunks - left, halves[1])]
    }

    pub(super) fn is(&self, node: &tree::Node) -> bool {
        let kernel = running();
        let hash = if self.is_root { node.root_hash(kernel) } else { node.chaining_value(kernel) };
        crate::hash::Hash::from_bytes(hash) == self.expected
    }
}
