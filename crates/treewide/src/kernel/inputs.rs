//! Inputs of a pass: the nodes of a source, gathered lane by lane.

#![allow(unsafe_op_in_unsafe_fn, reason = "the contract of `contract.rs` is that of all")]

use core::ptr;

use super::contract::{Flags, Marks, Own, Unequal};
use crate::spec::flags::{CHUNK_END, CHUNK_START};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue};

/// One node as a kernel sees it: bytes, and what goes into the flags of its blocks.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) input: *const u8,
    /// 0 to [`CHUNK_LEN`].
    pub(super) len: u32,
    pub(super) counter: u64,
    pub(super) flags: Flags,
}

impl Node {
    /// Blocks of the node: one at least, as also the empty input is compressed once.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        (self.len as usize).div_ceil(BLOCK_LEN).max(1)
    }
}

/// Where the nodes of a call come from.
pub(super) trait Nodes {
    /// Bytes from one node to the next, and how much the counter rises. Where nodes are not as regular as that,
    /// `complete` says where each lies.
    const STRIDE: usize = 0;
    const RISE: u64 = 0;

    fn count(&self) -> usize;

    /// # Safety
    /// `index` is less than `count()`.
    unsafe fn node(&self, index: usize) -> Node;

    /// Turns the result of [`PassInputs::regular`] into nodes `at .. at + count` in its lanes, the others as [`filled`]
    /// says. In place: what is copied as a whole waits until it is in the cache, as it was stored in pieces.
    ///
    /// # Safety
    /// The nodes exist, `1 <= count <= N`, and `inputs` is what that gives for the same source, place and count.
    unsafe fn complete<const N: usize>(&self, pass: &mut PassInputs<N>, at: usize, count: usize);
}

/// Blocks that lie one behind another, and are hashed alike.
pub(super) struct Contiguous {
    first: *const u8,
    pub(super) flags: u32,
    /// Whether there are enough that later ones, and the places of their results, are worth
    /// fetching.
    pub(super) long: bool,
}

impl Contiguous {
    /// Pairs of chaining values, each of them a block: `count` of them, from these on.
    #[inline(always)]
    pub(super) fn pairs(children: *const ChainingValue, count: usize, flags: u8) -> Self {
        Self { first: children.cast(), flags: flags.into(), long: count >= PARENTS_AHEAD }
    }

    /// The same from block `index` on.
    #[inline(always)]
    pub(super) fn from(&self, index: usize) -> Self {
        Self { first: self.block(index), ..*self }
    }

    /// The address of block `index`, which need not exist.
    #[inline(always)]
    pub(super) fn block(&self, index: usize) -> *const u8 {
        self.first.wrapping_add(index * BLOCK_LEN)
    }

    /// What the lanes of a pass over `count` of them hash.
    #[inline(always)]
    pub(super) fn inputs<const N: usize>(&self, count: usize) -> [*const u8; N] {
        let mut inputs = [ptr::null(); N];
        // By an iterator: of another loop the compiler makes more instructions with AVX-512.
        for (lane, input) in inputs.iter_mut().enumerate() {
            *input = self.block(filled(lane, if count == N { N } else { count }));
        }
        inputs
    }
}

/// The chunks of one input; the last may be short.
pub(super) struct Chunks {
    pub(super) input: *const u8,
    pub(super) len: usize,
    pub(super) counter: u64,
    pub(super) flags: u8,
    /// What the last block of the last chunk adds: nothing, if more of that chunk is to come.
    pub(super) end: u8,
}

impl Nodes for Chunks {
    const STRIDE: usize = CHUNK_LEN;
    const RISE: u64 = 1;

    #[inline(always)]
    fn count(&self) -> usize {
        self.len.div_ceil(CHUNK_LEN)
    }

    #[inline(always)]
    unsafe fn node(&self, index: usize) -> Node {
        let start = index * CHUNK_LEN;
        let left = self.len - start;
        let (len, last) = if left <= CHUNK_LEN { (left, self.end) } else { (CHUNK_LEN, CHUNK_END) };
        Node {
            // `index` is within the input.
            input: self.input.add(start),
            len: len as u32,
            counter: self.counter + index as u64,
            flags: Flags { each: self.flags, first: CHUNK_START, last, padded: false },
        }
    }

