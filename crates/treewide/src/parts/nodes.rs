//! The nodes that are known: `tops`, which do not overlap, and those `below` them, which were hashed with other cuts.
//!
//! ```text
//! tops      [        A        ] [B] [C]      the digest comes from these
//! below          [D]                         pending: D's sibling will show whether A is right
//! ```
//!
//! Two siblings make their parent, which is compared if it is known, and else is known from then on. So a node below is
//! compared as soon as its sibling is there. It stays, and when it comes again, it has nothing to wait for.

use std::collections::BTreeMap;
use std::ops::Range;

use super::absorbed::Absorbed;
use super::error::AbsorbError;
use super::part::Part;
use super::subtrees::sibling;
use crate::hash::Hash;
use crate::kernel::running;
use crate::mode::Mode;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::subtrees::Subtrees;
use crate::tree::{LEAF, Node};

#[derive(Clone, Default)]
pub(super) struct Nodes {
    /// By start: the end, and the value.
    tops: BTreeMap<u64, (u64, ChainingValue)>,
    /// By start and end.
    below: BTreeMap<(u64, u64), ChainingValue>,
}

/// What was in a place before, to take a change back.
enum Undo {
    Top(u64, Option<(u64, ChainingValue)>),
    Below((u64, u64)),
}

/// A change that is whole or did not happen.
struct Change<'a> {
    nodes: &'a mut Nodes,
    total: u64,
    mode: &'a Mode,
    undo: Vec<Undo>,
}

/// Comparing takes constant time, as digests of keyed modes may be codes.
fn equal(left: &ChainingValue, right: &ChainingValue) -> bool {
    Hash::from_bytes(*left) == *right
}

fn parent(left: &ChainingValue, right: &ChainingValue, mode: &Mode) -> ChainingValue {
    Node::parent(left, right, mode).chaining_value(running())
}

impl Nodes {
    pub(super) fn tops(&self) -> impl Iterator<Item = (Range<u64>, ChainingValue)> + '_ {
        self.tops.iter().map(|(start, (end, cv))| (*start..*end, *cv))
    }

    /// The nodes below tops that wait for their sibling to be compared.
    pub(super) fn pending(
        &self,
        total: u64,
    ) -> impl Iterator<Item = (Range<u64>, ChainingValue)> + '_ {
        let all = self.below.iter().map(|((start, end), cv)| (*start..*end, *cv));
        all.filter(move |(range, _)| {
            // A node below another one has a sibling.
            let (other, _) = sibling(range, total);
            !self.below.contains_key(&(other.start, other.end))
        })
    }

    /// From parts that `bytes` has checked.
    pub(super) fn from_sorted(tops: Vec<Part>, pending: Vec<Part>) -> Self {
        let tops = tops.into_iter().map(|part| (part.range.start, (part.range.end, part.cv)));
        let pending = pending.into_iter().map(|part| ((part.range.start, part.range.end), part.cv));
        Self { tops: tops.collect(), below: pending.collect() }
    }

    /// Adds nodes, and then the ones that wait below them; all of them, or none.
    pub(super) fn add(
        &mut self,
        total: u64,
        mode: &Mode,
        parts: impl IntoIterator<Item = Part>,
        waiting: impl IntoIterator<Item = Part>,
    ) -> Result<Absorbed, AbsorbError> {
        let mut absorbed = Absorbed::default();
        let mut change = Change { nodes: self, total, mode, undo: Vec::new() };
        let added = parts.into_iter().try_for_each(|part| {
            let len = part.range.end - part.range.start;
            let new = change.add(part)?;
            absorbed.new += new;
            absorbed.again += len - new;
            Ok(())
        });
        // What waits is below a part, whose bytes are counted.
        let mut waiting = waiting.into_iter();
        let added = added.and_then(|()| waiting.try_for_each(|part| change.add(part).map(|_| ())));
        if added.is_err() {
            change.take_back();
        }
        added.map(|()| absorbed)
    }

    /// The top that has the byte `at`.
    fn top_at(&self, at: u64) -> Option<(Range<u64>, ChainingValue)> {
        let (start, (end, cv)) = self.tops.range(..=at).next_back()?;
        (at < *end).then_some((*start..*end, *cv))
    }

    /// Whether a top has the byte `at`.
    pub(super) fn has(&self, at: u64) -> bool {
        self.top_at(at).is_some()
    }

    /// The starts of the tops that touch a range which is not empty.
    fn touching(&self, range: &Range<u64>) -> Vec<u64> {
        let first = self.top_at(range.start).map_or(range.start, |(top, _)| top.start);
        self.tops.range(first..range.end).map(|(start, _)| *start).collect()
    }

    /// Forgets the nodes that touch a range which is not empty.
    pub(super) fn forget(&mut self, range: &Range<u64>) {
        for start in self.touching(range) {
            let (end, _) = self.tops.remove(&start).expect("it was there");
            // Nothing may be known below a node that is gone.
            let below = self.below.range((start, 0)..(end, 0));
            let below: Vec<_> = below.map(|(key, _)| *key).collect();
            below.iter().for_each(|key| _ = self.below.remove(key));
        }
    }

    /// Merges siblings, except for the two below the root, and forgets what was compared below them.
    pub(super) fn compact(&mut self, total: u64, mode: &Mode) {
        let pending = self.pending(total).map(|(range, cv)| ((range.start, range.end), cv));
        self.below = pending.collect();
        let mut merged: Vec<(u64, (u64, ChainingValue))> = Vec::new();
        for (start, (end, cv)) in std::mem::take(&mut self.tops) {
            let (mut range, mut cv) = (start..end, cv);
            while let Some((left, (left_end, left_cv))) = merged.last() {
                let is_root = *left == 0 && range.end == total;
                if is_root || (*left..*left_end, true) != sibling(&range, total) {
                    break;
                }
                cv = parent(left_cv, &cv, mode);
                range.start = *left;
                merged.pop();
            }
            merged.push((range.start, (range.end, cv)));
        }
        self.tops = merged.into_iter().collect();
    }

    /// The digest, when nothing is missing and the input is not empty.
    pub(super) fn root(&self, mode: &Mode) -> Hash {
        if self.tops.len() == 1 {
            // The only chunk: its part is the digest.
            return Hash::from_bytes(self.tops[&0].1);
        }
        let mut subtrees = Subtrees::new(*mode);
        let mut run = Vec::with_capacity(LEAF);
        let mut run_len = 0;
        for (range, cv) in self.tops() {
            let len = range.end - range.start;
            // Neighbours of the same level are merged side by side.
            if len != run_len || run.len() == LEAF {
                push(&mut subtrees, &run, run_len);
                run.clear();
                run_len = len;
            }
            run.push(cv);
        }
        push(&mut subtrees, &run, run_len);
        subtrees.finalize()
    }
}

