//! Which CPU a thread is on, and having it go to another one.

use std::sync::atomic::{AtomicI32, Ordering};

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

pub(super) fn current() -> Option<usize> {
    Some(sched_getcpu())
}

/// Goes to another CPU of those that this thread may use, and may use all of them again afterwards.
pub(super) fn leave() {
    // Without it, the thread stays where it is; so it does if there is no other CPU for it.
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(sched_getcpu());
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &allowed); // as it was a moment ago
    }
}

/// The number of the thread that rayon wakes first, the first one of the global pool; 0 if it has not
/// helped yet. Such a thread lives as long as the process.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// The calling thread is that one.
pub(super) fn is_woken_first() {
    FIRST.store(gettid().as_raw_pid(), Ordering::Relaxed);
}

/// A thread that is kept away from one CPU, until this is dropped.
pub(super) struct Away {
    thread: Pid,
    allowed: CpuSet,
}

/// Keeps the thread that is woken first away from the CPU of the calling one.
pub(super) fn keep_away() -> Option<Away> {
    Away::from_here(Pid::from_raw(FIRST.load(Ordering::Relaxed))?)
}

impl Away {
    /// None if that is not the thread's CPU, or its only one.
    fn from_here(thread: Pid) -> Option<Self> {
        let allowed = sched_getaffinity(Some(thread)).ok()?;
        let mut others = allowed;
        others.unset(sched_getcpu());
        if others.count() == 0 || others == allowed {
            return None;
        }
        sched_setaffinity(Some(thread), &others).ok()?;
        Some(Self { thread, allowed })
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Some(self.thread), &self.allowed); // as it was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_use_all_cpus_again() {
        let allowed = || sched_getaffinity(None).ok();
        let before = allowed();
        leave();
        assert!(allowed() == before);
        // With one CPU to itself it stays there.
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        if sched_setaffinity(None, &one).is_ok() {
            leave();
            assert!(allowed().as_ref() == Some(&one));
        }
    }

    #[test]
    fn a_thread_that_was_kept_away_may_use_all_cpus_again() {
        let allowed = || sched_getaffinity(None).ok();
        let before = allowed();
        if let Some(away) = Away::from_here(gettid()) {
            assert!(allowed() != before);
            drop(away);
        }
        assert!(allowed() == before);
    }
}
