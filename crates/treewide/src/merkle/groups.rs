//! One level of BLAKE3's own tree over an input: a chaining value for each *chunk group*, a power of two of
//! chunks.
//!
//! An outboard consists of such nodes, for example one for every 16 KiB of input. It is a file with which a part
//! of an input can be checked without the rest. Like [`hazmat`](crate::hazmat), this is for programs that know
//! the tree.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use treewide::{Mode, merkle::groups};
//!
//! let input = vec![7; 100_000];
//! // 16 chunks each: 16 KiB.
//! let cvs = groups::chaining_values(&input, 16, Mode::PLAIN);
//! assert_eq!(cvs.len(), 7);
//! assert_eq!(groups::merge(&cvs, Mode::PLAIN), treewide::hash(&input));
//! # }
//! ```

use crate::hash::Hash;
use crate::kernel::{Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::CHUNK_END;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::subtrees::Subtrees;
use crate::tree::{self, LEAF};

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
    if chunks >= LEAF {
        for (group, cv) in input.chunks(len).zip(out) {
            *cv = tree::root(kernel, group, counter, &mode).chaining_value(kernel);
            counter += chunks as u64;
        }
        return;
    }
    // As many groups at a time as the tree takes chunks, so that groups of one chunk fill all lanes too.
    for (part, cvs) in input.chunks(LEAF * CHUNK_LEN).zip(out.chunks_mut(LEAF / chunks)) {
        leaf(kernel, part, counter, chunks, &mode, cvs);
        counter += LEAF as u64;
    }
}

/// The same for at most [`LEAF`] chunks. Only the last group may be short, so pairs never cross groups.
fn leaf(
    kernel: Runnable,
    input: &[u8],
    counter: u64,
    chunks: usize,
    mode: &Mode,
    out: &mut [ChainingValue],
) {
    let mut cvs = [[0; 32]; LEAF];
    let mut count = kernel.chunks(input, &mode.key, counter, mode.flags, CHUNK_END, &mut cvs);
    for _ in 0..chunks.ilog2() {
        count = tree::level(kernel, &mut cvs, count, mode);
    }
    out.copy_from_slice(&cvs[..count]);
}

/// Returns the digest of the whole input from the chaining values of all its groups.
///
/// # Panics
/// If there are fewer than two: a single group is the root itself.
pub fn merge(cvs: &[ChainingValue], mode: Mode) -> Hash {
    let mut subtrees = Subtrees::new(mode);
    // Above the groups the tree has the shape that it has above chunks.
    subtrees.push(cvs, 0);
    subtrees.finalize()
}
