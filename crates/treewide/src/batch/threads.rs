//! A batch on the threads of the current rayon pool.
//!
//! Threads take part after part of the batch, in its order: neighbouring blobs, or a leaf of the tree
//! of a long one. Parts are a share of what is left, so that tiny blobs and huge ones both are many
//! enough parts for all threads, few at first and short ones at the end, when threads would wait for
//! each other. Whoever is done with the last leaf of a tree finishes it.
//!
//! ```text
//! blobs    a b c d | eeeeeeeeeeeeeeeeeeeeeee | f g h | i j
//! parts    [  1  ]   [  2  ] [  3  ] [ 4 ]     [ 5 ]   [6]       4 leaves a rest to finish
//! ```

use core::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::Blobs;
use super::window::Places;
use crate::kernel::detected;
use crate::parallel::{self, LEAVES};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue};
use crate::tree::{self, Mode, WIDE};
use crate::{Hasher, profile};

/// Bytes of a batch below which it is not split, if no profile says otherwise, and at least of a part.
const BYTES: usize = 128 * 1024;

/// Parts of what is left that each thread should find. More of them leave more lanes idle, as each ends
/// with a group that is not full; fewer leave a thread waiting for one that began late.
const PARTS: usize = 4;

/// What a blob costs, in bytes of a long one: the empty one costs a block, and each some bookkeeping.
fn cost(blob: &[u8]) -> usize {
    blob.len().saturating_add(BLOCK_LEN)
}

/// Runs `task` on parts of all blobs and their places, and `finish` on hashers that have absorbed a whole
/// blob.
pub(super) fn split<B: Blobs + Sync + ?Sized, P: Places + Send>(
    mode: &Mode,
    blobs: &B,
    places: P,
    task: impl Fn(Range<usize>, P) + Sync,
    finish: impl Fn(&Hasher, P) + Sync,
) {
    let count = blobs.count();
    let all = (0..count).map(|index| cost(blobs.get(index))).fold(0, usize::saturating_add);
    let least = profile::current().batch_task.unwrap_or(BYTES);
    if all < least {
        return task(0..count, places);
    }
    parallel::by_team(all, |threads, trial| {
        if threads == 1 {
            return task(0..count, places);
        }
        let parts = Parts { blobs, next: 0, places, left: all, least, threads, tree: None };
        parallel::each(threads, trial, parts, |part| part.hash(mode, &task, &finish));
    });
}

/// What is left of a batch.
struct Parts<'a, B: ?Sized, P> {
    blobs: &'a B,
    next: usize,
    places: P,
    /// What it costs.
    left: usize,
    /// What a part costs at least, if there is so much.
    least: usize,
    threads: usize,
    /// The tree whose leaves come next, and the first of them.
    tree: Option<(Arc<Tree<'a, P>>, usize)>,
}

enum Part<'a, P> {
    Blobs { range: Range<usize>, cost: usize, places: P },
    Leaf { tree: Arc<Tree<'a, P>>, index: usize },
}

impl<P> Part<'_, P> {
    /// What it has cost.
    fn hash(
        self,
        mode: &Mode,
        task: &impl Fn(Range<usize>, P),
        finish: &impl Fn(&Hasher, P),
    ) -> usize {
        match self {
            Part::Blobs { range, cost, places } => {
                task(range, places);
                cost
            }
            Part::Leaf { tree, index } => {
                if let Some((hasher, place)) = tree.hash(index, mode) {
                    finish(&hasher, place);
                }
                tree.size
            }
        }
    }
}

impl<'a, B: Blobs + ?Sized, P: Places> Parts<'a, B, P> {
    fn leaf(&mut self) -> Option<Part<'a, P>> {
        let (tree, index) = self.tree.take()?;
        if index + 1 < tree.leaves() {
            self.tree = Some((Arc::clone(&tree), index + 1));
        }
        self.left = self.left.saturating_sub(tree.size);
        Some(Part::Leaf { tree, index })
    }

    /// The places of the next blobs, which are taken.
    fn take(&mut self, count: usize) -> P {
        self.next += count;
        self.places.split_off(count)
    }
}

impl<'a, B: Blobs + ?Sized, P: Places> Iterator for Parts<'a, B, P> {
    type Item = Part<'a, P>;

