//! Many files at once, results one after the other: in the order in which the source found the files.
//!
//! The calling thread asks the source for work (which walks directories, reads lists), gathers it in
//! groups, returns the results of the first group as soon as it is done, and hashes a group itself when there
//! is nothing better to do. Helper threads hash groups too.
//!
//! ```text
//! calling thread    source -> group 7      results <- group 3       hash group 6
//!                              |                       ^
//! queue             [3 done] [4 taken] [5 done] [6 to do] [7 to do]
//!                                |                  ^
//! helper threads             hash group 4     next: group 6
//! ```
//!
//! The queue is bounded, and so are memory and open files, whatever there is to do. With one thread there are
//! no helpers, and the rest is the same: files still share the lanes of the kernel (`small_files`). Whatever
//! is not a small file (large files, pipes) waits for its turn, and is then hashed alone, with every thread.

use crate::digest::Extent;
use crate::error::ErrorKind;
use crate::group::{Group, Place, Progressed};
use crate::identity::Identity;
use crate::links::Claim;
use crate::options::{Hashed, Options};
use crate::queue::Queue;
use crate::small_files::SmallFiles;
use crate::task::{Item, Kind, Next, Other, Source, Task};
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;

/// Files in a group, at most: a batch of them is many times as wide as any kernel.
const GROUP: usize = 64;
/// Files in the first group; each following group is twice as long. So the first results come at once, and
/// the threads share even a dozen files.
const FIRST_GROUP: usize = 8;
/// Files that one thread each reads whole, however large they are, are grouped only after this many of them, and then one more to a group
/// each time that as many were found. So a group never has more than this share of the work. A guess.
const OTHERS_PER_GROUPED: usize = 256;
/// Bytes of names, and of the source's notes on files, after which a group has enough.
const GROUP_BYTES: usize = 64 << 10;
/// Groups that are under way at a time, at most: 8192 files.
const QUEUE: usize = 128;
/// Such bytes under way at a time, after which no group is begun: one line of a list may have a name or a
/// digest of megabytes.
const QUEUE_BYTES: usize = 2 * QUEUE * GROUP_BYTES;

/// Event of a [`Run`].
#[derive(Debug)]
pub enum Event<A, N> {
    /// A file was hashed, or could not be.
    File(Task<A>, Result<Hashed, ErrorKind>),
    /// The source returned this note here.
    Note(N),
    /// The next result may take a while: a good moment to write out the ones before it.
    Pause,
    /// The run was cancelled, and ends here.
    Cancelled,
}

/// Another way of hashing files that are not small, when their turn comes: by a GPU, or what is not a path at all.
///
/// A closure that takes the path and the extent is a `HashAlone` too.
pub trait HashAlone {
    /// Hashes what `path` stands for to a digest that is `extent`, and reports to
    /// [`Progress`](crate::Progress) itself. `None` leaves the file to the run.
    fn hash_alone(&mut self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>>;

    /// Hashes a file that a walk has found ([`Kind::Found`]), which is open and was compared with its entry.
    /// By default such files are left to the run, as they are by a closure: by its path, another file could be opened.
    fn hash_found(
        &mut self,
        file: &File,
        path: &Path,
        extent: Extent,
    ) -> Option<Result<Hashed, ErrorKind>> {
        let _ = (file, path, extent);
        None
    }

    /// Reads what `path` stands for to `other`, which wants its bytes. `None` leaves that to the run.
    fn read_alone(
        &mut self,
        path: &Path,
        other: &mut dyn Other,
    ) -> Option<Result<Hashed, ErrorKind>> {
        let _ = (path, other);
        None
    }
}

/// Leaves all files to the run.
impl HashAlone for () {
    fn hash_alone(&mut self, _: &Path, _: Extent) -> Option<Result<Hashed, ErrorKind>> {
        None
    }
}

impl<F: FnMut(&Path, Extent) -> Option<Result<Hashed, ErrorKind>>> HashAlone for F {
    fn hash_alone(&mut self, path: &Path, extent: Extent) -> Option<Result<Hashed, ErrorKind>> {
        self(path, extent)
    }
}

/// A run under way: an iterator over results, in the order of the [`Source`].
///
/// A file that fails is a result like others, and the run continues. When the run is dropped, its helper threads end
/// as soon as they are done with the file at hand; no thread waits for them.
///
/// # Panics
/// `next` panics if a helper thread has panicked, or an earlier call of `next`: then files are missing.
pub struct Run<S: Source, H = ()> {
    source: S,
    options: Options,
    hash_alone: H,
    queue: Arc<Queue<S::About, S::Note>>,
    small_files: SmallFiles,
    /// Threads that may still be started.
    helpers: usize,
    /// Bytes of each group in the queue, and before them of the group whose results are being returned.
    bytes: VecDeque<usize>,
    /// Files in the next group.
    group_len: usize,
    /// Files found so far for digests of other algorithms.
    others: usize,
    has_more: bool,
    /// The group whose results are being returned.
    ready: Option<std::vec::IntoIter<Place<S::About, S::Note>>>,
    /// Whether the last event was a pause.
    has_paused: bool,
    is_over: bool,
    /// Whether `next` is at work, or has panicked.
    is_in_next: bool,
}

impl Options {
    /// Hashes what `source` finds.
    pub fn run<S: Source>(&self, source: S) -> Run<S> {
        self.run_with(source, ())
    }

