//! The state that a digest changes through a shared reference: it hashes the gathered bytes, for all calls that follow.
//!
//! ```text
//! SETTLED, ASKED    nothing changes any more but through `&mut`: every thread reads
//! GATHERED, PACKED  one thread makes it BUSY, changes it, and stores another state; others wait
//! ```

use core::hint;
use core::panic::RefUnwindSafe;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Hasher;
use super::chunk::PartialChunk;
use super::gather::Gathered;
use crate::subtrees::Subtrees;

/// Nothing is gathered.
pub(super) const SETTLED: u8 = 0;
/// The same, and there was a digest or a clone since the last piece.
pub(super) const ASKED: u8 = 1;
pub(super) const GATHERED: u8 = 2;
/// There was a digest since: what is gathered is [packed](Gathered::pack).
pub(super) const PACKED: u8 = 3;
const BUSY: u8 = 4;

// SAFETY: all parts are `Sync`, and one is changed through a shared reference only by the thread that made the state `BUSY`,
// while no other reads one.
unsafe impl Sync for Hasher {}

/// No panic leaves a part half changed.
impl RefUnwindSafe for Hasher {}

/// A hasher that no other thread shares.
pub(crate) struct Parts<'h> {
    pub(crate) subtrees: &'h mut Subtrees,
    pub(crate) chunk: &'h mut PartialChunk,
    pub(super) gathered: &'h mut Gathered,
}

/// A hasher in which nothing is gathered.
pub(crate) struct Settled<'h> {
    pub(crate) subtrees: &'h Subtrees,
    pub(crate) chunk: &'h PartialChunk,
}

impl Hasher {
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        Parts {
            subtrees: self.subtrees.get_mut(),
            chunk: self.chunk.get_mut(),
            gathered: self.gathered.get_mut(),
        }
    }

    /// What can be read, if nothing is gathered.
    #[inline(always)]
    pub(super) fn try_settled(&self) -> Option<Settled<'_>> {
        // SAFETY: no thread changes a part in these states.
        (self.state.load(Acquire) <= ASKED).then(|| unsafe {
            Settled { subtrees: &*self.subtrees.get(), chunk: &*self.chunk.get() }
        })
    }

    /// Calls `f` with the state and the parts, if something is gathered; then the state is what `f` returns. What can be read,
    /// if nothing is gathered, now or before.
    pub(super) fn enter(&self, f: impl FnOnce(u8, Parts<'_>) -> u8) -> Option<Settled<'_>> {
        if self.state.load(Acquire) > ASKED {
            self.enter_gathered(f);
        }
        self.try_settled()
    }

    #[inline(never)]
    fn enter_gathered(&self, f: impl FnOnce(u8, Parts<'_>) -> u8) {
        loop {
            let state = self.state.load(Acquire);
            if state <= ASKED {
                return;
            }
            if state != BUSY && self.state.compare_exchange(state, BUSY, Acquire, Acquire).is_ok() {
                // SAFETY: no other thread reads or changes a part until the state is another one.
                let parts = unsafe {
                    Parts {
                        subtrees: &mut *self.subtrees.get(),
                        chunk: &mut *self.chunk.get(),
                        gathered: &mut *self.gathered.get(),
                    }
                };
                self.state.store(f(state, parts), Release);
                return;
            }
            hint::spin_loop();
        }
    }

    /// Hashes what is gathered, and frees the buffer.
    #[inline(always)]
    pub(crate) fn settled(&self) -> Settled<'_> {
        let settled = self.enter(|state, mut parts| {
            parts.settle(state);
            *parts.gathered = Gathered::default();
            ASKED
        });
        self.ask();
        settled.expect("nothing is gathered")
    }

    /// Notes that there was a digest or a clone, if nothing is gathered.
    #[inline(always)]
    pub(super) fn ask(&self) {
        // Not written again and again: another thread may read it at the same time.
        if self.state.load(Relaxed) == SETTLED {
            self.state.store(ASKED, Relaxed);
        }
    }
}
