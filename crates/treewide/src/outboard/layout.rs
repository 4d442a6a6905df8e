//! Where the pairs of an outboard lie: arithmetic, for inputs of up to 2^64 - 1 bytes.
//!
//! The pairs are in pre-order, so those of a node and of all nodes below it are neighbours. A node over `m` groups has `m - 1` of
//! them, from its `base` on:
//!
//! ```text
//! | node | left subtree: left - 1 pairs | right subtree: m - left - 1 pairs |
//! ```

use core::iter::FusedIterator;
use core::ops::Range;

use crate::spec::{CHUNK_LEN, OUT_LEN};
use crate::tree;

/// Bytes of the two chaining values of a node.
pub const PAIR_LEN: usize = 2 * OUT_LEN;

/// How many chunks a group has: a power of two from 1 (1 KiB) to 65,536 (64 MiB).
///
/// ```
/// use treewide::outboard::Group;
///
/// assert_eq!(Group::IROH.bytes(), 16 * 1024);
/// assert_eq!(Group::of_bytes(16 * 1024), Some(Group::IROH));
/// assert_eq!(Group::of_bytes(10_000), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u8);

impl Group {
    /// One chunk, 1 KiB: an outboard has 6.25 % of the bytes of the data.
    pub const LEAST: Self = Self(0);

    /// 16 chunks, 16 KiB, as in the files of iroh: an outboard has 0.39 % of the bytes of the data.
    pub const IROH: Self = Self(4);

    /// 65,536 chunks, 64 MiB.
    pub const MOST: Self = Self(16);

    /// Makes a group of `2^log2` chunks; `None` if that is more than [`MOST`](Self::MOST).
    pub const fn new(log2: u8) -> Option<Self> {
        if log2 <= Self::MOST.0 { Some(Self(log2)) } else { None }
    }

    /// Makes a group of `bytes` bytes; `None` if that is not a power of two from 1 KiB to 64 MiB.
    pub const fn of_bytes(bytes: u64) -> Option<Self> {
        if !bytes.is_power_of_two() || bytes < CHUNK_LEN as u64 {
            return None;
        }
        Self::new((bytes / CHUNK_LEN as u64).trailing_zeros() as u8)
    }

    /// Returns the logarithm of the number of chunks.
    pub const fn log2(self) -> u8 {
        self.0
    }

    /// Returns the number of chunks.
    pub const fn chunks(self) -> u64 {
        1 << self.0
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        (CHUNK_LEN as u64) << self.0
    }
}

/// [`Group::IROH`].
impl Default for Group {
    fn default() -> Self {
        Self::IROH
    }
}

/// The shape of an outboard: how long the data is, and how large a group is.
///
/// ```
/// use treewide::outboard::{Group, Layout};
///
/// // 1 TB in groups of 16 KiB.
/// let layout = Layout::new(1_000_000_000_000, Group::IROH);
/// assert_eq!(layout.groups(), 61_035_157);
/// assert_eq!(layout.bytes(), 3_906_249_984);
/// assert_eq!(layout.path(12_345).count(), 26);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    len: u64,
    group: Group,
}

/// A node of the tree at or above the groups: the groups from `first_group` on, `groups` of them.
///
/// A node over one group is that group, and has no pair. [`Layout`] gives its nodes out from
/// [`root`](Layout::root) down; a node belongs to its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    first: u64,
    groups: u64,
    /// The place of the pair of the node. Those of the nodes below it follow.
    base: u64,
}

impl Node {
    /// Returns the number of the first group.
    pub const fn first_group(self) -> u64 {
        self.first
    }

    /// Returns the number of groups, at least one.
    pub const fn groups(self) -> u64 {
        self.groups
    }

    /// Whether it is a group.
    pub const fn is_group(self) -> bool {
        self.groups == 1
    }

    /// Returns the places of the pairs of the node and of all nodes below it, counted in pairs. They are neighbours.
    pub const fn pairs(self) -> Range<u64> {
        self.base..self.base + (self.groups - 1)
    }
}

