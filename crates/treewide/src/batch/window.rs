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
//! Blobs of one length in a row need no sorting and no bookkeeping. Blobs of more than [`LONG`]
//! chunks are wide by themselves and go to the tree.

use core::ops::{Range, RangeInclusive};

use super::Blobs;
use crate::kernel::{Kernel, Marks, detected};
use crate::spec::flags::{CHUNK_END, CHUNK_START, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue, words};
use crate::tree::{self, Join, Mode, Node};

/// Chunks in a window, and blobs at most; those of small batches, where clearing the arrays would
/// count.
const WINDOWS: [usize; 3] = [32, 128, 512];

/// Inputs that are named to the kernel beyond those of a call, so that it fetches them early.
const AHEAD: usize = 32;

/// Chunks above which a blob is hashed by itself.
const LONG: usize = 31;

/// Blobs that are hashed one by one, as a vector pass takes longer.
const ALONE: usize = 2;

/// Blobs of equal length in a row that are worth leaving the sorting for.
const RUN: usize = 64;

/// Such blobs that are hashed in one call: their slices and digests fit the first-level cache.
const CALL: usize = 128;

/// Pairs of chaining values that are gathered for one call.
const PAIRS: usize = 64;

/// Blocks of the longest chunk.
const BLOCKS: usize = CHUNK_LEN / BLOCK_LEN;

/// Blocks of `len` bytes; the empty input has one.
#[inline(always)]
fn blocks(len: usize) -> usize {
    len.div_ceil(BLOCK_LEN).max(1)
}

/// A blob of two chunks or more in a window.
#[derive(Clone, Copy)]
struct Tree {
    /// Its first chunk.
    slot: u16,
    /// Its nodes on the level that is reached.
    nodes: u16,
}

/// What a window holds.
struct Plan {
    blobs: usize,
    chunks: usize,
    /// Inputs, with those that come next.
    named: usize,
    trees: usize,
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

/// What a call hashes of blobs of one length in a row.
struct Run<'a> {
    inputs: [&'a [u8]; CALL + AHEAD],
    digests: [ChainingValue; CALL],
}

impl<'a> Run<'a> {
    fn new() -> Self {
        Self { inputs: [&[]; CALL + AHEAD], digests: [[0; 32]; CALL] }
    }

    /// Hashes blobs in a row from the start of `range` if they have equally many blocks and one
    /// chunk. Returns their digests, none if they are few.
    #[inline(always)]
    fn hash<B: Blobs + ?Sized>(
        &mut self,
        kernel: &Kernel,
        mode: &Mode,
        blobs: &'a B,
        range: &Range<usize>,
    ) -> &[ChainingValue] {
        let Some(lens) = equal_to(blobs.get(range.start).len()) else { return &[] };
        let named = range.len().min(CALL + AHEAD);
        blobs.slices(range.start, &mut self.inputs[..named]);
        let inputs = &self.inputs[..named];
        let mut count = named.min(CALL);
        // All at once first, as a search for the first that differs is no vector operation.
        if !inputs[..count].iter().fold(true, |all, input| all & lens.contains(&input.len())) {
            let equal = inputs.iter().take_while(|input| lens.contains(&input.len()));
            count = equal.count();
            if count < RUN {
                return &[];
            }
            // Whole groups: the others may find neighbours of their length.
            count -= count % 32;
        }
        let marks = Marks {
            counters: &[0; CALL],
            each: mode.flags,
            first: CHUNK_START,
            last: &[CHUNK_END | ROOT; CALL],
        };
        let digests = &mut self.digests[..count];
        kernel.lanes(inputs, marks, &mode.key, digests);
        digests
    }
}

struct Window<'a, const N: usize> {
    /// The chunks in the order in which they are hashed, and their chaining values.
    inputs: [&'a [u8]; N],
    counters: [u64; N],
    last: [u8; N],
    cvs: [ChainingValue; N],
    /// Where chunk `i`, in the order of the blobs, stands in `inputs` and `cvs`.
    place: [u16; N],
    /// The first chunk of each blob.
    first: [u16; N],
    trees: [Tree; N],
}

impl<'a, const N: usize> Window<'a, N> {
    /// Chunks that are hashed; the other places are for what comes next.
    const CHUNKS: usize = if N > AHEAD { N - AHEAD } else { N };

