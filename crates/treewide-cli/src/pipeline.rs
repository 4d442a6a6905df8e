//! Many files at once, results one after the other: in the order in which the files were named.
//!
//! The calling thread finds out what there is to do (it walks directories, reads lists), gathers it
//! in groups, writes the results of the first group as soon as it is done, and hashes a group itself
//! when there is nothing better to do. Other threads hash groups, too.
//!
//! ```text
//! calling thread    find -> group 7       write <- group 3       hash group 6
//!                            |                        ^
//! window            [3 done] [4 taken] [5 done] [6 to do] [7 to do]
//!                                |                  ^
//! other threads              hash group 4     next: group 6
//! ```
//!
//! The window is bounded, and so are memory and open files, whatever there is to do. One thread is
//! the same with nobody to help: files still share the lanes of the kernel, see [`crate::lanes`].
//! What is no small file (large ones, pipes, standard input) waits for its turn, and then the
//! calling thread hashes it by [`Input::hash`], with every thread there is.

use crate::input::{Absorbed, Input};
use crate::lanes::Lanes;
use crate::mode::Mode;
use crate::progress::Progress;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use treewide_files::ErrorKind;
use treewide_files::digest::{Digest, Extent};

/// Files in a group, at most: a batch of them is many times as wide as any kernel.
const GROUP: usize = 64;
/// Files in the first group; the next ones double. So the first lines come at once, and a dozen
/// files are shared by the threads, too.
const FIRST_GROUP: usize = 8;
/// Bytes of names, and of what the job keeps of files, after which a group has enough.
const GROUP_BYTES: usize = 64 << 10;
/// Groups that are under way at a time, at most: 8192 files.
const WINDOW: usize = 128;
/// Such bytes under way at a time, beyond which no group is begun: one line of a list may have a name or a
/// digest of megabytes.
const WINDOW_BYTES: usize = 2 * WINDOW * GROUP_BYTES;

/// What there is to do, and where results go.
pub(crate) trait Job {
    /// What the job knows about a file besides its path.
    type About: Send + 'static;
    /// Something to be told between two files.
    type Note: Send + 'static;

    /// What comes next.
    fn next(&mut self, input: &mut Input) -> Option<Item<Self::About, Self::Note>>;

    /// The memory that the job keeps for it, but for its name.
    fn bytes(_: &Item<Self::About, Self::Note>) -> usize {
        0
    }

    /// Whether `next` may have to wait for someone; then all that was found so far is done first.
    fn may_wait(&self) -> bool;

    /// A file was hashed, or could not be. An error ends the run.
    fn file(
        &mut self,
        file: Task<Self::About>,
        result: Result<Hashed, ErrorKind>,
        input: &mut Input,
    ) -> anyhow::Result<()>;

    /// The turn of a note has come. An error ends the run.
    fn note(&mut self, note: Self::Note) -> anyhow::Result<()>;

    /// Let everyone see what was written so far.
    fn flush(&mut self) -> anyhow::Result<()>;
}

pub(crate) enum Item<A, N> {
    File(Task<A>),
    Note(N),
}

/// A file to hash.
pub(crate) struct Task<A> {
    pub(crate) path: PathBuf,
    /// Whether it is known to be a regular file; anything else may make its reader wait.
    pub(crate) is_regular: bool,
    /// Which bytes of the output are wanted.
    pub(crate) extent: Extent,
    pub(crate) about: A,
}

/// What came of a file.
pub(crate) struct Hashed {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
    /// The length of a file that grew meanwhile, if that was asked for.
    pub(crate) grown_to: Option<u64>,
}

impl Hashed {
    /// What there is to tell of a file that grew.
    pub(crate) fn growth(&self) -> Option<String> {
        let now = self.grown_to?;
        Some(format!("file grew while being hashed: {} of {now} bytes", self.bytes))
    }
}

/// Do all of `job`.
pub(crate) fn run<J: Job>(
    job: &mut J,
    input: &mut Input,
    mode: &Mode,
    progress: &Progress,
) -> anyhow::Result<()> {
    let shared = Shared {
        state: Mutex::new(State { groups: VecDeque::new(), gone: 0, taken: 0, has_failed: false }),
        to_do: Condvar::new(),
        done: Condvar::new(),
        mode: mode.clone(),
        counters: progress.counters(),
        tells_growth: input.tells_growth(),
    };
    let lanes = Lanes::new(mode, progress.counters(), input.tells_growth());
    let helpers = input.threads() - 1;
    let shared = Arc::new(shared);
    let bytes = VecDeque::new();
    let mut run = Run { job, input, progress, shared, lanes, helpers, bytes };
    run.all()
}

/// A place in the window.
enum Slot<A, N> {
    ToDo(Group<A, N>),
    Taken,
    Done(Group<A, N>),
}

type Group<A, N> = Vec<Entry<A, N>>;

/// A place in a group.
pub(crate) enum Entry<A, N> {
    Note(N),
    File(Task<A>, Progressed),
}

