//! Parts as bytes, to send them or to continue later.

use std::fmt;
use std::ops::Range;

use super::known::Parts;
use super::nodes::Nodes;
use super::object::{MAX_OBJECT, tag};
use super::part::Part;
use super::subtrees::{is_node, sibling};
use crate::mode::Mode;
use crate::oneshot::hash;
use crate::spec::OUT_LEN;

const MAGIC: &[u8; 8] = b"tw-parts";
const VERSION: u8 = 1;
/// Bytes before the name of the object.
const HEAD: usize = 70;
/// Bytes of a part.
const PART: usize = 48;

/// Why [`Parts::from_bytes`] refused its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// It does not begin with `"tw-parts"`.
    NotParts,
    /// This release does not know its version.
    Version(u8),
    /// It is too short or too long: it has this many bytes.
    Length(usize),
    /// Its bytes were changed, or it has parts that are not nodes of the tree, or not in order.
    Damaged,
    /// It was hashed in another mode, or with another key or context.
    Mode,
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotParts => f.write_str("these bytes are not parts that `to_bytes` wrote"),
            Self::Version(version) => {
                write!(f, "parts of version {version}; this release reads {VERSION}")
            }
            Self::Length(len) => write!(f, "parts of the wrong length, {len} bytes: send them again"),
            Self::Damaged => f.write_str("the parts are damaged: send or hash them again"),
            Self::Mode => f.write_str(
                "the parts were hashed in another mode, or with another key: read them with the mode of the worker",
            ),
        }
    }
}

impl std::error::Error for PartsError {}

impl Parts {
    /// Saves the parts as bytes. The key of the mode is not in them.
    ///
    /// All numbers are little-endian. Version 1:
    ///
    /// | offset | bytes | |
    /// |---|---|---|
    /// | 0 | 8 | `"tw-parts"` |
    /// | 8 | 1 | version, 1 |
    /// | 9 | 1 | mode flags: 0 plain, 16 keyed, 64 derive-key |
    /// | 10 | 32 | zeros in plain mode; else the key (or hashed context) through derive-key mode with the context `treewide 2026-11 tag of a key in parts` |
    /// | 42 | 8 | bytes of the whole input |
    /// | 50 | 4 | `m`, bytes that say which object it is, at most 65,536 |
    /// | 54 | 8 | `n`, parts |
    /// | 62 | 8 | `p`, parts that wait for a sibling to be compared |
    /// | 70 | m | which object it is |
    /// | 70 + m | 48 n | parts in order: start (8), bytes (8), chaining value (32); in an input of one chunk, the digest |
    /// | | 48 p | the same of the parts that wait, ordered by start, then by bytes |
    /// | | 32 | BLAKE3 of all of the above |
    ///
    /// The last field finds accidents, not attackers: an attacker who can change parts can change this field too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (flags, key) = tag(&self.mode);
        let (count, waiting) = (self.nodes.tops().count(), self.nodes.pending().count());
        let mut out =
            Vec::with_capacity(HEAD + self.object.len() + PART * (count + waiting) + OUT_LEN);
        out.extend(MAGIC);
        out.extend([VERSION, flags]);
        out.extend(key);
        out.extend(self.total.to_le_bytes());
        out.extend((self.object.len() as u32).to_le_bytes());
        out.extend((count as u64).to_le_bytes());
        out.extend((waiting as u64).to_le_bytes());
        out.extend(&self.object);
        for (range, cv) in self.nodes.tops().chain(self.nodes.pending()) {
            out.extend(range.start.to_le_bytes());
            out.extend((range.end - range.start).to_le_bytes());
            out.extend(cv);
        }
        let check = hash(&out);
        out.extend(check.as_bytes());
        out
    }

    /// Restores what [`to_bytes`](Self::to_bytes) saved, in the mode in which it was hashed.
    ///
    /// # Errors
    /// If the bytes are not parts, have an unknown version or the wrong length, or were changed; or if `mode` is not
    /// theirs. The check is not a signature: parts of a liar give another digest, which [`absorb`](Self::absorb) only
    /// notices where someone else hashed the same bytes.
    pub fn from_bytes(bytes: &[u8], mode: Mode) -> Result<Self, PartsError> {
        if !bytes.starts_with(MAGIC) {
            return Err(PartsError::NotParts);
        }
        match bytes.get(8) {
            Some(&VERSION) => {}
            Some(&version) => return Err(PartsError::Version(version)),
            None => return Err(PartsError::Length(bytes.len())),
        }
        let wrong_length = PartsError::Length(bytes.len());
        if bytes.len() < HEAD + OUT_LEN {
            return Err(wrong_length);
        }
        let object_len = u32::from_le_bytes(take(bytes, 50)) as usize;
        let [total, count, waiting] = [42, 54, 62].map(|at| u64::from_le_bytes(take(bytes, at)));
        // The bytes are there that the numbers ask for, so nothing is allocated that was not received.
        let parts = (bytes.len() - HEAD - OUT_LEN).checked_sub(object_len).ok_or(wrong_length)?;
        let fits = count.checked_add(waiting) == Some((parts / PART) as u64);
        if object_len > MAX_OBJECT || parts % PART != 0 || !fits {
            return Err(wrong_length);
        }
        let (body, check) = bytes.split_at(bytes.len() - OUT_LEN);
        if hash(body) != *check {
            return Err(PartsError::Damaged);
        }
        if (body[9], take(body, 10)) != tag(&mode) {
            return Err(PartsError::Mode);
        }

        // The check matches, but no one writes such parts.
        let (object, parts) = body[HEAD..].split_at(object_len);
        let parts: Option<Vec<Part>> =
            parts.as_chunks::<PART>().0.iter().map(|bytes| part(bytes, total)).collect();
        let mut tops = parts.ok_or(PartsError::Damaged)?;
        let pending = tops.split_off(count as usize);
        if !tops.is_sorted_by(|left, right| left.range.end <= right.range.start)
            || !are_waiting(&pending, &tops, total)
        {
            return Err(PartsError::Damaged);
        }
        Ok(Self { total, mode, object: object.to_vec(), nodes: Nodes::from_sorted(tops, pending) })
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("N bytes")
}

fn part(bytes: &[u8; PART], total: u64) -> Option<Part> {
    let start = u64::from_le_bytes(take(bytes, 0));
    let end = start.checked_add(u64::from_le_bytes(take(bytes, 8)))?;
    is_node(&(start..end), total).then(|| Part { range: start..end, cv: take(bytes, 16) })
}

/// Whether each of them is below a top, and none next to its sibling, with which it would have been merged.
fn are_waiting(pending: &[Part], tops: &[Part], total: u64) -> bool {
    let key = |range: &Range<u64>| (range.start, range.end);
    pending.is_sorted_by(|left, right| key(&left.range) < key(&right.range))
        && pending.iter().all(|part| {
            let above = tops.partition_point(|top| top.range.end <= part.range.start);
            let is_below = tops.get(above).is_some_and(|top| {
                top.range != part.range
                    && top.range.start <= part.range.start
                    && part.range.end <= top.range.end
            });
            // What is below another node has a sibling.
            is_below && {
                let (sibling, _) = sibling(&part.range, total);
                let other = |other: &Part| key(&other.range);
                pending.binary_search_by_key(&key(&sibling), other).is_err()
            }
        })
}
