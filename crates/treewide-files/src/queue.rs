//! The groups of a run that are under way, shared by its threads.

use crate::group::Group;
use crate::options::Options;
use crate::small_files::SmallFiles;
use crate::task::OtherOf;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the calling thread waits before it looks whether the run is cancelled. No thread wakes it up for that.
const CANCELLED_AFTER: Duration = Duration::from_millis(50);

/// Groups in the order in which their results are returned.
pub(crate) struct Queue<A, N> {
    state: Mutex<State<A, N>>,
    /// There is a group to do, or the run is over.
    to_do: Condvar,
    /// The first group is done, or will never be.
    done: Condvar,
    options: Options,
    other: OtherOf<A>,
}

struct State<A, N> {
    groups: VecDeque<Slot<A, N>>,
    /// Groups that have left the queue.
    gone: usize,
    /// Groups that a thread has taken, of all there ever were.
    taken: usize,
    /// Whether a thread has panicked: its group will never be done.
    has_failed: bool,
    /// Whether results are no longer wanted.
    is_over: bool,
}

enum Slot<A, N> {
    ToDo(Group<A, N>),
    Taken,
    Done(Group<A, N>),
}

impl<A, N> State<A, N> {
    fn take_to_do(&mut self) -> Option<(usize, Group<A, N>)> {
        // Groups of notes were done before anyone took them.
        while let Some(Slot::Done(_)) = self.groups.get(self.taken - self.gone) {
            self.taken += 1;
        }
        let number = self.taken;
        let slot = self.groups.get_mut(number - self.gone)?;
        let Slot::ToDo(group) = std::mem::replace(slot, Slot::Taken) else {
            unreachable!("groups are taken in their order")
        };
        self.taken += 1;
        Some((number, group))
    }
}

impl<A, N> Queue<A, N> {
    pub(crate) fn new(options: &Options, other: OtherOf<A>) -> Self {
        let (groups, gone, taken) = (VecDeque::new(), 0, 0);
        let state = State { groups, gone, taken, has_failed: false, is_over: false };
        Self {
            state: Mutex::new(state),
            to_do: Condvar::new(),
            done: Condvar::new(),
            options: options.clone(),
            other,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<A, N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first group, if it is done.
    pub(crate) fn take_done(&self) -> Option<Group<A, N>> {
        let mut state = self.state();
        if !matches!(state.groups.front(), Some(Slot::Done(_))) {
            return None;
        }
        state.gone += 1;
        state.taken = state.taken.max(state.gone);
        match state.groups.pop_front() {
            Some(Slot::Done(group)) => Some(group),
            _ => None,
        }
    }

    /// The first group that no thread has taken, and its number.
    pub(crate) fn take_to_do(&self) -> Option<(usize, Group<A, N>)> {
        self.state().take_to_do()
    }

    /// Adds a group at the end in which there is nothing to hash.
    pub(crate) fn push_done(&self, group: Group<A, N>) {
        self.state().groups.push_back(Slot::Done(group));
    }

    /// Adds a group at the end, and returns how many wait for a thread now.
    pub(crate) fn push(&self, group: Group<A, N>) -> usize {
        let mut state = self.state();
        state.groups.push_back(Slot::ToDo(group));
        let waiting = state.gone + state.groups.len() - state.taken;
        drop(state);
        self.to_do.notify_one();
        waiting
    }

    /// Puts a group that was taken back into its place.
    pub(crate) fn put_done(&self, number: usize, group: Group<A, N>) {
        let mut state = self.state();
        let place = number - state.gone;
        // After `close` there are no places.
        let Some(slot) = state.groups.get_mut(place) else { return };
        *slot = Slot::Done(group);
        if place == 0 {
            self.done.notify_one();
        }
    }

    /// Waits until the first group is done, or for a moment.
    ///
    /// # Panics
    /// If a thread has panicked.
    pub(crate) fn wait(&self) {
        let state = self.state();
        if matches!(state.groups.front(), Some(Slot::Done(_))) {
            return;
        }
        assert!(!state.has_failed, "a thread panicked; see its message above");
        drop(
            self.done.wait_timeout(state, CANCELLED_AFTER).unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Drops what is under way, and lets the threads end when they are done with the files at hand.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_over = true;
        let groups = std::mem::take(&mut state.groups);
        drop(state);
        self.to_do.notify_all();
        drop(groups);
    }

    /// Hashes one group after the other until the run is over.
    fn help(&self) {
        let _guard = Guard(self);
        let mut small_files = SmallFiles::new(&self.options);
        let mut state = self.state();
        while !state.is_over {
            if let Some((number, mut group)) = state.take_to_do() {
                drop(state);
                self.options.spare().without_one(|| small_files.hash(&mut group, self.other));
                self.put_done(number, group);
                state = self.state();
            } else {
                state = self.to_do.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl<A: Send + 'static, N: Send + 'static> Queue<A, N> {
    /// Starts a thread that hashes groups. `false` if the system has none to give.
    ///
    /// No thread waits for its end: it may be stuck in a file that cannot be read, and must not hold up the
    /// thread that drops the run.
    pub(crate) fn start_helper(self: &Arc<Self>) -> bool {
        let queue = Arc::clone(self);
        let thread = std::thread::Builder::new().name("files".into());
        thread.spawn(move || queue.help()).is_ok()
    }
}

/// Lets the calling thread know that a helper panicked.
struct Guard<'a, A, N>(&'a Queue<A, N>);

impl<A, N> Drop for Guard<'_, A, N> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().has_failed = true;
            self.0.done.notify_one();
        }
    }
}
