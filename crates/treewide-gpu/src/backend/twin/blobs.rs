//! The twin of `kernels/wgsl/blobs.wgsl` and `kernels/cuda/blobs.cu`: blobs of at most a chunk, one thread each.

use super::chunk::chunk;
use super::compress::{Cv, Node};
use std::ops::RangeInclusive;
use treewide::hazmat::flags::ROOT;

/// Only blobs that start within `handled` count; its start is the offset of byte 0 of `input`.
pub(super) fn run(
    input: &[u8],
    offsets: &[u32],
    count: u32,
    handled: RangeInclusive<u64>,
    (key, flags): (&Cv, u32),
    out: &mut [u32],
    left: &mut u32,
) {
    let offset = |i: usize| u64::from(offsets[2 * i]) | u64::from(offsets[2 * i + 1]) << 32;
    for thread in 0..count as usize {
        let (start, end) = (offset(thread), offset(thread + 1));
        if !handled.contains(&start) {
            continue;
        }
        let at = start - handled.start();
        // In this order, so that nothing overflows.
        let most = (input.len() as u64).min(1024);
        if end < start || end - start > most || at > input.len() as u64 - (end - start) {
            *left += 1;
            continue;
        }
        let node = chunk(input, at as usize, (end - start) as usize, 0, key, flags);
        let root = Node { flags: node.flags | u32::from(ROOT), ..node };
        out[8 * thread..][..8].copy_from_slice(&root.cv());
    }
}
