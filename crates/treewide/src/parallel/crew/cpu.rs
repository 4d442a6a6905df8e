//! Which CPU a thread is on, and having it go to another one.

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

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
        let mut one = rustix::thread::CpuSet::new();
        one.set(sched_getcpu());
        if sched_setaffinity(None, &one).is_ok() {
            leave();
            assert!(allowed().as_ref() == Some(&one));
        }
    }
}
