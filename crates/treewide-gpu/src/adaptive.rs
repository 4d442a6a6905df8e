//! When to change from the CPU to a device, and back, in the middle of an input.
//!
//! There is no table of who is quicker: that depends on this CPU's cores, this device, what is between
//! them, and on what else they do. So the CPU starts, and as long as it would be done soon, nothing
//! else happens. In longer inputs the device is opened by another thread meanwhile, gets some parts as
//! a trial, and the rest goes to whoever was quicker. All parts are of one tree, so nothing is hashed
//! twice, and what a lost trial costs is a small part of the seconds before it.

use crate::staged::{Engine, Staged};
use crate::{Device, Error};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The CPU's time alone before the device is opened. Opening takes a few tenths of a second.
const PATIENCE: Duration = Duration::from_secs(1);

/// Parts of a trial; the first ones, which fill the ring, do not count.
const TRIAL: u32 = 12;
const UNCOUNTED: u32 = 4;

#[derive(Debug)]
pub(crate) struct Adaptive {
    state: State,
    /// Bytes of the whole input, if they are known.
    len: Option<u64>,
}

type Opening = JoinHandle<Option<Device>>;

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
    pub(crate) fn new(len: Option<u64>) -> Self {
        Self { state: State::Cpu { since: Instant::now(), parts: 0 }, len }
    }

    /// After each part.
    pub(crate) fn part_done(&mut self, staged: &mut Staged) -> Result<(), Error> {
        self.state = match std::mem::replace(&mut self.state, State::Decided) {
            State::Cpu { since, parts } => {
                let (parts, time) = (parts + 1, since.elapsed());
                if time < PATIENCE {
                    State::Cpu { since, parts }
                } else if self.ends_within(4 * time, time, staged.count()) {
                    State::Decided
                } else {
                    match std::thread::Builder::new().spawn(open) {
                        Ok(opening) => State::Opening { since, parts, opening },
                        Err(_) => State::Decided, // no thread to be had
                    }
                }
            }
            State::Opening { since, parts, opening } if !opening.is_finished() => {
                State::Opening { since, parts: parts + 1, opening }
            }
            State::Opening { since, parts, opening } => {
                let cpu = since.elapsed() / (parts + 1);
                match opening.join() {
                    Ok(Some(device)) => {
                        staged.switch(Engine::Device(device))?;
                        State::Trial { since: Instant::now(), parts: 0, cpu }
                    }
                    _ => State::Decided,
                }
            }
            State::Trial { since, parts, cpu } => {
                let parts = parts + 1;
                if parts == UNCOUNTED {
                    State::Trial { since: Instant::now(), parts, cpu }
                } else if parts < TRIAL {
                    State::Trial { since, parts, cpu }
                } else {
                    if since.elapsed() / (TRIAL - UNCOUNTED) > cpu {
                        staged.switch(Engine::Cpu)?;
                    }
                    State::Decided
                }
            }
            State::Decided => State::Decided,
        };
        Ok(())
    }

    /// Whether the CPU, which took `time` for `count` bytes, has the rest within `limit`.
    fn ends_within(&self, limit: Duration, time: Duration, count: u64) -> bool {
        let Some(len) = self.len else { return false };
        let rest = len.saturating_sub(count) as f64 / count.max(1) as f64;
        time.as_secs_f64() * rest < limit.as_secs_f64()
    }
}

/// The first device that is none of software.
fn open() -> Option<Device> {
    let mut found = crate::devices().into_iter().filter(|found| !found.is_software);
    found.find_map(|found| found.open().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::staged::Ring;
    use crate::{Mode, TwinLimits};

    const PART: usize = 1 << 20;

    /// So many parts of a megabyte, hashed from that state on; and who hashes at the end.
    fn hashed(engine: Engine, state: State, parts: usize) -> (treewide::Hash, Option<String>) {
        let ring = Ring { part: PART, parts: 2 };
        let mut staged = Staged::with_engine(engine, &Mode::PLAIN).ring(ring).unwrap();
        staged.adaptive = Some(Adaptive { state, len: None });
        staged.update(&input(parts)).unwrap();
        let device = staged.device().map(|device| device.name().to_owned());
        (staged.finalize().unwrap(), device)
    }

    fn input(parts: usize) -> Vec<u8> {
        (0..parts * PART + 5).map(|i| (i % 251) as u8).collect()
    }

    fn opening(device: Option<Device>) -> State {
        let opening = std::thread::spawn(|| device);
        while !opening.is_finished() {
            std::thread::yield_now();
        }
        State::Opening { since: Instant::now(), parts: 3, opening }
    }

    #[test]
    fn the_digest_is_the_same_whoever_hashes_its_parts() {
        let twin = Device::twin(TwinLimits::default());
        // The trial has not ended.
        let (hash, device) = hashed(Engine::Cpu, opening(Some(twin.clone())), 9);
        assert_eq!(hash, treewide::hash(&input(9)));
        assert_eq!(device.as_deref(), Some(twin.name()));
        // The twin loses its trial, and the CPU goes on.
        let trial = State::Trial { since: Instant::now(), parts: 5, cpu: Duration::ZERO };
        let (hash, device) = hashed(Engine::Device(twin), trial, 20);
        assert_eq!(hash, treewide::hash(&input(20)));
        assert_eq!(device, None);
        // No device.
        let (hash, device) = hashed(Engine::Cpu, opening(None), 5);
        assert_eq!(hash, treewide::hash(&input(5)));
        assert_eq!(device, None);
    }

    #[test]
    fn what_the_cpu_has_done_soon_it_does_alone() {
        let second = Duration::from_secs(1);
        let known = |len| Adaptive { state: State::Decided, len };
        assert!(known(Some(300)).ends_within(4 * second, second, 100));
        assert!(!known(Some(600)).ends_within(4 * second, second, 100));
        assert!(!known(None).ends_within(4 * second, second, 100));
    }
}
