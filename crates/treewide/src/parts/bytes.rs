//! Parts as bytes, to send them or to continue later.

use std::fmt;
use std::ops::Range;

use super::fragments::{Fragment, Fragments, chunk_of};
use super::known::Parts;
use super::nodes::Nodes;
use super::object::{MAX_OBJECT, tag};
use super::part::Part;
use super::subtrees::{is_node, sibling};
use crate::mode::Mode;
use crate::oneshot::hash;
use crate::spec::{CHUNK_LEN, OUT_LEN};

const MAGIC: &[u8; 8] = b"tw-parts";
const VERSION: u8 = 2;
/// Bytes that all inputs of a message have together.
const HEAD: usize = 42;
/// Bytes of an input before the name of the object.
const BODY: usize = 36;
/// Bytes of a part.
const PART: usize = 48;
/// Bytes of a fragment before its own.
const FRAGMENT: usize = 10;

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
    /// All numbers are little-endian. Version 2:
    ///
    /// | offset | bytes | |
    /// |---|---|---|
    /// | 0 | 8 | `"tw-parts"` |
    /// | 8 | 1 | version, 2 |
    /// | 9 | 1 | mode flags: 0 plain, 16 keyed, 64 derive-key |
    /// | 10 | 32 | zeros in plain mode; else the key (or hashed context) through derive-key mode with the context `treewide 2026-11 tag of a key in parts` |
    /// | 42 | 8 | bytes of the whole input |
    /// | 50 | 4 | `m`, bytes that say which object it is, at most 65,536 |
    /// | 54 | 8 | `n`, parts |
    /// | 62 | 8 | `p`, parts that wait for a sibling to be compared |
    /// | 70 | 8 | `f`, bytes of the fragments |
    /// | 78 | m | which object it is |
    /// | 78 + m | 48 n | parts in order: start (8), bytes (8), chaining value (32); in an input of one chunk, the digest |
    /// | | 48 p | the same of the parts that wait, ordered by start, then by bytes |
    /// | | f | fragments, which are bytes of the input inside one chunk, in order: start (8), length (2), the bytes. Those of a chunk do not touch, and none is a whole chunk |
    /// | | 32 | BLAKE3 of all of the above |
    ///
    /// So the bytes at the ends of ranges are sent as they are, at most 1,023 of each.
    ///
    /// The last field finds accidents, not attackers: an attacker who can change parts can change this field too.
    pub fn to_bytes(&self) -> Vec<u8> {
        Self::pack(self.mode, [self])
    }

    /// Saves the parts of many inputs as one message: what [`to_bytes`](Self::to_bytes) writes, with the fields from offset
    /// 42 up to the last one for each input.
    ///
    /// # Panics
    /// If one of them has another mode than `mode`.
    pub fn pack<'a>(mode: Mode, parts: impl IntoIterator<Item = &'a Self>) -> Vec<u8> {
        let (flags, key) = tag(&mode);
        let mut out = Vec::from(MAGIC);
        out.extend([VERSION, flags]);
        out.extend(key);
        for parts in parts {
            assert!(tag(&parts.mode) == (flags, key), "parts of one mode");
            parts.write(&mut out);
        }
        let check = hash(&out);
        out.extend(check.as_bytes());
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let pending: Vec<_> = self.nodes.pending(self.total).collect();
        let (count, waiting) = (self.nodes.tops().count(), pending.len());
        let fragments: usize = self.fragments.iter().map(|it| FRAGMENT + it.bytes.len()).sum();
        out.reserve(BODY + self.object.len() + PART * (count + waiting) + fragments + OUT_LEN);
        out.extend(self.total.to_le_bytes());
        out.extend((self.object.len() as u32).to_le_bytes());
        out.extend((count as u64).to_le_bytes());
        out.extend((waiting as u64).to_le_bytes());
        out.extend((fragments as u64).to_le_bytes());
        out.extend(&self.object);
        for (range, cv) in self.nodes.tops().chain(pending) {
            out.extend(range.start.to_le_bytes());
            out.extend((range.end - range.start).to_le_bytes());
            out.extend(cv);
        }
        for fragment in self.fragments.iter() {
            out.extend(fragment.start.to_le_bytes());
            out.extend((fragment.bytes.len() as u16).to_le_bytes());
            out.extend(&fragment.bytes);
        }
    }

    /// Restores what [`to_bytes`](Self::to_bytes) saved, in the mode in which it was hashed.
    ///
    /// # Errors
    /// If the bytes are not parts, have an unknown version or the wrong length, or were changed; or if `mode` is not
    /// theirs. The check is not a signature: parts of a liar give another digest, which [`absorb`](Self::absorb) only
    /// notices where someone else hashed the same bytes.
    pub fn from_bytes(bytes: &[u8], mode: Mode) -> Result<Self, PartsError> {
        let [parts] = <[Self; 1]>::try_from(Self::unpack(bytes, mode)?)
            .map_err(|_| PartsError::Length(bytes.len()))?;
        Ok(parts)
    }

    /// Restores what [`pack`](Self::pack) saved, in its order.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes).
    pub fn unpack(bytes: &[u8], mode: Mode) -> Result<Vec<Self>, PartsError> {
        if !bytes.starts_with(MAGIC) {
            return Err(PartsError::NotParts);
        }
        match bytes.get(8) {
            Some(&VERSION) => {}
            Some(&version) => return Err(PartsError::Version(version)),
            None => return Err(PartsError::Length(bytes.len())),
        }
        let wrong_length = PartsError::Length(bytes.len());
        let (body, check) = bytes.split_last_chunk::<OUT_LEN>().ok_or(wrong_length)?;
        let (head, mut rest) = body.split_at_checked(HEAD).ok_or(wrong_length)?;
        // Lengths first: of a message that was cut off they say more than the check.
        let mut bodies = Vec::new();
        while !rest.is_empty() {
            let body = Body::split(&mut rest).ok_or(wrong_length)?;
            bodies.push(body);
        }
        if hash(body) != *check {
            return Err(PartsError::Damaged);
        }
        if (head[9], take(head, 10)) != tag(&mode) {
            return Err(PartsError::Mode);
        }
        // The check matches, but no one may have written such parts.
        bodies.iter().map(|body| body.parts(mode).ok_or(PartsError::Damaged)).collect()
    }
}

