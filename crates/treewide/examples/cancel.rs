//! Awaits the hash of a file, and stops when it takes too long: with tokio, and with no runtime at all.
//!
//! ```text
//! cargo run --release -p treewide --all-features --example cancel
//! ```

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use treewide::file::{Error, Options};

fn main() -> Result<(), Error> {
    // Long and quickly made: nothing of it is on the disk.
    let path = env::temp_dir().join(format!("treewide-cancel-{}", std::process::id()));
    fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a file can be made");
    let read = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&read);
    let options = Options::new().watch(move |bytes| {
        count.fetch_add(bytes, Ordering::Relaxed);
        ControlFlow::Continue(())
    });

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime can be made").block_on(async {
        // Dropping the future is all that it takes to stop.
        let most = Duration::from_millis(100);
        match tokio::time::timeout(most, options.hash_async(&path)).await {
            Ok(hashed) => println!("tokio: {}", hashed?.hash()),
            Err(_) => println!("tokio: stopped, {} bytes read", read.load(Ordering::Relaxed)),
        }
        Ok(())
    })?;

    let mut future = pin!(options.hash_async(&path));
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(100) {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(hashed) => println!("no runtime: {}", hashed?.hash()),
            Poll::Pending => thread::sleep(Duration::from_millis(5)),
        }
    }
    println!("no runtime: stopped, {} bytes read", read.load(Ordering::Relaxed));
    let _ = fs::remove_file(&path); // it does no harm if it stays
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
