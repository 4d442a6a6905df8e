//! The twin of `kernels/cuda/whole.cu`: chunks, and all of the tree above them. Workgroups come in no order.

use super::chunk::chunk;
use super::compress::{Cv, Node};
use super::reduce::Results;
use crate::driver::{Span, TILE};
use crate::plan::values;

const THREADS: u64 = TILE as u64;

pub(super) fn run(input: &[u8], span: &Span, key: &Cv, flags: u32, mut results: Results<'_>) {
    let chunks = span.len.div_ceil(1024).max(1);
    let workgroups = chunks.div_ceil(THREADS);
    let mut counters = vec![0; values(workgroups) as usize];
    for i in 0..workgroups {
        // The last one, the first, the last but one, and so on.
        let workgroup = if i % 2 == 0 { workgroups - 1 - i / 2 } else { i / 2 };
        let first = workgroup * THREADS;
        let leaf = |number: u64| {
            let at = number * 1024;
            let len = (span.len - at).min(1024) as usize;
            chunk(input, (span.start + at) as usize, len, span.counter + number, key, flags)
        };
        if chunks == 1 {
            results.top(span, &leaf(0));
            continue;
        }
        let mut nodes: Vec<Cv> =
            (first..chunks.min(first + THREADS)).map(|it| leaf(it).cv()).collect();
        // A level: how many values it has, which tile of them, and where its value and counter are.
        let (mut count, mut tile, mut at, mut counter) = (chunks, workgroup, 0, 0);
        loop {
            let top = pair_up(&mut nodes, key, flags);
            let tiles = count.div_ceil(THREADS);
            if tiles == 1 {
                results.top(span, &top.expect("more than one value"));
                break;
            }
            let next = tile / THREADS;
            let here = THREADS.min(tiles - next * THREADS);
            results.cv((at + tile) as u32, &nodes[0]);
            let arrived = &mut counters[(counter + next) as usize];
            *arrived += 1;
            if *arrived < here {
                break;
            }
            *arrived = 0;
            let value = |i: u64| results.of((at + next * THREADS + i) as u32);
            nodes = (0..here).map(value).collect();
            at += tiles;
            counter += tiles.div_ceil(THREADS);
            (count, tile) = (tiles, next);
        }
    }
    assert!(counters.iter().all(|counter| *counter == 0), "as the next launch wants them");
}

/// Pairs values level by level, up to one, the first; the node on top, if there is more than one.
fn pair_up(nodes: &mut [Cv], key: &Cv, flags: u32) -> Option<Node> {
    let (mut top, mut width) = (None, 1);
    while width < nodes.len() {
        for left in (0..nodes.len() - width).step_by(2 * width) {
            let node = Node::parent(&nodes[left], &nodes[left + width], key, flags);
            nodes[left] = node.cv();
            top = if left == 0 { Some(node) } else { top };
        }
        width *= 2;
    }
    top
}
