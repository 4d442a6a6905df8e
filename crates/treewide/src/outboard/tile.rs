//! Tiles: nodes that are hashed at once, whole levels in the lanes of the kernel.
//!
//! ```text
//! levels   | 512 groups | 256 | 128 | ... | 2 | 1 |      chaining values, of the data
//! pairs    | in the order of the layout              |   two neighbours of a level are a pair
//! ```

use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::hash_group;
use crate::hazmat::groups;
use crate::kernel::{Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::{PARENT, ROOT};
use crate::spec::{ChainingValue, OUT_LEN};
use crate::tree::SMALL;

/// Bytes of a tile, unless a group has more: as many as one of the module `file`, which stay in the second-level cache between
/// copying and hashing. On targets without an operating system the stack is short.
pub(super) const TILE: u64 = if SMALL { 8 << 10 } else { 512 << 10 };

/// The most groups of a tile, and the most levels above them.
const MOST: usize = (TILE / 1024) as usize;
const LEVELS: u32 = MOST.ilog2();

/// The groups of a tile, a power of two.
pub(super) const fn groups_of_tile(layout: &Layout) -> u64 {
    match TILE / layout.group().bytes() {
        0 => 1,
        groups => groups,
    }
}

/// The bytes of the pairs of a tile.
pub(super) const fn pairs_of_tile(node: Node) -> usize {
    (node.groups() - 1) as usize * PAIR_LEN
}

/// Hashes the tile `node`, whose bytes are `data`. Its pairs go to `out`, in the order of the layout. Returns the hash of the node,
/// as its parent holds it, or the digest.
pub(super) fn hash_tile(
    data: &[u8],
    layout: &Layout,
    node: Node,
    mode: &Mode,
    out: &mut [u8],
) -> [u8; OUT_LEN] {
    debug_assert_eq!(out.len(), pairs_of_tile(node));
    if node.is_group() {
        return hash_group(data, layout, node, mode);
    }
    let kernel = running();
    let mut levels = Levels::new(node.groups() as usize);
    let (offset, chunks) = (node.first_group() * layout.group().bytes(), layout.group().chunks());
    groups::fill(data, offset, chunks as usize, *mode, levels.groups());
    let (pairs, _) = out.as_chunks_mut();
    levels.climb(kernel, mode, layout.is_root(node));
    levels.place(layout, node, pairs);
    levels.top()
}

/// The chaining values of a tile: those of the groups, and of each level above them.
struct Levels {
    cvs: [ChainingValue; 2 * MOST + LEVELS as usize],
    /// Where each level starts, and where the last one ends.
    starts: [usize; LEVELS as usize + 2],
    height: usize,
}

impl Levels {
    fn new(groups: usize) -> Self {
        let mut starts = [0; LEVELS as usize + 2];
        starts[1] = groups;
        Self { cvs: [[0; OUT_LEN]; 2 * MOST + LEVELS as usize], starts, height: 0 }
    }

    fn groups(&mut self) -> &mut [ChainingValue] {
        &mut self.cvs[..self.starts[1]]
    }

    /// Computes the levels above the groups; the last one is the root if `is_root`.
    fn climb(&mut self, kernel: Runnable, mode: &Mode, is_root: bool) {
        loop {
            let [start, end] = [self.starts[self.height], self.starts[self.height + 1]];
            let count = end - start;
            if count == 1 {
                return;
            }
            let (below, above) = self.cvs.split_at_mut(end);
            let below = &below[start..];
            let root = if is_root && count == 2 { ROOT } else { 0 };
            kernel.pairs(below, &mode.key, mode.flags | PARENT | root, above);
            if count % 2 == 1 {
                // The last one has no sibling, and rises.
                above[count / 2] = below[count - 1];
            }
            self.height += 1;
            self.starts[self.height + 1] = end + count.div_ceil(2);
        }
    }

    fn top(&self) -> ChainingValue {
        self.cvs[self.starts[self.height]]
    }

    /// Writes the pairs to their places.
    fn place(&self, layout: &Layout, node: Node, pairs: &mut [[u8; PAIR_LEN]]) {
        if node.groups().is_power_of_two() {
            return self.place_complete(pairs);
        }
        self.place_any(layout, node, node, pairs);
    }

    /// [`place`](Self::place) where the place of a pair follows from its level and its number.
    fn place_complete(&self, pairs: &mut [[u8; PAIR_LEN]]) {
        for level in 1..=self.height {
            let below = &self.cvs[self.starts[level - 1]..self.starts[level]];
            let (children, _) = below.as_flattened().as_chunks::<PAIR_LEN>();
            // On the way down to a node, each turn to the right is a bit of its number. A turn to the right passes the pairs of the
            // left subtree and the node itself, as many as groups; a turn to the left passes the node.
            let down = self.height - level;
            for (number, pair) in children.iter().enumerate() {
                let right_turns = number.count_ones() as usize;
                pairs[(number << level) - right_turns + down] = *pair;
            }
        }
    }

    fn place_any(&self, layout: &Layout, tile: Node, node: Node, pairs: &mut [[u8; PAIR_LEN]]) {
        let (Some(at), Some(below)) = (layout.position(node), layout.children(node)) else {
            return;
        };
        // The right child has risen to the level of the left one.
        let level = below[0].groups().ilog2();
        let number = (node.first_group() - tile.first_group()) >> level;
        let left = self.starts[level as usize] + number as usize;
        let (left, right) = (&self.cvs[left], &self.cvs[left + 1]);
        let pair = &mut pairs[(at - tile.pairs().start) as usize];
        pair[..OUT_LEN].copy_from_slice(left);
        pair[OUT_LEN..].copy_from_slice(right);
        for child in below {
            self.place_any(layout, tile, child, pairs);
        }
    }
}