    fn next(&mut self) -> Option<Part<'a, P>> {
        if let Some(leaf) = self.leaf() {
            return Some(leaf);
        }
        let first = self.next;
        let rest = first..self.blobs.count();
        let size = self.least.max(self.left / (PARTS * self.threads));
        let is_long = |blob: &[u8]| blob.len() / 2 >= size.max(LEAVES[0]);
        let (mut costs, mut count) = (0_usize, 0);
        for index in rest {
            let blob = self.blobs.get(index);
            if is_long(blob) {
                if count == 0 {
                    let place = self.take(1);
                    self.tree = Some((Arc::new(Tree::new(blob, place, size)), 0));
                    return self.leaf();
                }
                break;
            }
            let with = costs.saturating_add(cost(blob));
            if count > 0 && with > size {
                break;
            }
            (costs, count) = (with, count + 1);
        }
        self.left = self.left.saturating_sub(costs);
        (count > 0).then(|| {
            let places = self.take(count);
            Part::Blobs { range: first..first + count, cost: costs, places }
        })
    }
}

/// A long blob.
struct Tree<'a, P> {
    blob: &'a [u8],
    /// Bytes of a leaf: a power of two of at least [`WIDE`] chunks.
    size: usize,
    nodes: Mutex<Nodes<P>>,
}

struct Nodes<P> {
    /// Room for the left sibling, then the nodes of all leaves.
    nodes: Vec<ChainingValue>,
    /// Leaves that are not done.
    left: usize,
    /// For the digest, until then.
    place: Option<P>,
}

impl<'a, P> Tree<'a, P> {
    fn new(blob: &'a [u8], place: P, size: usize) -> Self {
        let size = 1 << size.clamp(LEAVES[0], LEAVES[1]).ilog2();
        let left = blob.len() / size;
        let nodes = vec![[0; 32]; 1 + left * WIDE];
        Self { blob, size, nodes: Mutex::new(Nodes { nodes, left, place: Some(place) }) }
    }

    fn leaves(&self) -> usize {
        self.blob.len() / self.size
    }

    /// Hashes a leaf. If it is the last one to be done, a hasher that has absorbed the blob, and the
    /// place for its output.
    fn hash(&self, index: usize, mode: &Mode) -> Option<(Hasher, P)> {
        let (leaf, chunks) = (&self.blob[index * self.size..][..self.size], self.size / CHUNK_LEN);
        let mut cvs = [[0; 32]; WIDE];
        tree::subtree(detected(), leaf, (index * chunks) as u64, mode, &mut cvs);
        let (mut nodes, place) = {
            let mut all = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            all.nodes[1 + index * WIDE..][..WIDE].copy_from_slice(&cvs);
            all.left -= 1;
            if all.left > 0 {
                return None;
            }
            (std::mem::take(&mut all.nodes), all.place.take()?)
        };
        let mut hasher = Hasher::with_mode(*mode);
        hasher.append_nodes(&mut nodes, self.leaves() * WIDE, (chunks / WIDE).ilog2());
        hasher.update(&self.blob[self.leaves() * self.size..]);
        Some((hasher, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::window;

    /// Every part is there once, whoever does it and when, and none is too large.
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
            let expected: Vec<_> = blobs.iter().map(|blob| *crate::hash(blob).as_bytes()).collect();
            let all: usize = blobs.iter().map(|blob| cost(blob)).sum();
            for threads in [1, 2, 3, 16] {
                for least in [1000, BYTES] {
                    let mut digests = vec![[0; 32]; blobs.len()];
                    let places = &mut digests[..];
                    let blobs = &blobs;
                    let parts =
                        Parts { blobs, next: 0, places, left: all, least, threads, tree: None };
                    let mut parts: Vec<_> = parts.collect();
                    let longest = blobs.iter().map(|blob| cost(blob)).max().unwrap_or(0);
                    let most = least.max(all / (PARTS * threads)).max(longest);
                    parts.reverse();
                    for part in parts {
                        let task =
                            |range, places| window::digests(&Mode::PLAIN, blobs, range, places);
                        let finish = |hasher: &Hasher, place: &mut [ChainingValue]| {
                            place[0] = *hasher.finalize().as_bytes();
                        };
                        assert!(part.hash(&Mode::PLAIN, &task, &finish) <= most);
                    }
                    assert!(digests == expected, "{} blobs, {threads} threads", blobs.len());
                }
            }
        }
    }
}
