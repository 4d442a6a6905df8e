//! The hashes of groups and pairs, as their parent holds them: the digest at the root, chaining values below.

use super::layout::{Layout, Node, PAIR_LEN};
use crate::kernel::running;
use crate::mode::Mode;
use crate::spec::OUT_LEN;
use crate::tree;

/// The hash of the group `node`, whose bytes are `data`.
pub(super) fn hash_group(data: &[u8], layout: &Layout, node: Node, mode: &Mode) -> [u8; OUT_LEN] {
    debug_assert!(node.is_group());
    let counter = node.first_group() * layout.group().chunks();
    hash_node(tree::root(running(), data, counter, mode), layout.is_root(node))
}

/// The hash of `node` from its pair.
pub(super) fn hash_pair(
    pair: &[u8; PAIR_LEN],
    layout: &Layout,
    node: Node,
    mode: &Mode,
) -> [u8; OUT_LEN] {
    let (left, right) = halves(pair);
    hash_node(tree::Node::parent(left, right, mode), layout.is_root(node))
}

fn hash_node(node: tree::Node, is_root: bool) -> [u8; OUT_LEN] {
    let kernel = running();
    if is_root { node.root_hash(kernel) } else { node.chaining_value(kernel) }
}

/// The chaining values of a pair.
pub(super) fn halves(pair: &[u8; PAIR_LEN]) -> (&[u8; OUT_LEN], &[u8; OUT_LEN]) {
    let (left, right) = pair.split_first_chunk().expect("two");
    (left, right.first_chunk().expect("two"))
}
