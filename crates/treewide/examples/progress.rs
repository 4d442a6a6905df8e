//! Hashes a reader of 3 GiB, such as a download, and shows the progress. Reading and hashing overlap.
//!
//! ```text
//! cargo run --release -p treewide --all-features --example progress
//! ```

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use treewide::Hasher;
use treewide::file::Options;

fn main() -> Result<(), treewide::file::ErrorKind> {
    run(3 << 30)
}

fn run(len: u64) -> Result<(), treewide::file::ErrorKind> {
    let reader = std::io::repeat(7).take(len);
    let done = AtomicU64::new(0);
    // Any thread may call this.
    let watch = |bytes: u64| {
        let before = done.fetch_add(bytes, Ordering::Relaxed);
        let percent = |bytes: u64| bytes * 100 / len;
        if percent(before + bytes) > percent(before) {
            eprint!("\r{} %", percent(before + bytes));
        }
        // `ControlFlow::Break(())` stops: the error is `ErrorKind::Stopped`.
        ControlFlow::Continue(())
    };

    let mut hasher = Hasher::new();
    let report = Options::new().watch(watch).update_reader(&mut hasher, reader)?;

    println!("\r{} bytes: {}", report.bytes(), hasher.finalize());
    assert_eq!((report.bytes(), done.load(Ordering::Relaxed)), (len, len));
    Ok(())
}

#[test]
fn runs() {
    run(5_000_000).unwrap();
}
