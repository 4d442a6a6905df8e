//! Merkle trees: one root for any number of digests, and short proofs that a digest is under that root.
//!
//! The leaves are 32 bytes each, such as the digests of files or records. A parent is
//! [`hash`](crate::hash()) of the 64 bytes of its two children, so any BLAKE3 library can check a tree. Many
//! parents are hashed in one vector pass. On each level neighbours are paired from the left, and an odd last
//! node rises to the next level unchanged:
//!
//! ```text
//! root    [01234]              = hash([0123], 4)
//! level 2 [0123]   4           4 rises once more
//! level 1 [01] [23] 4          4 has no neighbour and rises
//! leaves   0  1  2  3  4
//! ```
//!
//! The root over one leaf is that leaf, and the root over no leaves is the hash of no bytes.
//!
//! # What a root commits to
//!
//! The root **and the number of leaves** together commit to every leaf and its place. To check a proof you must
//! know both from a trusted source; [`verify`] takes both.
//!
//! - The number determines the shape of the tree. Two lists of that many leaves with the same root would be a
//!   collision of BLAKE3.
//! - The root alone does not determine which level the leaves are on: the leaves `0 1 2 3` have the same root as
//!   the two leaves `[01] [23]`.
//! - Trees that double an odd last leaf (CVE-2012-2459 of Bitcoin) give `0 1 2` the root of `0 1 2 2`. Here the
//!   last leaf rises, so these two lists have different roots, and different numbers too.
//!
//! To commit to both in one value, hash the root with the number.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use treewide::{hash_many, merkle};
//!
//! let records: Vec<String> = (0..1000).map(|number| format!("record {number}")).collect();
//! let leaves = hash_many(&records);
//! let tree = merkle::Tree::new(&leaves);
//! let root = tree.root();
//!
//! let proof = tree.proof(700).expect("there is such a leaf");
//! assert!(proof.siblings.len() <= 10);
//! assert!(proof.verify(&leaves[700], 700, &root, 1000));
//! assert!(!proof.verify(&leaves[700], 701, &root, 1000));
//! assert!(!proof.verify(&leaves[701], 701, &root, 1000));
//! # }
//! ```
//!
//! BLAKE3 itself is such a tree with other flags; [`hazmat::groups`](crate::hazmat::groups) computes its nodes, for programs that store them
//! next to a file (an outboard).

use crate::hash::{Hash, as_arrays};
use crate::kernel::{Runnable, running};
use crate::oneshot::hash;
#[cfg(feature = "rayon")]
use crate::parallel::{leaves::each, policy::threads};
use crate::spec::flags::{CHUNK_END, CHUNK_START, ROOT};
use crate::spec::{IV, OUT_LEN};
use crate::tree::WIDE;

/// A leaf: 32 bytes, as an array or as a [`Hash`](struct@Hash).
pub trait Leaf: Sized {
    /// Returns the bytes of each leaf.
    fn arrays(leaves: &[Self]) -> &[[u8; OUT_LEN]];
}

impl Leaf for [u8; OUT_LEN] {
    fn arrays(leaves: &[Self]) -> &[[u8; OUT_LEN]] {
        leaves
    }
}

impl Leaf for Hash {
    fn arrays(leaves: &[Self]) -> &[[u8; OUT_LEN]] {
        as_arrays(leaves)
    }
}

/// The flags of a pair of nodes that is hashed as an input of 64 bytes: a chunk of one block that is the root.
const FLAGS: u8 = CHUNK_START | CHUNK_END | ROOT;

/// The number of nodes that are reduced in one buffer of 16 KiB, which fits the first-level cache. A guess.
const BUFFER: usize = 512;

/// Returns the root over `leaves`, in constant memory.
///
/// ```
/// # #[cfg(feature = "std")] {
/// let leaves = treewide::hash_many(&["apple", "pear", "plum"]);
/// let root = treewide::merkle::root(&leaves);
/// # assert_eq!(treewide::merkle::Tree::new(&leaves).root(), root);
/// # }
/// ```
pub fn root<L: Leaf>(leaves: &[L]) -> Hash {
    root_of(L::arrays(leaves))
}

