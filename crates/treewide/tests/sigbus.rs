//! The handler of SIGBUS that makes mappings safe, together with handlers of the program. One test, because a process has
//! one handler.
#![cfg(all(feature = "file", any(target_os = "linux", target_os = "macos")))]

use std::fs::{self, OpenOptions};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use treewide::file::{ErrorKind, Options, Strategy};

static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: i32) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

fn install() {
    // SAFETY: the handler only counts.
    unsafe { libc::signal(libc::SIGBUS, count as extern "C" fn(i32) as usize) };
}

fn raise() {
    // SAFETY: there is a handler, which only counts.
    unsafe { libc::raise(libc::SIGBUS) };
}

#[test]
fn other_handlers_of_sigbus() {
    let path = std::env::temp_dir().join(format!("treewide-sigbus-{}", std::process::id()));
    let content = vec![7; 4 << 20];
    let options = Options::new().strategy(Strategy::MmapParallel);
    install();
    for _ in 0..3 {
        fs::write(&path, &content).expect("a file can be written");
        let cut = |_| {
            let file = OpenOptions::new().write(true).open(&path).expect("it is there");
            file.set_len(10_000).expect("it can be cut");
            ControlFlow::Continue(())
        };
        let error = options.clone().watch(cut).hash(&path).expect_err("there is no such content");
        assert!(matches!(error.kind(), ErrorKind::Shrank { read: 10_000, .. }), "{error}");
        // That was our business; what follows is the program's.
        assert_eq!(CALLS.swap(0, Ordering::Relaxed), 0);
        raise();
        assert_eq!(CALLS.swap(0, Ordering::Relaxed), 1);
    }
    fs::write(&path, &content).expect("a file can be written");
    let hashed = options.hash(&path).expect("it can be read");
    assert_eq!(hashed.report().strategy(), expected(Strategy::MmapParallel));
    // A program that takes the signal for itself keeps it, and files are read.
    install();
    let hashed = options.hash(&path).expect("it can be read");
    assert_eq!(hashed.report().strategy(), Strategy::Pread);
    assert_eq!(hashed.hash(), treewide::hash(&content));
    raise();
    assert_eq!(CALLS.swap(0, Ordering::Relaxed), 1);
    fs::remove_file(&path).expect("it is there");
}

/// With one core there is one thread.
fn expected(parallel: Strategy) -> Strategy {
    match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => parallel,
        _ => Strategy::Mmap,
    }
}
