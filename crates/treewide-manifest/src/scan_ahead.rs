//! A walk on a thread of its own, some files ahead of what is done with them.
//!
//! Where next to nothing is read, walking is half of the work.

use crate::scan::{Scan, Scanned};
use std::sync::mpsc::{Receiver, sync_channel};
use std::vec;

/// Entries that are handed over at a time.
const BATCH: usize = 256;
/// Batches that are ready, at most.
const READY: usize = 16;

/// A walk, by this thread or by another one.
pub(crate) enum Ahead {
    Here(Box<Scan>),
    There(There),
}

/// What another thread has found. `None` is the end of the walk.
pub(crate) struct There {
    batches: Receiver<Vec<Option<Scanned>>>,
    batch: vec::IntoIter<Option<Scanned>>,
    is_over: bool,
}

impl Ahead {
    /// Walks when asked.
    pub(crate) fn here(scan: Scan) -> Self {
        Self::Here(Box::new(scan))
    }

    /// Walks on a thread of its own, which ends soon after this is dropped.
    pub(crate) fn on_thread(mut scan: impl Iterator<Item = Scanned> + Send + 'static) -> Self {
        let (sender, batches) = sync_channel(READY);
        let walk = move || {
            loop {
                let mut batch: Vec<Option<Scanned>> = scan.by_ref().take(BATCH).map(Some).collect();
                let is_over = batch.len() < BATCH;
                if is_over {
                    batch.push(None);
                }
                if sender.send(batch).is_err() || is_over {
                    return;
                }
            }
        };
        // If there is no thread to give, that is a walk which ended early.
        let _ = std::thread::Builder::new().name("walk".into()).spawn(walk);
        Self::There(There { batches, batch: Vec::new().into_iter(), is_over: false })
    }
}

impl Iterator for Ahead {
    type Item = Scanned;

    fn next(&mut self) -> Option<Scanned> {
        match self {
            Self::Here(scan) => scan.next(),
            Self::There(there) => there.next(),
        }
    }
}

impl There {
    fn next(&mut self) -> Option<Scanned> {
        loop {
            match self.batch.next() {
                Some(Some(scanned)) => return Some(scanned),
                Some(None) => self.is_over = true,
                None if self.is_over => return None,
                None => match self.batches.recv() {
                    Ok(next) => self.batch = next.into_iter(),
                    Err(_) => {
                        self.is_over = true;
                        // Everything is below the root: nothing counts as gone.
                        let cause = "the walk ended early; run it again".into();
                        return Some(Scanned::Failed { name: Vec::new(), cause });
                    }
                },
            }
        }
    }
}
