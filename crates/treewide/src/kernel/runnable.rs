//! A kernel that this CPU runs, and safe methods that call its entries.

use core::ops::Deref;

use super::contract::{Flags, Kernel, Marks, Own, Root, Unequal};
use super::cpu::Cpu;
#[cfg(target_arch = "wasm32")]
use super::portable;
use crate::spec::flags::{CHUNK_END, PARENT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, Words};

impl Kernel {
    /// Whether this CPU, and its operating system, can run it.
    pub fn is_supported(&self) -> bool {
        (self.supported)(&Cpu::detect())
    }
}

/// A kernel whose instructions this CPU has: there is no other way to get a value than to ask the CPU, so its methods
/// are safe.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Runnable(&'static Kernel);

impl Deref for Runnable {
    type Target = Kernel;

    #[inline(always)]
    fn deref(&self) -> &Kernel {
        self.0
    }
}

impl Runnable {
    /// The kernel, if this CPU runs it.
    pub(super) fn new(kernel: &'static Kernel) -> Option<Self> {
        kernel.is_supported().then_some(Self(kernel))
    }

    /// The same for a kernel that is known to run.
    ///
    /// # Safety
    /// [`Runnable::new`] gave a value for it before.
    #[inline(always)]
    pub(super) unsafe fn known(kernel: &'static Kernel) -> Self {
        Self(kernel)
    }

