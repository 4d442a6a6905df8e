//! Files that are hashed while something else waits: to the end, and until the future is dropped.

use super::waiting::wait_for;
use super::*;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// The smallest runtime: this thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn to_the_end() {
    let mut tally = Tally::new("file/awaited to the end");
    for len in [0, 1000, 5 * TILE + 1] {
        let input = pattern(len);
        let file = TempFile::new("awaited", &input);
        for strategy in Strategy::ALL {
            let options = Options::new().mode(treewide::Mode::keyed(&[5; 32])).strategy(strategy);
            let hashed = block_on(options.hash_async(&file.0)).expect("it can be read");
            assert_eq!(hashed.hash(), treewide::keyed_hash(&[5; 32], &input));
            tally.case();
        }
    }
    let error = block_on(Options::new().hash_async("/no such folder/file"));
    assert!(matches!(error.expect_err("it is not there").kind(), ErrorKind::Open(_)));
}

/// Starts a future, drops it, and sees that reading ends within one tile of each thread.
fn stops(strategy: Strategy, path: &Path) {
    let read = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&read);
    let options = Options::new().strategy(strategy).watch(move |bytes| {
        count.fetch_add(bytes + 1, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    {
        let mut future = pin!(options.hash_async(path));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        wait_for(|| (read.load(Ordering::Relaxed) > 0).then_some(()));
    }
    let dropped = read.load(Ordering::Relaxed);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let most = threads as u64 * (TILE as u64 + 1);
    // No thread has the function any more once it is done with the tile at hand.
    drop(options);
    wait_for(|| (Arc::strong_count(&read) == 1).then_some(()));
    let more = read.load(Ordering::Relaxed) - dropped;
    assert!(more <= most, "{strategy}: {more} bytes more");
}

#[cfg(target_os = "linux")]
#[test]
fn until_it_is_dropped() {
    let mut tally = Tally::new("file/awaited until it is dropped");
    let file = TempFile::new("dropped", b"");
    file.set_len(1 << 40);
    for strategy in Strategy::ALL {
        stops(strategy, file.as_ref());
        tally.case();
    }
    // No one has opened the other end, and no one will.
    stops(Strategy::Auto, pipes::fifo("unopened").as_ref());
    tally.case();
}
