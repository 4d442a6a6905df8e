//! A batch on the threads of the current rayon pool.
//!
//! Threads take part after part of the batch, in order. A part is a run of neighbouring blobs, or a leaf of the
//! tree of a long blob. Its size is a fraction of the rest, so parts are large at first and short at the
//! end, when threads would wait for each other. The thread that finishes the last leaf of a tree finishes the
//! tree.
//!
//! ```text
//! blobs    a b c d | eeeeeeeeeeeeeeeeeeeeeee | f g h | i j
//! parts    [  1  ]   [  2  ] [  3  ] [ 4 ]     [ 5 ]   [6]       4 leaves a rest to finish
//! ```

use core::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Blobs;
use super::window::Places;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::mode::Mode;
use crate::parallel::leaves::{LEAVES, each_of};
use crate::parallel::policy;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue};
use crate::tree::{self, WIDE};

/// Bytes of a part at least, if that much is left. A guess: about as long as waking a thread.
const BYTES: usize = 128 * 1024;

/// Bytes of blobs whose lengths are added up to know how long the batch is: the other blobs of a batch
/// are taken to be like these, as it takes time to ask each of a million. A guess.
const COUNTED: usize = 16 << 20;

/// The most bytes of a part. A guess: the slices of its short blobs stay in the second-level cache.
const MOST: usize = 4 << 20;

/// The number of parts for each thread in the rest. With more parts more lanes are idle, because each part ends
/// with a pass that is not full; with fewer a thread waits longer for one that began late. A guess between the two.
const PARTS: usize = 4;

/// The cost of a blob in bytes of a long blob: an empty blob costs a block, and each blob has some overhead.
fn cost(blob: &[u8]) -> usize {
    blob.len().saturating_add(BLOCK_LEN)
}

/// Runs `task` on parts of the batch and their places, and `finish` on hashers that have absorbed a whole blob.
pub(super) fn split<B: Blobs + Sync + ?Sized, P: Places + Send>(
    mode: &Mode,
    most: usize,
    blobs: &B,
    places: P,
    task: impl Fn(Range<usize>, P) + Sync,
    finish: impl Fn(&Hasher, P) + Sync,
) {
    let count = blobs.count();
    let mut counted = 0;
    let mut all = 0_usize;
    while counted < count && all < COUNTED {
        all = all.saturating_add(cost(blobs.get(counted)));
        counted += 1;
    }
    let mean = all / counted.max(1);
    let bytes = mean.saturating_mul(count).max(all);
    let threads = policy::threads(bytes).min(most);
    if threads == 1 {
        return task(0..count, places);
    }
    let rest = Rest { next: 0, places, mean, tree: None };
    let parts = Parts { blobs, least: BYTES, threads, rest: Mutex::new(rest) };
    each_of(threads, || parts.next(), |part| part.hash(mode, &task, &finish));
}

/// A batch whose parts are handed out.
struct Parts<'a, B: ?Sized, P> {
    blobs: &'a B,
    /// The least cost of a part, if that much is left.
    least: usize,
    threads: usize,
    rest: Mutex<Rest<'a, P>>,
}

/// What is left of the batch.
struct Rest<'a, P> {
    next: usize,
    places: P,
    /// The cost of a blob, estimated from the last blobs.
    mean: usize,
    /// The tree whose leaves are next, and the number of the next leaf.
    tree: Option<(Arc<Tree<'a, P>>, usize)>,
}

enum Part<'a, P> {
    Blobs { range: Range<usize>, places: P },
    Leaf { tree: Arc<Tree<'a, P>>, index: usize },
}

impl<P> Part<'_, P> {
    fn hash(self, mode: &Mode, task: &impl Fn(Range<usize>, P), finish: &impl Fn(&Hasher, P)) {
        match self {
            Part::Blobs { range, places } => task(range, places),
            Part::Leaf { tree, index } => {
                if let Some((hasher, place)) = tree.hash(index, mode) {
                    finish(&hasher, place);
                }
            }
        }
    }
}

impl<'a, P: Places> Rest<'a, P> {
    fn leaf(&mut self) -> Option<Part<'a, P>> {
        let (tree, index) = self.tree.take()?;
        if index + 1 < tree.leaves() {
            self.tree = Some((Arc::clone(&tree), index + 1));
        }
        Some(Part::Leaf { tree, index })
    }

    /// Takes the places of the next blobs.
    fn take(&mut self, count: usize) -> P {
        self.next += count;
        self.places.split_off(count)
    }
}

