//! The parts that are known, and what can be done with them.

use std::fmt;
use std::ops::Range;

use super::absorbed::Absorbed;
use super::cut::CutError;
use super::error::{AbsorbError, Missing};
use super::nodes::Nodes;
use super::object::{MAX_OBJECT, tag};
use super::part::Part;
use super::subtrees::{is_node, subtrees};
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::mode::Mode;
use crate::spec::CHUNK_LEN;
use crate::tree;

/// Parts of an input that are hashed so far, in no particular order.
///
/// It holds 56 bytes for each part, in a map. [`compact`](Self::compact) merges neighbours.
#[derive(Clone)]
pub struct Parts {
    pub(super) total: u64,
    pub(crate) mode: Mode,
    pub(super) object: Vec<u8>,
    pub(super) nodes: Nodes,
}

impl Parts {
    /// No parts yet, of an input of `total` bytes.
    pub fn new(total: u64, mode: Mode) -> Self {
        Self { total, mode, object: Vec::new(), nodes: Nodes::default() }
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
    /// # Errors
    /// - [`AbsorbError::Cut`] if the bytes do not begin at a multiple of 1,024, or end neither at one nor with the input;
    ///   or if they reach beyond the end.
    /// - [`AbsorbError::Clash`] if a part that is there has another value. Nothing is added then.
    pub fn hash(&mut self, bytes: &[u8], at: u64) -> Result<Absorbed, AbsorbError> {
        let end =
            at.checked_add(bytes.len() as u64).ok_or(CutError::beyond(u64::MAX, self.total))?;
        let subtrees = subtrees(at..end, self.total)?;
        let (kernel, mode, total) = (running(), self.mode, self.total);
        let parts = subtrees.map(|range| {
            let part = &bytes[(range.start - at) as usize..(range.end - at) as usize];
            let cv = if total <= CHUNK_LEN as u64 {
                *mode.hash(part).as_bytes()
            } else {
                tree::root(kernel, part, range.start / CHUNK_LEN as u64, &mode)
                    .chaining_value(kernel)
            };
            Part { range, cv }
        });
        self.nodes.add(total, &mode, parts, [])
    }

    /// Adds a part that was hashed elsewhere, for example with
    /// [`finalize_non_root`](crate::hazmat::HasherExt::finalize_non_root).
    ///
    /// # Errors
    /// As [`hash`](Self::hash); and [`AbsorbError::Cut`] if the range is not exactly one that [`subtrees`] returns.
    pub fn push(&mut self, part: Part) -> Result<Absorbed, AbsorbError> {
        // A cut inside of a chunk has an error of its own.
        subtrees(part.range.clone(), self.total)?;
        if !is_node(&part.range, self.total) {
            return Err(CutError::not_a_node(part.range, self.total).into());
        }
        self.nodes.add(self.total, &self.mode, [part], [])
    }

    /// Adds all parts of `other`. What is there twice is compared.
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
        let waiting = other.nodes.pending().map(|(range, cv)| Part { range, cv });
        self.nodes.add(self.total, &self.mode, other.iter(), waiting)
    }

    /// The ranges that no part has, in order. They are multiples of 1 KiB, except for the end of the input.
    pub fn missing(&self) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = 0;
        for (range, _) in self.nodes.tops() {
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

    /// The ranges that are there twice, with other cuts, and could not be compared yet: a whole and one of its halves.
    /// The digest uses the whole.
    pub fn unchecked(&self) -> Vec<Range<u64>> {
        self.nodes.pending().map(|(range, _)| range).collect()
    }

    /// Forgets everything that is known of `range`: each part that touches it. [`missing`](Self::missing) then has at
    /// least this range.
    pub fn forget(&mut self, range: Range<u64>) {
        self.nodes.forget(&range);
    }

    /// Merges neighbours into larger parts, so that fewer are kept and sent. Afterwards the bytes of a merged part are
    /// only compared when all of it is there again.
    pub fn compact(&mut self) {
        self.nodes.compact(self.total, &self.mode);
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
        self.total.zeroize();
    }
}
