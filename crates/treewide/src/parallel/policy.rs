//! How many threads work: a function of the number of bytes and of the threads of the current pool.

use std::sync::OnceLock;

use rayon::{ThreadPoolBuilder, current_num_threads, current_thread_index};

/// Bytes from which on two threads work, so each of them has at least half of this. Chosen by
/// `results/zen3-2vcpu/threads.md#the-length-from-which-two-threads-work`.
const FROM: usize = 1 << 20;

/// The threads that work on `bytes` bytes in memory, the calling one included, of a pool of `pool` threads.
fn threads_of(pool: usize, bytes: usize) -> usize {
    pool.min(bytes.saturating_mul(2) / FROM).max(1)
}

/// The threads of the current pool that work on `bytes` bytes in memory.
#[inline]
pub(crate) fn threads(bytes: usize) -> usize {
    // No pool is started for an input that one thread hashes.
    if bytes < FROM { 1 } else { threads_of(pool(), bytes) }
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

    const MIB: usize = 1 << 20;

    #[test]
    fn threads_follow_from_bytes_and_pool() {
        let cases = [
            // pool, bytes, threads
            (2, 0, 1),
            (2, MIB - 1, 1),
            (2, MIB, 2),
            (2, usize::MAX, 2),
            (1, usize::MAX, 1),
            (16, MIB, 2),
            (16, 2 * MIB - 1, 3),
            (16, 2 * MIB, 4),
            (16, 8 * MIB, 16),
            (16, 64 * MIB, 16),
            (64, 8 * MIB, 16),
        ];
        for (pool, bytes, threads) in cases {
            assert_eq!(threads_of(pool, bytes), threads, "{pool} {bytes}");
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
