//! Bytes of incomplete chunks: runs that begin or end inside a chunk leave them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::spec::CHUNK_LEN;

const CHUNK: u64 = CHUNK_LEN as u64;

/// Bytes inside one chunk.
#[derive(Clone)]
pub(super) struct Fragment {
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
}

impl Fragment {
    pub(super) fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes.len() as u64
    }
}

/// Fragments in order. Those of a chunk do not touch, and none is a whole chunk.
#[derive(Clone, Default)]
pub(super) struct Fragments {
    /// By the start of the chunk.
    chunks: BTreeMap<u64, Vec<Fragment>>,
    /// Bytes of chunks that became whole, if `keep`: other fragments of them are compared with these.
    whole: BTreeMap<u64, Vec<u8>>,
    pub(super) keep: bool,
}

/// Chunks that fragments were added to: their fragments from now on.
#[derive(Default)]
pub(super) struct Joined {
    chunks: BTreeMap<u64, Vec<Fragment>>,
}

impl Fragments {
    /// Of fragments that `bytes` has checked.
    pub(super) fn from_sorted(fragments: Vec<Fragment>) -> Self {
        let mut chunks: BTreeMap<u64, Vec<Fragment>> = BTreeMap::new();
        for fragment in fragments {
            chunks.entry(chunk_of(fragment.start)).or_default().push(fragment);
        }
        Self { chunks, ..Self::default() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.chunks.values().flatten()
    }

    /// The starts of the chunks in `range` that have fragments.
    pub(super) fn chunks(&self, range: &Range<u64>) -> impl Iterator<Item = u64> {
        self.chunks.range(range.clone()).map(|(chunk, _)| *chunk)
    }

    /// The bytes that are there of a chunk.
    pub(super) fn len(&self, chunk: u64) -> u64 {
        let fragments = self.chunks.get(&chunk).map_or(&[][..], Vec::as_slice);
        fragments.iter().map(|it| it.bytes.len() as u64).sum()
    }

    /// Joins a fragment with the fragments there, in `joined`. `Err` has the first and the last byte that differ.
    pub(super) fn join(
        &self,
        joined: &mut Joined,
        start: u64,
        bytes: &[u8],
    ) -> Result<(), Range<u64>> {
        let chunk = chunk_of(start);
        if let Some(whole) = self.whole.get(&chunk) {
            return equal((chunk, whole), (start, bytes));
        }
        let held = joined.chunks.entry(chunk);
        let held =
            held.or_insert_with(|| self.chunks.get(&chunk).map_or_else(Vec::new, Vec::clone));
        let end = start + bytes.len() as u64;
        let touching = held.partition_point(|it| it.range().end < start)
            ..held.partition_point(|it| it.start <= end);
        let mut all = Fragment { start, bytes: bytes.to_vec() };
        for other in &held[touching.clone()] {
            equal((other.start, &other.bytes), (start, bytes))?;
            if other.start < all.start {
                let before = (all.start - other.start) as usize;
                all.bytes.splice(..0, other.bytes[..before].iter().copied());
                all.start = other.start;
            }
            let all_end = all.range().end;
            if other.range().end > all_end {
                all.bytes.extend_from_slice(&other.bytes[(all_end - other.start) as usize..]);
            }
        }
        held.splice(touching, [all]);
        Ok(())
    }

    /// Puts what was joined in its place. The chunks that became whole by it are nodes now.
    pub(super) fn set(&mut self, joined: Joined, whole: Vec<Fragment>) {
        if self.keep {
            self.whole.extend(whole.into_iter().map(|chunk| (chunk.start, chunk.bytes)));
        }
        for (chunk, fragments) in joined.chunks {
            if fragments.is_empty() {
                self.chunks.remove(&chunk);
            } else {
                self.chunks.insert(chunk, fragments);
            }
        }
    }

    /// Forgets the fragments of each chunk that touches a range which is not empty, and the whole chunks that are nodes
    /// no more.
    pub(super) fn forget(&mut self, range: &Range<u64>, is_node: impl Fn(u64) -> bool) {
        let touching: Vec<u64> = self.chunks(&(chunk_of(range.start)..range.end)).collect();
        touching.iter().for_each(|chunk| _ = self.chunks.remove(chunk));
        self.whole.retain(|chunk, _| is_node(*chunk));
    }

    /// Forgets the chunks that became whole.
    pub(super) fn forget_whole(&mut self) {
        self.whole.clear();
    }
}

impl Joined {
    /// Drops the fragments of a chunk.
    pub(super) fn drop_chunk(&mut self, chunk: u64) {
        self.chunks.insert(chunk, Vec::new());
    }

    /// Takes out the chunks that are whole now, in an input of `total` bytes.
    pub(super) fn take_whole(&mut self, total: u64) -> Vec<Fragment> {
        let fragments = self.chunks.iter_mut();
        let whole = fragments.filter_map(|(chunk, fragments)| match fragments.as_slice() {
            [only] if only.bytes.len() as u64 == CHUNK.min(total - chunk) => fragments.pop(),
            _ => None,
        });
        whole.collect()
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = u64> {
        self.chunks.keys().copied()
    }
}

/// Compares the bytes that both have. `Err` has the first and the last that differ.
fn equal(here: (u64, &[u8]), there: (u64, &[u8])) -> Result<(), Range<u64>> {
    let ends = [here, there].map(|(start, bytes)| start + bytes.len() as u64);
    let both = here.0.max(there.0)..ends[0].min(ends[1]);
    if both.is_empty() {
        return Ok(());
    }
    fn part<'a>((start, bytes): (u64, &'a [u8]), both: &Range<u64>) -> &'a [u8] {
        &bytes[(both.start - start) as usize..(both.end - start) as usize]
    }
    let (here, there) = (part(here, &both), part(there, &both));
    let differ = |at: &u64| here[(at - both.start) as usize] != there[(at - both.start) as usize];
    match (both.clone().find(differ), both.clone().rfind(differ)) {
        (Some(first), Some(last)) => Err(first..last + 1),
        _ => Ok(()),
    }
}

/// The start of the chunk of a byte.
pub(super) fn chunk_of(at: u64) -> u64 {
    at - at % CHUNK
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Fragments {
    fn zeroize(&mut self) {
        self.chunks.values_mut().flatten().for_each(|it| it.bytes.zeroize());
        self.whole.values_mut().for_each(|bytes| bytes.zeroize());
        self.chunks.clear();
        self.whole.clear();
    }
}
