//! Which nodes of the tree a range consists of.
//!
//! ```text
//! chunks 3..11 of 13:   [3] [4 5 6 7] [8 9] [10]
//! chunks 5..13 of 13:   [5] [6 7] [8 9 10 11 12]      the tail is one node
//! ```

use core::ops::Range;

use super::cut::CutError;
use crate::spec::CHUNK_LEN;
use crate::tree::{left_len, max_subtree_len};

const CHUNK: u64 = CHUNK_LEN as u64;

/// Returns the largest nodes below the root that make up `range`, in order, in an input of `total` bytes.
///
/// Only the last one may be a node with another number of chunks than a power of two: it ends with the input. The whole
/// input falls into the two nodes below its root. An input of one chunk is a node of its own; an empty range has none.
///
/// ```
/// # use treewide::parts::subtrees;
/// const K: u64 = 1024;
/// let nodes: Vec<_> = subtrees(3 * K..11 * K, 13 * K)?.collect();
/// assert_eq!(nodes, [3 * K..4 * K, 4 * K..8 * K, 8 * K..10 * K, 10 * K..11 * K]);
/// # Ok::<(), treewide::parts::CutError>(())
/// ```
///
/// # Errors
/// If the range is not one of an input of `total` bytes, or if it begins or ends inside a chunk.
pub fn subtrees(range: Range<u64>, total: u64) -> Result<SubtreeRanges, CutError> {
    if range.start > range.end || range.end > total {
        return Err(CutError::beyond(range.end.max(range.start), total));
    }
    for cut in [range.start, range.end] {
        if cut % CHUNK != 0 && cut != total {
            return Err(CutError::inside_a_chunk(cut, total));
        }
    }
    // The end of the input may lie inside of its last chunk. No part begins there.
    Ok(SubtreeRanges { at: range.start, end: range.end, total })
}

/// The nodes of a range, see [`subtrees`].
#[derive(Clone, Debug)]
pub struct SubtreeRanges {
    at: u64,
    end: u64,
    total: u64,
}

impl Iterator for SubtreeRanges {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let rest = self.end - self.at;
        if rest == 0 {
            return None;
        }
        let len = match max_subtree_len(self.at) {
            // Parts lie below the root.
            None if self.end == self.total && rest > CHUNK => left_len(rest),
            None if self.end == self.total => rest,
            None => 1 << rest.ilog2(),
            // Up to the end of the input: a node, however many chunks it has.
            Some(most) if self.end == self.total && rest <= most => rest,
            Some(most) => most.min(1 << rest.ilog2()),
        };
        let node = self.at..self.at + len;
        self.at = node.end;
        Some(node)
    }
}

impl core::iter::FusedIterator for SubtreeRanges {}

/// The sibling of a node below the root, and whether it is the left one.
#[cfg(feature = "std")]
pub(crate) fn sibling(node: &Range<u64>, total: u64) -> (Range<u64>, bool) {
    let len = node.end - node.start;
    // The bit of its start that a right child has. A node at the end of the input is a right child.
    let own = if node.end == total { 1 << node.start.trailing_zeros() } else { len };
    if node.end == total || node.start & own != 0 {
        return (node.start - own..node.start, true);
    }
    (node.end..total.min(node.end.saturating_add(len)), false)
}

/// Whether this is a node below the root, or the only chunk.
#[cfg(feature = "std")]
pub(super) fn is_node(range: &Range<u64>, total: u64) -> bool {
    subtrees(range.clone(), total).is_ok_and(|mut nodes| nodes.next().as_ref() == Some(range))
}
