//! One piece of work done by the calling thread and, as they wake up, by threads of a rayon pool.
//!
//! `rayon::join` and `rayon::scope` make the caller wait until every task they began has run, also
//! the tasks of a thread that has not even woken up; and a caller from outside the pool sleeps
//! meanwhile. Here the caller works from the first moment to the last, and a helper that comes too
//! late finds the door closed: the caller waits only for those who are at work.
//!
//! On some systems most threads wake up on the CPU of who woke them, while the next CPU idles: that of
//! a virtual machine looks as if it were taken (`results/zen5-2vcpu/threads.txt`). There a helper would
//! only take the caller's time. So the thread that will be woken is kept away from the caller's CPU
//! while it is woken, if we know which one that is; and one that wakes up there goes to another first.
//!
//! ```text
//! caller   ask for help | work ........................ | close | wait for those inside
//! helper        wake up ......... | enter | work ...... | leave
//! helper        wake up ................................................ | closed, go
//! ```

#[cfg(target_os = "linux")]
mod cpu;
#[cfg(not(target_os = "linux"))]
mod cpu {
    pub(super) fn current() -> Option<usize> {
        None
    }

    pub(super) fn leave() {}

    pub(super) enum Away {}

    pub(super) fn is_woken_first() {}

    pub(super) fn keep_away() -> Option<Away> {
        None
    }
}

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rayon::Yield;

/// Set in `state` once no helper may enter any more; the other bits count the helpers inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How long the caller looks for the last helper before it sleeps: a few leaves of work, as being
/// woken takes about as long.
const PATIENCE: Duration = Duration::from_micros(100);

/// How long a caller that is a thread of the pool sleeps at most: it is not woken for rayon's work.
const NAP: Duration = Duration::from_millis(1);

type Work<'a> = dyn Fn() + Sync + 'a;

