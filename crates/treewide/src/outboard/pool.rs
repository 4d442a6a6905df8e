//! Work on many tiles: on the threads of the current rayon pool, or on the calling one.

#[cfg(feature = "rayon")]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "rayon")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "rayon")]
use crate::parallel::{policy, team::together};

/// The most tiles whose results are kept at a time. A guess: threads wait for each other once in 512 MiB.
pub(super) const WINDOW: usize = 1024;

/// How many threads work on `bytes` bytes.
pub(super) fn threads(bytes: u64) -> usize {
    #[cfg(feature = "rayon")]
    return policy::threads(usize::try_from(bytes).unwrap_or(usize::MAX));
    #[cfg(not(feature = "rayon"))]
    return usize::from(bytes > 0).max(1);
}

/// The results of `work` for all `items`, in order, on up to `threads` threads. Each thread has what `scratch` gives.
///
/// # Errors
/// An error of `work`; then no thread begins another item.
#[cfg(feature = "rayon")]
pub(super) fn map<T: Sync, S, R: Send, E: Send>(
    threads: usize,
    items: &[T],
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads.min(items.len()) < 2 {
        return map_here(items, scratch, work);
    }
    struct Done<R, E> {
        results: Vec<(usize, R)>,
        error: Option<E>,
    }
    let done = Mutex::new(Done { results: Vec::with_capacity(items.len()), error: None });
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = AtomicUsize::new(0);
    together(threads.min(items.len()), &|| {
        let mut scratch = scratch();
        while lock().error.is_none() {
            let index = taken.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            match work(&mut scratch, item) {
                Ok(result) => lock().results.push((index, result)),
                Err(error) => {
                    lock().error.get_or_insert(error);
                }
            }
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = done.error {
        return Err(error);
    }
    done.results.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(not(feature = "rayon"))]
pub(super) fn map<T, S, R, E>(
    _threads: usize,
    items: &[T],
    scratch: impl Fn() -> S,
    work: impl Fn(&mut S, &T) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    map_here(items, scratch, work)
}

fn map_here<T, S, R, E>(
    items: &[T],
    scratch: impl Fn() -> S,
    work: impl Fn(&mut S, &T) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut scratch = scratch();
    items.iter().map(|item| work(&mut scratch, item)).collect()
}
