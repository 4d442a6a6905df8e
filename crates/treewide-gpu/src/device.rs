//! A device, whatever its backend: what it is, its memory, and copies to and from it.

use crate::driver::{Backend, Driver, Info, Order, Region, Work};
use crate::error::{Error, ErrorKind};
use crate::memory::{Buffer, SharedBuffer, Slice, check_words};
use crate::pending::{Finish, Job, Pending};
use crate::pool::{Pinnable, Pool, Scratch};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of scratch memory that a device keeps by default: enough for a ring.
const KEPT: u64 = 64 << 20;

/// Bytes up to which an upload needs no pinned memory of its own.
const FEW: usize = 64 << 10;

/// Bytes of a part of an upload.
const PART: u64 = 8 << 20;

/// A device that can hash. Cheap to clone: clones are the same device.
///
/// A device starts everything that it is asked for in the order of the calls, and finishes it in that order.
// What it can do is spread over the crate: `found.rs` opens it; this file has its memory and copies;
// `resident/` hashes bytes in it, `host/` bytes in memory of the host; `choice.rs` knows from which length on it is worth its start.
#[derive(Clone, Debug)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
    timed: bool,
    pub(crate) one_launch: u64,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) driver: Arc<dyn Driver>,
    pool: Arc<Pool>,
}

impl Device {
    /// What a backend opened.
    pub(crate) fn of_driver(driver: Arc<dyn Driver>) -> Self {
        let pool = Arc::new(Pool::new(KEPT));
        let one_launch = driver.info().one_launch;
        Self { inner: Arc::new(Inner { driver, pool }), timed: false, one_launch }
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.inner.driver
    }

    pub(crate) fn info(&self) -> &Info {
        self.driver().info()
    }

    /// The name that the driver gives it.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// The interface by which it is reached.
    pub fn backend(&self) -> Backend {
        self.info().backend
    }

    /// Bytes of memory, if the driver reports it.
    pub fn memory(&self) -> Option<u64> {
        self.info().memory
    }

    /// Whether it shares its memory with the CPU.
    pub fn is_unified(&self) -> bool {
        self.info().unified
    }

    /// The most bytes of one buffer.
    pub fn most_bytes(&self) -> u64 {
        self.info().most_bytes
    }

    /// Returns the same device, with results that say how long it worked: see
    /// [`Pending::wait_timed`].
    pub fn timed(&self) -> Self {
        Self { timed: true, ..self.clone() }
    }

    /// Returns the same device, which hashes inputs of at most `bytes` bytes by one launch each and longer ones by
    /// several, to find out which is faster: digests are the same. A backend that has no kernel for
    /// it uses several.
    pub fn one_launch_up_to(&self, bytes: u64) -> Self {
        Self { one_launch: bytes, ..self.clone() }
    }

    /// New memory of the device. Its bytes may be anything.
    ///
    /// # Errors
    /// If the device has not so much left, or not in one buffer.
    pub fn allocate(&self, len: u64) -> Result<Buffer, Error> {
        let size = len.max(16).checked_next_multiple_of(16).unwrap_or(u64::MAX);
        if size > self.info().most_bytes {
            let most = self.info().most_bytes;
            let cause = format_args!("a buffer of {len} bytes, but it has at most {most} in one");
            return Err(Error::new(ErrorKind::TooLarge, cause).on(self.name()));
        }
        let memory = match self.driver().allocate(size) {
            Err(error) if error.kind() == ErrorKind::OutOfMemory && self.inner.pool.release() => {
                self.driver().allocate(size)?
            }
            result => result?,
        };
        Ok(Buffer::of_memory(memory, len))
    }

