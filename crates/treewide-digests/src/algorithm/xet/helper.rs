//! A thread that looks for cuts in pieces of a file while another one reads it, and hashes the chunks.
//!
//! Looking for cuts takes longer than all the rest, so the other thread does it too, when this one has enough pieces.

use super::{Scanned, scanned};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use treewide_files::Taken;

/// The pieces that it has at a time, so that it need not wait for the next one.
const AHEAD: usize = 4;

/// The thread ends when this is dropped.
pub(super) struct Helper {
    to_do: Sender<Vec<u8>>,
    /// Only one thread receives; the lock lets others have a reference.
    done: Mutex<Receiver<Scanned>>,
    under_way: usize,
    thread: Taken,
}

impl Helper {
    /// Starts it. `None` if the system has no thread to give.
    pub(super) fn start(thread: Taken) -> Option<Self> {
        let (to_do, pieces) = channel();
        let (found, done) = channel();
        let work = move || pieces.into_iter().try_for_each(|it| found.send(scanned(it)));
        thread::Builder::new().name("xet".into()).spawn(work).ok()?;
        Some(Self { to_do, done: done.into(), under_way: 0, thread })
    }

    /// Takes a piece, or returns it: if it has enough, or the run needs its thread for something else.
    pub(super) fn give(&mut self, piece: Vec<u8>) -> Option<Vec<u8>> {
        if self.under_way == AHEAD || self.thread.is_missed() {
            return Some(piece);
        }
        self.under_way += 1;
        self.to_do.send(piece).err().map(|it| it.0)
    }

    /// The first of its pieces. `None` if it is not done, unless the caller `must_wait`.
    pub(super) fn take_back(&mut self, must_wait: bool) -> Option<Scanned> {
        let done = self.done.get_mut().expect("no one else locks it");
        let first = match must_wait {
            true => Some(done.recv().expect("the thread ends after this")),
            false => done.try_recv().ok(),
        };
        self.under_way -= usize::from(first.is_some());
        first
    }
}
