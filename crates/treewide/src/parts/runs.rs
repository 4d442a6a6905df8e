//! The values of the nodes that runs of bytes consist of. Nodes of few chunks are hashed side by side, across runs.

use std::ops::Range;

use super::part::Part;
use crate::kernel::{Marks, Own, Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START};
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::{self, LEAF};

/// Larger nodes fill the lanes by themselves.
const SMALL: usize = 16;

/// Hashes nodes, which come in any order.
pub(super) struct Runs<'a> {
    kernel: Runnable,
    mode: &'a Mode,
    total: u64,
    /// Nodes of 1, 2, 4, 8 and 16 chunks whose values are still to be computed.
    small: [Vec<(Range<u64>, &'a [u8])>; SMALL.ilog2() as usize + 1],
    parts: Vec<Part>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(mode: &'a Mode, total: u64) -> Self {
        Self { kernel: running(), mode, total, small: Default::default(), parts: Vec::new() }
    }

    /// Adds a node with its bytes.
    pub(super) fn node(&mut self, range: Range<u64>, bytes: &'a [u8]) {
        let chunks = bytes.len() / CHUNK_LEN;
        let is_small = bytes.len().is_multiple_of(CHUNK_LEN) && chunks.is_power_of_two();
        let is_root = self.total <= CHUNK_LEN as u64;
        if is_root || !is_small || chunks > SMALL {
            let cv = if is_root {
                *self.mode.hash(bytes).as_bytes()
            } else {
                let counter = range.start / CHUNK_LEN as u64;
                tree::root(self.kernel, bytes, counter, self.mode).chaining_value(self.kernel)
            };
            self.parts.push(Part { range, cv });
            return;
        }
        let level = chunks.ilog2() as usize;
        self.small[level].push((range, bytes));
        if self.small[level].len() << level == LEAF {
            self.flush(level);
        }
    }

    /// All nodes with their values, in order.
    pub(super) fn finish(mut self) -> Vec<Part> {
        (0..self.small.len()).for_each(|level| self.flush(level));
        self.parts.sort_unstable_by_key(|part| part.range.start);
        self.parts
    }

    fn flush(&mut self, level: usize) {
        let nodes = std::mem::take(&mut self.small[level]);
        let chunks = || nodes.iter().flat_map(|(_, bytes)| bytes.as_chunks::<CHUNK_LEN>().0);
        let inputs: Vec<&[u8]> = chunks().map(<[u8; CHUNK_LEN]>::as_slice).collect();
        let first = |range: &Range<u64>| range.start / CHUNK_LEN as u64;
        let counters = nodes.iter().flat_map(|(range, _)| (first(range)..).take(1 << level));
        let counters: Vec<u64> = counters.collect();
        let last = vec![CHUNK_END; inputs.len()];
        let own = Own::Each { counters: &counters, last: &last };
        let marks = Marks { each: self.mode.flags, own, first: CHUNK_START };
        let mut cvs: Vec<ChainingValue> = vec![[0; 32]; inputs.len()];
        self.kernel.lanes(&inputs, marks, &self.mode.key, &mut cvs);
        let mut count = cvs.len();
        for _ in 0..level {
            count = tree::level(self.kernel, &mut cvs, count, self.mode);
        }
        let values = nodes.into_iter().zip(cvs);
        self.parts.extend(values.map(|((range, _), cv)| Part { range, cv }));
    }
}
