//! Who works: the calling thread, all threads of the process, or at most as many as the caller allows.
//!
//! One pool serves the whole process: rayon's global pool, which starts with the first input that is long enough for it. A
//! number between 1 and its threads has a smaller pool, which all calls with this number share. Where the system gives
//! no threads, the calling thread does all.
//!
//! The threads of a process do not exist in a child that it forks, and a pool without its threads is of no use. So a child
//! gets pools of its own. Pools are found in a list without locks, because a lock might be held when the process forks.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use treewide::Hasher;
use treewide::explain;

/// What `threads` asks for, which the class `blake3` calls `max_threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    /// As many as the input is worth.
    Auto,
    /// The same, but at most this number.
    Most(usize),
}

/// The number for [`Threads::Auto`].
pub(crate) const AUTO: isize = -1;

impl Threads {
    pub(crate) fn new(most: isize) -> PyResult<Self> {
        match most {
            1 => Ok(Self::One),
            AUTO => Ok(Self::Auto),
            2.. => Ok(Self::Most(most as usize)),
            _ => Err(PyValueError::new_err(format!(
                "the number of threads is 1 or more, or AUTO (-1), and not {most}"
            ))),
        }
    }

    /// The number that asks for it.
    pub(crate) fn number(self) -> isize {
        match self {
            Self::One => 1,
            Self::Auto => AUTO,
            Self::Most(most) => most as isize,
        }
    }

    /// The same for an input of `bytes` bytes: only long ones need a pool.
    pub(crate) fn for_bytes(self, bytes: usize) -> Self {
        if bytes < TOGETHER { Self::One } else { self }
    }

    /// Appends `data` with these threads.
    pub(crate) fn update(self, hasher: &mut Hasher, data: &[u8]) {
        self.for_bytes(data.len()).run(|is_together| match is_together {
            true => hasher.update_rayon(data),
            false => hasher.update(data),
        });
    }

    /// Calls `work` with the most threads that it may use of the current rayon pool. No smaller pool is made: `work` sees
    /// to the number.
    pub(crate) fn run_at_most<R: Send>(self, work: impl FnOnce(usize) -> R + Send) -> R {
        let (threads, most) = match self {
            Self::One => (Self::One, 1),
            Self::Auto => (Self::Auto, usize::MAX),
            Self::Most(most) => (Self::Auto, most),
        };
        threads.run(|is_together| work(if is_together { most } else { 1 }))
    }

    /// Calls `work` so that the current rayon pool has these threads, with `true`; or with `false`, if it must not use a
    /// pool.
    pub(crate) fn run<R: Send>(self, work: impl FnOnce(bool) -> R + Send) -> R {
        match self.team() {
            Team::Alone => work(false),
            // The caller works too.
            Team::Global => work(true),
            Team::Pool(pool) => pool.install(|| work(true)),
        }
    }

    fn team(self) -> Team {
        if self == Self::One {
            return Team::Alone;
        }
        let process = this_process();
        let owner = OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        let is_owner = owner.is_ok() || owner == Err(process);
        match self {
            // A system that gives no threads is dealt with by the library.
            Self::Auto if is_owner => return Team::Global,
            Self::Most(most) if is_owner && most >= of_pool() => return Team::Global,
            _ => {}
        }
        let threads = if let Self::Most(most) = self { most.min(cores()) } else { ALL };
        pool(process, threads).map_or(Team::Alone, Team::Pool)
    }
}

/// The threads of the current pool; this starts the global one. 1 where the system gives no threads.
pub(crate) fn of_pool() -> usize {
    explain(u64::MAX).threads()
}

/// Who works together on an input.
enum Team {
    Alone,
    Global,
    Pool(&'static ThreadPool),
}

/// Shorter inputs are hashed by one thread. A guess: a quarter of the length from which on the library uses two as a rule.
const TOGETHER: usize = 256 << 10;

/// The number by which a pool is asked for that has as many threads as rayon gives it.
const ALL: usize = 0;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How often this process and its ancestors have forked.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// From now on, [`this_process`] is another number in each child, also if the system uses the number of a process again.
///
/// What threads of a pool initialise once for the whole process is initialised here. A process may fork when one of them is
/// half-way, and the threads of the child would wait for it for ever.
pub(crate) fn watch_forks() {
    crossbeam_epoch::default_collector();
    #[cfg(unix)]
    {
        extern "C" fn in_child() {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the function takes no arguments and does what a signal handler may do. It stays where it is, because
        // Python unloads no extensions. Without memory for it, processes are still known by their numbers.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// A number for this process; not 0.
pub(crate) fn this_process() -> u64 {
    u64::from(FORKS.load(Ordering::Relaxed)) << 32 | u64::from(process::id())
}

/// The process that the global pool belongs to; 0 before anything asked for threads.
static OWNER: AtomicU64 = AtomicU64::new(0);

/// A pool in the list. It is never freed: there is one for each process and number of threads that was asked for.
struct Node {
    process: u64,
    threads: usize,
    pool: ThreadPool,
    next: *const Node,
}

static POOLS: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process with that many threads.
fn pool(process: u64, threads: usize) -> Option<&'static ThreadPool> {
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
                // SAFETY: the node did not get into the list, so no other thread has it.
                node = unsafe { Box::from_raw(raw) };
            }
        }
    }
}
