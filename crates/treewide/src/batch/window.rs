//! Ragged blobs: sorts a window of them by length, so that the nodes of a pass are of similar length.
//!
//! A pass takes as many steps as its longest node has blocks, so lanes are idle where the nodes of a pass differ in
//! length. A window plans ahead instead of refilling lanes during a pass. It takes the next few hundred chunks, of
//! any number of blobs, sorts them by their number of blocks (a counting sort, because a chunk has 1 to 16), and
//! gives them to the kernel, the longest first. Chunks first, then the parents level by level.
//!
//! ```text
//! blobs    A: 2.3 KiB    B: 100 B    C: 1.2 KiB    D: 90 B
//! chunks   A0 A1 A2      B0          C0 C1         D0       in the order of the blobs
//! lanes    A0 A1 C0 A2 C1 B0 D0                             sorted; `place` says what went where
//! parents  [A0 A1]                                          a level of all trees at once
//! roots    [A01 A2] [C0 C1]                                 all roots at once: one set of flags
//! ```
//!
//! Consecutive blobs of one length need no sorting. Blobs of exactly one block are copied next to each other, which
//! takes less time than gathering them lane by lane. Blobs of more than [`LONG`] chunks fill passes on their own and go
//! to the tree.

use core::ops::{Range, RangeInclusive};

use super::Blobs;
use crate::kernel::contract::MOST_LANES;
use crate::kernel::{Marks, Own, Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, words};
use crate::tree::{self, Node};

/// The number of places in a window, for chunks and for blobs: small windows for small batches, where clearing the
/// arrays would take long (`results/zen5-2vcpu/limits.md#stack-of-a-batch`).
const WINDOWS: [usize; 3] = [32, 128 + AHEAD, 480 + AHEAD];

/// Whether a program has only the window in the middle: a kernel of four lanes needs no larger one, and the code of each is a
/// sixteenth of the npm package.
const ONE_WINDOW: bool = cfg!(target_arch = "wasm32");

/// How many upcoming inputs to pass to the kernel for prefetching: one pass of the widest kernel
/// (`results/spr-2vcpu/limits.md#prefetching`).
const AHEAD: usize = 32;

/// Blobs of more chunks than this are hashed alone: they fill the widest pass.
const LONG: usize = 31;

/// The rest of a sequence that does not fill the widest kernels may find neighbours of its length elsewhere.
const GROUP: usize = MOST_LANES;

/// The number of blobs of one block that are copied for one call. A guess: two of the widest passes.
const COPIED: usize = 64;

/// Largest batch for which hashing one by one is considered. A guess: the costs of passes decide (`contract::Width`).
const FEW: usize = 4;

/// Least number of consecutive blobs of one length that are hashed without sorting. A guess: two of the widest passes.
const RUN: usize = 64;

/// Most such blobs in one call, because their slices and digests fit the first-level cache. Also the number of digests
/// that are handed on at a time. A guess.
pub(super) const CALL: usize = 128;

/// The number of pairs of chaining values that are gathered for one call.
const PAIRS: usize = GROUP;

/// Least number of consecutive pairs that get their own call. A guess: they fill half of the widest pass.
const ROW_OF_PAIRS: usize = 16;

/// The number of blocks of a full chunk.
const BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// The number of blocks of `len` bytes; the empty input has one.
#[inline(always)]
fn blocks(len: usize) -> usize {
    len.div_ceil(BLOCK_LEN).max(1)
}

/// A blob in a window: the places of its nodes on the current level.
#[derive(Clone, Copy)]
struct Blob {
    /// The place of the first node. The others follow it, except for the last one.
    first: u16,
    last: u16,
    /// The number of nodes; 0 if the blob is hashed alone.
    nodes: u16,
}

impl Blob {
    /// Whether its nodes are pairs without gaps.
    fn has_no_gaps(&self) -> bool {
        self.nodes.is_multiple_of(2) && self.last == self.first + self.nodes - 1
    }

