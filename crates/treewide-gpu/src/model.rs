//! A CPU and a device in a time of their own, to see what trials cost and who wins them. Times are in
//! seconds, rates in bytes a second.

use crate::trial::{Thread, grow};
use std::fmt::Debug;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// The most that `auto` may take longer than the CPU alone: the noise of measurements.
pub(crate) const NOISE: f64 = 0.03;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) cpu: f64,
    pub(crate) device: f64,
    /// How long it takes to open the device.
    opening: f64,
    /// What the CPU is left of itself while a device is opened, and the device of itself meanwhile.
    left_to_cpu: f64,
    left_to_device: f64,
}

/// Numbers from a fixed seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        low + (high - low) * ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// All orders of magnitude alike.
    pub(crate) fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }
}

impl Model {
    /// Software that passes for a device takes all of the CPU; a device may take nothing of it.
    pub(crate) fn random(random: &mut Random) -> Self {
        let cpu = random.log_between(3e8, 2e10);
        Self {
            cpu,
            device: cpu * random.log_between(1e-3, 1e2),
            opening: random.between(0.0, 0.3),
            left_to_cpu: random.between(0.0, 1.0),
            left_to_device: random.between(0.7, 1.0),
        }
    }

    /// How long it takes to open the device and try samples, and whether it may win.
    pub(crate) fn opened(&self, cpu: Duration) -> (f64, bool) {
        let mut time = self.opening;
        let may_win = grow(cpu, |len| {
            let sample = self.on_trial(len as f64);
            // And the CPU says what is right.
            time += sample + len as f64 / self.cpu;
            Ok(Some(Duration::from_secs_f64(sample)))
        });
        (time, may_win.unwrap())
    }

    /// How long the device takes for bytes while the CPU is at work.
    pub(crate) fn on_trial(&self, bytes: f64) -> f64 {
        bytes / (self.device * self.left_to_device)
    }

    /// When the CPU is done with bytes that it begins now, if there is a trial up to then.
    pub(crate) fn cpu_done(&self, now: f64, bytes: f64, trial: Option<f64>) -> f64 {
        let during = (trial.unwrap_or(now) - now).max(0.0);
        let alone = bytes / self.cpu;
        let meanwhile = during * self.left_to_cpu;
        if alone < meanwhile {
            now + alone / self.left_to_cpu
        } else {
            now + during + alone - meanwhile
        }
    }
}

/// A thread that ends when it is told to, at a time of the model.
#[derive(Debug)]
pub(crate) struct Later {
    pub(crate) at: f64,
    tell: Sender<()>,
}

impl Later {
    pub(crate) fn new<T: Send + 'static>(at: f64, result: T) -> (Self, Thread<T>) {
        let (tell, told) = mpsc::channel();
        let thread = Thread::start(move || {
            let _ = told.recv();
            result
        });
        (Self { at, tell }, thread.unwrap())
    }

    /// Tells it, and waits until it has ended.
    pub(crate) fn end<T: Send + 'static>(self, thread: &Thread<T>) {
        self.tell.send(()).unwrap();
        while !thread.is_finished() {
            std::thread::yield_now();
        }
    }
}
