//! Work cut into leaves, which the threads of a team take one after the other.
//!
//! An input is cut into subtrees of equal size. Each thread reduces the leaf that it took to [`WIDE`]
//! nodes; in the end the calling thread puts the nodes of all leaves into the tree.
//!
//! ```text
//! input    | begun chunk | leaf 0 | leaf 1 | ... | leaf n-1 | rest |
//! nodes                   32 CVs   32 CVs         32 CVs
//! ```
//!
//! [`Leaves`] says where they come from: memory here, files in the module `file`.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::team::together;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::spec::{BLOCK_LEN, CHUNK_LEN, ChainingValue};
use crate::tree::{self, WIDE};
use crate::xof::OutputReader;

/// Bytes of the smallest and of the largest leaf in memory. A guess: two of the widest passes, and what keeps the
/// number of leaves of large inputs small.
pub(crate) const LEAVES: [usize; 2] = [2 * WIDE * CHUNK_LEN, 1 << 20];

/// Leaves that each thread should find at least, and less than twice as many: few enough that the
/// calling thread has few nodes to put together, and enough that no thread waits long for another.
/// Six were not faster (`results/zen3-2vcpu/threads.md#leaves`).
const LEAVES_PER_THREAD: usize = 3;

/// The length of the leaves into which `bytes` bytes are cut for `threads` threads: a power of two.
fn size(bytes: usize, threads: usize) -> usize {
    let [least, most] = LEAVES;
    1 << (bytes / (threads * LEAVES_PER_THREAD)).clamp(least, most).ilog2()
}

/// Has every part done by one of up to `threads` threads, which take them in order.
pub(crate) fn each<T>(
    threads: usize,
    parts: impl Iterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    let parts = Mutex::new(parts);
    each_of(threads, || parts.lock().unwrap_or_else(PoisonError::into_inner).next(), work);
}

/// The same of the parts that `next` gives, which threads call at the same time.
pub(crate) fn each_of<T>(
    threads: usize,
    next: impl Fn() -> Option<T> + Sync,
    work: impl Fn(T) + Sync,
) {
    together(threads, &|| {
        while let Some(part) = next() {
            work(part);
        }
    });
}

/// The results of `work` for all `items`, in order, on up to `threads` threads. Each thread has what `scratch` gives.
///
/// # Errors
/// An error of `work`; then no thread begins another item.
#[cfg(feature = "outboard")]
pub(crate) fn map<T: Sync, S, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let done = Mutex::new((Vec::with_capacity(items.len()), None));
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = AtomicUsize::new(0);
    together(threads.min(items.len()), &|| {
        let mut scratch = scratch();
        while lock().1.is_none() {
            let index = taken.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            match work(&mut scratch, item) {
                Ok(result) => lock().0.push((index, result)),
                Err(error) => {
                    lock().1.get_or_insert(error);
                }
            }
        }
    });
    let (mut results, error) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Where leaves come from. Each of the threads that hash them calls [`next`](Self::next) until
/// nothing is left.
pub(crate) trait Leaves: Sync {
    /// What a thread keeps from leaf to leaf, such as a buffer.
    type Scratch;
    /// Why a leaf cannot be had.
    type Error: Send;

    fn scratch(&self) -> Self::Scratch;

    /// The next leaf that no one has taken and its number; the numbers of all leaves are those from
    /// 0 on. After an error there may be more.
    fn next<'a>(
        &'a self,
        scratch: &'a mut Self::Scratch,
    ) -> Result<Option<(usize, &'a [u8])>, Self::Error>;
}

/// What leaves are appended to: a hasher, or an outboard that is being made of the same bytes.
pub(crate) trait Sink: Sync {
    /// Bytes so far.
    fn count(&self) -> u64;

    /// The number of the chunk that is next.
    fn next_chunk(&self) -> u64;

    /// Appends bytes, on the calling thread.
    #[cfg(feature = "file")]
    fn update(&mut self, input: &[u8]);

    /// Hashes a leaf, whose first chunk has the number `counter`, to the nodes that [`append`](Self::append) will get. Several threads
    /// do this at the same time.
    fn leaf(&self, counter: u64, leaf: &[u8], nodes: &mut [ChainingValue; WIDE]);

    /// Appends the nodes of leaves of `chunks` chunks each.
    fn append(&mut self, nodes: &[ChainingValue], chunks: usize);
}

impl Sink for Hasher {
    fn count(&self) -> u64 {
        Self::count(self)
    }

    fn next_chunk(&self) -> u64 {
        let settled = self.settled();
        settled.subtrees.first_chunk + settled.count() / CHUNK_LEN as u64
    }

    #[cfg(feature = "file")]
    fn update(&mut self, input: &[u8]) {
        Self::update(self, input);
    }