    /// The same one level up, with its parents from `first` on. An odd last node stays in its place.
    fn rise(&mut self, first: u16) {
        if self.nodes.is_multiple_of(2) {
            self.last = first + self.nodes / 2 - 1;
        }
        self.first = first;
        self.nodes = self.nodes.div_ceil(2);
    }
}

/// The contents of a window.
struct Contents {
    blobs: usize,
    chunks: usize,
    /// The number of inputs, including the upcoming ones.
    named: usize,
}

/// Where digests go, in the order of the blobs.
pub(super) trait Places: Sized {
    /// Splits off the first `count` places.
    fn split_off(&mut self, count: usize) -> Self;

    /// Has the digests of all places written, at most [`CALL`].
    fn write(self, write: impl FnOnce(&mut [ChainingValue]));

    /// Has the next `count` digests written, at most [`CALL`].
    fn next(&mut self, count: usize, write: impl FnOnce(&mut [ChainingValue])) {
        self.split_off(count).write(write);
    }
}

/// The lengths with as many blocks as `len`, if that is at most one chunk.
#[inline(always)]
fn equal_to(len: usize) -> Option<RangeInclusive<usize>> {
    let most = blocks(len) * BLOCK_LEN;
    let least = if most == BLOCK_LEN { 0 } else { most - BLOCK_LEN + 1 };
    (len <= CHUNK_LEN).then_some(least..=most)
}

/// Whether the first blobs of `range` are a [`Run`] of equal lengths.
fn is_run<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>) -> bool {
    equal_to(blobs.get(range.start).len())
        .is_some_and(|lens| range.clone().take(RUN).all(|i| lens.contains(&blobs.get(i).len())))
}

/// Consecutive blobs of one length that a call hashes, and the upcoming ones.
struct Run<'r, 'a, const N: usize>(&'r mut [&'a [u8]; N]);

impl<'a, const N: usize> Run<'_, 'a, N> {
    /// Finds the blobs at the start of `range` that have one chunk and the same number of blocks. Returns how many to
    /// hash (none if they are too few), and how many with the upcoming ones.
    #[inline(always)]
    fn find<B: Blobs + ?Sized>(&mut self, blobs: &'a B, range: &Range<usize>) -> (usize, usize) {
        let Some(lens) = equal_to(blobs.get(range.start).len()) else { return (0, 0) };
        let named = range.len().min(N);
        blobs.slices(range.start, &mut self.0[..named]);
        let inputs = &self.0[..named];
        let count = named.min(CALL);
        // Compare all of them first, because a search for the first that differs is not a vector operation.
        let differs = |bits, input: &&[u8]| bits | input.len() ^ inputs[0].len();
        if inputs[..count].iter().fold(0, differs) == 0 && lens.contains(&inputs[0].len()) {
            return (count, named);
        }
        let equal = inputs.iter().take_while(|input| lens.contains(&input.len())).count();
        (if equal < RUN { 0 } else { equal.min(CALL) / GROUP * GROUP }, named)
    }
}

struct Window<'w, 'a, const N: usize> {
    /// The chunks in the order in which they are hashed, and their chaining values.
    inputs: &'w mut [&'a [u8]],
    counters: &'w mut [u64],
    last: &'w mut [u8],
    cvs: &'w mut [ChainingValue],
    blobs: &'w mut [Blob],
    pairs: Pairs,
}

/// The largest window on the stack: without optimisation each takes the stack twice.
#[cfg(feature = "alloc")]
const ON_STACK: usize = if cfg!(unoptimised) { 0 } else { WINDOWS[1] };

/// Calls `f` with a window: on the stack if it is small, or if there is no heap.
fn with_window<'a, const N: usize, T>(f: impl FnOnce(Window<'_, 'a, N>) -> T) -> T {
    #[cfg(feature = "alloc")]
    if N > ON_STACK {
        return on_heap(f);
    }
    on_stack(f)
}

