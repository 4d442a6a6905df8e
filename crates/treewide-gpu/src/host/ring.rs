//! A ring of places, through which an input goes part by part.
//!
//! While the device copies and hashes some parts, the host fills the next. Only the chaining value of each
//! part comes back; the host merges these, up to the root. So memory is bounded for inputs of any length.

use crate::device::Device;
use crate::driver::{Kind, Pinned};
use crate::error::Error;
use crate::host::place::{Origin, Place, Tree};
use crate::root::{CHUNK, Root, subtree};
use treewide::hazmat::{self, ChainingValue, Subtrees};
use treewide::{Hasher, Mode};

/// An input, or its last part, of fewer bytes than this is hashed by the CPU. One thread with AVX-512 hashes
/// as many in 20 us (results/zen5-2vcpu/lengths.json); a launch with its copies and the wait for it takes
/// about as long whatever the length. The second number is an estimate: no device has been measured yet.
pub(crate) const TAIL: u64 = 256 << 10;

/// The fewest bytes of a part.
const SMALLEST: usize = 1 << 20;

/// How an input is cut into parts, and how many of them are on their way at a time.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Bytes of a part: a power of two, and at least 1 MiB.
    pub part: usize,
    /// Parts on their way, each with pinned memory and memory of the device for it: at least 1.
    pub parts: usize,
}

/// Three parts of 16 MiB.
impl Default for Ring {
    fn default() -> Self {
        Self { part: 16 << 20, parts: 3 }
    }
}

impl Ring {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.part.is_power_of_two() && self.part >= SMALLEST && self.parts > 0 {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "{self:?}: a part is a power of two of at least {SMALLEST} bytes, and there is at least one"
        )))
    }
}

/// The places of a ring; the next one is being filled.
#[derive(Debug)]
pub(crate) struct Places {
    device: Device,
    mode: Mode,
    ring: Ring,
    places: Vec<Place>,
    /// The place to be filled next, and how many bytes it has.
    next: usize,
    filled: usize,
    /// Bytes of the parts that were started; only the last part may be shorter than the others.
    started: u64,
    /// The values of the parts that are done.
    subtrees: Subtrees,
}

impl Places {
    pub(crate) fn new(device: &Device, mode: &Mode, ring: Ring) -> Self {
        let (device, subtrees) = (device.clone(), Subtrees::new(*mode));
        let places = Vec::new();
        Self { device, mode: *mode, ring, places, next: 0, filled: 0, started: 0, subtrees }
    }

    pub(crate) fn set_ring(&mut self, ring: Ring) {
        self.ring = ring;
    }

    /// Bytes so far.
    pub(crate) fn count(&self) -> u64 {
        self.started + self.filled as u64
    }

    /// Whether all of the input so far is one part that is full: it is the root if nothing follows.
    pub(crate) fn is_one_part(&self) -> bool {
        self.started == 0 && self.filled == self.ring.part
    }

    /// What is left of the place that is being filled: at least one byte. A full part is started first.
    pub(crate) fn room(&mut self) -> Result<&mut [u8], Error> {
        if self.filled == self.ring.part {
            // More is to come, so it is not the root.
            self.start_filled()?;
        }
        if self.filled == 0 {
            self.free_next()?;
        }
        Ok(&mut self.places[self.next].bytes(&self.device)?[self.filled..])
    }

    /// Says that `bytes` of the room are filled.
    pub(crate) fn fill(&mut self, bytes: usize) {
        self.filled += bytes;
    }

    /// Makes a place, or waits for the part that has the next one.
    fn free_next(&mut self) -> Result<(), Error> {
        if self.next == self.places.len() {
            self.places.push(Place::new(&self.device, self.ring.part as u64, 1 + self.next)?);
        }
        self.collect(self.next)
    }

    /// Starts the next part of the input, a subtree, from bytes that are pinned where they lie.
    pub(crate) fn start_pinned(
        &mut self,
        bytes: &dyn Pinned,
        at: u64,
        len: u64,
    ) -> Result<(), Error> {
        self.free_next()?;
        self.start(Origin::Pinned { memory: bytes, at }, len)
    }

    fn start_filled(&mut self) -> Result<(), Error> {
        self.start(Origin::Staging, self.filled as u64)
    }

    fn start(&mut self, source: Origin<'_>, len: u64) -> Result<(), Error> {
        let tree = Tree { at: 0, len, counter: self.started / CHUNK };
        let (place, mode) = (&mut self.places[self.next], &self.mode);
        place.start(&self.device, mode, Kind::Subtree, source, len, &[tree])?;
        self.next = (self.next + 1) % self.ring.parts;
        self.started += len;
        self.filled = 0;
        Ok(())
    }

    /// Takes the value of the work of a place, if it did any.
    fn collect(&mut self, place: usize) -> Result<(), Error> {
        for value in self.places[place].wait()? {
            self.add(value);
        }
        Ok(())
    }

    /// Takes the value of the oldest part that was started and has no value yet.
    fn add(&mut self, value: ChainingValue) {
        let rest = self.started - self.subtrees.chunks() * CHUNK;
        match self.ring.part as u64 {
            part if rest >= part => self.subtrees.push(&[value], (part / CHUNK).ilog2()),
            _ => self.subtrees.push_last(&value, rest.div_ceil(CHUNK)),
        }
    }

    /// The root of the input. The last part is hashed by the CPU if it is short.
    pub(crate) fn finish(mut self) -> Result<Root, Error> {
        let len = self.filled as u64;
        if self.started == 0 && len < TAIL {
            let mut hasher = Hasher::with_mode(self.mode);
            if len > 0 {
                hasher.update_rayon(&self.places[self.next].bytes(&self.device)?[..self.filled]);
            }
            return Ok(Root::Hasher(Box::new(hasher)));
        }
        if self.started == 0 {
            return self.only_part(Origin::Staging, len);
        }
        let mut tail = None;
        if len >= TAIL {
            self.start_filled()?;
        } else if len > 0 {
            let bytes = &self.places[self.next].bytes(&self.device)?[..self.filled];
            tail = Some(subtree(&self.mode, bytes, self.started / CHUNK));
        }
        // The oldest is the one to be filled next.
        let places = self.places.len();
        (0..places).try_for_each(|i| self.collect((self.next + i) % places))?;
        if let Some(value) = tail {
            self.started += len;
            self.add(value);
        }
        Ok(Root::Subtrees(Box::new(self.subtrees.clone())))
    }

    /// The root of an input that is one part and pinned where it lies.
    pub(crate) fn finish_pinned(mut self, bytes: &dyn Pinned, len: u64) -> Result<Root, Error> {
        self.free_next()?;
        self.only_part(Origin::Pinned { memory: bytes, at: 0 }, len)
    }

    fn only_part(&mut self, source: Origin<'_>, len: u64) -> Result<Root, Error> {
        let (place, mode) = (&mut self.places[self.next], self.mode);
        let left = hazmat::left_subtree_len(len);
        let halves = [
            Tree { at: 0, len: left, counter: 0 },
            Tree { at: left, len: len - left, counter: left / CHUNK },
        ];
        place.start(&self.device, &mode, Kind::Subtree, source, len, &halves)?;
        let values = place.wait()?;
        Ok(Root::of_halves(&mode, len, values[0], values[1]))
    }
}

/// Waits until the device does nothing more with the places.
impl Drop for Places {
    fn drop(&mut self) {
        self.places.drain(..).for_each(Place::done);
    }
}