fn root_of(leaves: &[[u8; OUT_LEN]]) -> Hash {
    if leaves.is_empty() {
        return hash(&[]);
    }
    let kernel = running();
    let mut nodes = [[0; OUT_LEN]; WIDE];
    let count = reduce(kernel, leaves, &mut nodes);
    shrink(kernel, &mut nodes[..count], 1);
    Hash::from_bytes(nodes[0])
}

/// [`root`] with the threads of the current rayon pool, where that is faster.
#[cfg(feature = "rayon")]
pub fn root_parallel<L: Leaf>(leaves: &[L]) -> Hash {
    let leaves = L::arrays(leaves);
    if leaves.len() <= PART {
        return root_of(leaves);
    }
    // Each is a whole subtree, and the last one rises to where it is paired.
    let mut roots = vec![[0; OUT_LEN]; leaves.len().div_ceil(PART)];
    let parts = leaves.chunks(PART).zip(&mut roots);
    each(threads(cost(leaves)), parts, |(part, out)| *out = *root_of(part).as_bytes());
    root_of(&roots)
}

/// The number of leaves in a part, a subtree that is hashed separately: a power of two. A guess: its 128 KiB of leaves fit
/// the second-level cache.
const PART: usize = 4096;

/// The bytes of a long input that take as long as a part: a block for each parent.
#[cfg(feature = "rayon")]
fn cost(leaves: &[[u8; OUT_LEN]]) -> usize {
    2 * size_of_val(leaves)
}

/// Reduces a subtree to at most [`WIDE`] nodes, and returns their number: exactly `WIDE` if the number of leaves is a
/// power of two and at least `WIDE`.
fn reduce(kernel: Runnable, leaves: &[[u8; OUT_LEN]], out: &mut [[u8; OUT_LEN]; WIDE]) -> usize {
    if leaves.len() <= BUFFER {
        return reduce_short(kernel, leaves, out);
    }
    // The left side has a power of two of leaves, so its nodes are in pairs.
    let (left, right) = leaves.split_at(leaves.len().div_ceil(2).next_power_of_two());
    let mut nodes = [[0; OUT_LEN]; WIDE];
    let count = reduce(kernel, left, &mut nodes);
    level(kernel, &nodes[..count], out);
    let count = reduce(kernel, right, &mut nodes);
    level(kernel, &nodes[..count], &mut out[WIDE / 2..]);
    WIDE / 2 + count.div_ceil(2)
}

/// [`reduce`] for at most [`BUFFER`] leaves. Not inlined, so that its buffer is not part of every stack frame above.
#[inline(never)]
fn reduce_short(
    kernel: Runnable,
    leaves: &[[u8; OUT_LEN]],
    out: &mut [[u8; OUT_LEN]; WIDE],
) -> usize {
    let mut count = leaves.len();
    if count <= WIDE {
        out[..count].copy_from_slice(leaves);
        return count;
    }
    let mut buffer = [[0; OUT_LEN]; BUFFER / 2];
    level(kernel, leaves, &mut buffer);
    count = shrink(kernel, &mut buffer[..count.div_ceil(2)], WIDE);
    out[..count].copy_from_slice(&buffer[..count]);
    count
}

/// Reduces level by level to at most `most` nodes, in place; returns their number.
fn shrink(kernel: Runnable, nodes: &mut [[u8; OUT_LEN]], most: usize) -> usize {
    let mut count = nodes.len();
    while count > most {
        // The kernel's entry that works in place sets the flag of parents, so this uses another one.
        let mut above = [[0; OUT_LEN]; BUFFER / 4];
        level(kernel, &nodes[..count], &mut above);
        count = count.div_ceil(2);
        nodes[..count].copy_from_slice(&above[..count]);
    }
    count
}

/// Writes the level above `nodes` to the start of `above`.
fn level(kernel: Runnable, nodes: &[[u8; OUT_LEN]], above: &mut [[u8; OUT_LEN]]) {
    kernel.pairs(nodes, &IV, FLAGS, above);
    if nodes.len() % 2 == 1 {
        above[nodes.len() / 2] = nodes[nodes.len() - 1];
    }
}

