//! One level of BLAKE3's own tree over an input: a chaining value for each *chunk group*, a power of two of
//! chunks.
//!
//! An outboard consists of such nodes, for example one for every 16 KiB of input. It is a file with which a part
//! of an input can be checked without the rest. Like [`hazmat`](crate::hazmat), this is for programs that know
//! the tree.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use treewide::Mode;
//! use treewide::hazmat::{Subtrees, groups};
//!
//! let input = vec![7; 100_000];
//! // 16 chunks each: 16 KiB.
//! let cvs = groups::chaining_values(&input, 16, Mode::PLAIN);
//! assert_eq!(cvs.len(), 7);
//! // Here all at once; it takes them a few at a time as well, in order.
//! let mut subtrees = Subtrees::new(Mode::PLAIN);
//! subtrees.push(&cvs[..6], 4);
//! subtrees.push_last(&cvs[6], 2);
//! assert_eq!(subtrees.finalize(), treewide::hash(&input));
//! # }
//! ```

use crate::kernel::{Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::CHUNK_END;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::{self, LEAF, MOST, WIDE};

/// Returns the number of groups of an input of `len` bytes; 0 if it is empty.
///
/// # Panics
/// If `chunks` is not a power of two, or if the bytes of a group do not fit into a `usize`.
pub const fn count(len: usize, chunks: usize) -> usize {
    len.div_ceil(group_len(chunks))
}

const fn group_len(chunks: usize) -> usize {
    assert!(chunks.is_power_of_two(), "a group has a power of two of chunks");
    chunks.checked_mul(CHUNK_LEN).expect("a group fits the memory")
}

/// Returns the chaining values of the groups of `input`, `chunks` chunks each; the last group may be shorter.
///
/// They are the chaining values of nodes below the root. An input of one group has no such node: its chaining value
/// is returned, but the digest does not follow from it; use [`hash`](crate::hash()).
///
/// # Panics
/// As [`count`] does.
#[cfg(feature = "std")]
pub fn chaining_values(input: &[u8], chunks: usize, mode: Mode) -> Vec<ChainingValue> {
    let mut cvs = vec![[0; 32]; count(input.len(), chunks)];
    fill(input, 0, chunks, mode, &mut cvs);
    cvs
}

/// Writes the chaining values of the groups of `input`, `chunks` chunks each, to `out`. `input` is the part of the
/// whole input that starts at byte `offset`. Unless it ends where the whole input ends, its last group must be full.
///
/// # Panics
/// As [`count`]; and if `offset` is not a multiple of the bytes of a group, or the length of `out` is not [`count`].
pub fn fill(input: &[u8], offset: u64, chunks: usize, mode: Mode, out: &mut [ChainingValue]) {
    let len = group_len(chunks);
    assert_eq!(offset % len as u64, 0, "a part starts with a group");
    assert_eq!(out.len(), count(input.len(), chunks), "a place for each chaining value");
    let kernel = running();
    let mut counter = offset / CHUNK_LEN as u64;
    if chunks > MOST {
        for (group, cv) in input.chunks(len).zip(out) {
            *cv = tree::root(kernel, group, counter, &mode).chaining_value(kernel);
            counter += chunks as u64;
        }
        return;
    }
    if chunks >= LEAF {
        for (groups, cvs) in input.chunks(len * TOGETHER).zip(out.chunks_mut(TOGETHER)) {
            large(kernel, groups, counter, chunks, &mode, cvs);
            counter += (chunks * TOGETHER) as u64;
        }
        return;
    }
    let most = TOGETHER * LEAF;
    for (groups, cvs) in input.chunks(most * CHUNK_LEN).zip(out.chunks_mut(most / chunks)) {
        small(kernel, groups, counter, chunks, &mode, cvs);
        counter += most as u64;
    }
}

/// Leaves, or groups that are at least as large, whose nodes go up together: each has [`WIDE`] nodes, which would fill fewer
/// and fewer lanes.
const TOGETHER: usize = 4;

/// Levels from a leaf of [`LEAF`] nodes to its [`WIDE`] nodes.
const TO_WIDE: u32 = (LEAF / WIDE).ilog2();

/// [`fill`] for at most [`TOGETHER`] leaves of groups that are smaller than a leaf. Only the last group may be short, so pairs
/// never cross groups.
fn small(
    kernel: Runnable,
    input: &[u8],
    mut counter: u64,
    chunks: usize,
    mode: &Mode,
    out: &mut [ChainingValue],
) {
    let levels = chunks.ilog2();
    let most = LEAF >> levels.min(TO_WIDE);
    let mut nodes = [[0; 32]; TOGETHER * WIDE];
    let mut count = 0;
    for (number, part) in input.chunks(LEAF * CHUNK_LEN).enumerate() {
        if levels <= TO_WIDE {
            // These are the groups.
            let cvs = &mut out[number * most..];
            let room = cvs.len().min(most);
            leaf(kernel, part, counter, levels, mode, &mut cvs[..room]);
        } else {
            count += leaf(kernel, part, counter, TO_WIDE, mode, &mut nodes[count..]);
        }
        counter += LEAF as u64;
    }
    if levels > TO_WIDE {
        for _ in TO_WIDE..levels {
            count = tree::level(kernel, &mut nodes, count, mode);
        }
        out.copy_from_slice(&nodes[..count]);
    }
}

/// Reduces at most [`LEAF`] chunks by `levels` levels, and returns the number of nodes. Not inlined, so that its buffer is not
/// part of the frame above.
#[inline(never)]
fn leaf(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    levels: u32,
    mode: &Mode,
    out: &mut [ChainingValue],
) -> usize {
    let mut cvs = [[0; 32]; LEAF];
    let mut count = kernel.chunks(input, &mode.key, counter, mode.flags, CHUNK_END, &mut cvs);
    for _ in 0..levels {
        count = tree::level(kernel, &mut cvs, count, mode);
    }
    out[..count].copy_from_slice(&cvs[..count]);
    count
}

/// [`fill`] for at most [`TOGETHER`] groups of [`LEAF`] to [`MOST`] chunks.
fn large(
    kernel: Runnable,
    input: &[u8],
    mut counter: u64,
    chunks: usize,
    mode: &Mode,
    out: &mut [ChainingValue],
) {
    let mut nodes = [[0; 32]; TOGETHER * WIDE];
    let whole = input.chunks_exact(chunks * CHUNK_LEN);
    let rest = whole.remainder();
    let mut count = 0;
    for group in whole {
        count += tree::subtree(kernel, group, counter, mode, &mut nodes[count..]);
        counter += chunks as u64;
    }
    let groups = count / WIDE;
    while count > groups {
        count = tree::level(kernel, &mut nodes, count, mode);
    }
    out[..groups].copy_from_slice(&nodes[..groups]);
    if let [last] = &mut out[groups..] {
        *last = tree::root(kernel, rest, counter, mode).chaining_value(kernel);
    }
}
