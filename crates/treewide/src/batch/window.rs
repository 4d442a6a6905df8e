//! How unequal blobs fill lanes: a window of them at a time, sorted by length, the chunks first
//! and the parents after them.
//!
//! A kernel hashes its lanes in as many steps as the longest node of a group has blocks, so lanes
//! are idle where the nodes of a group differ in length. A window plans ahead instead of refilling
//! lanes on the way: it takes the next few hundred chunks, of however many blobs, sorts them by
//! blocks (a counting sort, as a chunk has 1 to 16) and hands them to the kernel longest first.
//! What follows in a lane is then a chunk as long as its neighbours, whichever blob it belongs to.
//!
//! ```text
//! blobs    A: 2.3 KiB    B: 100 B    C: 1.2 KiB    D: 90 B
//! chunks   A0 A1 A2      B0          C0 C1         D0       in the order of the blobs
//! lanes    A0 A1 C0 A2 C1 B0 D0                             sorted; `place` says what went where
//! parents  [A0 A1]                                          a level of all trees at once
//! roots    [A01 A2] [C0 C1]                                 all roots at once: one set of flags
//! ```
//!
//! Blobs of one length in a row need no sorting and no bookkeeping, and those of exactly a block are
//! copied side by side, which takes less time than to gather them lane by lane. Blobs of more than
//! [`LONG`] chunks are wide by themselves and go to the tree.

use core::ops::{Range, RangeInclusive};

use super::Blobs;
use crate::kernel::{Marks, Own, Runnable, running};
use crate::mode::Mode;
use crate::spec::flags::{CHUNK_END, CHUNK_START, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, words};
use crate::tree::{self, Node};

/// Chunks in a window, and blobs at most; those of small batches, where clearing the arrays would
/// count.
const WINDOWS: [usize; 3] = [32, 128 + AHEAD, 480 + AHEAD];

/// Inputs that are named to the kernel beyond those of a call, so that it fetches them early.
const AHEAD: usize = 32;

/// Chunks above which a blob is hashed by itself.
const LONG: usize = 31;

/// Lanes of the widest kernels: other blobs of a row may find neighbours of their length elsewhere.
const GROUP: usize = 32;

/// Blobs of a block each that are copied for one call.
const COPIED: usize = 64;

/// Blobs, at most, of which it is asked whether one by one is faster.
const FEW: usize = 4;

/// Blobs of equal length in a row that are worth leaving the sorting for.
const RUN: usize = 64;

/// Such blobs that are hashed in one call: their slices and digests fit the first-level cache. Also the
/// digests that are handed on at a time.
pub(super) const CALL: usize = 128;

/// Pairs of chaining values that are gathered for one call.
const PAIRS: usize = GROUP;

/// Pairs in a row that are worth a call of their own.
const ROW: usize = 16;

/// Blocks of the longest chunk.
const BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// Blocks of `len` bytes; the empty input has one.
#[inline(always)]
fn blocks(len: usize) -> usize {
    len.div_ceil(BLOCK_LEN).max(1)
}

/// A blob in a window: where its nodes stand on the level that is reached.
#[derive(Clone, Copy)]
struct Blob {
    /// The first of them. Those that follow it stand behind it, but for the last.
    first: u16,
    last: u16,
    /// How many there are; none if it is hashed by itself.
    nodes: u16,
}

impl Blob {
    /// Whether its nodes are pairs and nothing stands between them.
    fn is_row(&self) -> bool {
        self.nodes.is_multiple_of(2) && self.last == self.first + self.nodes - 1
    }

    /// One level up, where its parents stand from `first` on. An odd last node stays where it is.
    fn rise(&mut self, first: u16) {
        if self.nodes.is_multiple_of(2) {
            self.last = first + self.nodes / 2 - 1;
        }
        self.first = first;
        self.nodes = self.nodes.div_ceil(2);
    }
}

/// What a window holds.
struct Plan {
    blobs: usize,
    chunks: usize,
    /// Inputs, with those that come next.
    named: usize,
}

