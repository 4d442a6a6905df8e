//! Chooses the width of each pass so that the total cost is lowest.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use super::contract::{Compress, First, Flags, MOST_LANES, Plan, Width};
use super::inputs::{Contiguous, Node, Nodes};
use crate::spec::{BLOCK_LEN, ChainingValue, Words, bytes};

/// The plan for these widths, from few nodes to many: a pass, and what is planned for the rest.
pub(super) const fn plan(widths: &[Width]) -> Plan {
    let mut plan = [First { take: 1, step: 0 }; MOST_LANES + 1];
    let mut nodes = 1;
    while nodes <= MOST_LANES {
        plan[nodes].step = usize::MAX;
        let mut i = 0;
        while i < widths.len() {
            let take = if widths[i].lanes < nodes { widths[i].lanes } else { nodes };
            let step = widths[i].step + plan[nodes - take].step;
            assert!(
                take > 0 && (i == 0 || widths[i - 1].lanes <= widths[i].lanes),
                "no pass is empty, and wider ones come later"
            );
            assert!(
                widths[i].rest == widths[i].step || (i == 1 && widths[i].lanes == 2),
                "passes of two come first, and only these leave a rest"
            );
            if step <= plan[nodes].step {
                plan[nodes] = First { take, step };
            }
            i += 1;
        }
        nodes += 1;
    }
    plan
}

/// Nodes that the next pass takes of the `rest` that are left, one at least: what the plan says for that many, or for all
/// except the last where it costs less to hash that alone. `blocks` gives how many blocks the last node but one has, and
/// the last.
#[inline(always)]
pub(crate) fn next_pass(
    widths: &[Width],
    plan: &Plan,
    rest: usize,
    blocks: impl Fn() -> (usize, usize),
) -> usize {
    let Some(first) = plan.get(rest) else { return widths[widths.len() - 1].lanes };
    if rest == 1 {
        return 1;
    }
    let (steps, last) = blocks();
    let apart = plan[rest - 1];
    // Known when a kernel is compiled: others need not tell one from the other.
    let unequal = widths.len() > 1 && widths[1].rest != widths[1].step;
    let two = unequal && rest == 2 && first.take == 2;
    let together = if two { widths[1].cost(steps + last, steps) } else { first.step * steps };
    let alone = last < steps && apart.step * steps + widths[0].step * last <= together;
    if alone { apart.take } else { first.take }
}

/// Hashes all nodes of `source` in groups as [`next_pass`] says; each takes the narrowest pass that
/// holds it.
///
/// `widths` are the kernel's passes in increasing order, the first of them `compress`, its one-lane
/// compression, and `plan` is [`plan`] of them; `pass(at, count, out)` runs one of the smallest width that holds
/// `count`.
#[inline(always)]
pub(super) unsafe fn nodes<S: Nodes>(
    source: &S,
    key: &Words,
    out: *mut ChainingValue,
    compress: Compress,
    widths: &[Width],
    plan: &Plan,
    pass: impl Fn(usize, usize, *mut ChainingValue),
) {
    let total = source.count();
    let mut at = 0;
    while at < total {
        // Nodes of the source, and places for their chaining values.
        let blocks = || (source.node(total - 2).blocks(), source.node(total - 1).blocks());
        let take = next_pass(widths, plan, total - at, blocks);
        if take == 1 {
            let Node { input, len, counter, flags } = source.node(at);
            let mut cv = *key;
            compress(&mut cv, input, len as usize, counter, flags);
            *out.add(at) = bytes(&cv);
        } else {
            pass(at, take, out.add(at));
        }
        at += take;
    }
}

/// Compresses `count` blocks that lie one behind another, each to a chaining value, likewise.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel, as for `nodes`")]
pub(super) unsafe fn parents(
    blocks: Contiguous,
    count: usize,
    key: &Words,
    out: *mut ChainingValue,
    compress: Compress,
    widths: &[Width],
    plan: &Plan,
    pass: impl Fn(&Contiguous, usize, *mut ChainingValue),
) {
    let mut at = 0;
    while at < count {
        let (blocks, out) = (blocks.from(at), out.add(at));
        let take = next_pass(widths, plan, count - at, || (1, 1));
        if take == 1 {
            let mut cv = *key;
            let flags = Flags { each: blocks.flags as u8, first: 0, last: 0, padded: false };
            compress(&mut cv, blocks.block(0), BLOCK_LEN, 0, flags);
            *out = bytes(&cv);
        } else {
            pass(&blocks, take, out);
        }
        at += take;
    }
}
