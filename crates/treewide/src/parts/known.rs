//! The parts that are known, and what can be done with them.

use std::collections::BTreeSet;
use std::fmt;
use std::iter;
use std::ops::Range;

use super::absorbed::Absorbed;
use super::cut::CutError;
use super::error::{AbsorbError, Missing};
use super::fragments::{Fragment, Fragments, Joined};
use super::nodes::Nodes;
use super::object::{MAX_OBJECT, tag};
use super::part::Part;
use super::runs::Runs;
use super::subtrees::{is_node, subtrees};
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::mode::Mode;
use crate::spec::CHUNK_LEN;

const CHUNK: u64 = CHUNK_LEN as u64;

/// Parts of an input that are hashed so far, in no particular order.
///
/// It holds 56 bytes for each part, in a map. [`compact`](Self::compact) merges neighbours. Of a chunk that was cut it
/// holds the bytes until the chunk is whole.
#[derive(Clone)]
pub struct Parts {
    pub(super) total: u64,
    pub(crate) mode: Mode,
    pub(super) object: Vec<u8>,
    pub(super) nodes: Nodes,
    pub(super) fragments: Fragments,
}

/// What is to be added.
#[derive(Default)]
struct Addition<'a> {
    nodes: Vec<Part>,
    /// Nodes below those, or below other known nodes.
    waiting: Vec<Part>,
    /// Bytes inside of chunks, by their start.
    fragments: Vec<(u64, &'a [u8])>,
    /// Whole chunks that are among `nodes`, with some bytes held.
    held: Vec<(u64, &'a [u8])>,
}

impl Parts {
    /// No parts yet, of an input of `total` bytes.
    pub fn new(total: u64, mode: Mode) -> Self {
        Self {
            total,
            mode,
            object: Vec::new(),
            nodes: Nodes::default(),
            fragments: Fragments::default(),
        }
    }

    /// Says which object this is: for example its URL, length and version, or its path, inode and times. The bytes have
    /// no meaning here. Parts of objects with other bytes are refused.
    ///
    /// # Panics
    /// If there are more than [`MAX_OBJECT`] bytes.
    #[must_use]
    pub fn of_object(mut self, object: &[u8]) -> Self {
        assert!(object.len() <= MAX_OBJECT, "an object is named by at most {MAX_OBJECT} bytes");
        self.object = object.to_vec();
        self
    }

    /// Keeps the bytes of a chunk that was cut also when it is whole: up to 1 KiB for each cut between two workers. So
    /// copies of its pieces can be compared in any order, where several workers hash the same bytes. Without it, pieces
    /// that come when the chunk is whole wait until all of the chunk is there again.
    #[must_use]
    pub fn keeping_cut_chunks(mut self) -> Self {
        self.fragments.keep = true;
        self
    }

    /// Bytes of the whole input.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The bytes that say which object this is; none unless [`of_object`](Self::of_object) gave some.
    pub fn object(&self) -> &[u8] {
        &self.object
    }

    /// The parts in order, without overlaps.
    pub fn iter(&self) -> impl Iterator<Item = Part> + '_ {
        self.nodes.tops().map(|(range, cv)| Part { range, cv })
    }

    /// Hashes the bytes that stand at byte `at` of the input, on the calling thread, and adds their parts.
    ///
    /// The range may begin and end anywhere. The bytes of a chunk that was cut are held until the chunk is whole: at most
    /// 1,023 at each end of a range.
    ///
    /// # Errors
    /// - [`AbsorbError::Cut`] if the bytes reach beyond the end of the input.
    /// - [`AbsorbError::Clash`] if a part that is there has another value. Nothing is added then.
    pub fn hash(&mut self, bytes: &[u8], at: u64) -> Result<Absorbed, AbsorbError> {
        let end = at.checked_add(bytes.len() as u64);
        let end = end.ok_or(CutError::beyond(u64::MAX, self.total))?;
        self.hash_runs(bytes, iter::once(at..end))
    }

    /// Hashes many runs of bytes of the input at once, as [`hash`](Self::hash) does each of them. `bytes` has the runs one
    /// after the other: for example the rows of a block of columns of a matrix.
    ///
    /// Runs of a few KiB are hashed side by side.
    ///
    /// # Errors
    /// As [`hash`](Self::hash). Nothing of any run is added then.
    ///
    /// # Panics
    /// If the runs have another number of bytes than `bytes`.
    pub fn hash_runs(
        &mut self,
        bytes: &[u8],
        runs: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<Absorbed, AbsorbError> {
        let (total, mode) = (self.total, self.mode);
        let mut nodes = Runs::new(&mode, total);
        let mut addition = Addition::default();
        let mut rest = bytes;
        for run in runs {
            if run.start > run.end || run.end > total {
                return Err(CutError::beyond(run.end.max(run.start), total).into());
            }
            let len = run.end - run.start;
            assert!(len <= rest.len() as u64, "the runs have more bytes than there are");
            let (bytes, after) = rest.split_at(len as usize);
            rest = after;
            let part = |range: &Range<u64>| {
                &bytes[(range.start - run.start) as usize..(range.end - run.start) as usize]
            };
            let whole = whole_chunks(&run, total);
            for end in [run.start..whole.start, whole.end..run.end] {
                if !end.is_empty() {
                    addition.fragments.push((end.start, part(&end)));
                }
            }
            if !whole.is_empty() {
                for node in subtrees(whole.clone(), total)? {
                    nodes.node(node.clone(), part(&node));
                }
                for chunk in self.fragments.chunks(&whole) {
                    addition.held.push((chunk, part(&(chunk..whole.end.min(chunk + CHUNK)))));
                }
            }
        }
        assert!(rest.is_empty(), "the runs have fewer bytes than there are");
        addition.nodes = nodes.finish();
        self.add(addition)
    }

    /// Adds a part that was hashed elsewhere, for example with
    /// [`finalize_non_root`](crate::hazmat::HasherExt::finalize_non_root).
    ///
    /// # Errors
    /// As [`hash`](Self::hash); and [`AbsorbError::Cut`] if the range is not exactly one that [`subtrees`] returns.
    pub fn push(&mut self, part: Part) -> Result<Absorbed, AbsorbError> {
        self.extend([part])
    }

    /// Adds parts that were hashed elsewhere, all of them or none. That takes a quarter of the time of [`push`](Self::push)
    /// for each.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn extend(
        &mut self,
        parts: impl IntoIterator<Item = Part>,
    ) -> Result<Absorbed, AbsorbError> {
        let nodes: Vec<Part> = parts.into_iter().collect();
        for part in &nodes {
            // A cut inside of a chunk has an error of its own.
            subtrees(part.range.clone(), self.total)?;
            if !is_node(&part.range, self.total) {
                return Err(CutError::not_a_node(part.range.clone(), self.total).into());
            }
        }
        self.add(Addition { nodes, ..Addition::default() })
    }

    /// Adds all parts of `other`. Parts that both have are compared.
    ///
    /// Parts with other cuts are compared as soon as they can be: two halves with their whole, when both are there.
    ///
    /// # Errors
    /// If `other` has another length, mode, key or object; or if it has another value for a part. That is a
    /// [`Clash`](AbsorbError::Clash): a broken machine, or a store that returned other bytes. Nothing is added then. Hash
    /// that range a third time, and [`forget`](Self::forget) it if it is `self` that was wrong.
    pub fn absorb(&mut self, other: &Self) -> Result<Absorbed, AbsorbError> {
        if other.total != self.total {
            return Err(AbsorbError::Total { here: self.total, there: other.total });
        }
        if tag(&other.mode) != tag(&self.mode) {
            return Err(AbsorbError::Mode);
        }
        if other.object != self.object {
            return Err(AbsorbError::Object);
        }
        let waiting = other.nodes.pending(other.total).map(|(range, cv)| Part { range, cv });
        let fragments = other.fragments.iter().map(|it| (it.start, it.bytes.as_slice()));
        self.add(Addition {
            nodes: other.iter().collect(),
            waiting: waiting.collect(),
            fragments: fragments.collect(),
            held: Vec::new(),
        })
    }

    /// Adds all of it, or nothing.
    fn add(&mut self, addition: Addition<'_>) -> Result<Absorbed, AbsorbError> {
        let Addition { mut nodes, waiting, fragments, held } = addition;
        let given = nodes.iter().map(|part| part.range.end - part.range.start).sum::<u64>()
            + fragments.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let below = nodes.iter().flat_map(|part| self.fragments.chunks(&part.range));
        let mut touched: BTreeSet<u64> = below.collect();
        let mut joined = Joined::default();
        let clash = |range: Range<u64>| AbsorbError::Clash { here: range.clone(), there: range };
        let mut compared = Vec::new();
        for (chunk, bytes) in held {
            self.fragments.join(&mut joined, chunk, bytes).map_err(clash)?;
            joined.drop_chunk(chunk);
            if self.fragments.keep {
                compared.push(Fragment { start: chunk, bytes: bytes.to_vec() });
            }
        }
        for (start, bytes) in fragments {
            self.fragments.join(&mut joined, start, bytes).map_err(clash)?;
        }
        touched.extend(joined.chunks());
        let before = self.loose(&touched);
        let mut chunks = Runs::new(&self.mode, self.total);
        let mut whole = joined.take_whole(self.total);
        whole.iter().for_each(|chunk| chunks.node(chunk.range(), &chunk.bytes));
        nodes.extend(chunks.finish());
        let added = self.nodes.add(self.total, &self.mode, nodes, waiting)?;
        whole.append(&mut compared);
        self.fragments.set(joined, whole);
        // What was held is new no more when its chunk is whole.
        let new = added.new + self.loose(&touched) - before;
        Ok(Absorbed { new, again: given - new })
    }

    /// The bytes held of those of these chunks that no part has.
    fn loose(&self, chunks: &BTreeSet<u64>) -> u64 {
        let loose = chunks.iter().filter(|chunk| !self.nodes.has(**chunk));
        loose.map(|chunk| self.fragments.len(*chunk)).sum()
    }

    /// The ranges that are not there, in order.
    pub fn missing(&self) -> Vec<Range<u64>> {
        let loose = self.fragments.iter().filter(|it| !self.nodes.has(it.start));
        let tops = self.nodes.tops().map(|(range, _)| range);
        let mut there: Vec<_> = tops.chain(loose.map(Fragment::range)).collect();
        there.sort_unstable_by_key(|range| range.start);
        let mut gaps = Vec::new();
        let mut at = 0;
        for range in there {
            if at < range.start {
                gaps.push(at..range.start);
            }
            at = range.end;
        }
        if at < self.total {
            gaps.push(at..self.total);
        }
        gaps
    }

    /// The ranges that are there twice, with other cuts, and could not be compared yet: a whole and one of its halves, or
    /// some bytes of a chunk. The digest uses the whole.
    pub fn unchecked(&self) -> Vec<Range<u64>> {
        let held = self.fragments.iter().filter(|it| self.nodes.has(it.start));
        let pending = self.nodes.pending(self.total).map(|(range, _)| range);
        let mut all: Vec<_> = pending.chain(held.map(Fragment::range)).collect();
        all.sort_unstable_by_key(|range| (range.start, range.end));
        all
    }

    /// Forgets everything that is known of `range`: each part that touches it, and the bytes held of its chunks. [`missing`](Self::missing) then has at
    /// least this range.
    pub fn forget(&mut self, range: Range<u64>) {
        let range = range.start..range.end.min(self.total);
        if range.start < range.end {
            self.nodes.forget(&range);
            self.fragments.forget(&range, |chunk| self.nodes.has(chunk));
        }
    }

    /// Merges neighbours into larger parts, so that fewer are kept and sent. Afterwards the bytes of a merged part are
    /// only compared when all of it is there again.
    pub fn compact(&mut self) {
        self.nodes.compact(self.total, &self.mode);
        // Their nodes may be merged.
        self.fragments.forget_whole();
    }

    /// Returns the digest of the whole input.
    ///
    /// # Errors
    /// If a part is missing.
    pub fn finish(&self) -> Result<Hash, Missing> {
        if let Some(range) = self.missing().first() {
            return Err(Missing { first: range.clone(), bytes: self.missing_bytes() });
        }
        if self.total == 0 {
            return Ok(Hasher::with_mode(self.mode).finalize());
        }
        Ok(self.nodes.root(&self.mode))
    }

    fn missing_bytes(&self) -> u64 {
        self.missing().iter().map(|gap| gap.end - gap.start).sum()
    }
}

/// The chunks of a run that it has whole; empty, but at a place in the run, if there are none.
fn whole_chunks(run: &Range<u64>, total: u64) -> Range<u64> {
    let first = run.start.checked_next_multiple_of(CHUNK).unwrap_or(total).min(run.end);
    let last = if run.end == total { total } else { run.end - run.end % CHUNK };
    first..last.max(first)
}

/// Shows the mode, the length and how many parts there are, and no key and no value.
impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Parts");
        debug.field("mode", &self.mode).field("total", &self.total);
        debug.field("parts", &self.nodes.tops().count());
        debug.field("missing", &self.missing_bytes()).finish_non_exhaustive()
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Parts {
    fn zeroize(&mut self) {
        self.mode.zeroize();
        self.object.zeroize();
        self.nodes.zeroize();
        self.fragments.zeroize();
        self.total.zeroize();
    }
}
