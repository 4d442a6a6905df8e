//! Which nodes go into which pass: by what the passes of a kernel cost.

use super::Flags;
use super::group::{Node, Source};
use crate::spec::{ChainingValue, Words, bytes};

/// A one-lane compression of all blocks of a node; see [`super::Kernel`].
///
/// # Safety
/// The input has `len` readable bytes, if it is [padded](Flags::padded) whole blocks, one at least; the CPU has the
/// instructions.
pub(super) type Compress = unsafe fn(&mut Words, *const u8, usize, u64, Flags);

/// The lanes of a pass, and what a step of it costs. Only ratios matter. For kernels for
/// [`Latency::One`](super::latency::Latency) they are cycles of Intel's CPUs, of AVX-512 from
/// `results/gnr-2vcpu/limits.txt` and of the others from `results/spr-2vcpu/limits.txt`; for that for `Rotations`
/// cycles of Zen 4, from `results/zen4-2vcpu/limits.txt`; for those for `Two` nanoseconds of Zen 5, from
/// `lengths.json`, `peers.txt` and `limits.txt` in `results/zen5-2vcpu`; for AArch64 cycles of Neoverse V1 and V2, or
/// N1, by models (`results/models/aarch64.txt`); for `sse2` and, under Node, `wasm` nanoseconds of Granite Rapids, from
/// `results/gnr-2vcpu/peers.txt`; those of `array` are of 32 bits with SSE2 there, for all others a guess.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) lanes: usize,
    pub(super) step: usize,
    /// The same where one node of two goes on alone: as much, but where a pass leaves that to one lane.
    pub(super) rest: usize,
}

impl Width {
    /// What nodes of so many blocks in `all`, and so many in the `longest`, cost side by side.
    #[inline(always)]
    pub(super) fn cost(&self, all: usize, longest: usize) -> usize {
        let together = (all - longest).min(longest);
        self.step * together + self.rest * (longest - together)
    }
}

/// The widest pass there is.
const MOST_LANES: usize = 32;

/// The first pass over so many nodes of one length, so that all passes together cost least.
#[derive(Clone, Copy)]
pub(super) struct First {
    take: usize,
    /// What a step of all of them costs.
    step: usize,
}

/// By the number of nodes; over more, all passes are the widest.
pub(super) type Plan = [First; MOST_LANES + 1];

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

/// Nodes that the next pass takes of the `rest` that are left, one at least: what the plan says for so many, or for all
/// but the last where it costs less to hash that alone. `blocks` tells how many blocks the last node but one has, and
/// the last.
#[inline(always)]
pub(super) fn share(
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

/// Hashes all nodes of `source` in groups as [`share`] says; each takes the narrowest pass that
/// holds it.
///
/// `widths` are the kernel's passes in increasing order, the first of them `compress`, its one-lane
/// compression, and `plan` is [`plan`] of them; `pass(at, count, out)` runs one of the smallest width that holds
/// `count`.
///
/// # Safety
/// As for `lanes::group` and `compress`.
#[inline(always)]
pub(super) unsafe fn nodes<S: Source>(
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
        // SAFETY: nodes of the source, and places for their chaining values.
        unsafe {
            let blocks = || (source.node(total - 2).blocks(), source.node(total - 1).blocks());
            let take = share(widths, plan, total - at, blocks);
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
}