impl Layout {
    /// Makes the layout of the outboard of `len` bytes.
    pub const fn new(len: u64, group: Group) -> Self {
        Self { len, group }
    }

    /// Returns the number of bytes of the data.
    // A layout is not a collection.
    #[expect(clippy::len_without_is_empty, reason = "it is a length of something else")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Returns the size of a group.
    pub const fn group(&self) -> Group {
        self.group
    }

    /// Returns the number of groups. No data is one group, an empty one.
    pub const fn groups(&self) -> u64 {
        match self.len.div_ceil(self.group.bytes()) {
            0 => 1,
            groups => groups,
        }
    }

    /// Returns the number of bytes of the outboard: 64 for each pair. Data of one group has an empty outboard.
    pub const fn bytes(&self) -> u64 {
        (self.groups() - 1) * PAIR_LEN as u64
    }

    /// Returns the bytes of the data that group `group` has; an empty range at the end if there is no such group.
    pub const fn group_range(&self, group: u64) -> Range<u64> {
        self.bytes_of(group, group.saturating_add(1))
    }

    /// Returns the bytes of the data that `node` has.
    pub const fn span(&self, node: Node) -> Range<u64> {
        self.bytes_of(node.first, node.first.saturating_add(node.groups))
    }

    const fn bytes_of(&self, first: u64, end: u64) -> Range<u64> {
        self.start_of(first)..self.start_of(end)
    }

    /// The first byte of a group, or the end of the data.
    const fn start_of(&self, group: u64) -> u64 {
        let start = group.saturating_mul(self.group.bytes());
        if start < self.len { start } else { self.len }
    }

    /// Returns the groups that have a byte of `range`; what is past the end of the data is left out.
    pub const fn groups_of(&self, range: &Range<u64>) -> Range<u64> {
        let end = if range.end < self.len { range.end } else { self.len };
        if range.start >= end {
            let at = if range.start < self.len { range.start } else { self.len };
            let group = at / self.group.bytes();
            return group..group;
        }
        range.start / self.group.bytes()..end.div_ceil(self.group.bytes())
    }

    /// Returns the node over all groups.
    pub const fn root(&self) -> Node {
        Node { first: 0, groups: self.groups(), base: 0 }
    }

    /// Whether `node` is the one over all groups, whose hash is the digest.
    pub const fn is_root(&self, node: Node) -> bool {
        node.groups == self.groups()
    }

    /// Returns the two nodes below `node`, left and right; `None` if it is a group.
    pub const fn children(&self, node: Node) -> Option<[Node; 2]> {
        if node.groups == 1 {
            return None;
        }
        // The same rule as above chunks.
        let left = tree::left_len(node.groups);
        Some([
            Node { first: node.first, groups: left, base: node.base + 1 },
            Node { first: node.first + left, groups: node.groups - left, base: node.base + left },
        ])
    }

    /// The node of the tree that has these groups.
    ///
    /// # Panics
    /// If there is none.
    #[cfg(feature = "file")]
    pub(crate) fn node(&self, first: u64, groups: u64) -> Node {
        let mut node = self.root();
        while (node.first, node.groups) != (first, groups) {
            let [left, right] = self.children(node).expect("a node of this tree");
            node = if first < right.first { left } else { right };
        }
        node
    }

    /// Returns the place of the pair of `node`, counted in pairs of [`PAIR_LEN`] bytes; `None` if it is a group.
    pub const fn position(&self, node: Node) -> Option<u64> {
        if node.is_group() { None } else { Some(node.base) }
    }

    /// Returns the nodes from the root to the one above `group`: the pairs that verify this group. There are none if
    /// there is one group, or no such group.
    pub const fn path(&self, group: u64) -> impl FusedIterator<Item = Node> + Clone + use<> {
        let next = if group < self.groups() { Some(self.root()) } else { None };
        Path { layout: *self, group, next }
    }
}

