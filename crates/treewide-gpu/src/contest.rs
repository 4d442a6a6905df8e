//! Whether a device would be done with a file sooner than the CPU that is at it already.
//!
//! The CPU reads and hashes the file in its own best ways, and is asked to stop only if a device that
//! begins with all of it again would still be done sooner. How long that takes is measured with the end
//! of the same file: whether it is in the page cache, on a disk, or across a network counts for both.

use crate::adaptive::{PATIENCE, Thread, candidate, is_short};
use crate::{Device, Mode, Staged};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use treewide::profile;

/// Of the CPU's time for the rest, a device may take this for all of it.
const SHARE: f64 = 0.8;

/// A contest of the CPU, which hashes a file, and the devices of this machine.
///
/// As long as the CPU would be done soon, no device is even looked for; nor at all for files below the
/// length from which on a [profile](treewide::profile) says that one can win (`gpu-file-from`).
#[derive(Debug)]
pub struct Contest {
    file: File,
    len: u64,
    since: Instant,
    done: AtomicU64,
    state: Mutex<State>,
    find: fn() -> Option<Device>,
}

#[derive(Debug)]
enum State {
    Waiting,
    /// A thread measures how long a device takes for all of the file.
    Measuring(Thread<Option<(Device, Duration)>>),
    Won(Device),
    Over,
}

/// The CPU alone hashes files of less than `from` bytes.
fn begun(len: u64, from: Option<u64>) -> State {
    if from.is_some_and(|from| len < from) { State::Over } else { State::Waiting }
}

impl Contest {
    /// Begins with the CPU, for a file of `len` bytes.
    ///
    /// # Errors
    /// If the file has no further handle.
    pub fn new(file: &File, len: u64) -> io::Result<Self> {
        Ok(Self {
            file: file.try_clone()?,
            len,
            since: Instant::now(),
            done: AtomicU64::new(0),
            state: Mutex::new(begun(len, profile::gpu().file_from)),
            find: || candidate().map(|(device, _)| device),
        })
    }

    /// Says that the CPU has hashed `bytes` more, from any of its threads. If the answer is yes, it may
    /// as well stop.
    pub fn is_lost_after(&self, bytes: u64) -> bool {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let time = self.since.elapsed();
        // Whoever has it will answer for the others.
        let Ok(mut state) = self.state.try_lock() else { return false };
        let rest = self.len.saturating_sub(done) as f64 / done.max(1) as f64;
        let rest = time.mul_f64(rest.min(1e6));
        match &*state {
            State::Waiting if time < PATIENCE => {}
            State::Waiting if is_short(rest, time) => *state = State::Over,
            State::Waiting => *state = self.measure().map_or(State::Over, State::Measuring),
            State::Measuring(thread) if !thread.is_finished() => {}
            State::Measuring(_) => {
                let State::Measuring(thread) = std::mem::replace(&mut *state, State::Over) else {
                    unreachable!("as just seen")
                };
                if let Some((device, whole)) = thread.join().flatten()
                    && whole < rest.mul_f64(SHARE)
                {
                    *state = State::Won(device);
                }
            }
            State::Won(_) | State::Over => {}
        }
        matches!(*state, State::Won(_))
    }

    /// The device that is to hash the file, if it has won.
    pub fn winner(self) -> Option<Device> {
        match self.state.into_inner().unwrap_or_else(PoisonError::into_inner) {
            State::Won(device) => Some(device),
            _ => None,
        }
    }

    fn measure(&self) -> Option<Thread<Option<(Device, Duration)>>> {
        let (file, len, find) = (self.file.try_clone().ok()?, self.len, self.find);
        Thread::start(move || {
            let device = find()?;
            // Less than a tail would be the CPU's.
            let sample = (len / 16).clamp(1 << 20, 256 << 20).min(len);
            let clock = Instant::now();
            let mut staged = Staged::new(&device, &Mode::PLAIN);
            staged.update_file(&file, len - sample, sample).ok()?;
            staged.finalize().ok()?;
            Some((device, clock.elapsed().mul_f64(len as f64 / sample as f64)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TwinLimits;
    use crate::stand_in::{self, Fate};
    use std::io::Write;

    const LEN: u64 = 3 << 20;

    /// After the CPU took so many seconds for so many bytes: the answer in the end, and the winner.
    fn contest(seconds: u64, done: u64, find: fn() -> Option<Device>) -> (bool, Option<Device>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; LEN as usize]).unwrap();
        let mut contest = Contest::new(&file, LEN).unwrap();
        contest.since -= Duration::from_secs(seconds);
        contest.find = find;
        let mut answer = contest.is_lost_after(done);
        while matches!(*contest.state.lock().unwrap(), State::Measuring(_)) {
            answer = contest.is_lost_after(0);
        }
        assert_eq!(contest.is_lost_after(0), answer, "it stays");
        (answer, contest.winner())
    }

    #[test]
    fn only_a_device_that_would_be_done_sooner_wins() {
        let twin = || Some(Device::twin(TwinLimits::default()));
        let never = || panic!("a device was looked for");
        // The CPU has ten thousand seconds to go.
        let (lost, winner) = contest(10, 1 << 10, twin);
        assert!(lost && winner.is_some());
        // It is still fresh, or nearly done.
        assert!(!contest(0, 1 << 20, never).0);
        assert!(!contest(10, LEN / 2, never).0);
        // The profile says that none can win.
        assert!(matches!(begun(99, Some(100)), State::Over));
        assert!(matches!(begun(u64::MAX - 1, Some(u64::MAX)), State::Over));
        assert!(matches!(begun(100, Some(100)), State::Waiting));
        assert!(matches!(begun(100, None), State::Waiting));
        // There is none, or none that works.
        let lost: fn() -> Option<Device> = || Some(stand_in::device(Fate::LostAfter(0)));
        let full: fn() -> Option<Device> = || Some(stand_in::device(Fate::Full));
        for find in [|| None, lost, full] {
            let (lost, winner) = contest(10, 1 << 10, find);
            assert!(!lost && winner.is_none());
        }
    }
}