impl<'a, B: Blobs + ?Sized, P: Places> Parts<'a, B, P> {
    fn rest(&self) -> MutexGuard<'_, Rest<'a, P>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next part. `as_ref` is called without a lock, because it may do anything, such as wait for a
    /// thread that takes a part.
    fn next(&self) -> Option<Part<'a, P>> {
        loop {
            let (first, mean) = {
                let mut rest = self.rest();
                if let Some(leaf) = rest.leaf() {
                    return Some(leaf);
                }
                (rest.next, rest.mean)
            };
            let left = mean.saturating_mul(self.blobs.count() - first);
            let size = self.least.max((left / (PARTS * self.threads)).min(MOST));
            let is_long = |blob: &[u8]| blob.len() / 2 >= size.max(LEAVES[0]);
            let (mut costs, mut count, mut long) = (0_usize, 0, None);
            for index in first..self.blobs.count() {
                let blob = self.blobs.get(index);
                if is_long(blob) {
                    long = (count == 0).then_some(blob);
                    break;
                }
                let with = costs.saturating_add(cost(blob));
                if count > 0 && with > size {
                    break;
                }
                (costs, count) = (with, count + 1);
            }
            let mut rest = self.rest();
            if rest.next != first {
                // Another thread was faster.
                continue;
            }
            if let Some(blob) = long {
                let size = size.max(blob.len() / (PARTS * self.threads));
                let place = rest.take(1);
                rest.tree = Some((Arc::new(Tree::new(blob, place, size)), 0));
                return rest.leaf();
            }
            if count == 0 {
                return None;
            }
            let places = rest.take(count);
            rest.mean = costs / count;
            return Some(Part::Blobs { range: first..first + count, places });
        }
    }
}

/// A long blob.
struct Tree<'a, P> {
    blob: &'a [u8],
    /// Bytes of a leaf: a power of two, at least [`WIDE`] chunks.
    size: usize,
    nodes: Mutex<Nodes<P>>,
}

struct Nodes<P> {
    /// Those of all leaves.
    nodes: Vec<ChainingValue>,
    /// Leaves that are not done.
    left: usize,
    /// The place for the digest, until it is written.
    place: Option<P>,
}

impl<'a, P> Tree<'a, P> {
    fn new(blob: &'a [u8], place: P, size: usize) -> Self {
        let size = 1 << size.clamp(LEAVES[0], LEAVES[1]).ilog2();
        let left = blob.len() / size;
        let nodes = vec![[0; 32]; left * WIDE];
        Self { blob, size, nodes: Mutex::new(Nodes { nodes, left, place: Some(place) }) }
    }

    fn leaves(&self) -> usize {
        self.blob.len() / self.size
    }

    /// Hashes a leaf. If it is the last leaf to finish, returns a hasher that has absorbed the whole blob, and the
    /// place for its output.
    fn hash(&self, index: usize, mode: &Mode) -> Option<(Hasher, P)> {
        let (leaf, chunks) = (&self.blob[index * self.size..][..self.size], self.size / CHUNK_LEN);
        let mut cvs = [[0; 32]; WIDE];
        tree::subtree(running(), leaf, (index * chunks) as u64, mode, &mut cvs);
        let (nodes, place) = {
            let mut all = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            all.nodes[index * WIDE..][..WIDE].copy_from_slice(&cvs);
            all.left -= 1;
            if all.left > 0 {
                return None;
            }
            (std::mem::take(&mut all.nodes), all.place.take()?)
        };
        let mut hasher = Hasher::with_mode(*mode);
        hasher.append_subtrees(&nodes, (chunks / WIDE).ilog2());
        hasher.update(&self.blob[self.leaves() * self.size..]);
        Some((hasher, place))
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::batch::window;
    use crate::oneshot::hash;

    /// Every part exists once, whichever thread takes it, and none is too large.
    #[test]
    fn parts_make_the_whole() {
        let data: Vec<u8> =
            (0..5 << 20).map(|i: u32| (i.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
        let batches: [&[usize]; 8] = [
            &[0; 5000],
            &[64; 9000],
            &[1024; 700],
            &[300_000; 9],
            &[700_000, 700_001, 0, 1],
            &[3 << 20],
            &[1, (5 << 20) - 7, 1],
            &[100, 200_000, 5, 1 << 20, 1 << 20, 3, 131_072, 262_144, 262_143],
        ];
        for lens in batches {
            let blobs: Vec<&[u8]> = lens.iter().map(|&len| &data[data.len() - len..]).collect();
            let expected: Vec<_> = blobs.iter().map(|blob| *hash(blob).as_bytes()).collect();
            let all: usize = blobs.iter().map(|blob| cost(blob)).sum();
            for threads in [1, 2, 3, 16] {
                for least in [1000, BYTES] {
                    let mut digests = vec![[0; 32]; blobs.len()];
                    let places = &mut digests[..];
                    let blobs = &blobs;
                    let rest =
                        Mutex::new(Rest { next: 0, places, mean: all / blobs.len(), tree: None });
                    let parts = Parts { blobs, least, threads, rest };
                    let mut parts: Vec<_> = iter::from_fn(|| parts.next()).collect();
                    let longest = blobs.iter().map(|blob| cost(blob)).max().unwrap_or(0);
                    let most = (longest * blobs.len() / (PARTS * threads)).min(MOST);
                    let most = most.max(least).max(longest);
                    parts.reverse();
                    for part in parts {
                        let task =
                            |range, places| window::digests(&Mode::PLAIN, blobs, range, places);
                        let finish = |hasher: &Hasher, place: &mut [ChainingValue]| {
                            place[0] = *hasher.finalize().as_bytes();
                        };
                        let size = match &part {
                            Part::Blobs { range, .. } => {
                                blobs[range.clone()].iter().map(|blob| cost(blob)).sum()
                            }
                            Part::Leaf { tree, .. } => tree.size,
                        };
                        assert!(size <= most);
                        part.hash(&Mode::PLAIN, &task, &finish);
                    }
                    assert!(digests == expected, "{} blobs, {threads} threads", blobs.len());
                }
            }
        }
    }
}
