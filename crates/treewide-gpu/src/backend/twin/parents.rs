//! The twin of `kernels/wgsl/parents.wgsl` and `kernels/cuda/parents.cu`: chaining values, two to a slot, and the tree above them
//! within a tile.

use super::compress::{Cv, Node};
use super::reduce::{Results, find, tile};
use crate::driver::{Kind, Span, TILE};

pub(super) fn run(
    input: &[u32],
    spans: &[Span],
    slots: u32,
    key: &Cv,
    flags: u32,
    mut results: Results<'_>,
) {
    let slots_of = |span: &Span| span.len.div_ceil(2) as u32;
    let value = |at: u64| std::array::from_fn(|i| input[8 * at as usize + i]);
    for workgroup in 0..slots.div_ceil(TILE) {
        let slot_of = |slot| find(spans, slot, slots_of);
        tile(workgroup, key, flags, &mut results, slot_of, |slot, results| {
            let span = slot.span;
            let first = 2 * u64::from(slot.index);
            let left = value(span.start + first);
            if first + 1 == span.len {
                return Some(left); // it rises
            }
            let node = Node::parent(&left, &value(span.start + first + 1), key, flags);
            if span.kind != Kind::Cv && slot.index == 0 && slot.left == 1 {
                results.top(span, &node);
                return None;
            }
            Some(node.cv())
        });
    }
}