/// How far a file in a group has come.
pub(crate) enum Progressed {
    ToDo,
    Done(Result<Hashed, ErrorKind>),
    /// It is to be hashed alone, when its turn comes.
    Alone,
}

struct State<A, N> {
    groups: VecDeque<Slot<A, N>>,
    /// Groups that have left the window.
    gone: usize,
    /// Groups that were taken, of all there ever were.
    taken: usize,
    /// Whether a thread has panicked; nobody would ever be done with its group.
    has_failed: bool,
}

impl<A, N> State<A, N> {
    fn take_to_do(&mut self) -> Option<(usize, Group<A, N>)> {
        let number = self.taken;
        let slot = self.groups.get_mut(number - self.gone)?;
        let Slot::ToDo(group) = std::mem::replace(slot, Slot::Taken) else {
            unreachable!("groups are taken in their order")
        };
        self.taken += 1;
        Some((number, group))
    }

    fn take_done(&mut self) -> Option<Group<A, N>> {
        if !matches!(self.groups.front(), Some(Slot::Done(_))) {
            return None;
        }
        self.gone += 1;
        match self.groups.pop_front() {
            Some(Slot::Done(group)) => Some(group),
            _ => None,
        }
    }
}

struct Shared<A, N> {
    state: Mutex<State<A, N>>,
    /// There is a group to do.
    to_do: Condvar,
    /// The first group is done, or will never be.
    done: Condvar,
    mode: Mode,
    counters: Arc<crate::progress::Counters>,
    tells_growth: bool,
}

