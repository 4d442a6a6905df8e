//! Streams: when to change from the CPU to a device, and back, in the middle of an input.
//!
//! A device that may win ([`trial`](crate::trial)) gets some parts of the input, and the rest goes to
//! whoever was quicker. All parts are of one tree, so nothing is hashed twice, and a trial that is lost
//! ends at once.

use crate::staged::{Engine, Staged};
use crate::trial::{Thread, at_this_pace, candidate, is_worth, part_of};
use crate::{Device, Error};
use std::time::{Duration, Instant};

/// Parts of a trial; the first ones, which fill the ring, do not count.
const TRIAL: u32 = 12;
const UNCOUNTED: u32 = 4;

#[derive(Debug)]
pub(crate) struct Adaptive {
    state: State,
    begun: Instant,
    /// Bytes of the whole input, if they are known.
    len: Option<u64>,
    /// Bytes below which the CPU does all.
    from: u64,
}

type Opening = Thread<Option<Device>>;

/// Times are since the beginning.
#[derive(Debug)]
enum State {
    Cpu,
    /// The CPU, which took so long for a part, still hashes while a device is opened. From then on some
    /// of its time goes there.
    Opening {
        opening: Opening,
        cpu: Duration,
    },
    /// The device hashes.
    Trial {
        since: Duration,
        parts: u32,
        cpu: Duration,
    },
    Decided,
}

/// Who is to have the next part.
#[derive(Debug)]
enum Turn {
    Same,
    Cpu,
    Device(Device),
}

impl Adaptive {
    /// The CPU alone hashes inputs of less than `from` bytes.
    pub(crate) fn new(len: Option<u64>, from: u64) -> Self {
        let is_short = len.is_some_and(|len| len < from);
        let state = if is_short { State::Decided } else { State::Cpu };
        Self { state, begun: Instant::now(), len, from }
    }

    /// After each part.
    pub(crate) fn part_done(&mut self, staged: &mut Staged) -> Result<(), Error> {
        let (count, part) = (staged.count(), staged.part());
        let find = |cpu| Thread::start(move || candidate(cpu));
        match self.turn(self.begun.elapsed(), count, part, find) {
            Turn::Same => {}
            Turn::Cpu => {
                staged.switch(Engine::Cpu)?;
            }
            Turn::Device(device) => {
                // It may have no memory for this ring.
                if staged.switch(Engine::Device(device))? {
                    self.starts(self.begun.elapsed());
                } else {
                    self.state = State::Decided;
                }
            }
        }
        Ok(())
    }

    /// What to do after `time`, with `count` bytes done in parts of `part`.
    fn turn(
        &mut self,
        time: Duration,
        count: u64,
        part: u64,
        find: impl FnOnce(Duration) -> Option<Opening>,
    ) -> Turn {
        match &mut self.state {
            State::Cpu if count >= self.from && is_worth(time, count, self.len) => {
                let cpu = at_this_pace(time, count, part);
                self.state = match find(part_of(time, count)) {
                    Some(opening) => State::Opening { opening, cpu },
                    None => State::Decided,
                };
            }
            State::Opening { opening, cpu } if opening.is_finished() => {
                let (cpu, device) = (*cpu, opening.result());
                self.state = State::Decided;
                if let Some(device) = device.flatten() {
                    self.state = State::Trial { since: time, parts: 0, cpu };
                    return Turn::Device(device);
                }
            }
            State::Trial { since, parts, cpu } => {
                *parts += 1;
                if time - *since > *cpu * (TRIAL - UNCOUNTED) {
                    self.state = State::Decided;
                    return Turn::Cpu;
                }
                match *parts {
                    UNCOUNTED => *since = time,
                    TRIAL => self.state = State::Decided,
                    _ => {}
                }
            }
            State::Cpu | State::Opening { .. } | State::Decided => {}
        }
        Turn::Same
    }

