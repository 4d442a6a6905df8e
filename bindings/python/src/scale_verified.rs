//! Proofs for ranges of objects, for `treewide.scale`: the pairs of an outboard that a range needs, and the values of its
//! groups that these pairs prove. Nothing is read here; the store is far away, so few requests ask for all that is needed.

use std::collections::BTreeMap;
use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treewide::hazmat::{self, ChainingValue};
use treewide::outboard::{Layout, Node, PAIR_LEN};
use treewide::{Hash, OUT_LEN};

use crate::outboard::group_of;
use crate::parts::{Ends, ends};

/// Pairs whose places are nearer than this are asked for at once: a request takes longer than these bytes. A guess.
const GAP: u64 = 4096;

fn layout(size: u64, group: u64) -> PyResult<Layout> {
    Ok(Layout::new(size, group_of(group)?))
}

/// Calls `pair` with each node above the groups, from the root down and from left to right.
fn above(layout: &Layout, node: Node, groups: &Range<u64>, pair: &mut impl FnMut(u64)) {
    let touches =
        node.first_group() < groups.end && groups.start < node.first_group() + node.groups();
    if let Some(below) = layout.children(node).filter(|_| touches) {
        pair(layout.position(node).expect("a node with children"));
        below.into_iter().for_each(|node| above(layout, node, groups, pair));
    }
}

/// Returns the bytes of an outboard, and its ranges that verify a range of an input: few, in order.
#[pyfunction]
#[pyo3(signature = (size, group, start, stop, /))]
pub(crate) fn _outboard_places(
    size: u64,
    group: u64,
    start: u64,
    stop: u64,
) -> PyResult<(u64, Vec<Ends>)> {
    let layout = layout(size, group)?;
    let mut places = Vec::new();
    above(&layout, layout.root(), &layout.groups_of(&(start..stop)), &mut |place| {
        places.push(place)
    });
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for place in places {
        let at = place * PAIR_LEN as u64;
        match ranges.last_mut() {
            Some(last) if at <= last.end + GAP => last.end = at + PAIR_LEN as u64,
            _ => ranges.push(at..at + PAIR_LEN as u64),
        }
    }
    Ok((layout.bytes(), ranges.into_iter().map(ends).collect()))
}

/// What is proven so far.
struct Proof<'a> {
    layout: Layout,
    groups: Range<u64>,
    /// By the place where they begin.
    pairs: BTreeMap<u64, &'a [u8]>,
    trusted: Vec<(Range<u64>, ChainingValue)>,
    unknown: Vec<Range<u64>>,
}

impl Proof<'_> {
    fn pair(&self, node: Node) -> Option<(ChainingValue, ChainingValue)> {
        let at = self.layout.position(node)? * PAIR_LEN as u64;
        let (start, bytes) = self.pairs.range(..=at).next_back()?;
        let pair = bytes.get((at - start) as usize..)?.get(..PAIR_LEN)?;
        let (left, right) = pair.split_at(OUT_LEN);
        Some((left.try_into().ok()?, right.try_into().ok()?))
    }

    /// Goes down from a node whose hash is `hash`.
    fn descend(&mut self, node: Node, hash: ChainingValue) {
        let (first, end) = (node.first_group(), node.first_group() + node.groups());
        if end <= self.groups.start || self.groups.end <= first {
            return;
        }
        let Some([left, right]) = self.layout.children(node) else {
            self.trusted.push((self.layout.span(node), hash));
            return;
        };
        let mode = hazmat::Mode::Hash;
        let proven = self.pair(node).filter(|(left, right)| {
            let found = match self.layout.is_root(node) {
                true => hazmat::merge_subtrees_root(left, right, mode),
                false => Hash::from_bytes(hazmat::merge_subtrees_non_root(left, right, mode)),
            };
            found == hash
        });
        match proven {
            Some((of_left, of_right)) => {
                self.descend(left, of_left);
                self.descend(right, of_right);
            }
            None => {
                let (first, end) = (first.max(self.groups.start), end.min(self.groups.end));
                let start = self.layout.group_range(first).start;
                self.unknown.push(start..self.layout.group_range(end - 1).end);
            }
        }
    }
}

/// A group, and the value that its bytes must have.
type Trusted<'py> = (u64, u64, Bound<'py, PyBytes>);

/// Returns the groups of a range with the values that `pairs` prove for them, and the ranges that stay unknown, because
/// the pairs above them are not those of the digest. `pairs` has pieces of the outboard by their places.
///
/// An input of one group has no pair: that is for the caller.
#[pyfunction]
#[pyo3(signature = (expected, size, group, start, stop, pairs, /))]
pub(crate) fn _outboard_trusted<'py>(
    py: Python<'py>,
    expected: [u8; OUT_LEN],
    size: u64,
    group: u64,
    start: u64,
    stop: u64,
    pairs: Vec<(u64, Vec<u8>)>,
) -> PyResult<(Vec<Trusted<'py>>, Vec<Ends>)> {
    let layout = layout(size, group)?;
    if layout.groups() == 1 {
        return Err(PyValueError::new_err("an input of one group has no pairs: hash it"));
    }
    let pairs = pairs.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
    let groups = layout.groups_of(&(start..stop));
    let mut proof = Proof { layout, groups, pairs, trusted: Vec::new(), unknown: Vec::new() };
    py.detach(|| proof.descend(layout.root(), expected));
    let Proof { trusted, unknown, .. } = proof;
    let trusted = trusted.into_iter().map(|(it, cv)| (it.start, it.end, PyBytes::new(py, &cv)));
    Ok((trusted.collect(), unknown.into_iter().map(ends).collect()))
}
