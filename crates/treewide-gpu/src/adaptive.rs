//! When to change from the CPU to a device, and back, in the middle of an input.
//!
//! There is no table of who is quicker: that depends on this CPU's cores, this device, what is between
//! them, and on what else they do. So the CPU starts, and as long as it would be done soon, nothing
//! else happens. In longer inputs another thread meanwhile opens a device, and lets it hash a sample,
//! of which it has to give the right digest. Then it gets some parts of the input as a trial, and the
//! rest goes to whoever was quicker. All parts are of one tree, so nothing is hashed twice, and what a
//! lost trial costs is a small part of the seconds before it: one that is lost ends at once, and a
//! device that took far too long for the sample gets none. Only where a profile says from which length
//! on a device can win at all, nothing is tried below it.

use crate::staged::{Engine, Staged};
use crate::{Device, Error, Found, Mode, Ring};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The CPU's time alone before the device is opened. Opening takes a few tenths of a second.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Parts of a trial; the first ones, which fill the ring, do not count.
const TRIAL: u32 = 12;
const UNCOUNTED: u32 = 4;

#[derive(Debug)]
pub(crate) struct Adaptive {
    state: State,
    /// Bytes of the whole input, if they are known.
    len: Option<u64>,
    /// Bytes below which the CPU does all.
    from: u64,
}

/// Bytes of the sample: enough for a ring to turn.
const SAMPLE: usize = 64 << 20;

/// How much longer than the CPU a device may take for the sample, which the CPU is not idle for.
const HOPELESS: u32 = 4;

/// A device that works, and how long it took for a part of the sample.
type Candidate = (Device, Duration);

