//! How many threads work: a function of the number of bytes and of the threads of the current pool.

use std::sync::OnceLock;

use rayon::{ThreadPoolBuilder, current_num_threads, current_thread_index};

use super::leaves::LEAVES;
use crate::profile;

/// Bytes from which on two threads work, so each of them has at least half of this. Chosen by
/// `results/zen3-2vcpu/threads.md#the-length-from-which-two-threads-work`; a profile says otherwise by `parallel-from`.
const FROM: usize = 1 << 20;

/// Bytes of two of the smallest leaves. Fewer are for one thread, whatever a profile says.
const LEAST: usize = 2 * LEAVES[0];

/// The threads that work on `bytes` bytes in memory, the calling one included, of a pool of `pool`
/// threads, if two work on `from` bytes.
fn threads_of(pool: usize, bytes: usize, from: usize) -> usize {
    pool.min(bytes.saturating_mul(2) / from.max(1)).max(1)
}

/// The threads of the current pool that work on `bytes` bytes in memory.
#[inline]
pub(crate) fn threads(bytes: usize) -> usize {
    // A short input pays for each look into the profile.
    if bytes < LEAST { 1 } else { threads_from(bytes, None) }
}

/// The same if two threads work on `from` bytes, where a profile says so.
pub(crate) fn threads_from(bytes: usize, from: Option<usize>) -> usize {
    let from = from.or(profile::current().parallel_from).unwrap_or(FROM);
    // No pool is started for an input that one thread hashes.
    if bytes < from { 1 } else { threads_of(pool(), bytes, from) }
}

/// The threads of the current pool: of the one that the calling thread belongs to, or else of the global
/// pool, which this starts if the program has not.
pub(crate) fn pool() -> usize {
    static GLOBAL: OnceLock<usize> = OnceLock::new();
    if current_thread_index().is_some() {
        return current_num_threads();
    }
    *GLOBAL.get_or_init(|| match ThreadPoolBuilder::new().build_global() {
        // The system gives us no threads: the calling one has to do.
        Err(error) if std::error::Error::source(&error).is_some() => 1,
        // An error without a source says that the program has started it already.
        _ => current_num_threads(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    #[test]
    fn threads_follow_from_bytes_and_pool() {
        let cases = [
            // pool, bytes, from, threads
            (2, 0, MIB, 1),
            (2, MIB - 1, MIB, 1),
            (2, MIB, MIB, 2),
            (2, usize::MAX, MIB, 2),
            (1, usize::MAX, MIB, 1),
            (16, MIB, MIB, 2),
            (16, 2 * MIB - 1, MIB, 3),
            (16, 2 * MIB, MIB, 4),
            (16, 8 * MIB, MIB, 16),
            (16, 64 * MIB, MIB, 16),
            (64, 8 * MIB, MIB, 16),
            // Profiles: another length, every input, none.
            (16, 256 * KIB, 256 * KIB, 2),
            (16, 1, 1, 2),
            (16, 0, 0, 1),
            (16, 1, 0, 2),
            (16, MIB, usize::MAX, 1),
        ];
        for (pool, bytes, from, threads) in cases {
            assert_eq!(threads_of(pool, bytes, from), threads, "{pool} {bytes} {from}");
        }
    }

    #[test]
    fn the_current_pool_counts() {
        for threads in [1, 2, 5] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            assert_eq!(pool.install(super::pool), threads);
        }
        assert_eq!(super::pool(), current_num_threads());
    }
}