/// Where digests go, in the order of the blobs.
pub(super) trait Places: Sized {
    /// Gives the first `count` of them away.
    fn split_off(&mut self, count: usize) -> Self;

    /// Has the digests of all of them written, [`CALL`] at most.
    fn write(self, write: impl FnOnce(&mut [ChainingValue]));

    /// Has the next `count` digests written, [`CALL`] at most.
    fn next(&mut self, count: usize, write: impl FnOnce(&mut [ChainingValue])) {
        self.split_off(count).write(write);
    }
}

/// The lengths that have as many blocks as `len`, if it is of one chunk.
#[inline(always)]
fn equal_to(len: usize) -> Option<RangeInclusive<usize>> {
    let most = blocks(len) * BLOCK_LEN;
    let least = if most == BLOCK_LEN { 0 } else { most - BLOCK_LEN + 1 };
    (len <= CHUNK_LEN).then_some(least..=most)
}

/// Whether the first blobs of `range` are a [`Run`].
fn is_run<B: Blobs + ?Sized>(blobs: &B, range: &Range<usize>) -> bool {
    equal_to(blobs.get(range.start).len())
        .is_some_and(|lens| range.clone().take(RUN).all(|i| lens.contains(&blobs.get(i).len())))
}

/// Blobs of one length in a row that a call hashes, and those that come next.
struct Run<'r, 'a, const N: usize>(&'r mut [&'a [u8]; N]);

impl<'a, const N: usize> Run<'_, 'a, N> {
    /// The blobs in a row from the start of `range` that have equally many blocks and one chunk: how
    /// many to hash, none if they are few, and how many with those that come next.
    #[inline(always)]
    fn find<B: Blobs + ?Sized>(&mut self, blobs: &'a B, range: &Range<usize>) -> (usize, usize) {
        let Some(lens) = equal_to(blobs.get(range.start).len()) else { return (0, 0) };
        let named = range.len().min(N);
        blobs.slices(range.start, &mut self.0[..named]);
        let inputs = &self.0[..named];
        let count = named.min(CALL);
        // All at once first, as a search for the first that differs is no vector operation.
        let differs = |bits, input: &&[u8]| bits | input.len() ^ inputs[0].len();
        if inputs[..count].iter().fold(0, differs) == 0 && lens.contains(&inputs[0].len()) {
            return (count, named);
        }
        let equal = inputs.iter().take_while(|input| lens.contains(&input.len())).count();
        (if equal < RUN { 0 } else { equal.min(CALL) / GROUP * GROUP }, named)
    }
}

struct Window<'w, 'a, const N: usize> {
    /// The chunks in the order in which they are hashed, and their chaining values. (The slices stand
    /// elsewhere, as the compiler would make them in one place and move them to another.)
    inputs: &'w mut [&'a [u8]; N],
    counters: [u64; N],
    last: [u8; N],
    cvs: [ChainingValue; N],
    blobs: [Blob; N],
    pairs: Pairs,
}

impl<'w, 'a, const N: usize> Window<'w, 'a, N> {
    /// Chunks that are hashed; the other places are for what comes next.
    const CHUNKS: usize = if N > AHEAD { N - AHEAD } else { N };