struct Crew {
    /// Valid for a helper from entering to leaving.
    work: *const Work<'static>,
    state: AtomicUsize,
    /// The threads in all, the caller included.
    threads: usize,
    /// Where the caller is, if the system tells.
    cpu: Option<usize>,
    caller: Thread,
    /// Whether helpers come from the global pool.
    is_global: bool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` points to something `Sync`, and is used only between entering and leaving.
unsafe impl Send for Crew {}
// SAFETY: as above.
unsafe impl Sync for Crew {}

/// What the helpers do before, and what they are wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// They are awake, or come when they come.
    Nobody,
    /// They sleep, and are to be awake for the calls that follow. The caller does not stop for them, if
    /// they are kept away from its CPU.
    ForLater,
    /// They sleep, and are let have the CPU for a moment. One that was put on the caller's can go to
    /// another one then, in place of waiting until the caller is done. Where another process waits for
    /// that CPU, it may get a slice.
    ForThis,
}

/// Runs `work` on the calling thread, and besides on up to `threads - 1` threads of the current
/// rayon pool, each at most once and only if it gets there before the caller is done.
///
/// So `work` must take its share from something that all of them take from, and return when nothing
/// is left to take.
///
/// Helpers that sleep are woken as `wake` says.
///
/// # Panics
/// If `work` does, on any thread.
pub(crate) fn together(threads: usize, wake: Wake, work: &Work<'_>) {
    if threads < 2 {
        return work();
    }
    let work_ptr: *const Work<'_> = work;
    let is_global = rayon::current_thread_index().is_none();
    let crew = Arc::new(Crew {
        // SAFETY: only the lifetime changes; `Closing` keeps every use of it within this call.
        work: unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work_ptr) },
        state: AtomicUsize::new(0),
        threads,
        cpu: cpu::current(),
        caller: std::thread::current(),
        is_global,
        panic: Mutex::new(None),
    });
    let closing = Closing(&crew);
    let is_kept_away = {
        // No longer than that: what the thread starts if it is at other work may go no further than it.
        let away = if wake != Wake::Nobody && is_global { cpu::keep_away() } else { None };
        call_helpers(&crew, 0);
        away.is_some()
    };
    if wake == Wake::ForThis || (wake == Wake::ForLater && !is_kept_away) {
        std::thread::yield_now();
    }
    work();
    drop(closing);
    let panic = crew.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Asks for the helpers that member `rank` is to ask for: each asks for two more once it is awake,
/// so that many are there soon, and none is asked for that nobody would have needed.
fn call_helpers(crew: &Arc<Crew>, rank: usize) {
    for rank in [2 * rank + 1, 2 * rank + 2] {
        if rank < crew.threads {
            let crew = Arc::clone(crew);
            rayon::spawn(move || help(&crew, rank));
        }
    }
}

fn help(crew: &Arc<Crew>, rank: usize) {
    if crew.is_global && rayon::current_thread_index() == Some(0) {
        cpu::is_woken_first();
    }
    let is_open = crew.state.load(Ordering::Relaxed) & CLOSED == 0;
    if is_open && crew.cpu.is_some() && crew.cpu == cpu::current() {
        cpu::leave();
    }
    let mut state = crew.state.load(Ordering::Relaxed);
    loop {
        if state & CLOSED != 0 {
            return super::LAST_HELP.is_now();
        }
        let entered = (Ordering::Acquire, Ordering::Relaxed);
        match crew.state.compare_exchange_weak(state, state + 1, entered.0, entered.1) {
            Ok(_) => break,
            Err(now) => state = now,
        }
    }
    call_helpers(crew, rank);
    // SAFETY: we have entered, so the caller is in `together` until we leave.
    let work = AssertUnwindSafe(|| unsafe { (*crew.work)() });
    if let Err(panic) = catch_unwind(work) {
        *crew.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
    }
    super::LAST_HELP.is_now();
    if crew.state.fetch_sub(1, Ordering::Release) == CLOSED | 1 {
        crew.caller.unpark();
    }
}

/// Closes the door and waits for those inside, also if the caller's own work panics.
struct Closing<'a>(&'a Crew);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let state = &self.0.state;
        if state.fetch_or(CLOSED, Ordering::Acquire) == 0 {
            return;
        }
        let mut looks = 0_u32;
        let mut since = None;
        while state.load(Ordering::Acquire) != CLOSED {
            looks += 1;
            if !looks.is_multiple_of(64) {
                std::hint::spin_loop();
            } else if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                // Those inside may wait for all threads of the pool, as `rayon::broadcast` does in what
                // the caller of this crate gave: then they wait for this one.
                match rayon::yield_local() {
                    Some(Yield::Executed) => {}
                    Some(Yield::Idle) => std::thread::park_timeout(NAP),
                    None => std::thread::park(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Everything is done once, whoever does it.
    #[test]
    fn all_is_done() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build().expect("a pool");
        for threads in [1, 2, 3, 5] {
            for count in [0, 1, 2, 100, 10_000] {
                let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let work = || {
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                };
                together(threads, Wake::Nobody, &work);
                assert_eq!(done.load(Ordering::Relaxed), count);
                next.store(0, Ordering::Relaxed);
                pool.install(|| together(threads, Wake::Nobody, &work));
                assert_eq!(done.load(Ordering::Relaxed), 2 * count);
            }
        }
    }

    /// A pool whose threads never come is no reason to wait.
    #[test]
    fn nobody_waits_for_those_who_sleep() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let runs = AtomicUsize::new(0);
        // The only thread of the pool is this one.
        pool.install(|| {
            together(4, Wake::ForThis, &|| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_is_passed_on() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
        for caller_panics in [true, false] {
            let inside = AtomicBool::new(false);
            let result = pool.install(|| {
                let caller = std::thread::current().id();
                catch_unwind(AssertUnwindSafe(|| {
                    together(2, Wake::ForLater, &|| {
                        let is_caller = std::thread::current().id() == caller;
                        inside.fetch_or(!is_caller, Ordering::AcqRel);
                        // Until the helper is there, so that both cases happen.
                        while !inside.load(Ordering::Acquire) {
                            std::thread::yield_now();
                        }
                        assert_ne!(is_caller, caller_panics, "on purpose");
                    });
                }))
            });
            assert!(result.is_err());
        }
    }
}
