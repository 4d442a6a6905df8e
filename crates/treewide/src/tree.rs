//! The tree of one input: chunks, levels of parents, the root (sections 2.1 and 2.5 of the paper).
//!
//! The left subtree of a node has the largest power of two of chunks that leaves at least one for the right
//! subtree. Pairing neighbours on each level, and letting an odd last node rise unpaired, builds exactly
//! this tree, and every level is one wide call of the kernel:
//!
//! ```text
//! chunks   0 1 2 3 4        five lanes
//! level 1  [01] [23] 4      two lanes, one node rises
//! level 2  [0123]  4        one lane
//! root     [01234]
//! ```
//!
//! A long input is cut into leaves of [`LEAF`] chunks. Each is reduced to [`WIDE`] nodes and no further, so
//! that the parents above it fill whole passes too; only the last levels below the root are narrow.

use crate::kernel::{Flags, Runnable};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START, PARENT, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, Words, bytes};

/// Chunks whose chaining values are computed before their parents: four of the widest passes, whose chaining values
/// (4 KiB) stay in the first-level cache. A guess.
pub(crate) const LEAF: usize = 128;

/// Whether flash and stack are scarce: then a long input goes through a hasher, a few chunks at a time.
pub(crate) const SMALL: bool = cfg!(target_os = "none");

/// Nodes to which a large subtree is reduced before it meets its sibling: the degree of the widest kernel.
pub(crate) const WIDE: usize = 32;

/// The last compression of a subtree, before it is done. It gives a chaining value or, with the root flag,
/// extended output (section 2.6).
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) cv: Words,
    pub(crate) block: [u8; BLOCK_LEN],
    pub(crate) block_len: u8,
    pub(crate) counter: u64,
    pub(crate) flags: u8,
}

impl Node {
    /// The parent of two nodes.
    pub(crate) fn parent(left: &ChainingValue, right: &ChainingValue, mode: &Mode) -> Self {
        let mut block = [0; BLOCK_LEN];
        block[..32].copy_from_slice(left);
        block[32..].copy_from_slice(right);
        let block_len = BLOCK_LEN as u8;
        Self { cv: mode.key, block, block_len, counter: 0, flags: mode.flags | PARENT }
    }

    /// A chunk of 0 to [`CHUNK_LEN`] bytes. Compresses all blocks except for the last one.
    pub(crate) fn chunk(kernel: Runnable, input: &[u8], counter: u64, mode: &Mode) -> Self {
        let mut node = Self {
            cv: mode.key,
            block: [0; BLOCK_LEN],
            block_len: 0,
            counter,
            flags: mode.flags | CHUNK_START | CHUNK_END,
        };
        let last = input.len().saturating_sub(1) / BLOCK_LEN * BLOCK_LEN;
        if last > 0 {
            let flags = Flags { each: mode.flags, first: CHUNK_START, last: 0, padded: false };
            kernel.compress(&mut node.cv, &input[..last], counter, flags);
            node.flags = mode.flags | CHUNK_END;
        }
        node.block_len = (input.len() - last) as u8;
        node.block[..input.len() - last].copy_from_slice(&input[last..]);
        node
    }

    pub(crate) fn chaining_value(&self, kernel: Runnable) -> ChainingValue {
        self.compress(kernel, self.counter, self.flags)
    }

    pub(crate) fn root_hash(&self, kernel: Runnable) -> [u8; 32] {
        // The counter of the root is the number of the output block, also for a lone chunk.
        self.compress(kernel, 0, self.flags | ROOT)
    }

    fn compress(&self, kernel: Runnable, counter: u64, flags: u8) -> ChainingValue {
        let mut cv = self.cv;
        kernel.compress_block(&mut cv, &self.block, self.block_len, counter, flags);
        bytes(&cv)
    }
}

/// The digest of a whole input. Not inlined in WebAssembly, where it contains a compression ([`Runnable::compress_short`]).
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub(crate) fn hash(kernel: Runnable, input: &[u8], mode: &Mode) -> [u8; 32] {
    if input.len() <= CHUNK_LEN {
        // One chunk needs no tree.
        let mut cv = mode.key;
        let flags =
            Flags { each: mode.flags, first: CHUNK_START, last: CHUNK_END | ROOT, padded: false };
        kernel.compress_short(&mut cv, input, 0, flags);
        return bytes(&cv);
    }
    halves(kernel, input, 0, mode, |halves| {
        let flags = Flags { each: mode.flags | PARENT | ROOT, first: 0, last: 0, padded: false };
        let mut cv = mode.key;
        kernel.compress(&mut cv, halves.as_flattened(), 0, flags);
        bytes(&cv)
    })
}

/// The top node of the subtree of `input`, whose first chunk has the number `counter`.
pub(crate) fn root(kernel: Runnable, input: &[u8], counter: u64, mode: &Mode) -> Node {
    if input.len() <= CHUNK_LEN {
        return Node::chunk(kernel, input, counter, mode);
    }
    halves(kernel, input, counter, mode, |[left, right]| Node::parent(left, right, mode))
}

