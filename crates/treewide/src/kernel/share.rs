//! Which nodes go into which pass: by what the passes of a kernel cost.

use super::Flags;
use super::group::{Node, Source};
use crate::spec::{ChainingValue, Words, bytes};

/// A one-lane compression of all blocks of a node; see [`super::Kernel`].
pub(super) type Compress = unsafe fn(&mut Words, *const u8, usize, u64, Flags);

/// The lanes of a pass, and what a step of it costs. Only ratios matter: of kernels for
/// [`Latency::One`](super::latency::Latency) they are cycles of Sapphire Rapids, from `results/spr-2vcpu/limits.txt`,
/// of those for AArch64 cycles of Neoverse V1 and V2, or N1, by models (`results/models/aarch64.txt`),
/// of others nanoseconds of Zen 5, from `lengths.json`, `peers.txt` and `limits.txt` in `results/zen5-2vcpu`.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) lanes: usize,
    pub(super) step: usize,
}

/// Nodes that the next pass takes of the `rest` that are left: as many as the widest pass holds, or
/// as a narrower one does, where it costs less to hash the others alone. `blocks` tells how many the last node but
/// one has, and the last.
#[inline(always)]
pub(super) fn share(widths: &[Width], rest: usize, blocks: impl Fn() -> (usize, usize)) -> usize {
    let mut take = widths[widths.len() - 1].lanes.min(rest);
    for pair in widths.windows(2) {
        let [narrow, wide] = [pair[0], pair[1]];
        if narrow.lanes < rest && rest <= wide.lanes {
            let (steps, last) = blocks();
            let others = (rest - narrow.lanes - 1) * steps + last;
            if steps * narrow.step + others * widths[0].step <= steps * wide.step {
                take = narrow.lanes;
            }
        }
    }
    take
}

/// Hashes all nodes of `source` in groups as [`share`] says; each takes the narrowest pass that
/// holds it.
///
/// `widths` are the kernel's passes in increasing order, the first of them `compress`, its one-lane
/// compression; `pass(at, count, out)` runs one of the smallest width that holds `count`.
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
    pass: impl Fn(usize, usize, *mut ChainingValue),
) {
    let total = source.count();
    let mut at = 0;
    while at < total {
        // SAFETY: nodes of the source, and places for their chaining values.
        unsafe {
            let blocks = || (source.node(total - 2).blocks(), source.node(total - 1).blocks());
            let take = share(widths, total - at, blocks);
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