impl<A, N> Shared<A, N> {
    fn state(&self) -> MutexGuard<'_, State<A, N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_done(&self, number: usize, group: Group<A, N>) {
        let mut state = self.state();
        let place = number - state.gone;
        state.groups[place] = Slot::Done(group);
        if place == 0 {
            self.done.notify_one();
        }
    }

    /// Hash one group after the other until the process ends.
    fn help(&self) {
        let _guard = Guard(self);
        let mut lanes = Lanes::new(&self.mode, Arc::clone(&self.counters), self.tells_growth);
        let mut state = self.state();
        loop {
            if let Some((number, mut group)) = state.take_to_do() {
                drop(state);
                lanes.hash(&mut group);
                self.put_done(number, group);
                state = self.state();
            } else {
                state = self.to_do.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Tells the calling thread if a helper panics.
struct Guard<'a, A, N>(&'a Shared<A, N>);

impl<A, N> Drop for Guard<'_, A, N> {
    fn drop(&mut self) {
        self.0.state().has_failed = true;
        self.0.done.notify_one();
    }
}

/// The calling thread's part.
struct Run<'a, 'i, J: Job> {
    job: &'a mut J,
    input: &'a mut Input<'i>,
    progress: &'a Progress,
    shared: Arc<Shared<J::About, J::Note>>,
    lanes: Lanes,
    /// Threads that may still be started.
    helpers: usize,
    /// Of each group in the window.
    bytes: VecDeque<usize>,
}

impl<J: Job> Run<'_, '_, J> {
    fn all(&mut self) -> anyhow::Result<()> {
        let (mut has_more, mut group_len) = (true, FIRST_GROUP);
        loop {
            let mut state = self.shared.state();
            if let Some(group) = state.take_done() {
                drop(state);
                self.deliver(group)?;
                self.bytes.pop_front();
                continue;
            }
            let under_way = state.groups.len();
            // If finding more may take long, results come first: they are what is waited for.
            let may_look = has_more && (under_way == 0 || !self.job.may_wait());
            let bytes = self.bytes.iter().sum::<usize>();
            if under_way < WINDOW && bytes < WINDOW_BYTES && may_look {
                drop(state);
                has_more = self.gather(group_len);
                group_len = GROUP.min(2 * group_len);
            } else if let Some((number, mut group)) = state.take_to_do() {
                drop(state);
                self.lanes.hash(&mut group);
                self.shared.put_done(number, group);
            } else if under_way > 0 {
                assert!(!state.has_failed, "a thread panicked; see its message above");
                drop(self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner));
            } else if !has_more {
                return Ok(());
            }
        }
    }

    /// Put the next group into the window; `false` if there is nothing after it.
    fn gather(&mut self, len: usize) -> bool {
        let (mut group, mut bytes, mut has_more) = (Vec::new(), 0, true);
        while group.len() < len && bytes < GROUP_BYTES {
            if !group.is_empty() && self.job.may_wait() {
                break;
            }
            let next = self.job.next(self.input);
            bytes += next.as_ref().map_or(0, J::bytes);
            match next {
                None => {
                    has_more = false;
                    break;
                }
                Some(Item::Note(note)) => group.push(Entry::Note(note)),
                Some(Item::File(task)) => {
                    bytes += task.path.as_os_str().len();
                    let progressed = match self.input.may_batch() {
                        true => Progressed::ToDo,
                        false => Progressed::Alone,
                    };
                    group.push(Entry::File(task, progressed));
                }
            }
        }
        if !group.is_empty() {
            self.bytes.push_back(bytes);
            let mut state = self.shared.state();
            state.groups.push_back(Slot::ToDo(group));
            let waiting = state.gone + state.groups.len() - state.taken;
            drop(state);
            self.shared.to_do.notify_one();
            // The first of them is for this thread.
            if waiting > 1 && self.helpers > 0 {
                self.start_helper();
            }
        }
        has_more
    }

    /// Helpers are never waited for: if the run is cut short, one of them may be stuck in a file
    /// that cannot be read, and has no say in when the process ends.
    fn start_helper(&mut self) {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("files".into());
        self.helpers = match thread.spawn(move || shared.help()) {
            Ok(_) => self.helpers - 1,
            // The threads that there are have to do.
            Err(_) => 0,
        };
    }

    /// Pass on the results of a group.
    fn deliver(&mut self, group: Group<J::About, J::Note>) -> anyhow::Result<()> {
        for entry in group {
            match entry {
                Entry::Note(note) => self.job.note(note)?,
                Entry::File(task, Progressed::Done(result)) => {
                    self.progress.refresh(&task.path);
                    self.job.file(task, result, self.input)?;
                }
                Entry::File(task, Progressed::Alone | Progressed::ToDo) => {
                    self.job.flush()?;
                    let result = self.input.hash_by_device(&task.path).unwrap_or_else(|| {
                        self.input.hash(
                            &task.path,
                            task.is_regular,
                            self.shared.mode.hasher.clone(),
                        )
                    });
                    let result = result.map(|Absorbed { bytes, grown_to, output }| Hashed {
                        digest: Digest::of_output(output, task.extent),
                        bytes,
                        grown_to: grown_to.filter(|_| self.shared.tells_growth),
                    });
                    self.job.file(task, result, self.input)?;
                }
            }
        }
        self.job.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ReadArgs;
    use crate::progress::ProgressArgs;
    use clap::Parser;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        read: ReadArgs,
        #[command(flatten)]
        progress: ProgressArgs,
    }

    /// Notes and files in turn, numbered.
    struct Numbers {
        given: usize,
        done: usize,
        most_ahead: usize,
        waits: bool,
    }

    thread_local!(
        /// What each is said to take.
        static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) }
    );

    const ALL: usize = 50_000;

    impl Numbers {
        fn done(&mut self, number: usize) -> anyhow::Result<()> {
            assert_eq!(number, self.done);
            self.most_ahead = self.most_ahead.max(self.given - self.done);
            self.done += 1;
            Ok(())
        }
    }

    impl Job for Numbers {
        type About = usize;
        type Note = usize;

        fn next(&mut self, _: &mut Input) -> Option<Item<usize, usize>> {
            let number = self.given;
            self.given += 1;
            let path = PathBuf::from("/nowhere/at/all");
            let extent = Extent::HASH;
            match number {
                ALL.. => None,
                _ if number.is_multiple_of(2) => Some(Item::Note(number)),
                _ => Some(Item::File(Task { path, is_regular: true, extent, about: number })),
            }
        }

        fn bytes(_: &Item<usize, usize>) -> usize {
            BYTES.get()
        }

        fn may_wait(&self) -> bool {
            self.waits
        }

        fn file(
            &mut self,
            file: Task<usize>,
            result: Result<Hashed, ErrorKind>,
            _: &mut Input,
        ) -> anyhow::Result<()> {
            assert!(result.is_err());
            self.done(file.about)
        }

        fn note(&mut self, note: usize) -> anyhow::Result<()> {
            self.done(note)
        }

        fn flush(&mut self) -> anyhow::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_window_is_bounded_and_in_order() {
        for (threads, waits) in [("1", false), ("2", false), ("7", false), ("7", true)] {
            let args = Args::parse_from(["test", "--threads", threads, "--no-progress"]);
            let progress = args.progress.start(false);
            let mut input = Input::new(&args.read, &progress);
            let mut job = Numbers { given: 0, done: 0, most_ahead: 0, waits };
            run(&mut job, &mut input, &Mode::plain(), &progress).unwrap();
            assert_eq!(job.done, ALL);
            let most = if waits { 1 } else { WINDOW * GROUP };
            assert!(job.most_ahead <= most, "{} of {most}", job.most_ahead);
        }
    }

    #[test]
    fn the_window_is_bounded_in_bytes() {
        for bytes in [GROUP_BYTES / 2, 1 << 20, 8 << 20] {
            BYTES.set(bytes);
            let args = Args::parse_from(["test", "--threads", "2", "--no-progress"]);
            let progress = args.progress.start(false);
            let mut input = Input::new(&args.read, &progress);
            let mut job = Numbers { given: 0, done: 0, most_ahead: 0, waits: false };
            run(&mut job, &mut input, &Mode::plain(), &progress).unwrap();
            assert_eq!(job.done, ALL);
            // A group ends with the one that is too much, and so does the window.
            let most = (WINDOW_BYTES + GROUP_BYTES) / bytes + 2;
            assert!(job.most_ahead <= most, "{} of {most}", job.most_ahead);
        }
    }
}