    #[inline(always)]
    unsafe fn complete<const N: usize>(&self, pass: &mut PassInputs<N>, at: usize, count: usize) {
        let (first, last) = (self.node(at), self.node(at + count - 1));
        pass.shortest = last.len;
        if last.len != first.len {
            let mut lane = 0;
            while lane < N {
                if filled(lane, count) == count - 1 {
                    pass.lens[lane] = last.len;
                }
                lane += 1;
            }
        }
        if last.flags.last != first.flags.last {
            let mut lane = 0;
            while lane < N {
                if filled(lane, count) == count - 1 {
                    pass.last[lane] = u32::from(last.flags.last);
                }
                lane += 1;
            }
        }
        // A long input comes in pieces, so what follows the last pass is most likely wanted too.
        if self.len >= AHEAD {
            pass.fetch = N;
            let mut lane = 0;
            while lane < N {
                pass.ahead[lane] = first.input.wrapping_add((N + lane) * CHUNK_LEN);
                lane += 1;
            }
        }
    }
}

impl Nodes for Unequal<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    unsafe fn node(&self, index: usize) -> Node {
        let Marks { each, first, own } = self.marks;
        let input = self.inputs.get_unchecked(index);
        let (counter, last) = match own {
            Own::Nothing { last } => (0, last),
            Own::Each { counters, last } => {
                (*counters.get_unchecked(index), *last.get_unchecked(index))
            }
        };
        let flags = Flags { each, first, last, padded: false };
        Node { input: input.as_ptr(), len: input.len() as u32, counter, flags }
    }

    #[inline(always)]
    unsafe fn complete<const N: usize>(&self, pass: &mut PassInputs<N>, at: usize, count: usize) {
        let inputs = self.inputs.get_unchecked(at..at + count);
        // All in order and of known number: whole vectors are copied.
        match <&[_; N]>::try_from(inputs) {
            Ok(inputs) => pass.set_inputs(inputs, |lane| lane),
            Err(_) => pass.set_inputs(inputs, |lane| filled(lane, count)),
        }
        if let Own::Each { counters, last } = self.marks.own {
            let (counters, last) =
                (counters.get_unchecked(at..at + count), last.get_unchecked(at..at + count));
            match (<&[_; N]>::try_from(counters), <&[_; N]>::try_from(last)) {
                (Ok(counters), Ok(last)) => pass.set_own(counters, last, |lane| lane),
                _ => pass.set_own(counters, last, |lane| filled(lane, count)),
            }
        }
        let next = self.inputs.get(at + N..).unwrap_or_default();
        pass.fetch = next.len().min(N);
        for (ahead, input) in pass.ahead.iter_mut().zip(next) {
            *ahead = input.as_ptr();
        }
    }
}

/// Which of `count` nodes a lane hashes: its own or, past the last, one from the first on again. (The
/// same one in all lanes that are left makes them wait for one cache line: a tenth of the time.)
#[inline(always)]
fn filled(lane: usize, count: usize) -> usize {
    if lane < count { lane } else { (lane - count).min(count - 1) }
}

/// Inputs of at least this many bytes have the chunks of the next pass fetched while a pass is
/// hashed; shorter ones are in the caches, or are over before it helps.
const AHEAD: usize = 64 * 1024;

/// How far ahead parents are fetched: a pass over them is over before a line comes from memory.
pub(super) const PARENTS_AHEAD: usize = 128;

/// The nodes that one pass hashes, lane by lane.
#[repr(C, align(64))]
pub(super) struct PassInputs<const N: usize> {
    pub(super) inputs: [*const u8; N],
    /// Where nodes of the pass after this one are, `fetch` of them: worth fetching early. The
    /// addresses need not exist.
    pub(super) ahead: [*const u8; N],
    pub(super) lens: [u32; N],
    pub(super) low: [u32; N],
    pub(super) high: [u32; N],
    /// Flags of the first block, of the others, and what the last block adds.
    pub(super) first: u32,
    pub(super) each: u32,
    pub(super) last: [u32; N],
    pub(super) shortest: u32,
    pub(super) longest: u32,
    pub(super) fetch: usize,
}

impl<const N: usize> PassInputs<N> {
    /// `count` nodes like node `at` of a source, except for their places and counters. One array after the other,
    /// as compilers make vectors of that.
    ///
    /// # Safety
    /// That node exists, and `1 <= count <= N`.
    #[inline(always)]
    pub(super) unsafe fn regular<S: Nodes>(source: &S, at: usize, count: usize) -> Self {
        let node = source.node(at);
        let Flags { each, first, last, .. } = node.flags;
        let mut pass = Self {
            inputs: [ptr::null(); N],
            ahead: [ptr::null(); N],
            lens: [node.len; N],
            low: [0; N],
            high: [0; N],
            first: u32::from(each | first),
            each: u32::from(each),
            last: [u32::from(last); N],
            shortest: node.len,
            longest: node.len,
            fetch: 0,
        };
        let mut lane = 0;
        while lane < N {
            pass.inputs[lane] = node.input.wrapping_add(filled(lane, count) * S::STRIDE);
            lane += 1;
        }
        let mut lane = 0;
        while lane < N {
            let counter = node.counter.wrapping_add(lane as u64 * S::RISE);
            pass.low[lane] = counter as u32;
            pass.high[lane] = (counter >> 32) as u32;
            lane += 1;
        }
        pass
    }

