//! Items from another thread, some ahead of their use.
//!
//! Where next to nothing is read, walking is half of the work, and where two manifests are compared, reading them is most of it.
//! Items go to and fro in batches, so that their memory is used again.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// Items that are handed over at a time.
const BATCH: usize = 256;

/// Items `T` that another thread makes, and then an `E`, which says how they ended.
pub(crate) struct Ahead<T, E> {
    batches: Receiver<Batch<T, E>>,
    used: Sender<Batch<T, E>>,
    batch: Batch<T, E>,
    at: usize,
}

struct Batch<T, E> {
    /// The first `len` of them count.
    items: Vec<T>,
    len: usize,
    end: Option<E>,
}

impl<T: Default + Send + 'static, E: Send + 'static> Ahead<T, E> {
    /// Makes items with `next`, up to `ready` batches ahead. The thread ends soon after this is dropped.
    pub(crate) fn new(
        name: &str,
        ready: usize,
        mut next: impl FnMut(&mut T) -> ControlFlow<E> + Send + 'static,
    ) -> Self {
        let (sender, batches) = sync_channel(ready);
        let (used, to_use) = channel::<Batch<T, E>>();
        let run = move || {
            loop {
                let mut batch = to_use.try_recv().unwrap_or_else(|_| Batch::empty());
                batch.len = 0;
                while batch.len < BATCH && batch.end.is_none() {
                    if batch.len == batch.items.len() {
                        batch.items.push(T::default());
                    }
                    match next(&mut batch.items[batch.len]) {
                        ControlFlow::Continue(()) => batch.len += 1,
                        ControlFlow::Break(end) => batch.end = Some(end),
                    }
                }
                let is_over = batch.end.is_some();
                if sender.send(batch).is_err() || is_over {
                    return;
                }
            }
        };
        // If there is no thread to give, nothing is sent, as by one that ended early.
        let _ = std::thread::Builder::new().name(name.into()).spawn(run);
        Self { batches, used, batch: Batch::empty(), at: 0 }
    }

    /// The next item. `None` at the end.
    pub(crate) fn next(&mut self) -> Option<&mut T> {
        while self.at >= self.batch.len {
            let next =
                if self.batch.end.is_none() { self.batches.recv().ok()? } else { return None };
            // The thread may have ended.
            let _ = self.used.send(std::mem::replace(&mut self.batch, next));
            self.at = 0;
        }
        self.at += 1;
        Some(&mut self.batch.items[self.at - 1])
    }

    /// The item that [`next`](Self::next) returned last.
    pub(crate) fn last(&self) -> &T {
        &self.batch.items[self.at - 1]
    }

    /// How they ended, after the last item. `None` if the thread ended early, or there was none to give.
    pub(crate) fn end(&mut self) -> Option<&mut E> {
        self.batch.end.as_mut()
    }
}

impl<T, E> Batch<T, E> {
    fn empty() -> Self {
        Self { items: Vec::new(), len: 0, end: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_hands_over_every_item_and_the_end() {
        for most in [0, 1, BATCH - 1, BATCH, BATCH + 1, 20 * BATCH] {
            let mut made = 0;
            let mut ahead = Ahead::new("numbers", 2, move |number: &mut usize| {
                if made == most {
                    return ControlFlow::Break("done");
                }
                *number = made;
                made += 1;
                ControlFlow::Continue(())
            });
            for number in 0..most {
                assert_eq!(ahead.next().copied(), Some(number));
                assert_eq!(*ahead.last(), number);
            }
            for _ in 0..2 {
                assert_eq!(ahead.next(), None);
                assert_eq!(ahead.end(), Some(&mut "done"));
            }
        }
    }

    #[test]
    fn ahead_without_a_thread_has_no_end() {
        let mut ahead = Ahead::new("panics", 2, |_: &mut u8| -> ControlFlow<()> {
            // Without a message: the test expects it.
            std::panic::resume_unwind(Box::new(()))
        });
        assert_eq!(ahead.next(), None);
        assert_eq!(ahead.end(), None);
    }
}