    /// Hashes what `source` finds; files that are not small are offered to `hash_alone` first.
    pub fn run_with<S: Source, H: HashAlone>(&self, source: S, hash_alone: H) -> Run<S, H> {
        let options = self.of_run();
        Run {
            source,
            hash_alone,
            queue: Arc::new(Queue::new(&options, S::other)),
            small_files: SmallFiles::new(&options),
            options,
            helpers: self.most_threads() - 1,
            bytes: VecDeque::new(),
            group_len: FIRST_GROUP,
            others: 0,
            has_more: true,
            ready: None,
            has_paused: false,
            is_over: false,
            is_in_next: false,
        }
    }
}

impl<S: Source, H: HashAlone> Run<S, H> {
    fn hash_found(
        &mut self,
        identity: Identity,
        path: &Path,
        extent: Extent,
        mut other: Option<&mut (dyn Other + '_)>,
    ) -> Result<Hashed, ErrorKind> {
        let (mut file, before) = identity.open_stamped(path)?;
        // If another thread has begun to read it, it may not come to an end before this one.
        let claim = self.options.claim(identity, &before, extent, other.as_deref_mut());
        if let Claim::Known(digest, _) = claim {
            return Ok(self.options.linked(before, digest));
        }
        let by_caller = self.hash_alone.hash_found(&file, path, extent).transpose()?;
        // The caller may have read some of it. A new descriptor is also at the beginning.
        if (by_caller.is_none() || other.is_some()) && file.rewind().is_err() {
            (file, _) = identity.open(path)?;
        }
        let hashed =
            self.options.hash_open(&file, path, extent, by_caller, other.as_deref_mut())?;
        self.options.stamped(hashed, &file, before, extent, other.as_deref())
    }

    /// The next result of the group at hand. `None` at its end.
    fn next_ready(&mut self) -> Option<Event<S::About, S::Note>> {
        let ready = self.ready.as_mut()?;
        let is_alone = |place: &Place<_, _>| {
            matches!(place, Place::File(_, Progressed::Alone | Progressed::ToDo))
        };
        if !self.has_paused && ready.as_slice().first().is_none_or(is_alone) {
            self.has_paused = true;
            return Some(Event::Pause);
        }
        self.has_paused = false;
        Some(match ready.next()? {
            Place::Note(note) => Event::Note(note),
            Place::File(task, Progressed::Done(result)) => {
                self.options.has_reached(&task.path);
                Event::File(task, result)
            }
            Place::File(mut task, Progressed::Alone | Progressed::ToDo) => {
                let result = self.hash(&mut task);
                Event::File(task, result)
            }
        })
    }

    /// Hashes a file whose turn has come.
    fn hash(&mut self, task: &mut Task<S::About>) -> Result<Hashed, ErrorKind> {
        let Task { path, kind, extent, about } = task;
        let mut other = S::other(about);
        let mut hashed = None;
        if let Kind::Found(identity) = *kind
            && let Some(other) = &mut other
            && other.next() == Next::Both
        {
            hashed = Some(self.hash_found(identity, path, *extent, Some(&mut **other))?);
        } else if other.as_mut().is_none_or(|it| it.next() == Next::Blake3) {
            let by_blake3 = match *kind {
                Kind::Found(identity) => self.hash_found(identity, path, *extent, None),
                _ => self.hash_alone.hash_alone(path, *extent).unwrap_or_else(|| {
                    self.options.hash_path(path, *kind == Kind::Regular, *extent)
                }),
            }?;
            if let Some(other) = &mut other {
                other.blake3(&by_blake3.digest);
            }
            hashed = Some(by_blake3);
        }
        if let Some(other) = other
            && matches!(other.next(), Next::Bytes | Next::Both)
        {
            self.options.has_reached(path);
            let by_caller = self.hash_alone.read_alone(path, other);
            let has_counted = hashed.is_some();
            let read = by_caller.unwrap_or_else(|| {
                self.options.feed_path(path, *kind, *extent, other, has_counted)
            })?;
            // It may want the other digest after all.
            if other.next() == Next::Blake3 {
                return self.hash(task);
            }
            return Ok(hashed.unwrap_or(read));
        }
        hashed.ok_or_else(|| ErrorKind::Other("nothing is to be found out about it".into()))
    }

    /// Takes the next group whose results can be returned. `false` if there is nothing more.
    fn next_group(&mut self) -> bool {
        while !self.options.is_cancelled() {
            if let Some(group) = self.queue.take_done() {
                self.ready = Some(group.into_iter());
                return true;
            }
            let under_way = self.bytes.len();
            // If finding more may take long, results come first: the caller waits for them.
            let may_look = self.has_more && (under_way == 0 || !self.source.may_wait());
            let bytes = self.bytes.iter().sum::<usize>();
            if under_way < QUEUE && bytes < QUEUE_BYTES && may_look {
                self.has_more = self.gather();
            } else if let Some((number, mut group)) = self.queue.take_to_do() {
                self.small_files.hash(&mut group, S::other);
                self.queue.put_done(number, group);
            } else if under_way > 0 {
                self.options.spare().with_one(|| self.queue.wait());
            } else if !self.has_more {
                return false;
            }
        }
        false
    }

    /// Puts the next group into the queue. `false` if there is nothing after it.
    fn gather(&mut self) -> bool {
        let (mut group, mut bytes, mut has_more) = (Group::new(), 0, true);
        let mut most = self.group_len;
        while group.len() < most && bytes < GROUP_BYTES {
            if !group.is_empty() && self.source.may_wait() {
                break;
            }
            let Some(item) = self.source.next() else {
                has_more = false;
                break;
            };
            bytes += S::bytes(&item);
            match item {
                Item::Note(note) => group.push(Place::Note(note)),
                Item::File(mut task) => {
                    bytes += task.path.as_os_str().len();
                    let is_other = S::other(&mut task.about).is_some();
                    let may_batch = self.options.may_batch() || is_other;
                    self.others += usize::from(is_other);
                    if is_other {
                        most = most.min((self.others / OTHERS_PER_GROUPED).max(1));
                    }
                    let progressed = match may_batch && task.kind != Kind::Alone {
                        true => Progressed::ToDo,
                        false => Progressed::Alone,
                    };
                    group.push(Place::File(task, progressed));
                }
            }
        }
        self.group_len = GROUP.min(2 * self.group_len);
        if !group.is_empty() {
            self.bytes.push_back(bytes);
            if group.iter().all(|place| matches!(place, Place::Note(_))) {
                // Waking a thread would take longer.
                self.queue.push_done(group);
                return has_more;
            }
            let waiting = self.queue.push(group);
            // The first of them is for this thread.
            if waiting > 1 && self.helpers > 0 {
                // If there are no more threads, the ones at work have to do.
                self.helpers = if self.queue.start_helper() { self.helpers - 1 } else { 0 };
            }
        }
        has_more
    }
}

impl<S: Source, H: HashAlone> Iterator for Run<S, H> {
    type Item = Event<S::About, S::Note>;