/// Computes the two nodes below the top of an input of more than one chunk, and calls `parent` with them.
fn halves<T>(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    mode: &Mode,
    parent: impl FnOnce(&[ChainingValue; 2]) -> T,
) -> T {
    // The array is cleared on each call, so it is as short as possible.
    match input.len().div_ceil(CHUNK_LEN) {
        0..=2 => short::<2, T>(kernel, input, counter, mode, parent),
        3..=4 => short::<4, T>(kernel, input, counter, mode, parent),
        5..=16 => short::<16, T>(kernel, input, counter, mode, parent),
        17..=32 => short::<32, T>(kernel, input, counter, mode, parent),
        33..=LEAF => short::<LEAF, T>(kernel, input, counter, mode, parent),
        _ => {
            let mut cvs = [[0; 32]; WIDE];
            let count = subtree(kernel, input, counter, mode, &mut cvs);
            parent(top(kernel, &mut cvs, count, mode))
        }
    }
}

/// [`halves`] for 2 to `N` chunks.
fn short<const N: usize, T>(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    mode: &Mode,
    parent: impl FnOnce(&[ChainingValue; 2]) -> T,
) -> T {
    let mut cvs = [[0; 32]; N];
    let count = kernel.chunks(input, &mode.key, counter, mode.flags, CHUNK_END, &mut cvs);
    parent(top(kernel, &mut cvs, count, mode))
}

/// Reduces two or more nodes to the two below their top node.
pub(crate) fn top<'a>(
    kernel: Runnable,
    cvs: &'a mut [ChainingValue],
    mut count: usize,
    mode: &Mode,
) -> &'a [ChainingValue; 2] {
    while count > 2 {
        count = level(kernel, cvs, count, mode);
    }
    cvs.first_chunk().expect("two nodes")
}

/// Replaces `count` nodes by the next level of the tree; an odd last node rises unchanged.
pub(crate) fn level(
    kernel: Runnable,
    cvs: &mut [ChainingValue],
    count: usize,
    mode: &Mode,
) -> usize {
    let pairs = count / 2;
    kernel.parents(cvs, 0, pairs, 0, &mode.key, mode.flags);
    if count % 2 == 1 {
        cvs[pairs] = cvs[count - 1];
    }
    count - pairs
}

/// The largest number of bytes in a subtree that starts at byte `offset`, a multiple of [`CHUNK_LEN`]: the largest
/// power of two that divides `offset`, because a longer subtree would start further left. `None` at the start of the
/// input, where there is no limit.
#[inline(always)]
pub(crate) fn max_subtree_len(offset: u64) -> Option<u64> {
    (offset > 0).then(|| 1 << offset.trailing_zeros())
}

/// The number of bytes in the left subtree of an input of more than one chunk. The same rule is true of chunks, and of groups.
pub(crate) const fn left_len(len: u64) -> u64 {
    len.div_ceil(2).next_power_of_two()
}

/// Reduces a subtree to at most [`WIDE`] nodes in `out`; pairing them level by level builds the rest. Returns their
/// number: exactly `WIDE` if the number of chunks is a power of two and at least `WIDE`.
pub(crate) fn subtree(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    mode: &Mode,
    out: &mut [ChainingValue],
) -> usize {
    if input.len() <= LEAF * CHUNK_LEN {
        return leaf(kernel, input, counter, mode, out);
    }
    let split = left_len(input.len() as u64) as usize;
    let (left, right) = input.split_at(split);
    let right_counter = counter + (split / CHUNK_LEN) as u64;
    // The left side has a power of two of chunks, more than WIDE, so it gives WIDE nodes, at least as many as the
    // right side: pairs never cross from one side to the other.
    let mut nodes = [[0; 32]; 2 * WIDE];
    let (left_nodes, right_nodes) = nodes.split_at_mut(WIDE);
    subtree(kernel, left, counter, mode, left_nodes);
    let right_count = subtree(kernel, right, right_counter, mode, right_nodes);
    let count = level(kernel, &mut nodes, WIDE + right_count, mode);
    out[..count].copy_from_slice(&nodes[..count]);
    count
}

/// [`subtree`] for at most [`LEAF`] chunks. Not inlined, so that its buffer is not part of every stack frame above.
#[inline(never)]
fn leaf(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    mode: &Mode,
    out: &mut [ChainingValue],
) -> usize {
    let mut cvs = [[0; 32]; LEAF];
    let mut count = kernel.chunks(input, &mode.key, counter, mode.flags, CHUNK_END, &mut cvs);
    while count > WIDE {
        count = level(kernel, &mut cvs, count, mode);
    }
    out[..count].copy_from_slice(&cvs[..count]);
    count
}