/// Appends nodes of `len` bytes each. Only one node may have other than a power of two of chunks: the last one.
fn push(subtrees: &mut Subtrees, cvs: &[ChainingValue], len: u64) {
    let chunks = len.div_ceil(CHUNK_LEN as u64);
    match cvs {
        [] => {}
        [cv] if !chunks.is_power_of_two() => subtrees.push_last(cv, chunks),
        _ => subtrees.push(cvs, chunks.ilog2()),
    }
}

impl Change<'_> {
    fn set_top(&mut self, start: u64, top: Option<(u64, ChainingValue)>) {
        let tops = &mut self.nodes.tops;
        let before = match top {
            Some(top) => tops.insert(start, top),
            None => tops.remove(&start),
        };
        self.undo.push(Undo::Top(start, before));
    }

    fn set_below(&mut self, key: (u64, u64), cv: ChainingValue) {
        self.nodes.below.insert(key, cv);
        self.undo.push(Undo::Below(key));
    }

    fn take_back(mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Top(start, Some(top)) => _ = self.nodes.tops.insert(start, top),
                Undo::Top(start, None) => _ = self.nodes.tops.remove(&start),
                Undo::Below(key) => _ = self.nodes.below.remove(&key),
            }
        }
    }

    /// Adds a node, and returns how many of its bytes are new.
    fn add(&mut self, part: Part) -> Result<u64, AbsorbError> {
        let Part { range, cv } = part;
        let len = range.end - range.start;
        // Most nodes touch none that is there.
        let before = self.nodes.tops.range(..range.end).next_back();
        if before.is_none_or(|(_, (end, _))| *end <= range.start) {
            self.set_top(range.start, Some((range.end, cv)));
            return Ok(len);
        }
        if let Some((top, top_cv)) = self.nodes.top_at(range.start)
            && top.end >= range.end
        {
            if top != range {
                return self.wait_below(&top, &top_cv, range, cv).map(|()| 0);
            }
            if !equal(&top_cv, &cv) {
                return Err(AbsorbError::Clash { here: top, there: range });
            }
            return Ok(0);
        }
        // Nodes contain one another or do not touch: the nodes there lie below the new one, which takes their place.
        let below = self.nodes.touching(&range);
        let below = below.into_iter().map(|start| {
            let (end, cv) = self.nodes.tops[&start];
            (start..end, cv)
        });
        let below: Vec<_> = below.collect();
        for (range, _) in &below {
            self.set_top(range.start, None);
        }
        self.set_top(range.start, Some((range.end, cv)));
        let mut again = 0;
        for (lower, lower_cv) in below {
            again += lower.end - lower.start;
            let waits = self.wait_below(&range, &cv, lower, lower_cv);
            waits.map_err(|_| AbsorbError::Clash { here: range.clone(), there: range.clone() })?;
        }
        Ok(len - again)
    }

    /// Compares a node with the `top` above it, or lets it wait until its siblings are there.
    fn wait_below(
        &mut self,
        top: &Range<u64>,
        top_cv: &ChainingValue,
        part: Range<u64>,
        mut cv: ChainingValue,
    ) -> Result<(), AbsorbError> {
        let mut range = part.clone();
        loop {
            let key = (range.start, range.end);
            let known = if range == *top { Some(top_cv) } else { self.nodes.below.get(&key) };
            if let Some(known) = known {
                if equal(known, &cv) {
                    return Ok(());
                }
                return Err(AbsorbError::Clash { here: range, there: part });
            }
            self.set_below(key, cv);
            let (other, is_left) = sibling(&range, self.total);
            let Some(other_cv) = self.nodes.below.get(&(other.start, other.end)) else {
                return Ok(());
            };
            let (left, right) = if is_left { (other_cv, &cv) } else { (&cv, other_cv) };
            cv = parent(left, right, self.mode);
            range = range.start.min(other.start)..range.end.max(other.end);
        }
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Nodes {
    fn zeroize(&mut self) {
        self.tops.values_mut().for_each(|(_, cv)| cv.zeroize());
        self.below.values_mut().for_each(|cv| cv.zeroize());
        self.tops.clear();
        self.below.clear();
    }
}
