//! Surroundings that a row asks for: a pool, a rest, other work before it, a kernel.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rayon::ThreadPool;

use crate::engine::{Engine, Task};

/// Runs on the threads of a pool.
pub(super) struct InPool {
    pub(super) pool: Arc<ThreadPool>,
    pub(super) task: Box<dyn Task>,
}

impl Task for InPool {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        self.pool.install(|| self.task.time(calls))
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        self.pool.install(|| self.task.outcome())
    }

    fn begin(&mut self, at: u64) {
        self.task.begin(at);
    }
}

/// Makes each call after three milliseconds of rest, when all other threads are asleep.
pub(super) struct Rested(pub(super) Box<dyn Task>);

impl Task for Rested {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let once = |_| {
            std::thread::sleep(Duration::from_millis(3));
            self.0.time(1)
        };
        (0..calls).map(once).sum()
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        self.0.outcome()
    }

    fn begin(&mut self, at: u64) {
        self.0.begin(at);
    }
}

/// Takes a sample after a millisecond of the same calls, at least one, that are not timed. Then the threads of the pool are
/// awake, as in a program that hashes one object after the other.
pub(super) struct Awake(pub(super) Box<dyn Task>);

impl Task for Awake {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let begun = std::time::Instant::now();
        while {
            self.0.time(1)?;
            begun.elapsed() < Duration::from_millis(1)
        } {}
        self.0.time(calls)
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        self.0.outcome()
    }

    fn begin(&mut self, at: u64) {
        self.0.begin(at);
    }
}

/// Each call right after other work of the program on the same pool, a `rayon::join` that keeps two threads
/// busy for 100 µs and is not timed.
pub(super) struct AfterWork(pub(super) Box<dyn Task>);

impl Task for AfterWork {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let work = || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < Duration::from_micros(100) {
                std::hint::spin_loop();
            }
        };
        let once = |_| {
            rayon::join(work, work);
            self.0.time(1)
        };
        (0..calls).map(once).sum()
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        self.0.outcome()
    }

    fn begin(&mut self, at: u64) {
        self.0.begin(at);
    }
}

/// Runs with a kernel of the engine; choosing it is not timed.
pub(super) struct Forced {
    pub(super) engine: &'static Engine,
    pub(super) kernel: String,
    pub(super) task: Box<dyn Task>,
}

impl Task for Forced {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        (self.engine.force)(&self.kernel).expect("it was chosen before");
        self.task.time(calls)
    }

    fn outcome(&mut self) -> Result<blake3::Hash> {
        (self.engine.force)(&self.kernel).expect("it was chosen before");
        self.task.outcome()
    }

    fn begin(&mut self, at: u64) {
        self.task.begin(at);
    }
}