    fn leaf(&self, counter: u64, leaf: &[u8], nodes: &mut [ChainingValue; WIDE]) {
        tree::subtree(running(), leaf, counter, &self.settled().subtrees.mode, nodes);
    }

    fn append(&mut self, nodes: &[ChainingValue], chunks: usize) {
        self.append_subtrees(nodes, (chunks / WIDE).ilog2());
    }
}

/// Appends up to `most` leaves of `size` bytes each, as many as `source` has, on up to `threads`
/// threads. The sink must be at a multiple of `size`, a power of two of at least [`WIDE`] chunks.
///
/// # Errors
/// The first one of `source`; then nothing is appended, and each thread ends with the leaf that it has.
pub(crate) fn append<S: Leaves>(
    sink: &mut impl Sink,
    source: &S,
    size: usize,
    most: usize,
    threads: usize,
) -> Result<(), S::Error> {
    let first = sink.next_chunk();
    let chunks = size / CHUNK_LEN;
    debug_assert!(size.is_power_of_two() && chunks >= WIDE);
    debug_assert_eq!(sink.count() % size as u64, 0);
    struct Done<E> {
        /// Those of all leaves.
        nodes: Vec<ChainingValue>,
        leaves: usize,
        error: Option<E>,
    }
    let nodes = vec![[0; 32]; most * WIDE];
    let done = Mutex::new(Done { nodes, leaves: 0, error: None });
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = &*sink;
    together(threads.min(most), &|| {
        // One helper may come after another has met an error and left.
        if lock().error.is_some() {
            return;
        }
        let mut scratch = source.scratch();
        loop {
            match source.next(&mut scratch) {
                Ok(None) => return,
                Ok(Some((index, leaf))) => {
                    let mut nodes = [[0; 32]; WIDE];
                    let counter = first + (index * chunks) as u64;
                    shared.leaf(counter, leaf, &mut nodes);
                    let mut done = lock();
                    if done.error.is_some() {
                        return;
                    }
                    done.nodes[index * WIDE..][..WIDE].copy_from_slice(&nodes);
                    done.leaves += 1;
                }
                Err(error) => {
                    lock().error.get_or_insert(error);
                    return;
                }
            }
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = done.error {
        return Err(error);
    }
    sink.append(&done.nodes[..done.leaves * WIDE], chunks);
    Ok(())
}

/// Leaves of an input in memory.
struct Memory<'a> {
    input: &'a [u8],
    size: usize,
    taken: AtomicUsize,
}

impl Leaves for Memory<'_> {
    type Scratch = ();
    type Error = Infallible;

    fn scratch(&self) {}

    fn next<'a>(&'a self, _: &'a mut ()) -> Result<Option<(usize, &'a [u8])>, Infallible> {
        let index = self.taken.fetch_add(1, Ordering::Relaxed);
        let leaf = self.input.get(index * self.size..(index + 1) * self.size);
        Ok(leaf.map(|leaf| (index, leaf)))
    }
}

/// Appends `input`, on up to `threads` threads.
pub(super) fn update<'h>(hasher: &'h mut Hasher, input: &[u8], threads: usize) -> &'h mut Hasher {
    hasher.check_room(input.len() as u64);
    let size = size(input.len(), threads);
    // Up to where a leaf may begin.
    let before = (size - (hasher.count() % size as u64) as usize) % size;
    let (begun, input) = input.split_at(before.min(input.len()));
    hasher.update(begun);
    if input.len() < 2 * size {
        return hasher.update(input);
    }
    let (whole, rest) = input.split_at(input.len() - input.len() % size);
    let source = Memory { input: whole, size, taken: AtomicUsize::new(0) };
    let Ok(()) = append(hasher, &source, size, whole.len() / size, threads);
    hasher.update(rest)
}

/// Fills `buf` with the next bytes of `reader`, on up to `threads` threads.
pub(super) fn fill(reader: &mut OutputReader, buf: &mut [u8], threads: usize) {
    let (size, len) = (size(buf.len(), threads), buf.len());
    each(threads, (0..).zip(buf.chunks_mut(size)), |(index, leaf)| {
        reader.write(index * (size / BLOCK_LEN) as u64, leaf);
    });
    reader.advance(len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_finds_leaves() {
        for threads in [2, 3, 7, 16] {
            for bytes in [1 << 20, (1 << 20) + 1, 5_000_000, 64 << 20] {
                let leaves = bytes / size(bytes, threads);
                let [least, most] = LEAVES;
                let wanted = threads * LEAVES_PER_THREAD;
                assert!(leaves >= wanted || size(bytes, threads) == least, "{bytes} {threads}");
                assert!(leaves < 2 * wanted || size(bytes, threads) == most, "{bytes} {threads}");
            }
        }
    }
}
