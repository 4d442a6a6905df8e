//! Bytes of the host, files and streams: through a ring of reused buffers, in parts that are subtrees.
//!
//! While the device copies and hashes some parts, the host fills the next. Only the chaining value of
//! each part comes back; the host merges these, up to the root. So memory is bounded for inputs of any
//! length, the CPU can take parts too (the short tail, or all of them), and all of it is one tree.
//!
//! Parts of the CPU have no place in a ring: it hashes bytes where they lie, and what is read in one
//! buffer while it comes into another.

use crate::adaptive::Adaptive;
use crate::driver::Kind;
use crate::parts::{CHUNK, Parts, Root, halves, hasher_at, subtree};
use crate::slot::{Slot, Source, Tree};
use crate::{Cancel, Device, Error, ErrorKind, Mode};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use treewide::hazmat::HasherExt;
use treewide::{Hash, Hasher, OutputReader};

/// Bytes that one thread copies, or reads, at a time. The CPU has two buffers of as many: more of them would take
/// longer to get from the system (results/zen5-2vcpu/auto-gpu.txt).
const PIECE: usize = 1 << 20;

/// The most parts that the CPU hashes before it looks whether it is to go on: a power of two, so that they can be
/// one subtree.
const MOST: u64 = 64;

/// A last part below this many bytes is hashed by the CPU. One thread with AVX-512 takes 20 us for as much
/// (results/zen5-2vcpu/lengths.json), and a launch with the copies to and fro and the wait for it about as
/// long, whatever the length. That is an estimate, as no device has been measured yet; where it is wrong, it
/// is wrong by microseconds once an input.
pub const TAIL: u64 = 256 << 10;

/// How an input is cut, and how much of it is on its way at a time.
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

/// Who hashes a part.
#[derive(Debug)]
pub(crate) enum Engine {
    Device(Device),
    /// The threads of the current rayon pool.
    Cpu,
}

/// Hashes bytes of the host as they come: like [`treewide::Hasher`], on a device.
///
/// ```
/// # fn main() -> Result<(), treewide_gpu::Error> {
/// use treewide_gpu::{Device, Mode, Staged, TwinLimits};
///
/// let device = Device::twin(TwinLimits::default()); // or one of `devices()`
/// let mut staged = Staged::new(&device, &Mode::PLAIN);
/// staged.update(b"foo")?;
/// staged.update(b"barbaz")?;
/// assert_eq!(staged.finalize()?, treewide::hash(b"foobarbaz"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Staged {
    engine: Engine,
    pub(crate) adaptive: Option<Adaptive>,
    mode: Mode,
    ring: Ring,
    cancel: Cancel,
    slots: Vec<Slot>,
    /// The slot to be filled next.
    next: usize,
    /// What the CPU has of the part that is begun, and memory for what it reads.
    hasher: Hasher,
    buffers: [Vec<u8>; 2],
    /// How many bytes that part has so far, and of how many parts it is one subtree: of one, but for the CPU.
    filled: usize,
    run: u64,
    /// Whole parts that were given away, and the values of those that are done.
    given: u64,
    parts: Parts,
    failed: Option<Error>,
}

impl Staged {
    /// Nothing hashed yet.
    pub fn new(device: &Device, mode: &Mode) -> Self {
        Self::with_engine(Engine::Device(device.clone()), mode)
    }

    pub(crate) fn with_engine(engine: Engine, mode: &Mode) -> Self {
        Self {
            engine,
            adaptive: None,
            mode: *mode,
            ring: Ring::default(),
            cancel: Cancel::default(),
            slots: Vec::new(),
            next: 0,
            hasher: mode.hasher(),
            buffers: Default::default(),
            filled: 0,
            run: 1,
            given: 0,
            parts: Parts::new(mode),
            failed: None,
        }
    }

    /// Another ring than the default.
    ///
    /// # Errors
    /// If it is none that [`Ring`] allows, or something was hashed already.
    pub fn ring(mut self, ring: Ring) -> Result<Self, Error> {
        if !ring.part.is_power_of_two() || ring.part < PIECE || ring.parts == 0 {
            return Err(Error::invalid(format_args!("no ring: {ring:?}")));
        }
        if self.count() > 0 {
            return Err(Error::invalid("a ring is set before anything is hashed"));
        }
        self.ring = ring;
        Ok(self)
    }

