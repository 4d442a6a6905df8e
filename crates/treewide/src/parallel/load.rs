//! Whether a thread that is woken would find a CPU.
//!
//! Where others keep every CPU busy, it would take its time from them or, as soon, from the caller: a
//! slice of the scheduler is longer than what is to be won. Linux tells how many threads want to run, in
//! two microseconds where there are two CPUs. It does not tell their priorities, nor which of them are
//! bound to CPUs of their own, so beside those nothing is won where something could be.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds for which an answer that every CPU is taken holds, as asking is a hundredth of a short call.
const HOLDS: u64 = 1_000_000;

/// Whether, besides the calling one, at least as many threads want to run as there are CPUs; `now` is
/// in nanoseconds. False if the system does not tell.
pub(super) fn is_every_cpu_taken(now: u64) -> bool {
    static CPUS: OnceLock<Option<usize>> = OnceLock::new();
    static UNTIL: AtomicU64 = AtomicU64::new(0);
    if now < UNTIL.load(Ordering::Relaxed) {
        return true;
    }
    let cpus =
        *CPUS.get_or_init(|| counted(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?));
    let is_taken = cpus.zip(running()).is_some_and(|(cpus, running)| running > cpus);
    if is_taken {
        UNTIL.store(now + HOLDS, Ordering::Relaxed);
    }
    is_taken
}

/// The threads that run or wait for a CPU, the calling one included.
fn running() -> Option<usize> {
    let mut text = [0; 64];
    let len = File::open("/proc/loadavg").ok()?.read(&mut text).ok()?;
    // Three averages, then "running/all".
    let text = str::from_utf8(&text[..len]).ok()?;
    text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

/// How many numbers there are in a list such as "0-3,8".
fn counted(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last] = [first, last].map(|number| number.parse::<usize>().ok());
        last?.checked_sub(first?)?.checked_add(1)
    };
    list.trim_end().split(',').try_fold(0_usize, |all, range| all.checked_add(count(range)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted() {
        for (list, count) in [("0\n", Some(1)), ("0-1\n", Some(2)), ("0-3,8,10-11", Some(7))] {
            assert_eq!(counted(list), count, "{list}");
        }
        for list in ["", "\n", "3-0", "0-", "a", "0,,1", "0-18446744073709551614,0"] {
            assert_eq!(counted(list), None, "{list}");
        }
    }

    /// Where the file can be read, it says something (0 under gVisor).
    #[test]
    fn what_runs_is_told() {
        let is_there = fs::read("/proc/loadavg").is_ok();
        assert_eq!(running().is_some(), is_there);
    }
}
