//! Results that the device still works on.

use crate::driver::Running;
use crate::error::Error;
use crate::pool::Scratch;
use std::fmt;
use std::time::Duration;

/// A result that the device works on: [`wait`](Self::wait) for it.
///
/// If this is dropped, the work continues and still writes to buffers of the device; only the result is lost.
#[must_use = "the result is there after `wait`"]
pub struct Pending<T> {
    state: State<T>,
}

enum State<T> {
    Ready(Result<T, Error>),
    Running(Job<T>),
}

/// Work, and what is to be done with its results.
pub(crate) struct Job<T> {
    pub(crate) running: Box<dyn Running>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) finish: Finish<T>,
}

pub(crate) type Finish<T> = Box<dyn FnOnce(Vec<Vec<u8>>) -> Result<T, Error> + Send>;

impl<T> Pending<T> {
    pub(crate) fn ready(result: Result<T, Error>) -> Self {
        Self { state: State::Ready(result) }
    }

    /// What was started, or could not be.
    pub(crate) fn of(job: Result<Job<T>, Error>) -> Self {
        match job {
            Ok(job) => Self { state: State::Running(job) },
            Err(error) => Self::ready(Err(error)),
        }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// If the work could not be started, or failed.
    pub fn wait(self) -> Result<T, Error> {
        self.wait_timed().map(|(result, _)| result)
    }

    /// Waits for the result, and returns how long the device worked on it by its own clock: `None` unless a
    /// [`timed`](crate::device::Device::timed) device with a clock started it.
    ///
    /// # Errors
    /// As of [`wait`](Self::wait).
    pub fn wait_timed(self) -> Result<(T, Option<Duration>), Error> {
        match self.state {
            State::Ready(result) => result.map(|result| (result, None)),
            State::Running(mut job) => {
                let read = job.running.wait()?;
                job.scratch.into_iter().for_each(Scratch::done);
                let time = job.running.device_time();
                Ok(((job.finish)(read)?, time))
            }
        }
    }

    /// Whether [`wait`](Self::wait) would return at once.
    pub fn is_done(&mut self) -> bool {
        match &mut self.state {
            State::Ready(_) => true,
            State::Running(job) => job.running.is_done().unwrap_or(true),
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending(..)")
    }
}
