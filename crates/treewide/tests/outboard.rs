//! Outboards: against the definition on every target, against `bao-tree` where it is built, and against everything
//! that may be wrong with data and outboard.
#![cfg(all(feature = "std", feature = "outboard"))]
#[path = "outboard/changing.rs"]
mod changing;
mod common;
#[path = "outboard/create.rs"]
mod create;
#[cfg(target_arch = "x86_64")]
#[path = "outboard/oracles.rs"]
mod oracles;
#[path = "outboard/reader.rs"]
mod reader;
mod reference;
#[path = "outboard/repair.rs"]
mod repair;
#[path = "outboard/sparse.rs"]
mod sparse;
#[path = "outboard/verify.rs"]
mod verify;

use treewide::Hash;
use treewide::hazmat::{self, HasherExt};
use treewide::outboard::{Group, Layout, Node};

fn group(log2: u8) -> Group {
    Group::new(log2).expect("a group")
}

/// Lengths at the edges of groups of `bytes` bytes, up to `most` groups.
fn edges(bytes: usize, most: usize) -> impl Iterator<Item = usize> {
    let groups = (1..=most)
        .filter(|groups| *groups <= 9 || (groups - 1).count_ones() < 2 || groups.count_ones() < 3);
    let edges =
        groups.flat_map(move |groups| [groups * bytes - 1, groups * bytes, groups * bytes + 1]);
    [0, 1, 1023, 1024, 1025].into_iter().chain(edges)
}

/// The digest and the outboard by the definition: node by node, as [`Layout`] has them.
fn defined(data: &[u8], layout: &Layout, mode: &common::Mode) -> (Hash, Vec<u8>) {
    let mut out = vec![0; layout.bytes() as usize];
    let root = layout.root();
    if root.is_group() {
        return (mode.hasher().update(data).finalize(), out);
    }
    let top = below(data, layout, mode, root, &mut out).expect("pairs");
    let (left, right) = top.split_first_chunk().expect("two");
    let context = match mode {
        common::Mode::DeriveKey(context) => hazmat::hash_derive_key_context(context),
        _ => [0; 32],
    };
    let digest = hazmat::merge_subtrees_root(
        left,
        right.try_into().expect("32 bytes"),
        hazmat_mode(mode, &context),
    );
    (digest, out)
}

fn hazmat_mode<'a>(mode: &'a common::Mode, context: &'a [u8; 32]) -> hazmat::Mode<'a> {
    match mode {
        common::Mode::Hash => hazmat::Mode::Hash,
        common::Mode::KeyedHash(key) => hazmat::Mode::KeyedHash(key),
        common::Mode::DeriveKey(_) => hazmat::Mode::DeriveKeyMaterial(context),
    }
}

/// Writes the pairs of `node` and of all nodes below it, and returns the pair of `node`.
fn below(
    data: &[u8],
    layout: &Layout,
    mode: &common::Mode,
    node: Node,
    out: &mut [u8],
) -> Option<[u8; 64]> {
    let children = layout.children(node)?;
    let mut pair = [0; 64];
    for (child, half) in children.into_iter().zip(pair.chunks_mut(32)) {
        let span = layout.span(child);
        let mut hasher = mode.hasher();
        hasher.set_input_offset(span.start);
        hasher.update(&data[span.start as usize..span.end as usize]);
        half.copy_from_slice(&hasher.finalize_non_root());
        below(data, layout, mode, child, out);
    }
    let at = layout.position(node)? as usize * 64;
    out[at..at + 64].copy_from_slice(&pair);
    Some(pair)
}