const NO_BLOB: Blob = Blob { first: 0, last: 0, nodes: 0 };

#[inline(never)]
fn on_stack<'a, const N: usize, T>(f: impl FnOnce(Window<'_, 'a, N>) -> T) -> T {
    f(Window {
        inputs: &mut [&[][..]; N],
        counters: &mut [0; N],
        last: &mut [0; N],
        cvs: &mut [[0; 32]; N],
        blobs: &mut [NO_BLOB; N],
        pairs: Pairs::NONE,
    })
}

#[cfg(feature = "alloc")]
#[inline(never)]
fn on_heap<'a, const N: usize, T>(f: impl FnOnce(Window<'_, 'a, N>) -> T) -> T {
    f(Window {
        inputs: &mut alloc::vec![&[][..]; N],
        counters: &mut alloc::vec![0; N],
        last: &mut alloc::vec![0; N],
        cvs: &mut alloc::vec![[0; 32]; N],
        blobs: &mut alloc::vec![NO_BLOB; N],
        pairs: Pairs::NONE,
    })
}

impl<'a, const N: usize> Window<'_, 'a, N> {
    /// The number of chunks that are hashed; the other places are for upcoming inputs.
    const CHUNKS: usize = if N > AHEAD { N - AHEAD } else { N };

    /// Plans as many blobs from the start of `range` as fit. With `open`, the last compression of a blob of one chunk is
    /// not done.
    fn plan<B: Blobs + ?Sized>(
        &mut self,
        blobs: &'a B,
        range: &Range<usize>,
        open: bool,
    ) -> Contents {
        // The part of a blob of one chunk that is hashed as a lane.
        let lane_len = |len: usize| if open { (blocks(len) - 1) * BLOCK_LEN } else { len };
        let mut counts = [0_usize; BLOCKS + 1];
        let mut contents = Contents { blobs: 0, chunks: 0, named: 0 };
        for index in range.clone().take(Self::CHUNKS) {
            let len = blobs.get(index).len();
            if len <= LONG * CHUNK_LEN {
                let whole = len.saturating_sub(1) / CHUNK_LEN;
                if contents.chunks + whole + 1 > Self::CHUNKS {
                    break;
                }
                contents.chunks += whole + 1;
                counts[BLOCKS] += whole;
                let last = len - whole * CHUNK_LEN;
                counts[blocks(if whole == 0 { lane_len(last) } else { last })] += 1;
            }
            contents.blobs += 1;
        }
        // Counts become the places of the first chunk of each length, the longest first.
        let mut at = 0;
        for count in counts.iter_mut().rev() {
            at += *count;
            *count = at - *count;
        }
        let mut place = |input: &'a [u8], counter: usize, last: u8| {
            let at = &mut counts[blocks(input.len())];
            let place = *at;
            self.inputs[place] = input;
            self.counters[place] = counter as u64;
            self.last[place] = last;
            *at += 1;
            place as u16
        };
        for (blob, index) in self.blobs.iter_mut().zip(range.clone().take(contents.blobs)) {
            let input = blobs.get(index);
            if input.len() <= CHUNK_LEN {
                let last = if open { 0 } else { CHUNK_END | ROOT };
                let first = place(&input[..lane_len(input.len())], 0, last);
                *blob = Blob { first, last: first, nodes: 1 };
            } else if input.len() <= LONG * CHUNK_LEN {
                let (chunk, rest) = input.split_at(CHUNK_LEN);
                let first = place(chunk, 0, CHUNK_END);
                *blob = Blob { first, last: first, nodes: 1 };
                for chunk in rest.chunks(CHUNK_LEN) {
                    blob.last = place(chunk, usize::from(blob.nodes), CHUNK_END);
                    blob.nodes += 1;
                }
            } else {
                blob.nodes = 0;
            }
        }
        // Upcoming inputs will be sorted later, but their bytes are the same.
        contents.named = contents.chunks;
        let rest = range.start + contents.blobs..range.end;
        let next = rest.flat_map(|index| blobs.get(index).chunks(CHUNK_LEN));
        for (place, input) in self.inputs[contents.chunks..].iter_mut().zip(next.take(AHEAD)) {
            *place = input;
            contents.named += 1;
        }
        contents
    }

    /// Hashes the chunks of the window and reduces its trees to two nodes each.
    fn hash(&mut self, kernel: Runnable, mode: &Mode, contents: &Contents) {
        let own = Own::Each { counters: self.counters, last: self.last };
        let marks = Marks { each: mode.flags, first: CHUNK_START, own };
        let inputs = &self.inputs[..contents.named];
        kernel.lanes(inputs, marks, &mode.key, &mut self.cvs[..contents.chunks]);
        while self.blobs[..contents.blobs].iter().any(|blob| blob.nodes > 2) {
            self.level(kernel, mode, contents, 0, |nodes| nodes > 2);
        }
    }

    /// Computes the next level of the blobs whose number of nodes `picks` accepts.
    fn level(
        &mut self,
        kernel: Runnable,
        mode: &Mode,
        contents: &Contents,
        flags: u8,
        picks: impl Fn(u16) -> bool,
    ) {
        let flags = mode.flags | flags;
        let mut blobs = &mut self.blobs[..contents.blobs];
        while let Some(blob) = blobs.first() {
            // Nodes of consecutive blobs that are pairs without gaps are read and replaced in place.
            let (from, mut end, mut row) = (blob.first, blob.first, 0);
            for blob in &*blobs {
                if !(picks(blob.nodes) && blob.has_no_gaps() && blob.first == end) {
                    break;
                }
                end += blob.nodes;
                row += 1;
            }
            let pairs = usize::from((end - from) / 2);
            if pairs >= ROW_OF_PAIRS {
                let at = usize::from(from);
                kernel.parents(self.cvs, at, pairs, at, &mode.key, flags);
            } else {
                row = 1;
            }
            let done = blobs.split_off_mut(..row).expect("these were found");
            for blob in done.iter_mut().filter(|blob| picks(blob.nodes)) {
                if pairs >= ROW_OF_PAIRS {
                    blob.rise(from + (blob.first - from) / 2);
                    continue;
                }
                for pair in 0..blob.nodes / 2 {
                    let left = blob.first + 2 * pair;
                    let right = if 2 * pair + 2 == blob.nodes { blob.last } else { left + 1 };
                    // The parent replaces a node that is gathered already.
                    let (left, right) = (usize::from(left), usize::from(right));
                    self.pairs.push(&self.cvs[left], &self.cvs[right], blob.first + pair);
                    if self.pairs.count == PAIRS {
                        self.pairs.hash(kernel, mode, flags, self.cvs);
                    }
                }
                blob.rise(blob.first);
            }
        }
        self.pairs.hash(kernel, mode, flags, self.cvs);
    }
}

