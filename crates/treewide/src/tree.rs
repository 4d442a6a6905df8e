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
//! that the parents above it fill whole passes too. Only the last levels below the root are narrow, and those below the nodes
//! of each [`MOST`] chunks, so that the longest input takes no more stack than that.

use crate::kernel::{Flags, Runnable};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START, PARENT, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, Words, bytes};
use crate::subtrees::Subtrees;

/// Chunks whose chaining values are computed before their parents: four of the widest passes, whose chaining values
/// (4 KiB) stay in the first-level cache. A guess.
pub(crate) const LEAF: usize = 128;

/// The most chunks whose nodes are kept at the same time: seven levels of narrow passes take a two-hundredth of the time of those
/// chunks. A guess.
pub(crate) const MOST: usize = 1024;

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
    if input.len() > LEAF * CHUNK_LEN {
        return large(kernel, input, 0, mode).root_hash(kernel);
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
    if input.len() > LEAF * CHUNK_LEN {
        return large(kernel, input, counter, mode);
    }
    halves(kernel, input, counter, mode, |[left, right]| Node::parent(left, right, mode))
}

/// Computes the two nodes below the top of an input of 2 to [`LEAF`] chunks, and calls `parent` with them.
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
        _ => short::<LEAF, T>(kernel, input, counter, mode, parent),
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

/// [`root`] of more than [`LEAF`] chunks.
#[inline(never)]
fn large(kernel: Runnable, mut input: &[u8], counter: u64, mode: &Mode) -> Node {
    let mut subtrees = Subtrees::starting_at(*mode, counter);
    loop {
        let (part, rest) = input.split_at(input.len().min(MOST * CHUNK_LEN));
        let node = wide(kernel, part, subtrees.next_chunk(), mode);
        if rest.is_empty() {
            return if subtrees.chunks == 0 { node } else { subtrees.top_with(node) };
        }
        let mut nodes = [[0; 32], node.chaining_value(kernel)];
        subtrees.insert(kernel, &mut nodes, 1, MOST.ilog2());
        input = rest;
    }
}

/// [`root`] of at most [`MOST`] chunks.
#[inline(never)]
fn wide(kernel: Runnable, input: &[u8], counter: u64, mode: &Mode) -> Node {
    if input.len() <= CHUNK_LEN {
        return Node::chunk(kernel, input, counter, mode);
    }
    let mut nodes = [[0; 32]; ROOM];
    let count = reduce(kernel, input, counter, mode, &mut nodes);
    let [left, right] = top(kernel, &mut nodes, count, mode);
    Node::parent(left, right, mode)
}

/// Room for the nodes of [`MOST`] chunks: of as many subtrees as their whole leaves make, and of a leaf.
pub(crate) const ROOM: usize = (MOST / LEAF).ilog2() as usize * WIDE + LEAF;

/// Reduces a subtree of at most [`MOST`] chunks to at most [`WIDE`] nodes at the start of `nodes`, which has [`ROOM`]; pairing
/// them level by level builds the rest. Returns their number: exactly `WIDE` if the number of chunks is a power of two and at
/// least `WIDE`.
pub(crate) fn reduce(
    kernel: Runnable,
    input: &[u8],
    mut counter: u64,
    mode: &Mode,
    nodes: &mut [ChainingValue],
) -> usize {
    // Where the nodes of the next leaf go: behind `WIDE` nodes of each subtree.
    let (mut at, mut count) = (0, 0);
    for (number, leaf) in (1_usize..).zip(input.chunks(LEAF * CHUNK_LEN)) {
        let out = &mut nodes[at..];
        count = kernel.chunks(leaf, &mode.key, counter, mode.flags, CHUNK_END, out);
        while count > WIDE {
            count = level(kernel, out, count, mode);
        }
        // All subtrees but the last have `WIDE` nodes, at least as many as the last: pairs never cross from one to the next.
        for _ in 0..number.trailing_zeros() {
            at -= WIDE;
            count = level(kernel, &mut nodes[at..], WIDE + count, mode);
        }
        at += WIDE;
        counter += LEAF as u64;
    }
    while at > WIDE {
        at -= WIDE;
        count = level(kernel, &mut nodes[at - WIDE..], WIDE + count, mode);
    }
    count
}

/// [`reduce`] to a place for [`WIDE`] nodes.
#[inline(never)]
pub(crate) fn subtree(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    mode: &Mode,
    out: &mut [ChainingValue],
) -> usize {
    let mut nodes = [[0; 32]; ROOM];
    let count = reduce(kernel, input, counter, mode, &mut nodes);
    out[..count].copy_from_slice(&nodes[..count]);
    count
}