    /// Other inputs, lane by lane the one that `pick` says.
    #[inline(always)]
    fn set_inputs(&mut self, inputs: &[&[u8]], pick: impl Fn(usize) -> usize) {
        let mut lane = 0;
        while lane < N {
            let input = inputs[pick(lane)];
            self.inputs[lane] = input.as_ptr();
            self.lens[lane] = input.len() as u32;
            lane += 1;
        }
        self.longest = by_halves(self.lens, u32::max);
        assert!(self.longest as usize <= NOTHING.len(), "no node is longer than a chunk");
        self.shortest = by_halves(self.lens, u32::min);
    }

    /// Other counters and flags, likewise.
    #[inline(always)]
    fn set_own(&mut self, counters: &[u64], last: &[u8], pick: impl Fn(usize) -> usize) {
        let mut lane = 0;
        while lane < N {
            let counter = counters[pick(lane)];
            self.low[lane] = counter as u32;
            self.high[lane] = (counter >> 32) as u32;
            lane += 1;
        }
        let mut lane = 0;
        while lane < N {
            self.last[lane] = u32::from(last[pick(lane)]);
            lane += 1;
        }
    }
}

/// The shortest or the longest of the lanes; by halves, as compilers make vectors of that, and no chain.
#[inline(always)]
fn by_halves<const N: usize>(mut lens: [u32; N], best: impl Fn(u32, u32) -> u32) -> u32 {
    let mut half = N / 2;
    while half > 0 {
        let mut lane = 0;
        while lane < half {
            lens[lane] = best(lens[lane], lens[lane + half]);
            lane += 1;
        }
        half /= 2;
    }
    lens[0]
}

/// What a step compresses.
pub(super) struct Block<const N: usize> {
    pub(super) lens: [u32; N],
    pub(super) flags: [u32; N],
}

/// Zeros for lanes that have ended, to the end of the longest node.
static NOTHING: [u8; CHUNK_LEN] = [0; CHUNK_LEN];

impl<const N: usize> PassInputs<N> {
    /// Blocks of the longest node.
    #[inline(always)]
    pub(super) fn steps(&self) -> usize {
        (self.longest as usize).div_ceil(BLOCK_LEN).max(1)
    }

    /// Whether all nodes end together, with a whole block.
    #[inline(always)]
    pub(super) fn ends_whole(&self) -> bool {
        self.shortest == self.longest && self.shortest as usize == self.steps() * BLOCK_LEN
    }

    /// Blocks up to the first that is the last one of some node; and that too if all end with it, whole.
    #[inline(always)]
    pub(super) fn whole_blocks(&self) -> usize {
        if self.ends_whole() {
            self.steps()
        } else {
            self.shortest.saturating_sub(1) as usize / BLOCK_LEN
        }
    }

    /// Block `step` of every lane.
    #[inline(always)]
    pub(super) fn block(&self, step: usize) -> Block<N> {
        const BLOCK: u32 = BLOCK_LEN as u32;
        let each = if step == 0 { self.first } else { self.each };
        let mut block = Block { lens: [0; N], flags: [each; N] };
        let mut lane = 0;
        while lane < N {
            let left = self.lens[lane] - step as u32 * BLOCK;
            block.lens[lane] = left.min(BLOCK);
            block.flags[lane] |= if left <= BLOCK { self.last[lane] } else { 0 };
            lane += 1;
        }
        block
    }

    /// Lets the lanes that have ended before block `step` continue with zeros to the end of the longest, so that they are
    /// like all others. What comes out of them is not wanted: `live`, all ones for lanes that have not ended,
    /// becomes zero for them.
    #[inline(always)]
    pub(super) fn retire(&mut self, step: usize, live: &mut [u32; N]) {
        let mut lane = 0;
        while lane < N {
            let ended = self.lens[lane] as usize <= step * BLOCK_LEN;
            self.inputs[lane] = if ended { NOTHING.as_ptr() } else { self.inputs[lane] };
            self.lens[lane] = if ended { self.longest } else { self.lens[lane] };
            live[lane] = if ended { 0 } else { live[lane] };
            lane += 1;
        }
        self.shortest = by_halves(self.lens, u32::min);
    }
}