/// Returns the number of nodes on all levels above `leaves` leaves: less than `leaves` plus the number of levels.
pub const fn node_count(leaves: usize) -> usize {
    let (mut nodes, mut width) = (0, leaves);
    while width > 1 {
        width = width.div_ceil(2);
        nodes += width;
    }
    nodes
}

/// Writes all levels above `leaves` to `nodes`, one after the other: the parents of the leaves first, the root last.
/// A node that rises is on each of its levels.
///
/// # Panics
/// If the length of `nodes` is not [`node_count`].
pub fn fill_nodes<L: Leaf>(leaves: &[L], nodes: &mut [[u8; OUT_LEN]]) {
    fill_by(L::arrays(leaves), nodes, |parts| parts.for_each(|part| part.fill(running())));
}

/// [`fill_nodes`] with the threads of the current rayon pool, where that is faster.
///
/// # Panics
/// If the length of `nodes` is not [`node_count`].
#[cfg(feature = "rayon")]
pub fn fill_nodes_parallel<L: Leaf>(leaves: &[L], nodes: &mut [[u8; OUT_LEN]]) {
    let leaves = L::arrays(leaves);
    if leaves.len() <= PART {
        return fill_nodes(leaves, nodes);
    }
    let threads = threads(cost(leaves));
    fill_by(leaves, nodes, |parts| {
        let threads = if parts.leaves.len() <= PART { 1 } else { threads };
        each(threads, parts, |part| part.fill(running()));
    });
}

/// Fills `nodes` from parts that `fill` fills, and then the levels above them in the same way.
fn fill_by<'a>(
    mut leaves: &'a [[u8; OUT_LEN]],
    nodes: &'a mut [[u8; OUT_LEN]],
    fill: impl Fn(Parts<'_, '_>),
) {
    assert_eq!(nodes.len(), node_count(leaves.len()), "a place for each node");
    let mut rest = nodes;
    while leaves.len() > 1 {
        let mut width = leaves.len();
        let mut levels = [(); LEVELS].map(|()| {
            // There is nothing above the root.
            width = if width > 1 { width.div_ceil(2) } else { 0 };
            rest.split_off_mut(..width).expect("a place for each node")
        });
        fill(Parts { leaves, levels: levels.each_mut().map(|level| &mut **level) });
        let [.., top] = levels;
        leaves = top;
    }
}

/// The number of levels of a part: from [`PART`] leaves down to one full pass.
const LEVELS: usize = (PART / WIDE).ilog2() as usize;

/// Subtrees of [`PART`] leaves, and the places of their levels. The nodes are still in the second-level cache when
/// their parents are computed.
struct Parts<'l, 'n> {
    leaves: &'l [[u8; OUT_LEN]],
    levels: [&'n mut [[u8; OUT_LEN]]; LEVELS],
}

impl<'l, 'n> Iterator for Parts<'l, 'n> {
    type Item = Self;

    fn next(&mut self) -> Option<Self> {
        if self.leaves.is_empty() {
            return None;
        }
        let leaves = self.leaves.split_off(..self.leaves.len().min(PART)).expect("that many");
        let mut most = PART;
        let levels = self.levels.each_mut().map(|level| {
            most /= 2;
            level.split_off_mut(..level.len().min(most)).expect("that many")
        });
        Some(Self { leaves, levels })
    }
}

impl Parts<'_, '_> {
    fn fill(self, kernel: Runnable) {
        let mut below = self.leaves;
        for above in self.levels {
            if above.is_empty() {
                return;
            }
            level(kernel, below, above);
            below = above;
        }
    }
}

/// Returns whether `leaf` is leaf number `index` of `leaves` leaves under `root`. `siblings` are the nodes that it is
/// paired with, from the leaves up. `root` and `leaves` must come from a trusted source; the rest may come from
/// anyone.
pub fn verify<L: Leaf>(
    leaf: &L,
    index: u64,
    siblings: &[[u8; OUT_LEN]],
    root: &Hash,
    leaves: u64,
) -> bool {
    if index >= leaves {
        return false;
    }
    let kernel = running();
    let mut node = L::arrays(core::slice::from_ref(leaf))[0];
    let mut siblings = siblings.iter();
    let (mut index, mut width) = (index, leaves);
    while width > 1 {
        // The last of an odd number of nodes rises; all others have a sibling.
        if index ^ 1 < width {
            let Some(sibling) = siblings.next() else { return false };
            let pair = if index % 2 == 0 { [node, *sibling] } else { [*sibling, node] };
            kernel.pairs(&pair, &IV, FLAGS, core::slice::from_mut(&mut node));
        }
        index /= 2;
        width = width.div_ceil(2);
    }
    siblings.next().is_none() && *root == node
}

#[cfg(feature = "std")]
pub use with_std::{Proof, Tree};

#[cfg(feature = "std")]
mod with_std {
    use super::{Leaf, OUT_LEN, fill_nodes, node_count, verify};
    use crate::hash::Hash;
    use crate::oneshot::hash;