/// The nodes above a group, from the root down: [`Layout::path`].
#[derive(Clone)]
struct Path {
    layout: Layout,
    group: u64,
    next: Option<Node>,
}

impl Iterator for Path {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        let node = self.next?;
        let [left, right] = self.layout.children(node)?;
        self.next = Some(if self.group < right.first { left } else { right });
        Some(node)
    }
}

impl FusedIterator for Path {}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    /// Lengths at the edges of `group`, up to the longest.
    fn lengths(group: Group) -> Vec<u64> {
        let mut lengths =
            vec![0, 1, 2, 1 << 63, (1 << 63) - 1, (1 << 63) + 1, u64::MAX, u64::MAX - 1];
        for log2 in 0..54 {
            let bytes = (1_u64 << log2).saturating_mul(group.bytes());
            lengths.extend([bytes - 1, bytes, bytes.saturating_add(1)]);
        }
        lengths
    }

    #[test]
    fn layout_gives_each_pair_its_own_place() {
        for groups in 1..400 {
            let layout = Layout::new(groups * 1024 - 1, Group::LEAST);
            let mut places = Vec::new();
            let mut nodes = vec![layout.root()];
            while let Some(node) = nodes.pop() {
                places.extend(layout.position(node));
                assert_eq!(layout.position(node).is_none(), node.is_group());
                // Below a node its places follow each other.
                assert!(node.pairs().end < groups);
                if let Some([left, right]) = layout.children(node) {
                    assert_eq!(left.groups() + right.groups(), node.groups());
                    assert_eq!(right.first_group(), left.first_group() + left.groups());
                    // This is the order of the places too.
                    nodes.extend([right, left]);
                }
            }
            assert!(places.into_iter().eq(0..groups - 1), "{groups}");
        }
    }

    #[test]
    fn layout_has_no_length_too_long() {
        for log2 in 0..=Group::MOST.log2() {
            let group = Group::new(log2).expect("a group");
            assert_eq!(Group::of_bytes(group.bytes()), Some(group));
            for len in lengths(group) {
                let layout = Layout::new(len, group);
                let last = layout.groups() - 1;
                assert_eq!(layout.bytes(), last * 64);
                assert_eq!(layout.group_range(last).end, len);
                assert_eq!(layout.group_range(last + 1), len..len);
                assert_eq!(layout.group_range(u64::MAX).end, len);
                assert_eq!(layout.span(layout.root()), 0..len);
                assert_eq!(layout.groups_of(&(0..u64::MAX)).end, len.div_ceil(group.bytes()));
                assert!(layout.groups_of(&(u64::MAX..u64::MAX)).is_empty());
                for at in [0, last / 2, last] {
                    let path: Vec<_> = layout.path(at).collect();
                    assert!(path.len() <= 54);
                    let group = path.last().map_or(layout.root(), |&above| {
                        let [left, right] = layout.children(above).expect("a pair");
                        if at == left.first_group() { left } else { right }
                    });
                    assert_eq!((group.first_group(), group.groups()), (at, 1));
                    assert_eq!(layout.group_range(at), layout.span(group));
                }
                assert_eq!(layout.path(last + 1).count(), 0);
            }
        }
        assert_eq!(Group::new(17), None);
        for bytes in [0, 1, 512, 1023, 3072, 128 << 20, u64::MAX] {
            assert_eq!(Group::of_bytes(bytes), None);
        }
    }

    #[test]
    fn layout_finds_the_groups_of_a_range() {
        let layout = Layout::new(10_000, Group::LEAST);
        for (range, groups) in [
            (0..0, 0..0),
            (0..1, 0..1),
            (1023..1025, 0..2),
            (1024..2048, 1..2),
            (9_999..10_000, 9..10),
            (9_999..u64::MAX, 9..10),
            (5_000..5_000, 4..4),
            (20_000..30_000, 9..9),
        ] {
            assert_eq!(layout.groups_of(&range), groups, "{range:?}");
        }
    }
}
