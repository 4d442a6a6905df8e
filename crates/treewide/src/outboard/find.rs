//! Hashes of nodes by their place, each verified from the digest down. Neighbours are cheap: the way to the last node is kept.

use super::compared::Compared;
use super::error::Error;
use super::io::ReadAt;
use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::halves;
use super::stored::Outboard;
use crate::spec::OUT_LEN;

pub(super) struct Finder<'a, S> {
    compared: Compared<'a, [u8], S>,
    root: [u8; OUT_LEN],
    /// Nodes from the root on, each a child of the one before, with their verified pairs.
    path: Vec<(Node, [u8; PAIR_LEN])>,
}

impl<'a, S: ReadAt> Finder<'a, S> {
    pub(super) fn new(outboard: &'a Outboard<S>) -> Self {
        let Outboard { root, layout, mode, store } = outboard;
        let compared = Compared { data: &[][..], store, layout: *layout, mode: *mode };
        Self { compared, root: *root.as_bytes(), path: Vec::new() }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.compared.layout
    }

    /// The node of `groups` groups from `first` on, and its hash as its parent holds it, or the digest. `None` if it is not in
    /// the tree.
    pub(super) fn find(
        &mut self,
        first: u64,
        groups: u64,
    ) -> Result<Option<(Node, [u8; OUT_LEN])>, Error> {
        let end = first + groups;
        let (mut node, mut hash) = self.nearest(
            |node| {
                node.first_group() <= first
                    && end <= node.first_group() + node.groups()
                    && groups < node.groups()
            },
            first,
        );
        if end > node.first_group() + node.groups() {
            return Ok(None);
        }
        while (node.first_group(), node.groups()) != (first, groups) {
            if node.is_group() || end > node.first_group() + node.groups() {
                return Ok(None);
            }
            (node, hash) = self.down(node, &hash, first)?;
        }
        Ok(Some((node, hash)))
    }

    /// The child on the way to group `first` of the deepest node of the path that `has` it, or the root.
    fn nearest(&mut self, has: impl Fn(Node) -> bool, first: u64) -> (Node, [u8; OUT_LEN]) {
        while let Some((node, pair)) = self.path.last() {
            if has(*node) {
                return child(self.layout(), *node, pair, first);
            }
            self.path.pop();
        }
        (self.layout().root(), self.root)
    }

    /// The deepest node on the way to group `first` whose hash is known without reading.
    pub(super) fn start(&mut self, first: u64) -> (Node, [u8; OUT_LEN]) {
        self.nearest(
            |node| (node.first_group()..node.first_group() + node.groups()).contains(&first),
            first,
        )
    }

    /// From a node and its hash to its child on the way to group `first`.
    pub(super) fn down(
        &mut self,
        node: Node,
        hash: &[u8; OUT_LEN],
        first: u64,
    ) -> Result<(Node, [u8; OUT_LEN]), Error> {
        let Some(pair) = self.compared.pair(node, hash)? else {
            return Err(Error::Unknown(self.layout().span(node)));
        };
        self.path.push((node, pair));
        Ok(child(self.layout(), node, &pair, first))
    }
}

fn child(layout: &Layout, node: Node, pair: &[u8; PAIR_LEN], first: u64) -> (Node, [u8; OUT_LEN]) {
    let [left, right] = layout.children(node).expect("it has a pair");
    let hashes = halves(pair);
    if first < right.first_group() { (left, *hashes.0) } else { (right, *hashes.1) }
}
