//! An outboard that has only the pairs above a few groups, so that inputs of any length can be tried.

use crate::common::Random;
use std::collections::BTreeMap;
use std::ops::Range;
use treewide::hazmat::{self, HasherExt};
use treewide::outboard::{IoError, Layout, Node, ReadAt, WriteAt};
use treewide::{Hash, Hasher};

pub(crate) struct Sparse {
    pub(crate) digest: Hash,
    pub(crate) pairs: Pairs,
    pub(crate) data: Data,
}

/// Pairs by their place.
#[derive(Clone)]
pub(crate) struct Pairs(pub(crate) BTreeMap<u64, [u8; 64]>);

/// Bytes that are the lowest byte of the number of their KiB, at some place.
#[derive(Clone)]
pub(crate) struct Data(pub(crate) Range<u64>);

impl Sparse {
    /// The groups `groups` of an input; all other chaining values are random.
    pub(crate) fn new(layout: Layout, groups: Range<u64>, random: &mut Random) -> Self {
        let data =
            Data(layout.group_range(groups.start).start..layout.group_range(groups.end - 1).end);
        let mut pairs = Pairs(BTreeMap::new());
        let root = layout.root();
        let top = below(&layout, root, &groups, &data, &mut pairs, random);
        let digest = match pairs.0.get(&layout.position(root).unwrap_or(u64::MAX)) {
            Some(pair) => {
                let (left, right) = pair.split_first_chunk().expect("two");
                let right = right.first_chunk().expect("two");
                hazmat::merge_subtrees_root(left, right, hazmat::Mode::Hash)
            }
            None => Hash::from_bytes(top),
        };
        Self { digest, pairs, data }
    }
}

/// The chaining value of `node`.
fn below(
    layout: &Layout,
    node: Node,
    groups: &Range<u64>,
    data: &Data,
    pairs: &mut Pairs,
    random: &mut Random,
) -> [u8; 32] {
    if node.first_group() >= groups.end || node.first_group() + node.groups() <= groups.start {
        return random.bytes(32).try_into().expect("32 bytes");
    }
    let Some(children) = layout.children(node) else {
        let span = layout.span(node);
        let mut hasher = Hasher::new();
        hasher.set_input_offset(span.start);
        let mut buffer = vec![0; (span.end - span.start) as usize];
        data.read_exact_at(&mut buffer, span.start).expect("it is there");
        return hasher.update(&buffer).finalize_non_root();
    };
    let [left, right] = children.map(|child| below(layout, child, groups, data, pairs, random));
    let mut pair = [0; 64];
    pair[..32].copy_from_slice(&left);
    pair[32..].copy_from_slice(&right);
    pairs.0.insert(layout.position(node).expect("a pair"), pair);
    hazmat::merge_subtrees_non_root(&left, &right, hazmat::Mode::Hash)
}

impl ReadAt for Pairs {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        assert_eq!((at % 64, buf.len() % 64), (0, 0), "whole pairs");
        for (number, pair) in buf.chunks_mut(64).enumerate() {
            let place = at / 64 + number as u64;
            let Some(found) = self.0.get(&place) else {
                return Err(IoError::new("this pair is not needed, and does not exist"));
            };
            pair.copy_from_slice(found);
        }
        Ok(())
    }
}

impl WriteAt for Pairs {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        assert_eq!((at % 64, buf.len() % 64), (0, 0), "whole pairs");
        for (number, pair) in buf.chunks(64).enumerate() {
            self.0.insert(at / 64 + number as u64, pair.try_into().expect("64 bytes"));
        }
        Ok(())
    }

    fn set_size(&mut self, _: u64) -> Result<(), IoError> {
        Ok(())
    }
}

impl ReadAt for Data {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        if at < self.0.start || self.0.end - at < buf.len() as u64 {
            return Err(IoError::new("these bytes are not needed, and do not exist"));
        }
        for (byte, at) in buf.iter_mut().zip(at..) {
            *byte = (at / 1024) as u8;
        }
        Ok(())
    }
}
