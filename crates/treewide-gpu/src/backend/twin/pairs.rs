//! The twin of `kernels/wgsl/pairs.wgsl` and `kernels/cuda/pairs.cu`: one level of a Merkle tree, one thread for each of its nodes.

use super::compress::{Cv, Node, WHOLE};

pub(super) fn run(nodes: &[u32], count: u32, key: &Cv, flags: u32, out: &mut [u32]) {
    for thread in 0..count.div_ceil(2) as usize {
        let above = &mut out[8 * thread..][..8];
        if 2 * thread + 1 == count as usize {
            above.copy_from_slice(&nodes[16 * thread..][..8]);
            continue;
        }
        let block = std::array::from_fn(|i| nodes[16 * thread + i]);
        let pair = Node { cv: *key, block, counter: 0, len: 64, flags: flags | WHOLE };
        above.copy_from_slice(&pair.cv());
    }
}
