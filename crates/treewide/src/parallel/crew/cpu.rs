//! Which CPU a thread is on, and having it go to another one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

pub(super) fn current() -> Option<usize> {
    Some(sched_getcpu())
}

/// Goes to another CPU of those that this thread may use, and may use all of them again afterwards.
pub(super) fn leave() {
    let changing = Changing::begin();
    // Every other thread is sent elsewhere by nobody but itself.
    if changing.is_none() && FIRST.load(Ordering::Relaxed) == this_thread() {
        return;
    }
    // Without it, the thread stays where it is; so it does if there is no other CPU for it.
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(sched_getcpu());
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &allowed); // as it was a moment ago
    }
}

/// The thread that rayon wakes first, the first one of the global pool: the number of its process, for
/// after a fork there is no such thread, and its own. 0 if it has not helped yet. It lives as long as the
/// process.
static FIRST: AtomicU64 = AtomicU64::new(0);

fn this_thread() -> u64 {
    u64::from(std::process::id()) << 32 | u64::from(gettid().as_raw_pid().cast_unsigned())
}

/// The calling thread is that one.
pub(super) fn is_woken_first() {
    FIRST.store(this_thread(), Ordering::Relaxed);
}

/// Where that thread may go is being changed. Who changed it meanwhile would find that it may go to fewer
/// CPUs than it will, and leave it so.
struct Changing;

static IS_CHANGING: AtomicBool = AtomicBool::new(false);

impl Changing {
    /// None if somebody is at it.
    fn begin() -> Option<Self> {
        (!IS_CHANGING.swap(true, Ordering::Acquire)).then_some(Self)
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        IS_CHANGING.store(false, Ordering::Release);
    }
}

/// A thread that is kept away from one CPU, until this is dropped.
pub(super) struct Away {
    thread: Pid,
    allowed: CpuSet,
    others: CpuSet,
    _changing: Changing,
}

/// Keeps the thread that is woken first away from the CPU of the calling one.
pub(super) fn keep_away() -> Option<Away> {
    Away::from_here(in_this_process(FIRST.load(Ordering::Relaxed))?)
}

/// The number of a thread, if it is of this process.
fn in_this_process(thread: u64) -> Option<Pid> {
    let is_ours = thread >> 32 == u64::from(std::process::id());
    Pid::from_raw((thread as u32).cast_signed()).filter(|_| is_ours)
}

impl Away {
    /// None if that is not the thread's CPU, or its only one.
    fn from_here(thread: Pid) -> Option<Self> {
        let _changing = Changing::begin()?;
        let allowed = sched_getaffinity(Some(thread)).ok()?;
        let mut others = allowed;
        others.unset(sched_getcpu());
        if others.count() == 0 || others == allowed {
            return None;
        }
        sched_setaffinity(Some(thread), &others).ok()?;
        Some(Self { thread, allowed, others, _changing })
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        // What the program has said meanwhile counts.
        if sched_getaffinity(Some(self.thread)).is_ok_and(|now| now == self.others) {
            let _ = sched_setaffinity(Some(self.thread), &self.allowed); // as it was
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Option<CpuSet> {
        sched_getaffinity(None).ok()
    }

    #[test]
    fn a_thread_may_use_all_cpus_again() {
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
        let before = allowed();
        let away = Away::from_here(gettid());
        // Not by two at once: the one who comes last would leave it as the first one had it.
        let again = Away::from_here(gettid());
        assert!(away.is_none() || again.is_none());
        assert!(away.is_none() || allowed() != before);
        drop(away);
        drop(again);
        assert!(allowed() == before);
    }

    #[test]
    fn what_the_program_says_meanwhile_counts() {
        let Some(away) = Away::from_here(gettid()) else { return };
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        let is_one = one != away.others && sched_setaffinity(None, &one).is_ok();
        drop(away);
        assert!(!is_one || allowed().as_ref() == Some(&one));
    }

    #[test]
    fn threads_of_another_process_stay_where_they_are() {
        assert_eq!(in_this_process(this_thread()), Some(gettid()));
        assert_eq!(in_this_process(this_thread() ^ 1 << 32), None);
        assert_eq!(in_this_process(0), None);
    }
}
