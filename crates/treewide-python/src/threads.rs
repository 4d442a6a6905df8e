//! Who works: the calling thread, all threads of the process, or at most as many as the caller allows.
//!
//! One pool serves the whole process: rayon's global pool, which starts with the first call that wants it. A number between 1
//! and its threads has a smaller pool, which all calls with this number share.
//!
//! The threads of a process do not exist in a child that it forks, and a pool without its threads is of no use. So a child
//! gets pools of its own. Pools are found in a list without locks, because a lock might be held when the process forks.

use std::path::Path;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use treewide::Hasher;
use treewide::file::{self, Report};

/// What `max_threads` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    /// As many as the input is worth.
    Auto,
    /// The same, but at most this number.
    Most(usize),
}

/// The value of `max_threads` for [`Threads::Auto`].
pub(crate) const AUTO: isize = -1;

impl Threads {
    pub(crate) fn new(most: isize) -> PyResult<Self> {
        match most {
            1 => Ok(Self::One),
            AUTO => Ok(Self::Auto),
            2.. => Ok(Self::Most(most as usize)),
            _ => Err(PyValueError::new_err(format!(
                "max_threads is 1 or more, or AUTO (-1), and not {most}"
            ))),
        }
    }

    /// The value of `max_threads`.
    pub(crate) fn number(self) -> isize {
        match self {
            Self::One => 1,
            Self::Auto => AUTO,
            Self::Most(most) => most as isize,
        }
    }

    /// Appends `data` with these threads.
    pub(crate) fn update(self, hasher: &mut Hasher, data: &[u8]) {
        match self {
            Self::One => hasher.update(data),
            _ => self.run(|| hasher.update_rayon(data)),
        };
    }

    /// Appends the file at `path` with these threads.
    pub(crate) fn update_file(
        self,
        hasher: &mut Hasher,
        path: &Path,
    ) -> Result<Report, file::Error> {
        self.run_at_most(|most| file::Options::new().threads(most).update(hasher, path))
    }

    /// Calls `work` with the most threads that it may use of the current rayon pool. No smaller pool is made: `work` sees
    /// to the number.
    pub(crate) fn run_at_most<R: Send>(self, work: impl FnOnce(usize) -> R + Send) -> R {
        match self {
            Self::One => work(1),
            Self::Auto => Self::Auto.run(|| work(usize::MAX)),
            Self::Most(most) => Self::Auto.run(|| work(most)),
        }
    }

    /// Calls `work` so that the current rayon pool has these threads. With [`Threads::One`], `work` must not use a pool.
    pub(crate) fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        let most = match self {
            Self::One => return work(),
            Self::Auto => None,
            Self::Most(most) => Some(most),
        };
        let process = process::id();
        let owner = match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => process,
            Err(owner) => owner,
        };
        let is_child = owner != process;
        // Starts the global pool. In a child it only returns a number.
        let all = rayon::current_num_threads();
        let pool = match most {
            Some(most) if most < all => pool(process, most),
            _ if is_child => pool(process, all),
            // The global pool; the caller works too.
            _ => return work(),
        };
        match pool {
            Some(pool) => pool.install(work),
            // The system gives us no threads: helpers of the global pool are asked, and nobody waits for them.
            None => work(),
        }
    }
}

/// The process that the global pool belongs to; 0 before anything asked for threads.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// A pool in the list. It is never freed: there is one for each process and number of threads that was asked for.
struct Node {
    process: u32,
    threads: usize,
    pool: ThreadPool,
    next: *const Node,
}

static POOLS: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process with that many threads.
fn pool(process: u32, threads: usize) -> Option<&'static ThreadPool> {
    let find = |mut node: *const Node| {
        // SAFETY: nodes are never freed, and never change once they are in the list.
        while let Some(found) = unsafe { node.as_ref() } {
            if (found.process, found.threads) == (process, threads) {
                return Some(&found.pool);
            }
            node = found.next;
        }
        None
    };
    let mut first = POOLS.load(Ordering::Acquire);
    if let Some(pool) = find(first) {
        return Some(pool);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    let mut node = Box::new(Node { process, threads, pool, next: ptr::null() });
    loop {
        // Another thread may have been faster; then the pool of this one ends.
        if let Some(pool) = find(first) {
            return Some(pool);
        }
        node.next = first;
        let raw = Box::into_raw(node);
        match POOLS.compare_exchange(first, raw, Ordering::Release, Ordering::Acquire) {
            // SAFETY: the node is in the list now, where it stays.
            Ok(_) => return Some(unsafe { &(*raw).pool }),
            Err(now) => {
                first = now;
                // SAFETY: the node did not get into the list, so nobody else has it.
                node = unsafe { Box::from_raw(raw) };
            }
        }
    }
}
