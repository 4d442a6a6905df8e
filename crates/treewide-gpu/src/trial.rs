//! Whether a device gets a trial beside the CPU, and what that may cost.
//!
//! There is no table of who is quicker: that depends on this CPU's cores, this device, what is between
//! them, and on what else they do. So the CPU starts, and as long as it would be done soon, nothing
//! else happens. In longer inputs another thread meanwhile opens a device, and lets it hash samples, of
//! which it has to give the right digest. Then it gets a part of the input, and the rest goes to
//! whoever was quicker: [`adaptive`](crate::adaptive) for streams, [`contest`](crate::contest) for
//! files. Only where a profile says from which length on a device can win at all, nothing is tried
//! below it.
//!
//! A trial that is lost has to be lost in the noise. Opening takes tenths of a second of one thread.
//! Samples start small, and the first that takes a device too long is its last. What it gets of the
//! input is less than a hundredth of it. So a trial begins only where the CPU has [`WORTH`] to go.

use crate::{Device, Error, Found, Mode, Ring, Staged, TAIL};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The CPU's time alone, in which it shows how quick it is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// How long the CPU must have to go: a trial that lavapipe loses takes both threads of a machine 0.2 s
/// (results/zen5-2vcpu/auto-gpu.txt), which is 1% of it; the model in the tests allows for 0.3 s and more.
pub(crate) const WORTH: Duration = Duration::from_secs(15);

/// How many bytes it must have to go: of fewer, the parts of a trial would be too large a part.
pub(crate) const LEAST: u64 = 16 << 30;

/// Whether a device is to be tried, after the CPU took `time` for `done` bytes of `len`, if that is
/// known. Of others as much is expected as there was.
pub(crate) fn is_worth(time: Duration, done: u64, len: Option<u64>) -> bool {
    let rest = len.map_or(done, |len| len.saturating_sub(done));
    // Files that have yet to come from a disk, or are there in part, seem slow at first.
    let is_known = len.is_none_or(|len| done >= len / 64);
    time >= PATIENCE && is_known && rest >= LEAST && at_this_pace(time, done, rest) >= WORTH
}

/// What `bytes` take, if `done` took `time`.
pub(crate) fn at_this_pace(time: Duration, done: u64, bytes: u64) -> Duration {
    time.mul_f64((bytes as f64 / done.max(1) as f64).min(1e6))
}

/// For samples: small, so that little is on its way when one has to end.
pub(crate) const RING: Ring = Ring { part: 4 << 20, parts: 3 };

/// Bytes of the largest sample that is no part of the input.
const SAMPLE: usize = RING.part;

/// How many times as long as the CPU a device may take for a sample, for which it has less than all of
/// the CPU's help and memory; and how much longer, as small samples are nothing but delays.
const HOPELESS: u32 = 2;
const DELAYS: Duration = Duration::from_millis(5);

/// The first device of this machine that is no software and may win against a CPU that takes so long for
/// the largest sample.
pub(crate) fn candidate(cpu: Duration) -> Option<Device> {
    best(crate::device::listed(), cpu, Found::open)
}

fn best(
    found: Vec<Found>,
    cpu: Duration,
    open: impl Fn(&Found) -> Result<Device, Error>,
) -> Option<Device> {
    let mut found = found.into_iter().filter(|it| !it.is_software && it.problem.is_none());
    found.find_map(|found| {
        let device = open(&found).ok()?;
        may_win(&device, cpu).is_ok_and(|may| may).then_some(device)
    })
}

/// Whether a device hashes as it should, and not far too slowly.
fn may_win(device: &Device, cpu: Duration) -> Result<bool, Error> {
    let sample: Vec<u8> = (0..SAMPLE).map(|i| (i % 251) as u8).collect();
    grow(cpu, |len| {
        let clock = Instant::now();
        let mut staged = Staged::new(device, &Mode::PLAIN).ring(RING)?;
        staged.update(&sample[..len])?;
        let hash = staged.finalize()?;
        let time = clock.elapsed();
        Ok((hash == treewide::hash(&sample[..len])).then_some(time))
    })
}

/// Whether samples up to the largest take no more than they may, by the times that `hash` says; not if
/// it says none.
pub(crate) fn grow(
    cpu: Duration,
    mut hash: impl FnMut(usize) -> Result<Option<Duration>, Error>,
) -> Result<bool, Error> {
    // The first time it has yet to get its memory and code.
    let mut len = TAIL as usize;
    if hash(len)?.is_none() {
        return Ok(false);
    }
    loop {
        let most = HOPELESS * cpu.mul_f64(len as f64 / SAMPLE as f64) + DELAYS;
        if hash(len)?.is_none_or(|time| time > most) {
            return Ok(false);
        }
        if len == SAMPLE {
            return Ok(true);
        }
        len = SAMPLE.min(4 * len);
    }
}

