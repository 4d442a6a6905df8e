//! The way from tiles to the root: tiles come in order, and a pair is complete when the tile that ends it is there.

use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::hash_pair;
use crate::mode::Mode;
use crate::spec::{MAX_HEIGHT, OUT_LEN};

/// The nodes of at most `most` groups, from left to right; their parents have more.
pub(super) struct Tiles {
    layout: Layout,
    most: u64,
    /// What comes later, the nearest last: nodes on the right of the way down, at most one for each level.
    later: [Node; MAX_HEIGHT + 1],
    count: usize,
}

impl Tiles {
    pub(super) fn new(layout: &Layout, most: u64) -> Self {
        Self::below(layout, layout.root(), most)
    }

    /// The same below `node`.
    pub(super) fn below(layout: &Layout, node: Node, most: u64) -> Self {
        Self { layout: *layout, most, later: [node; MAX_HEIGHT + 1], count: 1 }
    }
}

impl Iterator for Tiles {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        self.count = self.count.checked_sub(1)?;
        let mut node = self.later[self.count];
        while node.groups() > self.most {
            let [left, right] = self.layout.children(node).expect("more than one group");
            self.later[self.count] = right;
            self.count += 1;
            node = left;
        }
        Some(node)
    }
}

/// The nodes above the tiles that wait for a chaining value.
pub(super) struct Climb {
    layout: Layout,
    mode: Mode,
    /// The nodes on the way down to the next tile, with the left chaining value where the way turns right.
    above: [(Node, Option<[u8; OUT_LEN]>); MAX_HEIGHT],
    height: usize,
    most: u64,
}

impl Climb {
    /// Waits for the tiles of at most `most` groups.
    pub(super) fn new(layout: &Layout, most: u64, mode: &Mode) -> Self {
        let root = layout.root();
        let above = [(root, None); MAX_HEIGHT];
        let mut climb = Self { layout: *layout, mode: *mode, above, height: 0, most };
        climb.descend(root);
        climb
    }

    fn descend(&mut self, mut node: Node) {
        while node.groups() > self.most {
            self.above[self.height] = (node, None);
            self.height += 1;
            [node, _] = self.layout.children(node).expect("more than one group");
        }
    }

    /// Takes the hash of the next tile, and calls `emit` with each node whose pair is complete, and the pair. Returns the
    /// digest when it was the last tile.
    pub(super) fn push<E>(
        &mut self,
        mut hash: [u8; OUT_LEN],
        mut emit: impl FnMut(Node, &[u8; PAIR_LEN]) -> Result<(), E>,
    ) -> Result<Option<[u8; OUT_LEN]>, E> {
        while let Some(top) = self.height.checked_sub(1) {
            let (node, left) = &mut self.above[top];
            let node = *node;
            let Some(left) = *left else {
                *left = Some(hash);
                let [_, right] = self.layout.children(node).expect("it is above tiles");
                self.descend(right);
                return Ok(None);
            };
            let mut pair = [0; PAIR_LEN];
            pair[..OUT_LEN].copy_from_slice(&left);
            pair[OUT_LEN..].copy_from_slice(&hash);
            emit(node, &pair)?;
            hash = hash_pair(&pair, &self.layout, node, &self.mode);
            self.height = top;
        }
        Ok(Some(hash))
    }
}