    /// What stops it from outside.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Bytes so far.
    pub fn count(&self) -> u64 {
        self.given * self.ring.part as u64 + self.filled as u64
    }

    /// Bytes of a part.
    pub(crate) fn part(&self) -> u64 {
        self.ring.part as u64
    }

    /// The device that hashes now; none if the CPU does.
    pub fn device(&self) -> Option<&Device> {
        match &self.engine {
            Engine::Device(device) => Some(device),
            Engine::Cpu => None,
        }
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// If the device failed, now or before, or it was cancelled.
    pub fn update(&mut self, mut bytes: &[u8]) -> Result<&mut Self, Error> {
        while !bytes.is_empty() {
            let take = match self.room()? {
                Some(to) => {
                    let take = to.len().min(bytes.len());
                    to[..take]
                        .par_chunks_mut(PIECE)
                        .zip(bytes[..take].par_chunks(PIECE))
                        .for_each(|(to, from)| to.copy_from_slice(from));
                    self.filled += take;
                    take
                }
                None => self.hash_some(bytes),
            };
            bytes = &bytes[take..];
        }
        Ok(self)
    }

    /// Adds all that a reader gives; for a device it reads straight into the ring. Returns how many bytes.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if it cannot be read.
    pub fn update_reader(&mut self, mut reader: impl Read) -> Result<u64, Error> {
        let (before, cancel) = (self.count(), self.cancel.clone());
        self.update_by(|to| {
            let mut filled = 0;
            while filled < to.len() {
                cancel.check()?;
                match reader.read(&mut to[filled..]) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(Error::new(ErrorKind::Io, error)),
                }
            }
            Ok(filled)
        })?;
        Ok(self.count() - before)
    }