/// The CPU's time for as much as the largest sample.
pub(crate) fn part_of(time: Duration, done: u64) -> Duration {
    at_this_pace(time, done, SAMPLE as u64)
}

/// A thread that is waited for, also where nobody needs its result any more: drivers do not like a
/// program that ends while it is in them.
#[derive(Debug)]
pub(crate) struct Thread<T>(Option<JoinHandle<T>>);

impl<T: Send + 'static> Thread<T> {
    /// Nothing where there is no thread to be had.
    pub(crate) fn start(run: impl FnOnce() -> T + Send + 'static) -> Option<Self> {
        let thread = std::thread::Builder::new().name("treewide-gpu".into()).spawn(run);
        thread.ok().map(|thread| Self(Some(thread)))
    }

    /// Waits for it; nothing if it panicked, or was asked before.
    pub(crate) fn result(&mut self) -> Option<T> {
        self.0.take()?.join().ok()
    }
}

impl<T> Thread<T> {
    pub(crate) fn is_finished(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::{self, Fate};

    #[test]
    fn what_cannot_hash_or_is_no_gpu_is_never_chosen() {
        let found = |name: &str, is_software, problem: bool| Found {
            backend: crate::Backend::Wgpu,
            index: 0,
            name: name.into(),
            memory: None,
            is_software,
            problem: problem.then(|| Error::invalid("broken")),
        };
        let open = |found: &Found| {
            let fate = match &*found.name {
                "works" => Fate::Works,
                "lies" => Fate::Lies,
                "lost" => Fate::LostAfter(1),
                "full" => Fate::Full,
                "closed" => return Err(Error::invalid("it cannot be opened")),
                other => panic!("{other} was opened"),
            };
            Ok(stand_in::device(fate))
        };
        let bad = [
            found("lavapipe", true, false),
            found("a problem", false, true),
            found("closed", false, false),
            found("lies", false, false),
            found("lost", false, false),
            found("full", false, false),
        ];
        let slow = Duration::from_secs(1000);
        assert!(best(bad.to_vec(), slow, open).is_none());
        let all = [&bad[..], &[found("works", false, false)]].concat();
        let device = best(all, slow, open).expect("the last");
        assert_eq!(device.hash_bytes(&Mode::PLAIN, b"abc").unwrap(), treewide::hash(b"abc"));
    }

    #[test]
    fn samples_end_with_the_first_that_takes_too_long() {
        let cpu = Duration::from_millis(10);
        let sizes = |times: &dyn Fn(usize) -> Option<Duration>| {
            let mut sizes = vec![];
            let may_win = grow(cpu, |len| {
                sizes.push(len >> 10);
                Ok(times(len))
            });
            (may_win.unwrap(), sizes)
        };
        let rate =
            |per_second: f64| move |len| Some(Duration::from_secs_f64(len as f64 / per_second));
        let all = vec![256, 256, 1024, 4096];
        assert_eq!(sizes(&rate(2e8)), (true, all.clone()));
        // Three times as long as the CPU.
        assert_eq!(sizes(&rate(1.4e8)), (false, all));
        assert_eq!(sizes(&rate(1e7)), (false, vec![256, 256]));
        assert_eq!(sizes(&|_| None), (false, vec![256]));
        assert!(!sizes(&|len| (len < SAMPLE).then_some(Duration::ZERO)).0);
    }

    #[test]
    fn what_the_cpu_has_done_soon_it_does_alone() {
        let is_worth = |seconds, done, len| is_worth(Duration::from_secs(seconds), done, len);
        // Twice as long again, and three times.
        assert!(!is_worth(6, LEAST, Some(3 * LEAST)) && is_worth(6, LEAST, Some(4 * LEAST)));
        assert!(!is_worth(0, LEAST, Some(40 * LEAST)) && !is_worth(100, 1 << 30, Some(LEAST)));
        assert!(!is_worth(10, LEAST / 2, Some(40 * LEAST)), "it has just begun");
        assert!(!is_worth(14, LEAST, None) && is_worth(16, LEAST, None));
        assert!(!is_worth(1000, LEAST - 1, None));
    }
}
