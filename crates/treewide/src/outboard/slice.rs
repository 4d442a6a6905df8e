//! Slices: some ranges of an input, with the pairs that verify them.
//!
//! The wire format is the one of `bao-tree`. It is written and read from front to back. For each node above the wanted
//! bytes it has the pair of chaining values, and then what is wanted of the left and the right side:
//!
//! ```text
//! slice(node) = the bytes of the node     if they are one chunk, or at most one group, and all of them wanted
//!             = pair, slice(left side), slice(right side)     else; a side without anything wanted is left out
//! ```
//!
//! Bytes are sent in whole chunks. A range that reaches past the end means the last chunk, with which the
//! length is proven. With groups of one chunk and one range, this is the format of `bao`, which has the length of the
//! whole input in front of it, as 8 bytes, little-endian. A slice of everything is what `bao encode` writes.
//!
//! ```
//! use treewide::outboard::{Group, Layout, Order, slice};
//! use treewide::{Mode, hash};
//!
//! let input: Vec<u8> = (0..50_000_u32).map(|place| (place % 251) as u8).collect();
//! // Who has the input needs its outboard; with a group as large as the input, the outboard is empty.
//! let source = slice::Source {
//!     data: &input,
//!     layout: Layout::new(input.len() as u64, Group::MOST, Order::Pre),
//!     outboard: &[],
//!     root: hash(&input),
//!     mode: Mode::PLAIN,
//! };
//! let wanted = [20_000..20_100, 40_000..41_000];
//! let mut sent = Vec::new();
//! slice::encode(&source, Group::IROH, &wanted, &mut sent)?;
//!
//! // Who knows the digest and the length needs nothing else.
//! let mut received = Vec::new();
//! let decoded = slice::decode(&hash(&input), 50_000, Group::IROH, &wanted, Mode::PLAIN, &sent[..], |_, bytes| {
//!     received.extend_from_slice(bytes);
//!     Ok(())
//! })?;
//! assert_eq!(received, [&input[20_000..20_100], &input[40_000..41_000]].concat());
//! assert!(!decoded.len_is_proven);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bao;
mod decode;
mod encode;
mod error;
mod group;
mod wanted;

pub use bao::{decode_bao, encode_bao};
pub use decode::{Decoded, decode};
pub use encode::{Source, encode};
pub use error::{DecodeError, EncodeError};

use crate::kernel::running;
use crate::mode::Mode;
use crate::outboard::layout::PAIR_LEN;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::{self, left_len};
use std::ops::Range;
use wanted::Wanted;

/// A node with its hash as the parent has it: the digest at the root.
#[derive(Clone, Copy)]
struct Place {
    /// The number of its first chunk, and how many chunks it has.
    first: u64,
    chunks: u64,
    expected: ChainingValue,
    is_root: bool,
}

impl Place {
    fn root(len: u64, digest: &ChainingValue) -> Self {
        let chunks = len.div_ceil(CHUNK_LEN as u64).max(1);
        Self { first: 0, chunks, expected: *digest, is_root: true }
    }

    /// The bytes of the input that it has.
    fn range(&self, len: u64) -> Range<u64> {
        let bytes = |chunks: u64| chunks.saturating_mul(CHUNK_LEN as u64).min(len);
        bytes(self.first)..bytes(self.first + self.chunks)
    }

    /// Whether its bytes are sent without pairs, in groups of `group_chunks`.
    fn is_sent_whole(&self, wanted: &Wanted, group_chunks: u64) -> bool {
        self.chunks == 1 || self.chunks <= group_chunks && wanted.covers(self.first, self.chunks)
    }

    /// Whether these are its bytes.
    fn has_bytes(&self, bytes: &[u8], mode: &Mode) -> bool {
        self.is(&tree::root(running(), bytes, self.first, mode))
    }

    /// The two nodes below it, if this is its pair.
    fn children(&self, pair: &[u8; PAIR_LEN], mode: &Mode) -> Option<[Self; 2]> {
        let halves: &[ChainingValue; 2] = pair.as_chunks().0.first_chunk().expect("two");
        let [left, right] = halves;
        self.is(&tree::Node::parent(left, right, mode)).then(|| self.split(halves))
    }

    fn split(&self, halves: &[ChainingValue; 2]) -> [Self; 2] {
        let left = left_len(self.chunks);
        let side = |first, chunks, expected| Self { first, chunks, expected, is_root: false };
        [side(self.first, left, halves[0]), side(self.first + left, self.chunks - left, halves[1])]
    }

    fn is(&self, node: &tree::Node) -> bool {
        let kernel = running();
        let hash = if self.is_root { node.root_hash(kernel) } else { node.chaining_value(kernel) };
        crate::hash::Hash::from_bytes(hash) == self.expected
    }
}