    /// Copies bytes of the host to new memory of the device.
    ///
    /// # Errors
    /// As of [`allocate`](Self::allocate), and if the copy fails.
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.allocate(bytes.len() as u64)?;
        self.fill(&buffer, bytes)?;
        Ok(buffer)
    }

    /// Copies bytes of the host to the start of memory of the device, and waits until they are there.
    ///
    /// # Errors
    /// If the place is shorter than the bytes or starts at no multiple of 4 bytes, or if the copy fails.
    pub fn fill(&self, to: impl Into<Slice>, bytes: &[u8]) -> Result<(), Error> {
        let mut to = to.into().region;
        if (bytes.len() as u64) > to.len {
            let (len, most) = (bytes.len(), to.len);
            return Err(Error::invalid(format_args!("{len} bytes to a place of {most}")));
        }
        check_words(&to, "the place to copy to")?;
        if bytes.is_empty() {
            return Ok(());
        }
        // Where copies are of whole words, what comes after the bytes in the last one stays as it is.
        let unit = if to.memory.address().is_some() { 1 } else { 4 };
        let (bytes, tail) = bytes.split_at(bytes.len() / unit * unit);
        let mut last = None;
        if !tail.is_empty() {
            let at = to.at + bytes.len() as u64;
            let region = Region { at, len: 4, ..to.clone() };
            let mut word = self.download(Slice { region: region.clone() }).wait()?;
            word[..tail.len()].copy_from_slice(tail);
            last = Some((word, region));
        }
        let mut work = self.work()?;
        if let Some((word, region)) = &last {
            work.write(word, region)?;
        }
        if bytes.len() <= FEW {
            if !bytes.is_empty() {
                to.len = bytes.len() as u64;
                work.write(bytes, &to)?;
            }
            return Pending::of(self.job(work, Vec::new(), |_| Ok(()))).wait();
        }
        let mut running = Vec::new();
        if last.is_some() {
            running.push(work.submit()?);
        }
        let mut stagings = [self.staging(PART)?, self.staging(PART)?];
        for (i, part) in bytes.chunks(PART as usize).enumerate() {
            let staging = &mut *stagings[i % 2].staging;
            staging.bytes()?[..part.len()].copy_from_slice(part);
            to.len = part.len() as u64;
            let mut work = self.work()?;
            work.copy_in(staging, &to)?;
            running.push(work.submit()?);
            to.at += to.len;
        }
        for mut running in running {
            running.wait()?;
        }
        stagings.into_iter().for_each(Pinnable::done);
        Ok(())
    }

    /// How long the device takes to copy `len` bytes of pinned memory, in parts that are pinned
    /// already: what hashing bytes of the host is to be compared with.
    ///
    /// # Errors
    /// If there is no memory for it, or the copy fails.
    pub fn measure_copy(&self, len: u64) -> Result<Duration, Error> {
        let part = len.clamp(4, 16 << 20).next_multiple_of(4);
        let memory = self.scratch(part)?;
        let mut stagings = [self.staging(part)?, self.staging(part)?];
        for ours in &mut stagings {
            ours.staging.bytes()?.fill(0xA5);
        }
        let clock = Instant::now();
        let mut left = len;
        for i in 0.. {
            let Some(rest) = left.checked_sub(part.min(left)).filter(|_| left > 0) else { break };
            let to = Region { len: left - rest, ..memory.region.clone() };
            let mut work = self.work()?;
            // Waits for its last copy, as the ring does.
            stagings[i % 2].staging.bytes()?;
            work.copy_in(&mut *stagings[i % 2].staging, &to)?;
            work.submit()?;
            left = rest;
        }
        for ours in &mut stagings {
            ours.staging.bytes()?;
        }
        let time = clock.elapsed();
        memory.done();
        stagings.into_iter().for_each(Pinnable::done);
        Ok(time)
    }

    /// Copies memory of the device to the host.
    pub fn download(&self, from: impl Into<Slice>) -> Pending<Vec<u8>> {
        let from = from.into().region;
        Pending::of((|| {
            let mut work = self.work()?;
            work.read(&from)?;
            self.job(work, Vec::new(), |read| Ok(read.into_iter().next().unwrap_or_default()))
        })())
    }

    /// Waits until the device has done what it was given for resident data, also by calls that failed.
    ///
    /// # Errors
    /// If the work failed, or cannot be followed.
    pub fn finish(&self) -> Result<(), Error> {
        self.work()?.submit()?.wait().map(|_| ())
    }

    /// An empty list of work on the queue of resident data.
    pub(crate) fn work(&self) -> Result<Box<dyn Work>, Error> {
        self.driver().work(Order { queue: 0, timed: self.timed })
    }

    pub(crate) fn staging(&self, len: u64) -> Result<Pinnable, Error> {
        self.inner.pool.take_staging(self.driver(), len)
    }

    pub(crate) fn scratch(&self, len: u64) -> Result<Scratch, Error> {
        self.inner.pool.take(self.driver(), len)
    }

    /// Starts work.
    pub(crate) fn job<T>(
        &self,
        work: Box<dyn Work>,
        scratch: Vec<Scratch>,
        finish: impl FnOnce(Vec<Vec<u8>>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Job<T>, Error> {
        let finish: Finish<T> = Box::new(finish);
        let running = work.submit()?;
        Ok(Job { running, scratch, finish })
    }

    /// New memory of both the host and the device.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if they have none in common, and as of
    /// [`allocate`](Self::allocate).
    pub fn allocate_shared(&self, len: u64) -> Result<SharedBuffer, Error> {
        let size = len.max(16).checked_next_multiple_of(16).unwrap_or(u64::MAX);
        if size > self.info().most_bytes {
            let cause = format_args!("a buffer of {len} bytes is larger than it can have");
            return Err(Error::new(ErrorKind::TooLarge, cause).on(self.name()));
        }
        Ok(SharedBuffer::new(self.driver().shared(size)?, len))
    }
}