    /// The kernel as a value that says only what it is.
    #[inline(always)]
    pub(crate) fn kernel(self) -> &'static Kernel {
        self.0
    }

    /// Compresses the blocks of `input` into `cv`, on one lane: one block at least, zeros after the
    /// end of the last.
    #[inline(always)]
    pub(crate) fn compress(self, cv: &mut Words, input: &[u8], counter: u64, flags: Flags) {
        // SAFETY: readable bytes; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.compress)(cv, input.as_ptr(), input.len(), counter, flags) }
    }

    /// [`compress`](Self::compress) where most inputs are short. In WebAssembly it is part of the caller: all kernels there
    /// have the same one, and a call takes V8 as long as a fourteenth of a block.
    #[inline(always)]
    pub(crate) fn compress_short(self, cv: &mut Words, input: &[u8], counter: u64, flags: Flags) {
        #[cfg(target_arch = "wasm32")]
        // SAFETY: readable bytes, and plain arithmetic.
        unsafe {
            portable::compress_in_place(cv, input.as_ptr(), input.len(), counter, flags)
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.compress(cv, input, counter, flags);
    }

    /// Compresses a block of `len` bytes, 64 at most, with zeros after them, into `cv`.
    pub(crate) fn compress_block(
        self,
        cv: &mut Words,
        block: &[u8; BLOCK_LEN],
        len: u8,
        counter: u64,
        flags: u8,
    ) {
        let (len, flags) =
            (usize::from(len), Flags { each: flags, first: 0, last: 0, padded: true });
        assert!(len <= BLOCK_LEN, "one block");
        debug_assert!(block[len..].iter().all(|&byte| byte == 0), "zeros past the end");
        // SAFETY: a whole block is readable; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.compress)(cv, block.as_ptr(), len, counter, flags) }
    }

    /// Hashes the chunks of `input` to `out`, and returns their number. The first chunk has the number
    /// `counter`. The empty input has no chunk here. `end` is the flag of the last block of the last
    /// chunk: `CHUNK_END`, or nothing if more of that chunk follows; then all its blocks here are whole.
    ///
    /// # Panics
    /// If `out` has no room for them.
    pub(crate) fn chunks(
        self,
        input: &[u8],
        key: &Words,
        counter: u64,
        flags: u8,
        end: u8,
        out: &mut [ChainingValue],
    ) -> usize {
        let (from, len) = (input.as_ptr(), input.len());
        let count = len.div_ceil(CHUNK_LEN);
        debug_assert!(end & CHUNK_END != 0 || len.is_multiple_of(BLOCK_LEN), "whole blocks");
        assert!(count <= out.len(), "room for every chaining value");
        // SAFETY: just checked; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.chunks)(from, len, key, counter, flags, end, out.as_mut_ptr()) }
        count
    }

    /// Replaces `pairs` pairs of chaining values, from `cvs[from]` on, by their parents, which go
    /// to `cvs[to]` on. `to` is at most one more than `from`.
    ///
    /// # Panics
    /// If a pair or a parent lies outside `cvs`, or `to` is too large.
    pub(crate) fn parents(
        self,
        cvs: &mut [ChainingValue],
        from: usize,
        pairs: usize,
        to: usize,
        key: &Words,
        flags: u8,
    ) {
        assert!(from + 2 * pairs <= cvs.len() && to + pairs <= cvs.len() && to <= from + 1);
        let cvs = cvs.as_mut_ptr();
        // SAFETY: within `cvs`; a pass reads its children before it writes their parents, and what
        // it writes ends at or before the children of the next pass.
        unsafe { (self.0.parents)(cvs.add(from), pairs, key, flags | PARENT, cvs.add(to)) }
    }

    /// Compresses each pair of `children` as one block with these flags, to `out`.
    ///
    /// # Panics
    /// If `out` has no room for all of them.
    pub(crate) fn pairs(
        self,
        children: &[ChainingValue],
        key: &Words,
        flags: u8,
        out: &mut [ChainingValue],
    ) {
        let pairs = children.len() / 2;
        assert!(pairs <= out.len(), "room for every chaining value");
        // SAFETY: just checked; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.parents)(children.as_ptr(), pairs, key, flags, out.as_mut_ptr()) }
    }

    /// Hashes unequal nodes, one for each place of `out`: chunks, or any other sequences of blocks of
    /// at most [`CHUNK_LEN`] bytes. Inputs beyond those are what comes next, and are fetched early.
    ///
    /// # Panics
    /// If there are fewer inputs or marks than places, or a node that is longer in a pass whose lanes continue behind their
    /// nodes.
    pub(crate) fn lanes(
        self,
        inputs: &[&[u8]],
        marks: Marks<'_>,
        key: &Words,
        out: &mut [ChainingValue],
    ) {
        let count = out.len();
        let nodes = match marks.own {
            Own::Nothing { .. } => inputs.len(),
            Own::Each { counters, last } => inputs.len().min(counters.len()).min(last.len()),
        };
        assert!(count <= nodes, "a node for every chaining value");
        // SAFETY: just checked, and no node is read beyond its length; where a lane reads on after that,
        // lengths are checked; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.lanes)(Unequal { inputs, count, marks }, key, out.as_mut_ptr()) }
    }

    /// Whether `count` nodes take less time one after the other than side by side. They have `all` blocks together, and
    /// `longest` in the longest node; gathering them takes the time of `gathered` blocks.
    #[inline(always)]
    pub(crate) fn is_faster_one_by_one(
        self,
        count: usize,
        all: usize,
        longest: usize,
        gathered: usize,
    ) -> bool {
        let alone = |blocks| blocks * self.0.widths[0].step;
        match self.0.widths[1..].iter().find(|width| width.lanes >= count) {
            Some(width) => alone(all) <= width.cost(all, longest) + alone(gathered),
            None => self.0.degree == 1,
        }
    }

    /// Blocks of extended output from block `counter` on, from the root's last compression.
    pub(crate) fn xof(
        self,
        cv: &Words,
        block: &[u8; BLOCK_LEN],
        block_len: u8,
        flags: u8,
        counter: u64,
        out: &mut [[u8; BLOCK_LEN]],
    ) {
        let long = out.len() >= LONG_OUTPUT;
        let root = Root { cv, block, block_len: u32::from(block_len), flags, long };
        // SAFETY: room for all of `out`; the CPU has the instructions, or there would be no `Runnable`.
        unsafe { (self.0.xof)(root, counter, out.as_mut_ptr(), out.len()) }
    }
}

/// Blocks of output that may not stay in the caches of one core.
const LONG_OUTPUT: usize = (256 << 10) / BLOCK_LEN;