    fn new(inputs: &'w mut [&'a [u8]; N]) -> Self {
        Self {
            inputs,
            counters: [0; N],
            last: [0; N],
            cvs: [[0; 32]; N],
            blobs: [Blob { first: 0, last: 0, nodes: 0 }; N],
            pairs: Pairs { cvs: [[0; 32]; 2 * PAIRS], to: [0; PAIRS], count: 0 },
        }
    }

    /// Plans as many blobs from the start of `range` as fit. `open` leaves the last compression of
    /// a blob of one chunk undone.
    fn plan<B: Blobs + ?Sized>(&mut self, blobs: &'a B, range: &Range<usize>, open: bool) -> Plan {
        // What of a blob of one chunk is hashed as a lane.
        let lane_len = |len: usize| if open { (blocks(len) - 1) * BLOCK_LEN } else { len };
        let mut counts = [0_usize; BLOCKS + 1];
        let mut plan = Plan { blobs: 0, chunks: 0, named: 0 };
        for index in range.clone().take(Self::CHUNKS) {
            let len = blobs.get(index).len();
            if len <= LONG * CHUNK_LEN {
                let whole = len.saturating_sub(1) / CHUNK_LEN;
                if plan.chunks + whole + 1 > Self::CHUNKS {
                    break;
                }
                plan.chunks += whole + 1;
                counts[BLOCKS] += whole;
                let last = len - whole * CHUNK_LEN;
                counts[blocks(if whole == 0 { lane_len(last) } else { last })] += 1;
            }
            plan.blobs += 1;
        }
        // Counts become the places of the first of each, the longest before all.
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
        for (blob, index) in self.blobs.iter_mut().zip(range.clone().take(plan.blobs)) {
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
        // What comes next will be sorted too, but it is these bytes.
        plan.named = plan.chunks;
        let rest = range.start + plan.blobs..range.end;
        let next = rest.flat_map(|index| blobs.get(index).chunks(CHUNK_LEN));
        for (place, input) in self.inputs[plan.chunks..].iter_mut().zip(next.take(AHEAD)) {
            *place = input;
            plan.named += 1;
        }
        plan
    }

    /// Hashes the chunks of the plan and reduces its trees to two nodes each.
    fn hash(&mut self, kernel: Runnable, mode: &Mode, plan: &Plan) {
        let own = Own::Each { counters: &self.counters, last: &self.last };
        let marks = Marks { each: mode.flags, first: CHUNK_START, own };
        let inputs = &self.inputs[..plan.named];
        kernel.lanes(inputs, marks, &mode.key, &mut self.cvs[..plan.chunks]);
        while self.blobs[..plan.blobs].iter().any(|blob| blob.nodes > 2) {
            self.level(kernel, mode, plan, 0, |nodes| nodes > 2);
        }
    }

    /// The next level of the blobs with so many nodes as `picks` says.
    fn level(
        &mut self,
        kernel: Runnable,
        mode: &Mode,
        plan: &Plan,
        flags: u8,
        picks: impl Fn(u16) -> bool,
    ) {
        let flags = mode.flags | flags;
        let mut blobs = &mut self.blobs[..plan.blobs];
        while let Some(blob) = blobs.first() {
            // Nodes of blobs in a row that stand in pairs are read and replaced where they are.
            let (from, mut end, mut row) = (blob.first, blob.first, 0);
            for blob in &*blobs {
                if !(picks(blob.nodes) && blob.is_row() && blob.first == end) {
                    break;
                }
                end += blob.nodes;
                row += 1;
            }
            let pairs = usize::from((end - from) / 2);
            if pairs >= ROW {
                let at = usize::from(from);
                kernel.parents(&mut self.cvs, at, pairs, at, &mode.key, flags);
            } else {
                row = 1;
            }
            let done = blobs.split_off_mut(..row).expect("these were found");
            for blob in done.iter_mut().filter(|blob| picks(blob.nodes)) {
                if pairs >= ROW {
                    blob.rise(from + (blob.first - from) / 2);
                    continue;
                }
                for pair in 0..blob.nodes / 2 {
                    let left = blob.first + 2 * pair;
                    let right = if 2 * pair + 2 == blob.nodes { blob.last } else { left + 1 };
                    // The parent goes where a node was that is gathered already.
                    let (left, right) = (usize::from(left), usize::from(right));
                    self.pairs.push(&self.cvs[left], &self.cvs[right], blob.first + pair);
                    if self.pairs.count == PAIRS {
                        self.pairs.hash(kernel, mode, flags, &mut self.cvs);
                    }
                }
                blob.rise(blob.first);
            }
        }
        self.pairs.hash(kernel, mode, flags, &mut self.cvs);
    }
}

/// Pairs of siblings, and where their parents go.
struct Pairs {
    cvs: [ChainingValue; 2 * PAIRS],
    to: [u16; PAIRS],
    count: usize,
}

