//! One piece of work done by the calling thread and, as they wake up, by threads of a rayon pool.
//!
//! `rayon::join` and `rayon::scope` make the caller wait until every task that they began has run, also
//! the tasks of a thread that has not even woken up; and a caller from outside the pool sleeps until
//! then. Here the caller works from the first moment to the last, and a helper that comes too late finds
//! the door closed: the caller waits only for helpers that are at work.
//!
//! ```text
//! caller   ask for help | work ........................ | close | wait for those inside
//! helper        wake up ......... | enter | work ...... | leave
//! helper        wake up ................................................ | closed, go
//! ```

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rayon::Yield;

/// Set in `state` once no helper may enter any more. The other bits count the helpers inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How long the caller looks for the last helper before it sleeps: about as long as waking it takes. A guess: a helper
/// that sleeps comes after 36 to 68 µs (`results/zen3-2vcpu/threads.md#where-a-helper-wakes-up`).
const PATIENCE: Duration = Duration::from_micros(100);

/// How long a caller that is a thread of the pool sleeps at most: no one wakes it for rayon's work. A guess: few wakings
/// a second.
const NAP: Duration = Duration::from_millis(1);

/// The most requests for help that may wait for a thread. Each is held in memory until a thread answers it, and the
/// threads of a pool may be busy for hours; a forked child has none.
const MOST_UNANSWERED: usize = 1024;

/// Requests that wait for a thread, in all pools.
static UNANSWERED: AtomicUsize = AtomicUsize::new(0);

type Work<'a> = dyn Fn() + Sync + 'a;

