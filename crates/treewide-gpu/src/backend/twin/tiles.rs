//! The twin of `kernels/wgsl/tiles.wgsl` and `kernels/cuda/tiles.cu`: chunks, and the tree above them within a tile.

use super::chunk::chunk;
use super::compress::Cv;
use super::reduce::{Results, find, tile};
use crate::driver::{Kind, Span, TILE};

/// `input` is where the starts of the spans count from.
pub(super) fn run(
    input: &[u8],
    spans: &[Span],
    slots: u32,
    key: &Cv,
    flags: u32,
    mut results: Results<'_>,
) {
    let slots_of = |span: &Span| span.len.div_ceil(1024).max(1) as u32;
    for workgroup in 0..slots.div_ceil(TILE) {
        let slot_of = |slot| find(spans, slot, slots_of);
        tile(workgroup, key, flags, &mut results, slot_of, |slot, results| {
            let span = slot.span;
            let at = u64::from(slot.index) * 1024;
            let len = (span.len - at).min(1024) as usize;
            let counter = span.counter + u64::from(slot.index);
            let node = chunk(input, (span.start + at) as usize, len, counter, key, flags);
            if span.kind != Kind::Cv && slot.index == 0 && slot.left == 1 {
                results.top(span, &node);
                return None;
            }
            Some(node.cv())
        });
    }
}