    fn next(&mut self) -> Option<Self::Item> {
        assert!(!self.is_in_next, "an earlier call of `next` panicked, so the run is not complete");
        self.is_in_next = true;
        let event = self.next_event();
        self.is_in_next = false;
        event
    }
}

impl<S: Source, H: HashAlone> Run<S, H> {
    fn next_event(&mut self) -> Option<Event<S::About, S::Note>> {
        while !self.is_over {
            if self.options.is_cancelled() {
                self.is_over = true;
                self.queue.close();
                return Some(Event::Cancelled);
            }
            if let Some(event) = self.next_ready() {
                return Some(event);
            }
            if self.ready.take().is_some() {
                self.bytes.pop_front();
            }
            if !self.next_group() && !self.options.is_cancelled() {
                self.is_over = true;
            }
        }
        None
    }
}

impl<S: Source, H> fmt::Debug for Run<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<S: Source, H> Drop for Run<S, H> {
    fn drop(&mut self) {
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const ALL: usize = 50_000;

    thread_local!(
        /// What each item is said to hold.
        static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
        /// Items that the source has given.
        static GIVEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    );

    /// Notes and files in turn, numbered.
    struct Numbers {
        waits: bool,
    }

    impl Source for Numbers {
        type About = usize;
        type Note = usize;

        fn next(&mut self) -> Option<Item<usize, usize>> {
            let number = GIVEN.replace(GIVEN.get() + 1);
            let path = PathBuf::from("/nowhere/at/all");
            let (kind, extent) = (Kind::Regular, Extent::HASH);
            match number {
                ALL.. => None,
                _ if number.is_multiple_of(2) => Some(Item::Note(number)),
                _ => Some(Item::File(Task { path, kind, extent, about: number })),
            }
        }

        fn may_wait(&self) -> bool {
            self.waits
        }

        fn bytes(_: &Item<usize, usize>) -> usize {
            BYTES.get()
        }
    }

    /// The most items that were ever found and not returned.
    fn most_ahead(threads: usize, waits: bool) -> usize {
        GIVEN.set(0);
        let (mut done, mut most) = (0, 0);
        for event in Options::new().threads(threads).run(Numbers { waits }) {
            let number = match event {
                Event::File(task, result) => {
                    assert!(matches!(
                        result,
                        Err(ErrorKind::File(treewide::file::ErrorKind::Open(_)))
                    ));
                    task.about
                }
                Event::Note(number) => number,
                Event::Pause => continue,
                Event::Cancelled => panic!("no test cancels"),
            };
            assert_eq!(number, done);
            most = most.max(GIVEN.get() - done);
            done += 1;
        }
        assert_eq!(done, ALL);
        most
    }

    #[test]
    fn run_keeps_the_order_and_is_bounded() {
        for (threads, waits) in [(1, false), (2, false), (7, false), (7, true)] {
            let bound = if waits { 1 } else { QUEUE * GROUP };
            let most = most_ahead(threads, waits);
            assert!(most <= bound, "{most} of {bound}");
        }
    }

    #[test]
    fn run_cannot_go_on_after_a_panic() {
        struct Panics;
        impl Source for Panics {
            type About = ();
            type Note = ();
            fn next(&mut self) -> Option<Item<(), ()>> {
                panic!("on purpose");
            }
        }
        let mut run = Options::new().threads(2).run(Panics);
        for _ in 0..2 {
            let next = std::panic::AssertUnwindSafe(|| run.next().is_none());
            assert!(std::panic::catch_unwind(next).is_err());
        }
    }

    #[test]
    fn run_is_bounded_in_bytes() {
        for bytes in [GROUP_BYTES / 2, 1 << 20, 8 << 20] {
            BYTES.set(bytes);
            // A group ends with the item that is too much, and so does the queue.
            let bound = (QUEUE_BYTES + GROUP_BYTES) / bytes + 2;
            let most = most_ahead(2, false);
            assert!(most <= bound, "{most} of {bound}");
        }
    }
}
