//! The kernel contract: the parts of a kernel, the arguments of its entries, and the duties of callers of unsafe functions.
//!
//! # Safety
//! All unsafe functions of `kernel` have one contract, which is stated here and not repeated. A function that asks for more
//! says so.
//!
//! - The CPU has the instructions of the module, and the operating system saves their registers. A
//!   `Runnable` proves that; calls from safe code start from one.
//! - An input has `len` readable bytes, and a block has 64. Nothing is read beyond them: a pass reads whole blocks only where
//!   every lane has one.
//! - A pass hashes `count` nodes, `1 <= count <= N`. `out` has room for `count` chaining values or blocks; what the other
//!   lanes compute is not stored.
//! - Assembly reads and writes arrays of vectors, aligned to the size of a vector, word by word.

use core::fmt;

use super::cores::CoreClass;
use super::cpu::Cpu;
use crate::spec::{BLOCK_LEN, ChainingValue, Words};

/// One implementation of BLAKE3's compression, one lane and many lanes wide.
///
/// The entries are private: only a `Runnable` calls them, a value that exists only if
/// this CPU has the instructions.
pub struct Kernel {
    pub(super) name: &'static str,
    pub(super) degree: usize,
    pub(crate) widths: &'static [Width],
    pub(crate) plan: &'static Plan,
    pub(super) supported: fn(&Cpu) -> bool,
    /// The core that it is made for.
    pub(super) class: CoreClass,
    /// The blocks of one node on one lane: `(cv, input, len, counter, flags)`.
    pub(super) compress: Compress,
    /// The chunks of one input: `(input, len, key, counter, flags, end, out)`, where `end` is added to the
    /// flags of the last block of the last chunk.
    pub(super) chunks: unsafe fn(*const u8, usize, &Words, u64, u8, u8, *mut ChainingValue),
    /// Pairs of chaining values as one block each: `(children, pairs, key, flags, out)`, where `out`
    /// may overlap `children` if it does not lie above it by more than one.
    pub(super) parents: unsafe fn(*const ChainingValue, usize, &Words, u8, *mut ChainingValue),
    /// Unequal nodes.
    pub(super) lanes: unsafe fn(Unequal<'_>, &Words, *mut ChainingValue),
    /// Blocks of extended output: `(root, counter, out, count)`.
    pub(super) xof: unsafe fn(Root<'_>, u64, *mut [u8; BLOCK_LEN], usize),
}

/// Flags of every block of a node, and those added to the first and to the last.
#[derive(Clone, Copy)]
pub(crate) struct Flags {
    pub(crate) each: u8,
    pub(crate) first: u8,
    pub(crate) last: u8,
    /// Whether all 64 bytes of the last block are there, zeros behind its end.
    pub(crate) padded: bool,
}

/// What the compressions of nodes take in addition to their bytes, for `Runnable::lanes`: array by array, because a pass
/// reads whole vectors of them.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Marks<'a> {
    /// Flags of every block.
    pub(crate) each: u8,
    pub(crate) own: Own<'a>,
    /// Flags added to the first block. Kept apart from `each`: a combined load would wait for two separate stores (a
    /// store-forwarding stall).
    pub(crate) first: u8,
}

/// What nodes do not share.
#[derive(Clone, Copy)]
pub(crate) enum Own<'a> {
    /// Nothing: all have the counter 0 and add these flags to the last block.
    Nothing { last: u8 },
    /// Node by node the counter, and the flags added to the last block.
    Each { counters: &'a [u64], last: &'a [u8] },
}

impl Kernel {
    /// The name by which [`force`](super::force) and `TREEWIDE_KERNEL` know it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Nodes that its widest pass hashes side by side.
    pub fn degree(&self) -> usize {
        self.degree
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("degree", &self.degree).finish()
    }
}

/// Nodes of any lengths, anywhere; after those of the call come some that will be wanted next.
pub(super) struct Unequal<'a> {
    pub(super) inputs: &'a [&'a [u8]],
    pub(super) count: usize,
    pub(super) marks: Marks<'a>,
}

/// What extended output is made of: the root compression, without its counter.
#[derive(Clone, Copy)]
pub(super) struct Root<'a> {
    pub(super) cv: &'a Words,
    pub(super) block: &'a [u8; BLOCK_LEN],
    pub(super) block_len: u32,
    pub(super) flags: u8,
    /// Whether there is so much output that it is written to memory: the places of the pass after the
    /// next are fetched then, as stores that wait for them would stop everything.
    pub(super) long: bool,
}

/// A one-lane compression of all blocks of a node; see [`super::Kernel`].
///
/// # Safety
/// The input has `len` readable bytes, if it is [padded](Flags::padded) whole blocks, one at least; the CPU has the
/// instructions.
pub(super) type Compress = unsafe fn(&mut Words, *const u8, usize, u64, Flags);

/// The lanes of a pass, and what a step of it costs.
///
/// Only the ratios of a kernel's costs matter, so each kernel has the unit of its record: see its row of `kernels!`.
#[derive(Clone, Copy)]
pub(crate) struct Width {
    pub(crate) lanes: usize,
    pub(super) step: usize,
    /// The same where one node of two continues alone: as much, but where a pass leaves that to one lane.
    pub(super) rest: usize,
}

impl Width {
    /// What nodes cost side by side that have `all` blocks together, and `longest` in the longest node.
    #[inline(always)]
    pub(super) fn cost(&self, all: usize, longest: usize) -> usize {
        let together = (all - longest).min(longest);
        self.step * together + self.rest * (longest - together)
    }
}

/// No kernel has more passes of different widths.
pub(crate) const MOST_WIDTHS: usize = 6;

/// The widest pass there is.
pub(crate) const MOST_LANES: usize = 32;

/// The first pass over a number of nodes of one length, so that all passes together cost least.
#[derive(Clone, Copy)]
pub(crate) struct First {
    pub(super) take: usize,
    /// What a step of all of them costs.
    pub(super) step: usize,
}

/// By the number of nodes; over more, all passes are the widest.
pub(crate) type Plan = [First; MOST_LANES + 1];