type Opening = Thread<Option<Candidate>>;

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

    pub(crate) fn join(mut self) -> Option<T> {
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

/// Whether that is so little more than the time so far that it is not worth opening a device.
pub(crate) fn is_short(rest: Duration, time: Duration) -> bool {
    rest < 4 * time
}

#[derive(Debug)]
enum State {
    /// The CPU hashes since then, so many parts.
    Cpu {
        since: Instant,
        parts: u32,
    },
    /// It still does, while the device is opened.
    Opening {
        since: Instant,
        parts: u32,
        opening: Opening,
    },
    /// The device hashes; the CPU took so long for a part.
    Trial {
        since: Instant,
        parts: u32,
        cpu: Duration,
    },
    Decided,
}

impl Adaptive {
    /// The CPU alone hashes inputs of less than `from` bytes.
    pub(crate) fn new(len: Option<u64>, from: u64) -> Self {
        let state = match len {
            Some(len) if len < from => State::Decided,
            _ => State::Cpu { since: Instant::now(), parts: 0 },
        };
        Self { state, len, from }
    }

    /// After each part.
    pub(crate) fn part_done(&mut self, staged: &mut Staged) -> Result<(), Error> {
        self.state = match std::mem::replace(&mut self.state, State::Decided) {
            State::Cpu { since, parts } => {
                let (parts, time) = (parts + 1, since.elapsed());
                if time < PATIENCE || staged.count() < self.from {
                    State::Cpu { since, parts }
                } else if self.ends_soon(time, staged.count()) {
                    State::Decided
                } else {
                    match Thread::start(candidate) {
                        Some(opening) => State::Opening { since, parts, opening },
                        None => State::Decided,
                    }
                }
            }
            State::Opening { since, parts, opening } if !opening.is_finished() => {
                State::Opening { since, parts: parts + 1, opening }
            }
            State::Opening { since, parts, opening } => {
                let cpu = since.elapsed() / (parts + 1);
                match opening.join() {
                    // It may have no memory for this ring.
                    Some(Some((device, part)))
                        if part <= HOPELESS * cpu
                            && staged.switch(Engine::Device(device.clone()))? =>
                    {
                        State::Trial { since: Instant::now(), parts: 0, cpu }
                    }
                    _ => State::Decided,
                }
            }
            State::Trial { since, parts, cpu } => {
                let parts = parts + 1;
                if since.elapsed() > cpu * (TRIAL - UNCOUNTED) {
                    staged.switch(Engine::Cpu)?;
                    State::Decided
                } else if parts == UNCOUNTED {
                    State::Trial { since: Instant::now(), parts, cpu }
                } else if parts < TRIAL {
                    State::Trial { since, parts, cpu }
                } else {
                    State::Decided
                }
            }
            State::Decided => State::Decided,
        };
        Ok(())
    }

    /// Whether the CPU, which took `time` for `count` bytes, has the rest soon.
    fn ends_soon(&self, time: Duration, count: u64) -> bool {
        let Some(len) = self.len else { return false };
        let rest = len.saturating_sub(count) as f64 / count.max(1) as f64;
        is_short(time.mul_f64(rest), time)
    }
}

/// The best device of this machine.
pub(crate) fn candidate() -> Option<Candidate> {
    best(crate::devices(), &vec![0x5A; SAMPLE], Found::open)
}

/// The first device that is no software and hashes the sample as it should.
fn best(
    found: Vec<Found>,
    sample: &[u8],
    open: impl Fn(&Found) -> Result<Device, Error>,
) -> Option<Candidate> {
    let mut found = found.into_iter().filter(|it| !it.is_software && it.problem.is_none());
    found.find_map(|found| {
        let device = open(&found).ok()?;
        let part = try_out(&device, sample).ok()??;
        Some((device, part))
    })
}

/// How long a device takes for a part; nothing if it hashes wrongly.
fn try_out(device: &Device, sample: &[u8]) -> Result<Option<Duration>, Error> {
    let parts = sample.len().div_ceil(Ring::default().part) as u32;
    // The first time it has yet to get its memory.
    let first = device.hash_bytes(&Mode::PLAIN, sample)?;
    let clock = Instant::now();
    let second = device.hash_bytes(&Mode::PLAIN, sample)?;
    let time = clock.elapsed();
    let right = treewide::hash(sample);
    Ok((first == right && second == right).then_some(time / parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::{self, Fate};
    use crate::{Mode, Ring, TwinLimits};

    const PART: usize = 1 << 20;

    /// So many parts of a megabyte, hashed from that state on; and who hashes at the end.
    fn hashed(engine: Engine, state: State, parts: usize) -> (treewide::Hash, Option<String>) {
        let ring = Ring { part: PART, parts: 2 };
        let mut staged = Staged::with_engine(engine, &Mode::PLAIN).ring(ring).unwrap();
        staged.adaptive = Some(Adaptive { state, len: None, from: 0 });
        staged.update(&input(parts)).unwrap();
        let device = staged.device().map(|device| device.name().to_owned());
        (staged.finalize().unwrap(), device)
    }

    fn input(parts: usize) -> Vec<u8> {
        (0..parts * PART + 5).map(|i| (i % 251) as u8).collect()
    }

    fn opening(candidate: Option<Candidate>) -> State {
        let opening = Thread::start(|| candidate).unwrap();
        while !opening.is_finished() {
            std::thread::yield_now();
        }
        State::Opening { since: Instant::now(), parts: 3, opening }
    }

    #[test]
    fn the_digest_is_the_same_whoever_hashes_its_parts() {
        let twin = Device::twin(TwinLimits::default());
        let quick = |device| opening(Some((device, Duration::ZERO)));
        let (five, nine) = (treewide::hash(&input(5)), treewide::hash(&input(9)));
        // The trial goes on: the CPU seems to be slow.
        let slow = Duration::from_secs(1000);
        let trial = |parts, cpu| State::Trial { since: Instant::now(), parts, cpu };
        let (hash, device) = hashed(Engine::Device(twin.clone()), trial(0, slow), 9);
        assert_eq!((hash, device.as_deref()), (nine, Some(twin.name())));
        // The trial is won.
        let (hash, device) = hashed(Engine::Device(twin.clone()), trial(TRIAL - 2, slow), 9);
        assert_eq!((hash, device.as_deref()), (nine, Some(twin.name())));
        // The twin loses it, with the first part.
        let lost = hashed(Engine::Device(twin.clone()), trial(0, Duration::ZERO), 9);
        assert_eq!(lost, (nine, None));
        // Opened meanwhile, as it was quick with the sample; whether it wins is not for a test.
        assert_eq!(hashed(Engine::Cpu, quick(twin.clone()), 9).0, nine);
        // It was not quick, there is none, or it has no memory for the ring.
        let hopeless = opening(Some((twin, slow)));
        assert_eq!(hashed(Engine::Cpu, hopeless, 5), (five, None));
        assert_eq!(hashed(Engine::Cpu, opening(None), 5), (five, None));
        let small = TwinLimits { most_bytes: PART as u64 / 2, ..TwinLimits::default() };
        assert_eq!(hashed(Engine::Cpu, quick(Device::twin(small)), 5), (five, None));
    }

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
                other => panic!("{other} was opened"),
            };
            Ok(stand_in::device(fate))
        };
        let bad = [
            found("lavapipe", true, false),
            found("a problem", false, true),
            found("lies", false, false),
            found("lost", false, false),
            found("full", false, false),
        ];
        let sample = input(1);
        assert!(best(bad.to_vec(), &sample, open).is_none());
        let all = [&bad[..], &[found("works", false, false)]].concat();
        let (device, part) = best(all, &sample, open).expect("the last");
        assert_eq!(device.hash_bytes(&Mode::PLAIN, b"abc").unwrap(), treewide::hash(b"abc"));
        assert!(part > Duration::ZERO);
    }

    #[test]
    fn what_the_cpu_has_done_soon_it_does_alone() {
        let second = Duration::from_secs(1);
        let known = |len| Adaptive { state: State::Decided, len, from: 0 };
        assert!(known(Some(300)).ends_soon(second, 100));
        assert!(!known(Some(600)).ends_soon(second, 100));
        assert!(!known(None).ends_soon(second, 100));
    }

    #[test]
    fn below_the_length_of_the_profile_nothing_is_tried() {
        let is_decided = |len, from| matches!(Adaptive::new(len, from).state, State::Decided);
        assert!(is_decided(Some(99), 100) && is_decided(Some(1 << 40), u64::MAX));
        assert!(!is_decided(Some(100), 100) && !is_decided(None, 100) && !is_decided(Some(0), 0));
        // Of a stream that has yet to be as long, the CPU is not asked how long it takes.
        let after = |parts: usize, from| {
            let ring = Ring { part: PART, parts: 2 };
            let mut staged = Staged::with_engine(Engine::Cpu, &Mode::PLAIN).ring(ring).unwrap();
            let state = State::Cpu { since: Instant::now() - 2 * PATIENCE, parts: 0 };
            // Once it may be, it is decided that an input as short as this ends soon.
            staged.adaptive = Some(Adaptive { state, len: Some((parts * PART) as u64), from });
            staged.update(&input(parts)).unwrap();
            matches!(staged.adaptive.as_ref().unwrap().state, State::Cpu { .. })
        };
        assert!(after(3, 4 << 20));
        assert!(!after(3, 2 << 20));
    }
}
