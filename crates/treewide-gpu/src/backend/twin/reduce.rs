//! The twin of `kernels/shared/reduce.wgsl` and `reduce.cuh`: what the stages `tiles` and `parents` share. Each computes one
//! node for each slot of a tile; here are the search for a slot's span, the levels in shared
//! memory, and the results.

use super::compress::{Cv, Node};
use crate::driver::{Kind, Span, TILE};
use treewide::hazmat::flags::ROOT;

const THREADS: usize = TILE as usize;

/// In shared memory, a bit next to the number of slots left: this is the first slot of a tree whose slots
/// are all in this tile.
const TOP: u32 = 1 << 31;

/// What a thread knows of its slot.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    pub(super) span: &'a Span,
    /// Its number in the span.
    pub(super) index: u32,
    /// Slots of the span from this one on.
    pub(super) left: u32,
}

/// The span of a slot, or `None` if it is between two.
pub(super) fn find(spans: &[Span], slot: u32, slots_of: fn(&Span) -> u32) -> Option<Slot<'_>> {
    // The last span that starts at this slot or before it.
    let (mut low, mut high) = (0, spans.len());
    while high - low > 1 {
        let middle = (low + high) / 2;
        if spans[middle].slot <= slot {
            low = middle;
        } else {
            high = middle;
        }
    }
    let span = &spans[low];
    let index = slot.checked_sub(span.slot)?;
    let left = slots_of(span).checked_sub(index).filter(|left| *left > 0)?;
    Some(Slot { span, index, left })
}

/// Where results go; both in words.
pub(super) struct Results<'a> {
    pub(super) cvs: &'a mut [u32],
    pub(super) out: &'a mut [u32],
}

impl Results<'_> {
    pub(super) fn cv(&mut self, to: u32, cv: &Cv) {
        self.cvs[8 * to as usize..][..8].copy_from_slice(cv);
    }

    /// A chaining value that was written before.
    pub(super) fn of(&self, at: u32) -> Cv {
        std::array::from_fn(|i| self.cvs[8 * at as usize + i])
    }

    /// The node on top of a tree.
    pub(super) fn top(&mut self, span: &Span, node: &Node) {
        let to = span.to as usize;
        match span.kind {
            Kind::Cv => self.cv(span.to, &node.cv()),
            Kind::Subtree => self.out[8 * to..][..8].copy_from_slice(&node.cv()),
            Kind::Digest => {
                let root = Node { flags: node.flags | u32::from(ROOT), ..*node };
                self.out[8 * to..][..8].copy_from_slice(&root.cv());
            }
            Kind::Node => self.out[32 * to..][..32].copy_from_slice(&node.words()),
        }
    }
}

/// Reduces a tile. `leaf` gives the chaining value of a slot, or writes its result itself if the
/// slot is all of a tree, and gives `None`.
pub(super) fn tile<'a>(
    tile: u32,
    key: &Cv,
    flags: u32,
    results: &mut Results<'_>,
    slot_of: impl Fn(u32) -> Option<Slot<'a>>,
    leaf: impl Fn(&Slot<'a>, &mut Results<'_>) -> Option<Cv>,
) {
    // Shared memory: the nodes, and how many slots of the same span and tile are left from each on.
    let mut nodes = [[0; 8]; THREADS];
    let mut left = [0; THREADS];
    // Registers of each thread.
    let mut own = [None; THREADS];
    for thread in 0..THREADS {
        let Some(slot) = slot_of(tile * TILE + thread as u32) else { continue };
        let Some(cv) = leaf(&slot, results) else { continue };
        nodes[thread] = cv;
        left[thread] = slot.left.min((THREADS - thread) as u32);
        if slot.index == 0 && slot.span.kind != Kind::Cv {
            left[thread] |= TOP;
        }
        own[thread] = Some(slot);
    }
    // Level by level, with a barrier after each. The pair on top of a tree is left for later, as
    // that one may be a root.
    for level in 0..THREADS.ilog2() {
        let step = 1 << level;
        for thread in 0..THREADS / 2 / step {
            let at = 2 * step * thread;
            let of = (left[at] & !TOP) as usize;
            let is_top = left[at] & TOP != 0 && of <= 2 * step;
            if of > step && !is_top {
                nodes[at] = Node::parent(&nodes[at], &nodes[at + step], key, flags).cv();
            }
        }
    }
    for thread in 0..THREADS {
        let Some(slot) = own[thread] else { continue };
        if left[thread] & TOP != 0 {
            // More than one slot, as a single one wrote its result itself.
            let half = ((left[thread] & !TOP).next_power_of_two() / 2) as usize;
            let top = Node::parent(&nodes[thread], &nodes[thread + half], key, flags);
            results.top(slot.span, &top);
        } else if slot.index == 0 || thread == 0 {
            results.cv(slot.span.to + slot.index / TILE, &nodes[thread]);
        }
    }
}