/// Pairs of siblings, and the places of their parents.
struct Pairs {
    cvs: [ChainingValue; 2 * PAIRS],
    to: [u16; PAIRS],
    count: usize,
}

impl Pairs {
    const NONE: Self = Self { cvs: [[0; 32]; 2 * PAIRS], to: [0; PAIRS], count: 0 };

    #[inline(always)]
    fn push(&mut self, left: &ChainingValue, right: &ChainingValue, to: u16) {
        self.cvs[2 * self.count] = *left;
        self.cvs[2 * self.count + 1] = *right;
        self.to[self.count] = to;
        self.count += 1;
    }

    fn hash(&mut self, kernel: Runnable, mode: &Mode, flags: u8, out: &mut [ChainingValue]) {
        kernel.parents(&mut self.cvs, 0, self.count, 0, &mode.key, flags);
        for (to, cv) in self.to[..self.count].iter().zip(&self.cvs) {
            out[usize::from(*to)] = *cv;
        }
        self.count = 0;
    }
}

/// Computes the root nodes of the blobs in `range`, and passes them to `emit` in order.
pub(super) fn roots<B: Blobs + ?Sized>(
    mode: &Mode,
    blobs: &B,
    range: Range<usize>,
    mut emit: impl FnMut(Node),
) {
    let kernel = running();
    if are_alone(kernel, blobs, &range, false) {
        return range.for_each(|index| emit(tree::root(kernel, blobs.get(index), 0, mode)));
    }
    match window_of(blobs, &range) {
        0 if !ONE_WINDOW => roots_by::<B, { WINDOWS[0] }>(mode, blobs, range, emit),
        _ if ONE_WINDOW => roots_by::<B, { WINDOWS[1] }>(mode, blobs, range, emit),
        1 => roots_by::<B, { WINDOWS[1] }>(mode, blobs, range, emit),
        _ => roots_by::<B, { WINDOWS[2] }>(mode, blobs, range, emit),
    }
}