    /// The device has all that it needs, and begins.
    fn starts(&mut self, time: Duration) {
        if let State::Trial { since, .. } = &mut self.state {
            *since = time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Later, Model, NOISE, Random};
    use crate::stand_in::{self, Fate};
    use crate::trial::LEAST;
    use crate::{Mode, Ring, TwinLimits};
    use std::collections::VecDeque;

    const PART: usize = 1 << 20;

    fn adaptive(state: State) -> Adaptive {
        Adaptive { state, begun: Instant::now(), len: None, from: 0 }
    }

    /// So many parts of a megabyte, hashed from that state on; and who hashes at the end.
    fn hashed(engine: Engine, state: State, parts: usize) -> (treewide::Hash, Option<String>) {
        hashed_by(engine, state, |staged| staged.update(&input(parts)).map(drop))
    }

    /// The same, read.
    fn read(engine: Engine, state: State, parts: usize) -> (treewide::Hash, Option<String>) {
        hashed_by(engine, state, |staged| staged.update_reader(&input(parts)[..]).map(drop))
    }

    fn hashed_by(
        engine: Engine,
        state: State,
        update: impl Fn(&mut Staged) -> Result<(), Error>,
    ) -> (treewide::Hash, Option<String>) {
        let ring = Ring { part: PART, parts: 2 };
        let mut staged = Staged::with_engine(engine, &Mode::PLAIN).ring(ring).unwrap();
        staged.adaptive = Some(adaptive(state));
        update(&mut staged).unwrap();
        let device = staged.device().map(|device| device.name().to_owned());
        (staged.finalize().unwrap(), device)
    }

    fn input(parts: usize) -> Vec<u8> {
        (0..parts * PART + 5).map(|i| (i % 251) as u8).collect()
    }

    fn opening(device: Option<Device>) -> State {
        let opening = Thread::start(|| device).unwrap();
        while !opening.is_finished() {
            std::thread::yield_now();
        }
        State::Opening { opening, cpu: Duration::ZERO }
    }

    #[test]
    fn the_digest_is_the_same_whoever_hashes_its_parts() {
        let twin = Device::twin(TwinLimits::default());
        let (five, nine) = (treewide::hash(&input(5)), treewide::hash(&input(9)));
        // The trial goes on: the CPU seems to be slow.
        let slow = Duration::from_secs(1000);
        let trial = |parts, cpu| State::Trial { since: Duration::ZERO, parts, cpu };
        let (hash, device) = hashed(Engine::Device(twin.clone()), trial(0, slow), 9);
        assert_eq!((hash, device.as_deref()), (nine, Some(twin.name())));
        // The trial is won.
        let (hash, device) = hashed(Engine::Device(twin.clone()), trial(TRIAL - 2, slow), 9);
        assert_eq!((hash, device.as_deref()), (nine, Some(twin.name())));
        // The twin loses it, with the first part.
        let lost = hashed(Engine::Device(twin.clone()), trial(0, Duration::ZERO), 9);
        assert_eq!(lost, (nine, None));
        let lost = read(Engine::Device(twin.clone()), trial(0, Duration::ZERO), 9);
        assert_eq!(lost, (nine, None));
        // Opened meanwhile; whether it wins is not for a test.
        assert_eq!(hashed(Engine::Cpu, opening(Some(twin.clone())), 9).0, nine);
        assert_eq!(read(Engine::Cpu, opening(Some(twin)), 9).0, nine);
        // There is none, or it has no memory for the ring.
        assert_eq!(hashed(Engine::Cpu, opening(None), 5), (five, None));
        let full = opening(Some(stand_in::device(Fate::Full)));
        assert_eq!(hashed(Engine::Cpu, full, 5), (five, None));
        assert_eq!(read(Engine::Cpu, opening(None), 5), (five, None));
    }

    #[test]
    fn below_the_length_of_the_profile_nothing_is_tried() {
        let is_decided = |len, from| matches!(Adaptive::new(len, from).state, State::Decided);
        assert!(is_decided(Some(99), 100) && is_decided(Some(1 << 40), u64::MAX));
        assert!(!is_decided(Some(100), 100) && !is_decided(None, 100) && !is_decided(Some(0), 0));
        // Of a stream it shows.
        let is_tried = |count, from| {
            let mut tried = false;
            let mut adaptive = Adaptive::new(None, from);
            let time = Duration::from_secs(100);
            let turn = adaptive.turn(time, count, PART as u64, |_| {
                tried = true;
                None
            });
            assert!(matches!(turn, Turn::Same));
            tried
        };
        assert!(is_tried(LEAST, 0) && is_tried(LEAST, LEAST));
        assert!(!is_tried(LEAST, LEAST + 1) && !is_tried(LEAST, u64::MAX));
        assert!(!is_tried(LEAST - 1, 0));
    }

    /// How long a stream takes, and whether the device has the end of it.
    fn modelled(model: &Model, len: u64, is_known: bool, device: &Device) -> (f64, bool) {
        let (part, parts) = (Ring::default().part as u64, Ring::default().parts);
        let mut adaptive = Adaptive::new(is_known.then_some(len), 0);
        let (mut time, mut count, mut opening) = (0.0, 0, None::<Later>);
        // When the device is done with the parts in its ring.
        let (mut on_device, mut ring) = (false, VecDeque::new());
        while count < len {
            if on_device {
                if ring.len() == parts {
                    time = ring.pop_front().map_or(time, |done: f64| done.max(time));
                }
                let starts = ring.back().map_or(time, |done: &f64| done.max(time));
                ring.push_back(starts + part as f64 / model.device);
            } else {
                time = model.cpu_done(time, part as f64, opening.as_ref().map(|it| it.at));
            }
            count += part;
            if let State::Opening { opening: thread, .. } = &adaptive.state
                && let Some(opening) = opening.take_if(|it| it.at <= time)
            {
                opening.end(thread);
            }
            let turn = adaptive.turn(Duration::from_secs_f64(time), count, part, |cpu| {
                let (opened, may_win) = model.opened(cpu);
                let (later, thread) = Later::new(time + opened, may_win.then(|| device.clone()));
                opening = Some(later);
                Some(thread)
            });
            match turn {
                Turn::Same => {}
                Turn::Cpu => {
                    time = ring.drain(..).next_back().map_or(time, |done| done.max(time));
                    on_device = false;
                }
                Turn::Device(_) => {
                    // Memory for a ring.
                    time += 0.05;
                    adaptive.starts(Duration::from_secs_f64(time));
                    on_device = true;
                }
            }
        }
        if let (State::Opening { opening: thread, .. }, Some(opening)) = (&adaptive.state, opening)
        {
            time = time.max(opening.at);
            opening.end(thread);
        }
        (ring.back().map_or(time, |done| done.max(time)), on_device)
    }

    #[test]
    fn a_trial_is_lost_in_the_noise_or_won() {
        let device = Device::twin(TwinLimits::default());
        let mut random = Random(2);
        let (mut worst, mut won, mut tried) = (0.0f64, 0, 0);
        for case in 0..1000 {
            let model = Model::random(&mut random);
            let parts = random.log_between(1e2, 2e4).round();
            let len = parts as u64 * Ring::default().part as u64;
            let alone = len as f64 / model.cpu;
            let (auto, has_won) = modelled(&model, len, case % 2 == 0, &device);
            worst = worst.max(auto / alone);
            won += u32::from(has_won);
            tried += u32::from((auto - alone).abs() > 1e-6 * alone);
            assert!(auto <= alone * (1.0 + NOISE), "{auto} for {alone}: {model:?}, {parts} parts");
            let is_long = alone > 120.0 && len > 4 * LEAST;
            if is_long && model.device > 2.5 * model.cpu {
                assert!(has_won && auto < alone, "{auto} for {alone}: {model:?}, {parts} parts");
            }
        }
        println!("streams: 1000 cases, {tried} tried, {won} won, at worst {worst:.3} of the CPU");
        assert!(won > 50 && tried > won + 50);
    }
}
