//! The twin of `kernels/wgsl/xof.wgsl` and `kernels/cuda/xof.cu`: blocks of extended output, one thread each.

use super::compress::Node;
use treewide::hazmat::flags::ROOT;

pub(super) fn run(nodes: &[u32], count: u32, position: u64, blocks: u32, out: &mut [u32]) {
    for thread in 0..count as usize * blocks as usize {
        let (node, block) = (thread / blocks as usize, thread % blocks as usize);
        let mut node = Node::from_words(&nodes[32 * node..][..32]);
        node.counter = position + block as u64;
        node.flags |= u32::from(ROOT);
        out[16 * thread..][..16].copy_from_slice(&node.output());
    }
}