/// Whether the blobs of `range` are so few and so short that hashing them one by one is faster. With `copies`, blobs of
/// one block would be copied.
#[inline(always)]
fn are_alone<B: Blobs + ?Sized>(
    kernel: Runnable,
    blobs: &B,
    range: &Range<usize>,
    copies: bool,
) -> bool {
    if !(2..=FEW).contains(&range.len()) {
        return range.len() == 1;
    }
    let first = blobs.get(range.start).len();
    let (mut all, mut longest, mut differ) = (0, 0, 0);
    for index in range.clone() {
        let len = blobs.get(index).len();
        if len > CHUNK_LEN {
            return false;
        }
        all += blocks(len);
        longest = longest.max(blocks(len));
        differ |= len ^ first;
    }
    // Gathering lanes takes as long as two blocks; copying takes next to nothing. A guess.
    let gathered = if copies && differ == 0 && first == BLOCK_LEN { 0 } else { 2 };
    kernel.is_faster_one_by_one(range.len(), all, longest, gathered)
}

/// The index of the smallest window that is large enough.
fn window_of<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>) -> usize {
    let mut chunks = 0;
    for index in range.clone() {
        chunks += blobs.get(index).len() / CHUNK_LEN + 1;
        if chunks > WINDOWS[1] {
            return 2;
        }
    }
    usize::from(chunks > WINDOWS[0])
}

/// Writes the digests of the blobs in `range` to their places.
pub(super) fn digests<B: Blobs + ?Sized>(
    mode: &Mode,
    blobs: &B,
    range: Range<usize>,
    mut places: impl Places,
) {
    let kernel = running();
    if are_alone(kernel, blobs, &range, true) {
        for index in range {
            places.next(1, |out| out[0] = tree::hash(kernel, blobs.get(index), mode));
        }
        return;
    }
    // Clearing large arrays would take long where blobs are few.
    if range.len() <= GROUP && !ONE_WINDOW {
        by_runs::<B, _, GROUP, GROUP>(kernel, mode, blobs, range, places);
    } else {
        by_runs::<B, _, { CALL + AHEAD }, COPIED>(kernel, mode, blobs, range, places);
    }
}

/// [`digests`] for several blobs, with a window of `N` and copies of `C` blobs.
#[inline(never)]
fn by_runs<B: Blobs + ?Sized, P: Places, const N: usize, const C: usize>(
    kernel: Runnable,
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    mut places: P,
) {
    let mut inputs = [&[][..]; N];
    let mut run = Run(&mut inputs);
    while !range.is_empty() {
        if blobs.get(range.start).len() == BLOCK_LEN {
            let from = range.start;
            range.start = copied::<B, _, C>(kernel, mode, blobs, range.clone(), &mut places);
            if range.start > from {
                continue;
            }
        }
        let (count, named) = run.find(blobs, &range);
        if count == 0 {
            let unequal = match window_of(blobs, &range) {
                0 if !ONE_WINDOW => unequal::<B, _, { WINDOWS[0] }>,
                _ if ONE_WINDOW => unequal::<B, _, { WINDOWS[1] }>,
                1 => unequal::<B, _, { WINDOWS[1] }>,
                _ => unequal::<B, _, { WINDOWS[2] }>,
            };
            range.start = unequal(kernel, mode, blobs, range.clone(), &mut places);
            continue;
        }
        let own = Own::Nothing { last: CHUNK_END | ROOT };
        let marks = Marks { each: mode.flags, first: CHUNK_START, own };
        places.next(count, |out| kernel.lanes(&run.0[..named], marks, &mode.key, out));
        range.start += count;
    }
}