    fn new() -> Self {
        Self {
            inputs: [&[]; N],
            counters: [0; N],
            last: [0; N],
            cvs: [[0; 32]; N],
            place: [0; N],
            first: [0; N],
            trees: [Tree { slot: 0, nodes: 0 }; N],
        }
    }

    /// Plans as many blobs from the start of `range` as fit. `open` leaves the last compression of
    /// a blob of one chunk undone.
    fn plan<B: Blobs + ?Sized>(&mut self, blobs: &'a B, range: &Range<usize>, open: bool) -> Plan {
        // What of a blob of one chunk is hashed as a lane.
        let lane_len = |len: usize| if open { (blocks(len) - 1) * BLOCK_LEN } else { len };
        let mut counts = [0_usize; BLOCKS + 1];
        let mut plan = Plan { blobs: 0, chunks: 0, named: 0, trees: 0 };
        for index in range.clone().take(Self::CHUNKS) {
            let len = blobs.get(index).len();
            self.first[plan.blobs] = plan.chunks as u16;
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
        for (blob, index) in range.clone().take(plan.blobs).enumerate() {
            let input = blobs.get(index);
            let slot = usize::from(self.first[blob]);
            let mut place = |slot: usize, input: &'a [u8], counter: usize, last: u8| {
                let at = &mut counts[blocks(input.len())];
                self.place[slot] = *at as u16;
                self.inputs[*at] = input;
                self.counters[*at] = counter as u64;
                self.last[*at] = last;
                *at += 1;
            };
            if input.len() <= CHUNK_LEN {
                let last = if open { 0 } else { CHUNK_END | ROOT };
                place(slot, &input[..lane_len(input.len())], 0, last);
            } else if input.len() <= LONG * CHUNK_LEN {
                let mut nodes = 0;
                for input in input.chunks(CHUNK_LEN) {
                    place(slot + nodes, input, nodes, CHUNK_END);
                    nodes += 1;
                }
                self.trees[plan.trees] = Tree { slot: slot as u16, nodes: nodes as u16 };
                plan.trees += 1;
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
    fn hash(&mut self, kernel: &Kernel, mode: &Mode, plan: &Plan) {
        let marks = Marks {
            counters: &self.counters,
            each: mode.flags,
            first: CHUNK_START,
            last: &self.last,
        };
        let inputs = &self.inputs[..plan.named];
        kernel.lanes(inputs, marks, &mode.key, &mut self.cvs[..plan.chunks]);
        self.merge(kernel, mode, plan.trees);
    }

    /// The chaining value of node `index` of the level that blob number `blob` is reduced to.
    fn node(&self, blob: usize, index: usize) -> &ChainingValue {
        let slot = usize::from(self.first[blob]) + index;
        &self.cvs[usize::from(self.place[slot])]
    }

    /// Reduces the trees to two nodes each, level by level.
    fn merge(&mut self, kernel: &Kernel, mode: &Mode, trees: usize) {
        let mut gathered = Pairs::new();
        let mut more = true;
        while more {
            more = false;
            for tree in &mut self.trees[..trees] {
                let nodes = usize::from(tree.nodes);
                if nodes <= 2 {
                    continue;
                }
                let slot = usize::from(tree.slot);
                for pair in 0..nodes / 2 {
                    // A pair's parent goes where a node was that is gathered already.
                    let left = usize::from(self.place[slot + 2 * pair]);
                    let right = usize::from(self.place[slot + 2 * pair + 1]);
                    let to = self.place[slot + pair];
                    gathered.push(self.cvs[left], self.cvs[right], to);
                    if gathered.count == PAIRS {
                        gathered.hash(kernel, mode, 0, &mut self.cvs);
                    }
                }
                if nodes % 2 == 1 {
                    self.place[slot + nodes / 2] = self.place[slot + nodes - 1];
                }
                tree.nodes = nodes.div_ceil(2) as u16;
                more |= tree.nodes > 2;
            }
            gathered.hash(kernel, mode, 0, &mut self.cvs);
        }
    }

    /// Reduces the trees from two nodes each to their digests.
    fn merge_roots(&mut self, kernel: &Kernel, mode: &Mode, trees: usize) {
        let mut gathered = Pairs::new();
        for trees in self.trees[..trees].chunks(PAIRS) {
            for tree in trees {
                let slot = usize::from(tree.slot);
                let (left, right) = (self.place[slot], self.place[slot + 1]);
                let (left, right) = (usize::from(left), usize::from(right));
                gathered.push(self.cvs[left], self.cvs[right], self.place[slot]);
            }
            gathered.hash(kernel, mode, ROOT, &mut self.cvs);
        }
    }
}

/// Pairs of siblings, and where their parents go.
struct Pairs {
    cvs: [ChainingValue; 2 * PAIRS],
    to: [u16; PAIRS],
    count: usize,
}

impl Pairs {
    fn new() -> Self {
        Self { cvs: [[0; 32]; 2 * PAIRS], to: [0; PAIRS], count: 0 }
    }

    #[inline(always)]
    fn push(&mut self, left: ChainingValue, right: ChainingValue, to: u16) {
        self.cvs[2 * self.count] = left;
        self.cvs[2 * self.count + 1] = right;
        self.to[self.count] = to;
        self.count += 1;
    }

    fn hash(&mut self, kernel: &Kernel, mode: &Mode, flags: u8, out: &mut [ChainingValue]) {
        kernel.parents(&mut self.cvs, 0, self.count, 0, &mode.key, mode.flags | flags);
        for (to, cv) in self.to[..self.count].iter().zip(&self.cvs) {
            out[usize::from(*to)] = *cv;
        }
        self.count = 0;
    }
}

/// Digests of the blobs in `range`, handed to `emit` in their order, one or more at a time.
pub(super) fn digests<J: Join, B: Blobs + ?Sized>(
    mode: &Mode,
    blobs: &B,
    range: Range<usize>,
    emit: impl FnMut(&[ChainingValue]),
) {
    match window_of(blobs, &range) {
        0 => digests_by::<J, B, { WINDOWS[0] }>(mode, blobs, range, emit),
        1 => digests_by::<J, B, { WINDOWS[1] }>(mode, blobs, range, emit),
        _ => digests_by::<J, B, { WINDOWS[2] }>(mode, blobs, range, emit),
    }
}

/// Root nodes of the blobs in `range`, handed to `emit` in their order.
pub(super) fn roots<J: Join, B: Blobs + ?Sized>(
    mode: &Mode,
    blobs: &B,
    range: Range<usize>,
    emit: impl FnMut(Node),
) {
    match window_of(blobs, &range) {
        0 => roots_by::<J, B, { WINDOWS[0] }>(mode, blobs, range, emit),
        1 => roots_by::<J, B, { WINDOWS[1] }>(mode, blobs, range, emit),
        _ => roots_by::<J, B, { WINDOWS[2] }>(mode, blobs, range, emit),
    }
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

#[inline(always)]
fn digests_by<J: Join, B: Blobs + ?Sized, const N: usize>(
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    mut emit: impl FnMut(&[ChainingValue]),
) {
    let kernel = detected();
    if range.len() <= ALONE {
        for index in range {
            emit(&[tree::hash::<J>(kernel, blobs.get(index), mode)]);
        }
        return;
    }
    let mut run = Run::new();
    while !range.is_empty() {
        let digests = run.hash(kernel, mode, blobs, &range);
        if digests.is_empty() {
            range.start = unequal::<J, B, N>(kernel, mode, blobs, range.clone(), &mut emit);
        } else {
            emit(digests);
            range.start += digests.len();
        }
    }
}

/// Windows until blobs of one length follow in a row; returns where.
#[inline(never)]
fn unequal<J: Join, B: Blobs + ?Sized, const N: usize>(
    kernel: &Kernel,
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    emit: &mut impl FnMut(&[ChainingValue]),
) -> usize {
    let mut window = Window::<N>::new();
    loop {
        let plan = window.plan(blobs, &range, false);
        window.hash(kernel, mode, &plan);
        window.merge_roots(kernel, mode, plan.trees);
        for (blob, index) in range.clone().take(plan.blobs).enumerate() {
            let input = blobs.get(index);
            if input.len() <= LONG * CHUNK_LEN {
                emit(&[*window.node(blob, 0)]);
            } else {
                emit(&[tree::hash::<J>(kernel, input, mode)]);
            }
        }
        range.start += plan.blobs;
        if range.is_empty() || is_run(blobs, &range) {
            return range.start;
        }
    }
}

fn roots_by<J: Join, B: Blobs + ?Sized, const N: usize>(
    mode: &Mode,
    blobs: &B,
    mut range: Range<usize>,
    mut emit: impl FnMut(Node),
) {
    let kernel = detected();
    if range.len() <= ALONE {
        for index in range {
            emit(tree::root::<J>(kernel, blobs.get(index), 0, mode));
        }
        return;
    }
    let mut window = Window::<N>::new();
    while !range.is_empty() {
        let plan = window.plan(blobs, &range, true);
        window.hash(kernel, mode, &plan);
        for (blob, index) in range.clone().take(plan.blobs).enumerate() {
            let input = blobs.get(index);
            let len = input.len();
            emit(if len <= BLOCK_LEN {
                Node::chunk(kernel, input, 0, mode)
            } else if len <= CHUNK_LEN {
                let last = &input[(blocks(len) - 1) * BLOCK_LEN..];
                let mut block = [0; BLOCK_LEN];
                block[..last.len()].copy_from_slice(last);
                let (cv, flags) = (words(window.node(blob, 0)), mode.flags | CHUNK_END);
                Node { cv, block, block_len: last.len() as u8, counter: 0, flags }
            } else if len <= LONG * CHUNK_LEN {
                Node::parent(window.node(blob, 0), window.node(blob, 1), mode)
            } else {
                tree::root::<J>(kernel, input, 0, mode)
            });
        }
        range.start += plan.blobs;
    }
}

/// Blocks of input and parents in `range`, and the blocks that the lanes which are in use for them
/// could take.
pub(super) fn occupancy<B: Blobs + ?Sized>(blobs: &B, mut range: Range<usize>) -> (u64, u64) {
    let degree = detected().degree();
    let mut window = Window::<{ WINDOWS[2] }>::new();
    let (mut used, mut held) = (0, 0);
    while !range.is_empty() {
        let plan = window.plan(blobs, &range, false);
        for group in window.inputs[..plan.chunks].chunks(degree) {
            used += group.iter().map(|input| blocks(input.len())).sum::<usize>();
            held += degree * blocks(group[0].len());
        }
        let mut level = |pairs: usize| {
            used += pairs;
            held += pairs.next_multiple_of(degree);
        };
        level(plan.trees);
        let trees = &mut window.trees[..plan.trees];
        while trees.iter().any(|tree| tree.nodes > 2) {
            let above = trees.iter_mut().filter(|tree| tree.nodes > 2);
            level(
                above
                    .map(|tree| {
                        let pairs = tree.nodes / 2;
                        tree.nodes -= pairs;
                        usize::from(pairs)
                    })
                    .sum(),
            );
        }
        range.start += plan.blobs;
    }
    (used as u64, held as u64)
}
