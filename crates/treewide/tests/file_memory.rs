//! How much memory hashing a file takes: in its own test program, because other tests would take memory at the same time.
#![cfg(all(feature = "file", target_os = "linux"))]

mod common;
mod reference;

use common::{Tally, rounds};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use treewide::file::{Options, Strategy};

/// Anonymous memory of this process, in bytes; `None` where the system does not tell.
fn anonymous() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[test]
fn memory_is_bounded() {
    let mut tally = Tally::new("file/memory is bounded");
    if rounds(10) < 10 || anonymous().is_none() {
        return println!("SKIPPED: file/memory is bounded: too slow, or the system does not tell");
    }
    let path = std::env::temp_dir().join(format!("treewide-memory-{}", std::process::id()));
    // More than a mapping's window.
    File::create(&path).and_then(|file| file.set_len((300 << 20) + 5)).expect("it can be made");
    for strategy in Strategy::ALL {
        let peak = AtomicU64::new(0);
        let watch = |_| {
            peak.fetch_max(anonymous().unwrap_or(0), Ordering::Relaxed);
            ControlFlow::Continue(())
        };
        let options = Options::new().strategy(strategy).watch(watch);
        options.hash(&path).expect("it can be read");
        let peak = peak.load(Ordering::Relaxed);
        assert!(peak <= 64 << 20, "{strategy}: {peak} bytes");
        tally.case();
    }
    let _ = fs::remove_file(&path); // it does no harm if it stays
}