/// Hashes the blobs of exactly one block at the start of `range`, as far as they fill passes or are the last ones.
/// Returns where it stopped.
#[inline(never)]
fn copied<B: Blobs + ?Sized, P: Places, const N: usize>(
    kernel: Runnable,
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    places: &mut P,
) -> usize {
    let flags = mode.flags | CHUNK_START | CHUNK_END | ROOT;
    let mut blocks = [[0; BLOCK_LEN]; N];
    loop {
        let mut count = 0;
        for (block, index) in blocks.iter_mut().zip(range.clone()) {
            let Ok(blob) = blobs.get(index).try_into() else { break };
            *block = blob;
            count += 1;
        }
        if count < range.len().min(N) {
            count = count / GROUP * GROUP;
        }
        if count == 0 {
            return range.start;
        }
        let children = blocks[..count].as_flattened().as_chunks().0;
        places.next(count, |out| kernel.pairs(children, &mode.key, flags, out));
        range.start += count;
    }
}

/// Hashes windows until consecutive blobs of one length follow; returns where they begin.
#[inline(never)]
fn unequal<B: Blobs + ?Sized, P: Places, const N: usize>(
    kernel: Runnable,
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    places: &mut P,
) -> usize {
    with_window::<N, _>(|mut window| {
        loop {
            let contents = window.plan(blobs, &range, false);
            window.hash(kernel, mode, &contents);
            window.level(kernel, mode, &contents, ROOT, |nodes| nodes == 2);
            for done in window.blobs[..contents.blobs].chunks(CALL) {
                places.next(done.len(), |out| {
                    for ((blob, index), out) in done.iter().zip(range.clone()).zip(out) {
                        *out = match blob.nodes {
                            0 => tree::hash(kernel, blobs.get(index), mode),
                            _ => window.cvs[usize::from(blob.first)],
                        };
                    }
                });
                range.start += done.len();
            }
            if range.is_empty() || is_run(blobs, &range) {
                return range.start;
            }
        }
    })
}

#[inline(never)]
fn roots_by<B: Blobs + ?Sized, const N: usize>(
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    mut emit: impl FnMut(Node),
) {
    let kernel = running();
    with_window::<N, _>(|mut window| {
        while !range.is_empty() {
            let contents = window.plan(blobs, &range, true);
            window.hash(kernel, mode, &contents);
            for (blob, index) in range.clone().take(contents.blobs).enumerate() {
                let input = blobs.get(index);
                let len = input.len();
                let Blob { first, last, .. } = window.blobs[blob];
                let (first, last) =
                    (&window.cvs[usize::from(first)], &window.cvs[usize::from(last)]);
                emit(if len <= BLOCK_LEN {
                    Node::chunk(kernel, input, 0, mode)
                } else if len <= CHUNK_LEN {
                    let end = &input[(blocks(len) - 1) * BLOCK_LEN..];
                    let mut block = [0; BLOCK_LEN];
                    block[..end.len()].copy_from_slice(end);
                    let (cv, flags) = (words(first), mode.flags | CHUNK_END);
                    Node { cv, block, block_len: end.len() as u8, counter: 0, flags }
                } else if len <= LONG * CHUNK_LEN {
                    Node::parent(first, last, mode)
                } else {
                    tree::root(kernel, input, 0, mode)
                });
            }
            range.start += contents.blobs;
        }
    })
}
