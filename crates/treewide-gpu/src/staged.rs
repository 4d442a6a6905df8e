//! Bytes of the host, files and streams: through a ring of reused buffers, in parts that are subtrees.
//!
//! While the device copies and hashes some parts, the host fills the next. Only the chaining value of
//! each part comes back; the host merges these, up to the root. So memory is bounded for inputs of any
//! length, the CPU can take parts too (the short tail, or all of them), and all of it is one tree.

use crate::adaptive::Adaptive;
use crate::driver::Kind;
use crate::parts::{CHUNK, Parts, Root, Value, halves, subtree};
use crate::slot::{Slot, Source, Tree};
use crate::{Cancel, Device, Error, ErrorKind, Mode};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver};
use treewide::{Hash, OutputReader};

/// Bytes that one thread copies, or reads, at a time.
const PIECE: usize = 1 << 20;

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

/// The value of a part, and its memory.
type Hashed = (Value, Vec<u8>);

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
    /// The part that the CPU is to hash next, and those that it hashes, the oldest first.
    memory: Vec<u8>,
    on_cpu: VecDeque<Receiver<Hashed>>,
    /// The slot to be filled, and how far the part is.
    next: usize,
    filled: usize,
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
            memory: Vec::new(),
            on_cpu: VecDeque::new(),
            next: 0,
            filled: 0,
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
            let (to, _) = self.room(bytes.len())?;
            let take = to.len();
            to.par_chunks_mut(PIECE)
                .zip(bytes[..take].par_chunks(PIECE))
                .for_each(|(to, from)| to.copy_from_slice(from));
            self.filled += take;
            bytes = &bytes[take..];
        }
        Ok(self)
    }

    /// Adds all that a reader gives, which reads straight into the ring. Returns how many bytes.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if it cannot be read.
    pub fn update_reader(&mut self, mut reader: impl Read) -> Result<u64, Error> {
        let before = self.count();
        loop {
            let (to, _) = self.room(usize::MAX)?;
            match reader.read(to) {
                Ok(0) => return Ok(self.count() - before),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fail(Error::new(ErrorKind::Io, error))),
            }
        }
    }

    /// Adds `len` bytes of a file from byte `start` on, which many threads read straight into the
    /// ring.
    ///
    /// # Errors
    /// As of [`update`](Self::update), and [`ErrorKind::Io`] if it cannot be read, or ends before.
    pub fn update_file(&mut self, file: &File, start: u64, len: u64) -> Result<&mut Self, Error> {
        let mut done = 0;
        while done < len {
            let (to, _) = self.room(usize::try_from(len - done).unwrap_or(usize::MAX))?;
            let take = to.len();
            let read = to
                .par_chunks_mut(PIECE)
                .enumerate()
                .try_for_each(|(i, to)| read_at(file, to, start + done + (i * PIECE) as u64));
            if let Err(error) = read {
                let cause = match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        format!("it has become shorter: it ends before byte {}", start + len)
                    }
                    _ => error.to_string(),
                };
                return Err(self.fail(Error::new(ErrorKind::Io, cause)));
            }
            self.filled += take;
            done += take as u64;
        }
        Ok(self)
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

    /// What is left of the part to be filled, at most `most` bytes and at least one; a full one is
    /// given away first. Also says where in the input it is.
    fn room(&mut self, most: usize) -> Result<(&mut [u8], u64), Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match self.try_room() {
            Ok(()) => {}
            Err(error) => return Err(self.fail(error)),
        }
        let at = self.count();
        let end = self.ring.part.min(self.filled.saturating_add(most));
        let part = match &self.engine {
            Engine::Device(device) => self.slots[self.next].bytes(device)?,
            Engine::Cpu => &mut self.memory,
        };
        Ok((&mut part[self.filled..end], at))
    }

    fn try_room(&mut self) -> Result<(), Error> {
        self.cancel.check()?;
        if self.filled == self.ring.part {
            // More is to come, so it is not the root.
            self.give()?;
            if let Some(mut adaptive) = self.adaptive.take() {
                adaptive.part_done(self)?;
                self.adaptive = Some(adaptive);
            }
        }
        if self.filled > 0 {
            return Ok(());
        }
        match &self.engine {
            Engine::Cpu => {
                if self.on_cpu.len() >= self.ring.parts {
                    self.collect_cpu()?;
                }
                self.memory.resize(self.ring.part, 0);
            }
            Engine::Device(device) if self.next == self.slots.len() => {
                self.slots.push(Slot::new(device, self.ring.part as u64, 1 + self.next)?);
            }
            Engine::Device(_) => self.collect(self.next)?,
        }
        Ok(())
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
            Engine::Cpu => {
                let (mode, memory) = (self.mode, std::mem::take(&mut self.memory));
                let (to, from) = mpsc::channel();
                let hash = move || {
                    // Whoever no longer waits for it needs it no more.
                    let _ = to.send((subtree(&mode, &memory, counter), memory));
                };
                // A thread of the pool that waited for the others might wait for itself.
                match rayon::current_thread_index() {
                    None => rayon::spawn(hash),
                    Some(_) => hash(),
                }
                self.on_cpu.push_back(from);
            }
        }
        self.given += 1;
        self.filled = 0;
        Ok(())
    }

    /// Takes the value of what a slot did.
    fn collect(&mut self, slot: usize) -> Result<(), Error> {
        for value in self.slots[slot].wait()? {
            self.parts.add(value);
        }
        Ok(())
    }

    /// Takes the value of the oldest part that the CPU hashes.
    fn collect_cpu(&mut self) -> Result<(), Error> {
        let Some(hashed) = self.on_cpu.pop_front() else { return Ok(()) };
        let lost = |_| Error::new(ErrorKind::Lost, "a thread of the CPU ended before its part");
        let (value, memory) = hashed.recv().map_err(lost)?;
        self.parts.add(value);
        self.memory = memory;
        Ok(())
    }

    /// Takes the values of all parts, in their order: only one engine has any.
    fn collect_all(&mut self) -> Result<(), Error> {
        while !self.on_cpu.is_empty() {
            self.collect_cpu()?;
        }
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
                Engine::Cpu => {
                    tail = Some(subtree(&self.mode, &self.memory[..self.filled], counter));
                }
            }
        }
        self.collect_all()?;
        if let Some(tail) = tail {
            self.parts.add(tail);
        }
        Ok(self.parts.root())
    }

    /// All of the input is in the part that is filled.
    fn only_part(&mut self) -> Result<Root, Error> {
        let len = self.filled as u64;
        let mode = self.mode;
        let bytes = match &self.engine {
            _ if len == 0 => &[][..],
            Engine::Device(device) if len >= TAIL => {
                let slot = &mut self.slots[self.next];
                slot.start(device, &mode, Kind::Subtree, Source::Staging, len, &halves(len))?;
                let values = slot.wait()?;
                return Ok(Root::Parent(values[0], values[1], mode));
            }
            Engine::Device(device) => &self.slots[self.next].bytes(device)?[..self.filled],
            Engine::Cpu => &self.memory[..self.filled],
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
