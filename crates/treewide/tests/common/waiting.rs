//! Waits for events, never for a time. One limit says when a test hangs.

#![allow(dead_code, unreachable_pub, reason = "each program of tests uses some of it")]

use std::time::{Duration, Instant};

/// Nothing that a test waits for takes as long, also where many programs share a slow machine. What does, hangs.
pub const LIMIT: Duration = Duration::from_secs(600);

/// Asks again and again until there is an answer.
#[track_caller]
pub fn wait_for<T>(mut question: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = question() {
            return answer;
        }
        assert!(started.elapsed() < LIMIT, "waited in vain");
        // What is asked (files, processes, clocks) reports nothing by itself.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until this file is old enough that it is read once for all its names: its last change is then longer ago than the longest step of
/// any clock, which is FAT's.
#[cfg(unix)]
pub fn wait_until_links_count(file: &std::path::Path) {
    use std::os::unix::fs::MetadataExt;
    let file = file.metadata().unwrap();
    let changed = Duration::new(file.ctime() as u64, file.ctime_nsec() as u32);
    let age = || std::time::UNIX_EPOCH.elapsed().unwrap().saturating_sub(changed);
    wait_for(|| (age() > Duration::from_secs(2)).then_some(()));
}
