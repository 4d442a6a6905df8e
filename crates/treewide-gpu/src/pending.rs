//! Results that the device still works on.

use crate::driver::Running;
use crate::error::Error;
use crate::pool::Scratch;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A result that the device works on: [`wait`](Self::wait) for it on this thread, or `.await` it.
///
/// If this is dropped, the work continues and still writes to buffers of the device; only the result is lost.
#[must_use = "the result is there after `wait`, or `.await`"]
pub struct Pending<T> {
    state: State<T>,
}

enum State<T> {
    Ready(Result<T, Error>),
    Running(Job<T>),
    /// A thread waits for it.
    Away(Arc<Mutex<Arrival<T>>>),
    Taken,
}

/// Work, and what is to be done with its results.
pub(crate) struct Job<T> {
    pub(crate) running: Box<dyn Running>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) finish: Finish<T>,
    pub(crate) waiter: Arc<Waiter>,
}

pub(crate) type Finish<T> = Box<dyn FnOnce(Vec<Vec<u8>>) -> Result<T, Error> + Send>;

impl<T> Job<T> {
    fn wait(mut self) -> Result<(T, Option<Duration>), Error> {
        let read = self.running.wait()?;
        self.scratch.into_iter().for_each(Scratch::done);
        let time = self.running.device_time();
        Ok(((self.finish)(read)?, time))
    }
}

struct Arrival<T> {
    result: Option<Result<T, Error>>,
    waker: Waker,
}

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
            State::Running(job) => job.wait(),
            // Only after a poll, and a task that polled polls again.
            State::Away(_) | State::Taken => {
                Err(Error::invalid("a result that is awaited cannot be waited for as well"))
            }
        }
    }

    /// Whether [`wait`](Self::wait) would return at once.
    pub fn is_done(&mut self) -> bool {
        match &mut self.state {
            State::Ready(_) => true,
            // An error is a result too.
            State::Running(job) => job.running.is_done().unwrap_or(true),
            State::Away(arrival) => lock(arrival).result.is_some(),
            State::Taken => true,
        }
    }
}

/// # Panics
/// If it is polled after it was ready, as futures may.
impl<T: Send + 'static> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Ready(result) => Poll::Ready(result),
            State::Running(job) => {
                let waker = context.waker().clone();
                let arrival = Arc::new(Mutex::new(Arrival { result: None, waker }));
                let there = arrival.clone();
                let waiter = job.waiter.clone();
                let sent = waiter.run(Box::new(move || {
                    let result = job.wait().map(|(result, _)| result);
                    let waker = {
                        let mut arrival = lock(&there);
                        arrival.result = Some(result);
                        arrival.waker.clone()
                    };
                    // Who is woken may poll at once, and needs the lock for it.
                    waker.wake();
                }));
                match sent {
                    Ok(()) => {
                        self.state = State::Away(arrival);
                        Poll::Pending
                    }
                    Err(error) => Poll::Ready(Err(error)),
                }
            }
            State::Away(arrival) => {
                let mut there = lock(&arrival);
                if let Some(result) = there.result.take() {
                    return Poll::Ready(result);
                }
                there.waker.clone_from(context.waker());
                drop(there);
                self.state = State::Away(arrival);
                Poll::Pending
            }
            State::Taken => panic!("polled after it was ready"),
        }
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Pending<T> {}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending(..)")
    }
}

fn lock<T>(arrival: &Mutex<Arrival<T>>) -> std::sync::MutexGuard<'_, Arrival<T>> {
    arrival.lock().unwrap_or_else(PoisonError::into_inner)
}

type Task = Box<dyn FnOnce() + Send>;

/// The thread that waits for awaited work; started with the first of it.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    tasks: Mutex<Option<mpsc::Sender<Task>>>,
}

impl Waiter {
    fn run(&self, task: Task) -> Result<(), Error> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = match &mut *tasks {
            Some(tasks) => tasks,
            none => {
                let (to, from) = mpsc::channel::<Task>();
                // It ends with the device, which drops the sender.
                std::thread::Builder::new()
                    .name("treewide-gpu".into())
                    .spawn(move || from.into_iter().for_each(|task| task()))
                    .map_err(|error| Error::new(crate::error::ErrorKind::Io, error))?;
                none.insert(to)
            }
        };
        // The thread outlives the sender.
        tasks.send(task).map_err(|_| Error::invalid("the thread that waits is gone"))
    }
}