/// The fields of one input.
struct Body<'a> {
    total: u64,
    object: &'a [u8],
    tops: &'a [[u8; PART]],
    pending: &'a [[u8; PART]],
    fragments: &'a [u8],
}

impl<'a> Body<'a> {
    /// Takes the next one off `rest`, if all bytes are there that its numbers ask for: nothing is allocated that was not
    /// received.
    fn split(rest: &mut &'a [u8]) -> Option<Self> {
        let mut bytes = |len: u64| {
            let (bytes, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            *rest = after;
            Some(bytes)
        };
        let numbers = bytes(BODY as u64)?;
        let [total, tops, pending, fragments] =
            [0, 12, 20, 28].map(|at| u64::from_le_bytes(take(numbers, at)));
        let object = u32::from_le_bytes(take(numbers, 8));
        if object as usize > MAX_OBJECT {
            return None;
        }
        let object = bytes(object.into())?;
        let mut parts = |count: u64| Some(bytes(count.checked_mul(PART as u64)?)?.as_chunks().0);
        let (tops, pending) = (parts(tops)?, parts(pending)?);
        Some(Self { total, object, tops, pending, fragments: bytes(fragments)? })
    }

    fn parts(&self, mode: Mode) -> Option<Parts> {
        let total = self.total;
        let read = |parts: &[[u8; PART]]| -> Option<Vec<Part>> {
            parts.iter().map(|bytes| part(bytes, total)).collect()
        };
        let (tops, pending) = (read(self.tops)?, read(self.pending)?);
        if !tops.is_sorted_by(|left, right| left.range.end <= right.range.start)
            || !are_waiting(&pending, &tops, total)
        {
            return None;
        }
        Some(Parts {
            total,
            mode,
            object: self.object.to_vec(),
            nodes: Nodes::from_sorted(tops, pending),
            fragments: Fragments::from_sorted(in_order(self.fragments, total)?),
        })
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

/// The fragments, if they are as `to_bytes` writes them.
fn in_order(mut bytes: &[u8], total: u64) -> Option<Vec<Fragment>> {
    let mut fragments: Vec<Fragment> = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(FRAGMENT)?;
        let (start, len) = (u64::from_le_bytes(take(head, 0)), u16::from_le_bytes(take(head, 8)));
        let (content, rest) = rest.split_at_checked(len.into())?;
        let end = start.checked_add(len.into())?;
        let chunk = chunk_of(start);
        let chunk_end = total.min(chunk.saturating_add(CHUNK_LEN as u64));
        let apart = fragments.last().is_none_or(|before| {
            let before_end = before.range().end;
            before_end < start || (before_end == start && start == chunk)
        });
        if !apart || start >= end || end > chunk_end || (start == chunk && end == chunk_end) {
            return None;
        }
        fragments.push(Fragment { start, bytes: content.to_vec() });
        bytes = rest;
    }
    Some(fragments)
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
            // A node below another one has a sibling.
            is_below && {
                let (sibling, _) = sibling(&part.range, total);
                let other = |other: &Part| key(&other.range);
                pending.binary_search_by_key(&key(&sibling), other).is_err()
            }
        })
}