    /// Adds `len` bytes of a file from byte `start` on. For a device many threads read them into the ring;
    /// for the CPU one reads while the others hash.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if it cannot be read, or ends before.
    pub fn update_file(&mut self, file: &File, start: u64, len: u64) -> Result<&mut Self, Error> {
        let mut done = 0;
        self.update_by(|to| {
            let take = usize::try_from(len - done).map_or(to.len(), |left| left.min(to.len()));
            let at = start + done;
            to[..take]
                .par_chunks_mut(PIECE)
                .enumerate()
                .try_for_each(|(i, to)| read_at(file, to, at + (i * PIECE) as u64))
                .map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        format!("it has become shorter: it ends before byte {}", start + len)
                    }
                    _ => error.to_string(),
                })
                .map_err(|cause| Error::new(ErrorKind::Io, cause))?;
            done += take as u64;
            Ok(take)
        })?;
        Ok(self)
    }

    /// Adds all that `fill` gives: it fills what it is given, and at the end less than that.
    fn update_by(
        &mut self,
        mut fill: impl FnMut(&mut [u8]) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        loop {
            if self.given == 0 && self.is_full() {
                // The only part so far is the root if nothing follows.
                let mut more = [0; CHUNK as usize];
                let filled = fill(&mut more).map_err(|error| self.fail(error))?;
                self.update(&more[..filled])?;
                if filled < more.len() {
                    return Ok(());
                }
            }
            let is_end = match self.room()? {
                Some(to) => {
                    let wanted = to.len();
                    let filled = fill(to).map_err(|error| self.fail(error))?;
                    self.filled += filled;
                    filled < wanted
                }
                None => self.read_and_hash(&mut fill)?,
            };
            if is_end {
                return Ok(());
            }
        }
    }

    /// The CPU hashes one buffer while the other one is filled, up to the end, which is the answer, or
    /// until a device has its place.
    fn read_and_hash(
        &mut self,
        fill: &mut impl FnMut(&mut [u8]) -> Result<usize, Error>,
    ) -> Result<bool, Error> {
        let [mut full, mut free] = std::mem::take(&mut self.buffers);
        if full.is_empty() {
            (full, free) = (vec![0; PIECE], vec![0; PIECE]);
        }
        let mut next = fill(&mut full);
        loop {
            let len = next.map_err(|error| self.fail(error))?;
            if len < full.len() {
                self.update(&full[..len])?;
                self.buffers = [full, free];
                return Ok(true);
            }
            next = Ok(0);
            let mut updated = Ok(());
            // The caller's thread reads, as readers need not be able to leave it.
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| updated = self.update(&full).map(drop));
                next = fill(&mut free);
            });
            updated?;
            std::mem::swap(&mut full, &mut free);
            if let (Engine::Device(_), Ok(len)) = (&self.engine, &next) {
                self.update(&full[..*len])?;
                return Ok(*len < full.len());
            }
        }
    }

    /// The digest of all bytes.
    ///
    /// # Errors
    /// As of [`update`](Self::update).
    pub fn finalize(self) -> Result<Hash, Error> {
        self.finish().map(|root| root.hash())
    }

    /// A reader of extended output.
    ///
    /// # Errors
    /// As of [`update`](Self::update).
    pub fn finalize_xof(self) -> Result<OutputReader, Error> {
        self.finish().map(|root| root.output())
    }

    /// Whether there is no room in the part that is begun.
    fn is_full(&self) -> bool {
        self.filled as u64 == self.run * self.part()
    }

    /// What is left of the part that is begun, at least one byte; none if the CPU hashes, which needs no place.
    /// A full one is given away first.
    fn room(&mut self) -> Result<Option<&mut [u8]>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.begin().map_err(|error| self.fail(error))?;
        match &self.engine {
            Engine::Device(device) => {
                Ok(Some(&mut self.slots[self.next].bytes(device)?[self.filled..]))
            }
            Engine::Cpu => Ok(None),
        }
    }

    /// Makes ready for more.
    fn begin(&mut self) -> Result<(), Error> {
        self.cancel.check()?;
        if self.is_full() {
            // More is to come, so it is not the root.
            self.give()?;
            if let Some(mut adaptive) = self.adaptive.take() {
                adaptive.part_done(self)?;
                self.adaptive = Some(adaptive);
            }
        }
        match &self.engine {
            Engine::Device(_) if self.filled > 0 => Ok(()),
            Engine::Device(device) if self.next == self.slots.len() => {
                self.slots.push(Slot::new(device, self.ring.part as u64, 1 + self.next)?);
                Ok(())
            }
            Engine::Device(_) => self.collect(self.next),
            Engine::Cpu => Ok(()),
        }
    }

    /// Hashes the first of some bytes on the CPU, where they lie, and says how many.
    fn hash_some(&mut self, bytes: &[u8]) -> usize {
        let part = self.ring.part;
        if self.filled == 0 {
            // As many at a time as are there and make one subtree, so that all threads work on all of them.
            let there = 1 << (bytes.len() / part).max(1).ilog2();
            self.run = there.min(1 << self.given.trailing_zeros().min(MOST.ilog2()));
        }
        let take = bytes.len().min(self.run as usize * part - self.filled);
        self.hasher.update_rayon(&bytes[..take]);
        self.filled += take;
        take
    }

    /// A hasher for the next part.
    fn next_hasher(&self) -> Hasher {
        hasher_at(&self.mode, self.given * (self.ring.part as u64 / CHUNK))
    }

    /// The part that is full is hashed as a subtree.
    fn give(&mut self) -> Result<(), Error> {
        let len = self.ring.part as u64;
        let counter = self.given * (len / CHUNK);
        match &self.engine {
            Engine::Device(device) => {
                let tree = Tree { at: 0, len, counter };
                let slot = &mut self.slots[self.next];
                slot.start(device, &self.mode, Kind::Subtree, Source::Staging, len, &[tree])?;
                self.next = (self.next + 1) % self.ring.parts;
            }
            Engine::Cpu => self.parts.add(self.hasher.finalize_non_root(), self.run),
        }
        self.given += self.run;
        (self.filled, self.run) = (0, 1);
        self.hasher = self.next_hasher();
        Ok(())
    }

    /// Takes the value of what a slot did.
    fn collect(&mut self, slot: usize) -> Result<(), Error> {
        for value in self.slots[slot].wait()? {
            self.parts.add(value, 1);
        }
        Ok(())
    }

    /// Takes the values of all parts, in their order.
    fn collect_all(&mut self) -> Result<(), Error> {
        let slots = self.slots.len();
        // The oldest is the one to be filled next.
        (0..slots).try_for_each(|i| self.collect((self.next + i) % slots))
    }

    fn finish(mut self) -> Result<Root, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.cancel.check()?;
        if self.given == 0 {
            return self.only_part();
        }
        let len = self.filled as u64;
        let mut tail = None;
        if len > 0 {
            let counter = self.given * (self.ring.part as u64 / CHUNK);
            match &self.engine {
                Engine::Device(device) if len >= TAIL => {
                    let tree = Tree { at: 0, len, counter };
                    let slot = &mut self.slots[self.next];
                    slot.start(device, &self.mode, Kind::Subtree, Source::Staging, len, &[tree])?;
                    self.next = (self.next + 1) % self.ring.parts;
                }
                Engine::Device(device) => {
                    let bytes = &self.slots[self.next].bytes(device)?[..self.filled];
                    tail = Some(subtree(&self.mode, bytes, counter));
                }
                Engine::Cpu => tail = Some(self.hasher.finalize_non_root()),
            }
        }
        self.collect_all()?;
        if let Some(tail) = tail {
            self.parts.add(tail, 1);
        }
        Ok(self.parts.root())
    }

    /// All of the input is in the part that is filled.
    fn only_part(&mut self) -> Result<Root, Error> {
        let len = self.filled as u64;
        let mode = self.mode;
        let bytes = match &self.engine {
            Engine::Device(_) if len == 0 => &[][..],
            Engine::Device(device) if len >= TAIL => {
                let slot = &mut self.slots[self.next];
                slot.start(device, &mode, Kind::Subtree, Source::Staging, len, &halves(len))?;
                let values = slot.wait()?;
                return Ok(Root::Parent(values[0], values[1], mode));
            }
            Engine::Device(device) => &self.slots[self.next].bytes(device)?[..self.filled],
            Engine::Cpu => return Ok(Root::Hasher(Box::new(self.hasher.clone()))),
        };
        let mut hasher = mode.hasher();
        hasher.update_rayon(bytes);
        Ok(Root::Hasher(Box::new(hasher)))
    }

    /// From now on another engine hashes; only between two parts. Not if it is a device that has no
    /// memory for it.
    pub(crate) fn switch(&mut self, engine: Engine) -> Result<bool, Error> {
        debug_assert_eq!(self.filled, 0, "between two parts");
        let slots = match &engine {
            Engine::Device(device) => match self.slots_on(device) {
                Ok(slots) => slots,
                Err(_) => return Ok(false),
            },
            Engine::Cpu => Vec::new(),
        };
        self.collect_all()?;
        self.release();
        (self.engine, self.slots) = (engine, slots);
        Ok(true)
    }

    /// All that a ring needs.
    fn slots_on(&self, device: &Device) -> Result<Vec<Slot>, Error> {
        let slot = |lane| {
            let mut slot = Slot::new(device, self.ring.part as u64, lane)?;
            slot.bytes(device)?;
            Ok(slot)
        };
        (1..=self.ring.parts).map(slot).collect()
    }

    fn fail(&mut self, error: Error) -> Error {
        self.failed = Some(error.clone());
        error
    }

    fn release(&mut self) {
        self.next = 0;
        self.slots.drain(..).for_each(Slot::done);
    }
}

/// Waits until the device does nothing more with the ring.
impl Drop for Staged {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(unix)]
fn read_at(file: &File, to: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, to, at)
}

#[cfg(windows)]
fn read_at(file: &File, mut to: &mut [u8], mut at: u64) -> io::Result<()> {
    while !to.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, to, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                to = &mut to[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Device {
    /// The digest of bytes of the host, through the ring: see [`Staged`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn hash_bytes(&self, mode: &Mode, bytes: &[u8]) -> Result<Hash, Error> {
        if (bytes.len() as u64) < TAIL {
            // It would be the tail, and needs no ring.
            return Ok(mode.hasher().update(bytes).finalize());
        }
        let mut staged = Staged::new(self, mode);
        staged.update(bytes)?;
        staged.finalize()
    }
}
