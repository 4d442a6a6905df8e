//! Hashing with the threads of the current rayon pool.
//!
//! [`policy`] says how many threads work on how many bytes. The calling thread works from the first
//! moment to the last; a [`team`] is the calling thread and the helpers that have woken up in time. All
//! of them take [`leaves`], subtrees of equal size, until none is left.
//!
//! Nothing is learned from earlier calls, and nothing is asked of the operating system: the same call in
//! the same pool always asks for the same help.

pub(crate) mod leaves;
pub(crate) mod policy;
pub(crate) mod team;

use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::oneshot::hash;
use crate::xof::OutputReader;

/// [`hash`](crate::hash()) with the threads of the current rayon pool.
///
/// Inputs below 1 MiB are hashed by the calling thread alone, and start no pool. From there on each
/// thread gets at least 512 KiB: two threads work on 1 MiB, and all threads of a pool of 16 work on 8 MiB.
/// The calling thread always takes part, and never waits for a thread that has not woken up.
///
/// To use another number of threads, call this in a pool of that many:
///
/// ```
/// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let input = vec![0; 4 << 20];
/// assert_eq!(pool.install(|| treewide::hash_parallel(&input)), treewide::hash(&input));
/// # Ok::<(), rayon::ThreadPoolBuildError>(())
/// ```
#[inline]
pub fn hash_parallel(input: &[u8]) -> Hash {
    match policy::threads(input.len()) {
        1 => hash(input),
        threads => hash_with(threads, input),
    }
}

/// Apart, so that a hasher on the stack costs short inputs nothing.
#[inline(never)]
fn hash_with(threads: usize, input: &[u8]) -> Hash {
    leaves::update(&mut Hasher::new(), input, threads).finalize()
}

impl Hasher {
    /// Appends `input` with the threads of the current rayon pool, by the rule of [`hash_parallel`].
    ///
    /// # Panics
    /// As [`update`](Self::update).
    #[inline]
    pub fn update_rayon(&mut self, input: &[u8]) -> &mut Self {
        match policy::threads(input.len()) {
            1 => self.update(input),
            threads => leaves::update(self, input, threads),
        }
    }
}

impl OutputReader {
    /// [`fill`](Self::fill) with the threads of the current rayon pool, by the rule of
    /// [`Hasher::update_rayon`].
    ///
    /// ```
    /// let mut output = vec![0; 2 << 20];
    /// treewide::Hasher::new().update(b"seed").finalize_xof().fill_parallel(&mut output);
    /// ```
    pub fn fill_parallel(&mut self, buf: &mut [u8]) {
        match policy::threads(buf.len()) {
            1 => self.fill(buf),
            threads => leaves::fill(self, buf, threads),
        }
    }
}
