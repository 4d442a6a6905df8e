//! The threads of a run that have nothing to do, and may help with a file that one thread reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// A count of threads that have nothing to do, as [`Other::lend`](crate::Other::lend) gets it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Spare(Arc<AtomicIsize>);

/// A thread that was taken from [`Spare`], until this is dropped.
#[derive(Debug)]
pub struct Taken(Spare);

impl Spare {
    /// A count of `threads`.
    pub fn new(threads: usize) -> Self {
        Self(Arc::new(threads.cast_signed().into()))
    }

    /// Counts one of them as at work, if there is one. The caller then starts a thread of its own.
    #[allow(deprecated, reason = "its other name, `try_update`, needs Rust 1.95")]
    pub fn take(&self) -> Option<Taken> {
        let less = |threads| (threads > 0).then_some(threads - 1);
        self.0.fetch_update(Relaxed, Relaxed, less).ok().map(|_| Taken(self.clone()))
    }

    /// Calls `work` on a thread of the run, which is then at work.
    pub(crate) fn without_one<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.fetch_sub(1, Relaxed);
        let back = Taken(self.clone());
        let result = work();
        drop(back);
        result
    }

    /// Calls `wait` on a thread of the run that has had something to do.
    pub(crate) fn with_one(&self, wait: impl FnOnce()) {
        self.0.fetch_add(1, Relaxed);
        wait();
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Taken {
    /// Whether the run has more to do now than its threads can, so that this one should be given back.
    pub fn is_missed(&self) -> bool {
        self.0.0.load(Relaxed) < 0
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Digest, Extent};
    use crate::{Event, Item, Kind, Next, Options, Other, Source, Task};
    use std::io::Write;
    use std::path::PathBuf;

    /// Whether there was a thread to take, once the file was read.
    #[derive(Debug, Default)]
    struct Takes(Option<bool>);

    impl Other for Takes {
        fn next(&mut self) -> Next {
            if self.0.is_some() { Next::Nothing } else { Next::Bytes }
        }

        fn blake3(&mut self, _: &Digest) {}

        fn begin(&mut self, _: u64) -> bool {
            true
        }

        fn lend(&mut self, spare: &Spare) {
            self.0 = Some(spare.take().is_some());
        }

        fn update(&mut self, _: &[u8]) {}
    }

    struct One(Option<PathBuf>);

    impl Source for One {
        type About = Takes;
        type Note = ();

        fn next(&mut self) -> Option<Item<Takes, ()>> {
            let (path, kind, extent) = (self.0.take()?, Kind::Regular, Extent::HASH);
            Some(Item::File(Task { path, kind, extent, about: Takes::default() }))
        }

        fn other(about: &mut Takes) -> Option<&mut dyn Other> {
            Some(about)
        }
    }

    #[test]
    fn a_run_lends_threads_for_its_only_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![0; 2 << 20]).unwrap();
        for threads in [1, 2] {
            let run = Options::new().threads(threads).run(One(Some(file.path().to_owned())));
            let taken = run.filter_map(|event| match event {
                Event::File(task, _) => task.about.0,
                _ => None,
            });
            assert_eq!(taken.collect::<Vec<_>>(), [threads > 1]);
        }
    }

    #[test]
    fn take_gives_no_thread_that_is_at_work() {
        let spare = Spare::new(1);
        let taken = spare.take().unwrap();
        assert!(spare.take().is_none());
        spare.without_one(|| assert!(taken.is_missed()));
        spare.with_one(|| assert!(spare.take().is_some()));
        assert!(!taken.is_missed());
        drop(taken);
        spare.without_one(|| assert!(spare.take().is_none()));
        assert!(spare.take().is_some());
    }
}