    /// A tree with all its levels.
    #[derive(Clone, Debug)]
    pub struct Tree<'a> {
        leaves: &'a [[u8; OUT_LEN]],
        nodes: Vec<[u8; OUT_LEN]>,
    }

    impl<'a> Tree<'a> {
        /// Makes the tree over `leaves`, on the calling thread.
        pub fn new<L: Leaf>(leaves: &'a [L]) -> Self {
            let leaves = L::arrays(leaves);
            let mut nodes = vec![[0; OUT_LEN]; node_count(leaves.len())];
            fill_nodes(leaves, &mut nodes);
            Self { leaves, nodes }
        }

        /// Makes the tree over `leaves`, with the threads of the current rayon pool.
        #[cfg(feature = "rayon")]
        pub fn new_parallel<L: Leaf>(leaves: &'a [L]) -> Self {
            let leaves = L::arrays(leaves);
            let mut nodes = vec![[0; OUT_LEN]; node_count(leaves.len())];
            super::fill_nodes_parallel(leaves, &mut nodes);
            Self { leaves, nodes }
        }

        /// Returns the root: the last node, the only leaf, or the hash of no bytes.
        pub fn root(&self) -> Hash {
            match self.nodes.last().or(self.leaves.last()) {
                Some(node) => Hash::from_bytes(*node),
                None => hash(&[]),
            }
        }

        /// Returns all nodes above the leaves in one buffer, as [`fill_nodes`] writes them.
        pub fn nodes(&self) -> &[[u8; OUT_LEN]] {
            &self.nodes
        }

        /// Returns the levels from the leaves to the root; none if there are no leaves.
        pub fn levels(&self) -> impl Iterator<Item = &[[u8; OUT_LEN]]> {
            let mut next = (!self.leaves.is_empty()).then_some(self.leaves);
            let mut rest = &self.nodes[..];
            core::iter::from_fn(move || {
                let level = next?;
                next = match level.len() {
                    1 => None,
                    width => rest.split_off(..width.div_ceil(2)),
                };
                Some(level)
            })
        }

        /// Returns the proof that leaf number `index` is under the root, or `None` if there is no such leaf.
        pub fn proof(&self, index: usize) -> Option<Proof> {
            self.leaves.get(index)?;
            let siblings = self.levels().enumerate();
            let siblings = siblings.filter_map(|(up, level)| level.get(index >> up ^ 1)).copied();
            Some(Proof {
                index: index as u64,
                leaves: self.leaves.len() as u64,
                siblings: siblings.collect(),
            })
        }
    }

    /// A proof that a leaf has its place under a root.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Proof {
        /// The number of the leaf.
        pub index: u64,
        /// The number of leaves of the tree.
        pub leaves: u64,
        /// The nodes with which the leaf, and then each node above it, is paired. Nodes that rise have none.
        pub siblings: Vec<[u8; OUT_LEN]>,
    }

    impl Proof {
        /// Returns whether `leaf` is leaf number `index` of `leaves` leaves under `root`, and the proof is for that
        /// place.
        ///
        /// `root` and `leaves` must come from a trusted source, and `index` is the place that you ask about. None of
        /// them may come from the sender of the proof: a sender who names the index can answer with another leaf of
        /// the same tree.
        pub fn verify<L: Leaf>(&self, leaf: &L, index: u64, root: &Hash, leaves: u64) -> bool {
            (self.index, self.leaves) == (index, leaves)
                && verify(leaf, index, &self.siblings, root, leaves)
        }
    }
}
