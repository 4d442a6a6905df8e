//! The twin of `kernels/shared/chunk.wgsl` and `chunk.cuh`: one chunk, by one thread.

use super::compress::{Block, Cv, Node};
use treewide::hazmat::flags::{CHUNK_END, CHUNK_START};

/// The node of a chunk of `len` bytes (at most 1024) from byte `start` of `input` on: all of its
/// blocks but the last are compressed here.
pub(super) fn chunk(
    input: &[u8],
    start: usize,
    len: usize,
    counter: u64,
    key: &Cv,
    flags: u32,
) -> Node {
    let mut cv = *key;
    let mut at = 0;
    let mut start_flag = u32::from(CHUNK_START);
    // A block that is not the last one is whole.
    while len - at > 64 {
        let block = load(&input[start + at..][..64]);
        cv = Node { cv, block, counter, len: 64, flags: flags | start_flag }.cv();
        start_flag = 0;
        at += 64;
    }
    let block = load(&input[start + at..start + len]);
    let flags = flags | start_flag | u32::from(CHUNK_END);
    Node { cv, block, counter, len: (len - at) as u32, flags }
}

/// Up to 64 bytes as words, and zeros.
fn load(bytes: &[u8]) -> Block {
    let mut padded = [0; 64];
    padded[..bytes.len()].copy_from_slice(bytes);
    super::words(&padded).try_into().expect("16 words")
}
