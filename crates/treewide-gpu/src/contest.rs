//! Files: whether a device would be done with one sooner than the CPU that is at it already.
//!
//! The CPU reads and hashes the file in its own best ways, and is asked to stop only if a device that
//! begins with all of it again would still be done sooner. How long that takes is measured with the end
//! of the same file: whether it is in the page cache, on a disk, or across a network counts for both.
//! Only a device that may win ([`trial`](crate::trial)) is measured.

use crate::trial::{LEAST, RING, Thread, at_this_pace, candidate, is_worth, part_of};
use crate::{Device, Mode, Ring, Staged};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use treewide::profile;

/// Of the CPU's time for the rest, a device may take this for all of it.
const SHARE: f64 = 0.8;

/// A contest of the CPU, which hashes a file, and the devices of this machine.
///
/// As long as the CPU would be done soon, no device is even looked for; nor at all for files shorter
/// than [`least`](Self::least) says.
#[derive(Debug)]
pub struct Contest {
    file: File,
    len: u64,
    since: Instant,
    done: AtomicU64,
    state: Mutex<State>,
    find: fn(Duration) -> Option<Device>,
}

/// Measures how long a device takes for all of the file.
type Measuring = Thread<Option<(Device, Duration)>>;

#[derive(Debug)]
enum State {
    Waiting,
    /// The CPU, which would take so long for all of the file, goes on. Some of its time goes there.
    Measuring {
        measuring: Measuring,
        cpu: Duration,
    },
    Won(Device),
    Over,
}

impl State {
    /// The CPU alone hashes files of less than `least` bytes.
    fn new(len: u64, least: u64) -> Self {
        if len < least { Self::Over } else { Self::Waiting }
    }

    /// After the CPU took `time` for `done` bytes of `len`. `measure` is told how long the CPU takes for
    /// a sample, and how long for the rest.
    fn go_on(
        &mut self,
        time: Duration,
        done: u64,
        len: u64,
        measure: impl FnOnce(Duration, Duration) -> Option<Measuring>,
    ) {
        let left = len.saturating_sub(done);
        match self {
            Self::Waiting if is_worth(time, done, Some(len)) => {
                let cpu = at_this_pace(time, done, len);
                let rest = at_this_pace(time, done, left);
                *self = match measure(part_of(time, done), rest) {
                    Some(measuring) => Self::Measuring { measuring, cpu },
                    None => Self::Over,
                };
            }
            Self::Measuring { measuring, cpu } if measuring.is_finished() => {
                let rest = at_this_pace(*cpu, len, left);
                *self = match measuring.result().flatten() {
                    Some((device, whole)) if whole < rest.mul_f64(SHARE) => Self::Won(device),
                    _ => Self::Over,
                };
            }
            Self::Waiting | Self::Measuring { .. } | Self::Won(_) | Self::Over => {}
        }
    }
}

fn least(file_from: Option<u64>) -> u64 {
    file_from.unwrap_or(0).max(LEAST)
}

impl Contest {
    /// Shorter files are the CPU's: what a trial would take is too much for them, or a
    /// [profile](treewide::profile) says that none can be won (`gpu-file-from`).
    pub fn least() -> u64 {
        least(profile::gpu().file_from)
    }

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
            state: Mutex::new(State::new(len, Self::least())),
            find: candidate,
        })
    }

    /// Says that the CPU has hashed `bytes` more, from any of its threads. If the answer is yes, it may
    /// as well stop.
    pub fn is_lost_after(&self, bytes: u64) -> bool {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Whoever has it will answer for the others.
        let Ok(mut state) = self.state.try_lock() else { return false };
        state.go_on(self.since.elapsed(), done, self.len, |cpu, rest| self.measure(cpu, rest));
        matches!(*state, State::Won(_))
    }

    /// The device that is to hash the file, if it has won.
    pub fn winner(self) -> Option<Device> {
        match self.state.into_inner().unwrap_or_else(PoisonError::into_inner) {
            State::Won(device) => Some(device),
            _ => None,
        }
    }

    fn measure(&self, cpu: Duration, rest: Duration) -> Option<Measuring> {
        let (file, len, find) = (self.file.try_clone().ok()?, self.len, self.find);
        Thread::start(move || {
            let device = find(cpu)?;
            let clock = Instant::now();
            let mut staged = Staged::new(&device, &Mode::PLAIN).ring(RING).ok();
            let whole = sample(
                len,
                rest,
                || clock.elapsed(),
                |part| {
                    staged.as_mut()?.update_file(&file, part.start, part.end - part.start).ok()?;
                    if part.end == len {
                        staged.take()?.finalize().ok()?;
                    }
                    Some(())
                },
            )?;
            Some((device, whole))
        })
    }
}

/// Bytes of a file that are hashed as a sample.
const SAMPLE: u64 = 64 << 20;