impl Pairs {
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

/// Root nodes of the blobs in `range`, handed to `emit` in their order.
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
        0 => roots_by::<B, { WINDOWS[0] }>(mode, blobs, range, emit),
        1 => roots_by::<B, { WINDOWS[1] }>(mode, blobs, range, emit),
        _ => roots_by::<B, { WINDOWS[2] }>(mode, blobs, range, emit),
    }
}

/// Whether the blobs of `range` are so few and so short that one by one is faster. `copies` says that those
/// of a block each would be copied.
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
    // To gather lanes takes as long as two blocks, and to copy them next to nothing.
    let gathered = if copies && differ == 0 && first == BLOCK_LEN { 0 } else { 2 };
    kernel.is_faster_one_by_one(range.len(), all, longest, gathered)
}

/// The number of the window that is large enough.
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

/// Digests of the blobs in `range`, to their places.
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
    // Arrays that are cleared at the start would count where blobs are few.
    if range.len() <= GROUP {
        by_runs::<B, _, GROUP, GROUP>(kernel, mode, blobs, range, places);
    } else {
        by_runs::<B, _, { CALL + AHEAD }, COPIED>(kernel, mode, blobs, range, places);
    }
}

/// [`digests`] of several blobs, `N` of which are looked at together and `C` copied.
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
                0 => unequal::<B, _, { WINDOWS[0] }>,
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

/// Hashes the blobs of exactly one block from the start of `range` on, as far as they fill groups or are
/// the last; returns where it stopped.
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

/// Windows until blobs of one length follow in a row; returns where.
#[inline(never)]
fn unequal<B: Blobs + ?Sized, P: Places, const N: usize>(
    kernel: Runnable,
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    places: &mut P,
) -> usize {
    let mut inputs = [&[][..]; N];
    let mut window = Window::new(&mut inputs);
    loop {
        let plan = window.plan(blobs, &range, false);
        window.hash(kernel, mode, &plan);
        window.level(kernel, mode, &plan, ROOT, |nodes| nodes == 2);
        for done in window.blobs[..plan.blobs].chunks(CALL) {
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
}

#[inline(never)]
fn roots_by<B: Blobs + ?Sized, const N: usize>(
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    mut emit: impl FnMut(Node),
) {
    let kernel = running();
    let mut inputs = [&[][..]; N];
    let mut window = Window::new(&mut inputs);
    while !range.is_empty() {
        let plan = window.plan(blobs, &range, true);
        window.hash(kernel, mode, &plan);
        for (blob, index) in range.clone().take(plan.blobs).enumerate() {
            let input = blobs.get(index);
            let len = input.len();
            let Blob { first, last, .. } = window.blobs[blob];
            let (first, last) = (&window.cvs[usize::from(first)], &window.cvs[usize::from(last)]);
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
        range.start += plan.blobs;
    }
}

/// Blocks of input and parents in `range`, and the blocks that the lanes which are in use for them
/// could take.
pub(super) fn occupancy<B: Blobs + ?Sized>(blobs: &B, mut range: Range<usize>) -> (u64, u64) {
    let degree = running().degree();
    let mut inputs = [&[][..]; WINDOWS[2]];
    let mut window = Window::new(&mut inputs);
    let (mut used, mut held) = (0, 0);
    while !range.is_empty() {
        let plan = window.plan(blobs, &range, false);
        for group in window.inputs[..plan.chunks].chunks(degree) {
            used += group.iter().map(|input| blocks(input.len())).sum::<usize>();
            held += degree * blocks(group[0].len());
        }
        let blobs = &mut window.blobs[..plan.blobs];
        // Levels as `Window::hash` has them, and then the roots.
        for least in [3, 2] {
            while blobs.iter().any(|blob| blob.nodes >= least) {
                let mut pairs = 0;
                for blob in blobs.iter_mut().filter(|blob| blob.nodes >= least) {
                    pairs += usize::from(blob.nodes / 2);
                    blob.nodes = blob.nodes.div_ceil(2);
                }
                used += pairs;
                held += pairs.next_multiple_of(degree);
            }
        }
        range.start += plan.blobs;
    }
    (used as u64, held as u64)
}