struct Team {
    /// Valid for a helper from entering to leaving.
    work: *const Work<'static>,
    state: AtomicUsize,
    /// The number of helpers that there is room for, and of helpers that are asked to come.
    room: usize,
    asked: usize,
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` points to something `Sync`, and is used only between entering and leaving.
unsafe impl Send for Team {}
// SAFETY: threads share `work` only to call it, which `Sync` allows.
unsafe impl Sync for Team {}

/// Runs `work` on the calling thread and on up to `threads - 1` other threads of the current rayon
/// pool, each at most once and only if it gets there before the caller is done.
///
/// So `work` must take its share from something that all of them take from, and return when nothing
/// is left to take.
///
/// # Panics
/// If `work` does, on any thread.
pub(crate) fn together(threads: usize, work: &Work<'_>) {
    if threads < 2 {
        return work();
    }
    let work_ptr: *const Work<'_> = work;
    let team = Arc::new(Team {
        // SAFETY: only the lifetime changes; `Door` keeps every use of it within this call.
        work: unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work_ptr) },
        state: AtomicUsize::new(0),
        room: threads - 1,
        asked: asked(threads),
        caller: thread::current(),
        panic: Mutex::new(None),
    });
    let door = Door(&team);
    call_helpers(&team, 0);
    work();
    drop(door);
    let panic = team.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// The helpers to ask for, for a team of `threads` threads: from outside the pool, one more than there is
/// room for. A system may put a thread that it wakes on the CPU of the caller, where it can only take the
/// caller's time; of two threads, one is on another CPU nearly always (`results/zen3-2vcpu/threads.md#where-a-helper-wakes-up`).
fn asked(threads: usize) -> usize {
    match rayon::current_thread_index() {
        Some(_) => threads - 1,
        None => threads.min(rayon::current_num_threads()),
    }
}

/// Asks for the helpers that member `rank` is to ask for. Each asks for two more once it is awake, so
/// that many are there soon, and no one asks for a helper that would come too late.
fn call_helpers(team: &Arc<Team>, rank: usize) {
    for rank in [2 * rank + 1, 2 * rank + 2] {
        if rank > team.asked {
            return;
        }
        if UNANSWERED.fetch_add(1, Ordering::Relaxed) >= MOST_UNANSWERED {
            UNANSWERED.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let team = Arc::clone(team);
        rayon::spawn(move || {
            UNANSWERED.fetch_sub(1, Ordering::Relaxed);
            help(&team, rank);
        });
    }
}

#[allow(deprecated, reason = "its other name, `try_update`, needs Rust 1.95")]
fn help(team: &Arc<Team>, rank: usize) {
    // Once the door is closed, `state` is more than any room.
    let enter = |state| (state < team.room).then_some(state + 1);
    if team.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_err() {
        return;
    }
    call_helpers(team, rank);
    // SAFETY: we have entered, so the caller is in `together` until we leave.
    let work = AssertUnwindSafe(|| unsafe { (*team.work)() });
    if let Err(panic) = catch_unwind(work) {
        let mut first = team.panic.lock().unwrap_or_else(PoisonError::into_inner);
        match *first {
            None => *first = Some(panic),
            // To drop it could panic again, and this helper would never leave.
            Some(_) => std::mem::forget(panic),
        }
    }
    if team.state.fetch_sub(1, Ordering::Release) == CLOSED | 1 {
        team.caller.unpark();
    }
}

/// Closes when it is dropped, also if the caller's own work panics, and waits for the helpers inside.
struct Door<'a>(&'a Team);

impl Drop for Door<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        if state.fetch_or(CLOSED, Ordering::Acquire) == 0 {
            return;
        }
        let closed = Instant::now();
        while state.load(Ordering::Acquire) != CLOSED {
            if closed.elapsed() < PATIENCE {
                std::hint::spin_loop();
                continue;
            }
            // A helper may wait for all threads of the pool, as `rayon::broadcast` does in an `AsRef`
            // of a batch: then it waits for this one.
            match rayon::yield_local() {
                Some(Yield::Executed) => {}
                Some(Yield::Idle) => thread::park_timeout(NAP),
                None => thread::park(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    use rayon::{ThreadPool, ThreadPoolBuilder};

    fn pool(threads: usize) -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
    }

    /// Counts to `count` with a team, and panics if it has not.
    fn counts(threads: usize, count: usize) {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        together(threads, &|| {
            while next.fetch_add(1, Ordering::Relaxed) < count {
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), count);
    }

    /// A thread of a pool whose other thread is busy is never answered. What waits for an answer stays bounded.
    #[test]
    fn together_asks_a_busy_pool_for_little() {
        let pool = pool(2);
        let (start, end) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        let most = pool.scope(|scope| {
            scope.spawn(|_| {
                start.wait();
                end.wait();
            });
            start.wait();
            for _ in 0..3 * MOST_UNANSWERED {
                together(2, &|| ());
            }
            let unanswered = UNANSWERED.load(Ordering::Relaxed);
            end.wait();
            unanswered
        });
        // Other tests ask as well, and count for a moment what they then do not ask for.
        assert!((1..=MOST_UNANSWERED + 64).contains(&most), "{most}");
    }

    #[test]
    fn together_does_everything_once() {
        let pools = [1, 2, 5].map(pool);
        for threads in [1, 2, 3, 5, 9] {
            for count in [0, 1, 2, 100, 10_000] {
                counts(threads, count);
                for pool in &pools {
                    pool.install(|| counts(threads, count));
                    pool.broadcast(|_| counts(threads, count));
                    pool.install(|| {
                        let both = || counts(threads, count);
                        rayon::join(both, both)
                    });
                }
            }
        }
    }

    #[test]
    fn together_does_not_wait_for_a_thread_that_sleeps() {
        let runs = AtomicUsize::new(0);
        let run = || {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        // The only thread of the pool is the caller.
        pool(1).install(|| together(4, &run));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        // The other thread of the pool is at work until the caller is done.
        let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));
        pool(2).scope(|scope| {
            scope.spawn(|_| {
                begun.store(true, Ordering::Release);
                while !done.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
            while !begun.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            together(2, &run);
            assert_eq!(runs.load(Ordering::Relaxed), 2);
            done.store(true, Ordering::Release);
        });
    }

    #[test]
    fn together_passes_a_panic_on() {
        let pool = pool(2);
        for caller_panics in [true, false] {
            let inside = AtomicBool::new(false);
            let result = pool.install(|| {
                let caller = thread::current().id();
                catch_unwind(AssertUnwindSafe(|| {
                    together(2, &|| {
                        let is_caller = thread::current().id() == caller;
                        inside.fetch_or(!is_caller, Ordering::AcqRel);
                        // Until the helper is there, so that both cases happen.
                        while !inside.load(Ordering::Acquire) {
                            thread::yield_now();
                        }
                        assert_ne!(is_caller, caller_panics, "on purpose");
                    });
                }))
            });
            assert!(result.is_err());
            pool.install(|| counts(2, 100));
        }
    }

    #[test]
    fn together_keeps_a_second_panic_that_cannot_be_dropped() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let inside = AtomicUsize::new(0);
        let result = pool(3).install(|| {
            let caller = thread::current().id();
            catch_unwind(AssertUnwindSafe(|| {
                together(3, &|| {
                    inside.fetch_add(1, Ordering::AcqRel);
                    while inside.load(Ordering::Acquire) < 3 {
                        thread::yield_now();
                    }
                    if thread::current().id() != caller {
                        resume_unwind(Box::new(Bomb));
                    }
                });
            }))
        });
        let first = result.expect_err("both helpers panic");
        assert!(first.is::<Bomb>());
        std::mem::forget(first);
    }
}