/// How long a device takes for a file, of which it is given the last parts; nothing as soon as that is
/// longer than it may take, or it fails.
fn sample(
    len: u64,
    rest: Duration,
    clock: impl Fn() -> Duration,
    mut hash: impl FnMut(Range<u64>) -> Option<()>,
) -> Option<Duration> {
    let Ring { part, parts } = RING;
    let most = at_this_pace(rest.mul_f64(SHARE), len, SAMPLE);
    let mut counted = None;
    for (i, at) in (len - SAMPLE..len).step_by(part).enumerate() {
        hash(at..len.min(at + part as u64))?;
        // The first ones fill the ring, which has yet to get its memory.
        if i + 1 >= parts {
            let (since, _) = *counted.get_or_insert_with(|| (clock(), at));
            if clock() - since > most {
                return None;
            }
        }
    }
    let (since, from) = counted?;
    Some(at_this_pace(clock() - since, len - from, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TwinLimits;
    use crate::model::{Later, Model, NOISE, Random};
    use crate::stand_in::{self, Fate};
    use std::cell::Cell;

    /// A little more than is tried, as a sample of it is hashed.
    const LEN: u64 = LEAST + LEAST / 8;

    /// After the CPU took so many seconds for so many bytes: the answer in the end, and the winner.
    fn contest(
        seconds: u64,
        done: u64,
        find: fn(Duration) -> Option<Device>,
    ) -> (bool, Option<Device>) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LEN).unwrap();
        let mut contest = Contest::new(&file, LEN).unwrap();
        contest.since -= Duration::from_secs(seconds);
        contest.find = find;
        let mut answer = contest.is_lost_after(done);
        while matches!(*contest.state.lock().unwrap(), State::Measuring { .. }) {
            answer = contest.is_lost_after(0);
        }
        assert_eq!(contest.is_lost_after(0), answer, "it stays");
        (answer, contest.winner())
    }

    #[test]
    fn only_a_device_that_would_be_done_sooner_wins() {
        let twin = |_| Some(Device::twin(TwinLimits::default()));
        let never = |_| panic!("a device was looked for");
        // The CPU has an hour and more to go.
        let (lost, winner) = contest(320, LEAST / 16, twin);
        assert!(lost && winner.is_some());
        // It is still fresh, nearly done, or has just begun to read.
        assert!(!contest(0, LEAST / 16, never).0);
        assert!(!contest(20, LEAST / 2, never).0);
        assert!(!contest(20, LEAST / 1000, never).0);
        // The profile says that none can win.
        let is_over = |len, from| matches!(State::new(len, least(from)), State::Over);
        assert!(is_over(LEAST - 1, None) && is_over(LEAST - 1, Some(100)));
        assert!(is_over(LEAST, Some(LEAST + 1)) && is_over(u64::MAX - 1, Some(u64::MAX)));
        assert!(!is_over(LEAST, None) && !is_over(LEAST, Some(100)));
        // There is none, or none that works.
        let lost = |_| Some(stand_in::device(Fate::LostAfter(0)));
        let full = |_| Some(stand_in::device(Fate::Full));
        for find in [|_| None, lost, full] {
            let (lost, winner) = contest(320, LEAST / 16, find);
            assert!(!lost && winner.is_none());
        }
    }

    /// How long a file takes, and whether the device had it.
    fn modelled(model: &Model, len: u64, device: &Device) -> (f64, bool) {
        let mut state = State::new(len, LEAST);
        let (mut time, mut done, mut trial) = (0.0, 0, None::<Later>);
        // As the threads of the CPU tell it, in steps that are short beside a second.
        let step = ((model.cpu / 100.0) as u64).max(len / 100_000);
        while done < len {
            let bytes = step.min(len - done);
            time = model.cpu_done(time, bytes as f64, trial.as_ref().map(|it| it.at));
            done += bytes;
            if let State::Measuring { measuring: thread, .. } = &state
                && let Some(trial) = trial.take_if(|it| it.at <= time)
            {
                trial.end(thread);
            }
            state.go_on(Duration::from_secs_f64(time), done, len, |cpu, rest| {
                let (opened, may_win) = model.opened(cpu);
                let clock = Cell::new(Duration::ZERO);
                let hash = |part: Range<u64>| {
                    let bytes = (part.end - part.start) as f64;
                    clock.set(clock.get() + Duration::from_secs_f64(model.on_trial(bytes)));
                    Some(())
                };
                let whole = may_win.then(|| sample(len, rest, || clock.get(), hash)).flatten();
                // What is on its way in the ring is waited for.
                let ring =
                    if may_win { model.on_trial((RING.part * RING.parts) as f64) } else { 0.0 };
                let ended = time + opened + clock.get().as_secs_f64() + ring;
                let result = whole.map(|whole| (device.clone(), whole));
                let (later, thread) = Later::new(ended, result);
                trial = Some(later);
                Some(thread)
            });
            if matches!(state, State::Won(_)) {
                return (time + len as f64 / model.device, true);
            }
        }
        if let (State::Measuring { measuring: thread, .. }, Some(trial)) = (&state, trial) {
            time = time.max(trial.at);
            trial.end(thread);
        }
        (time, false)
    }

    #[test]
    fn a_trial_is_lost_in_the_noise_or_won() {
        let device = Device::twin(TwinLimits::default());
        let mut random = Random(1);
        let (mut worst, mut won, mut tried) = (0.0f64, 0, 0);
        for _ in 0..2000 {
            let model = Model::random(&mut random);
            let len = random.log_between(1e9, 1e13) as u64;
            let alone = len as f64 / model.cpu;
            let (auto, has_won) = modelled(&model, len, &device);
            worst = worst.max(auto / alone);
            won += u32::from(has_won);
            tried += u32::from((auto - alone).abs() > 1e-6 * alone);
            assert!(auto <= alone * (1.0 + NOISE), "{auto} for {alone}: {model:?}, {len} bytes");
            if has_won {
                assert!(auto < alone, "{auto} for {alone}: {model:?}, {len} bytes");
            } else {
                let is_quick = model.device > 2.5 * model.cpu;
                let is_long = alone > 60.0 && len > 3 * LEAST;
                assert!(!(is_quick && is_long), "not taken: {model:?}, {len} bytes");
            }
        }
        println!("files: 2000 cases, {tried} tried, {won} won, at worst {worst:.3} of the CPU");
        assert!(won > 100 && tried > won + 100);
    }
}
