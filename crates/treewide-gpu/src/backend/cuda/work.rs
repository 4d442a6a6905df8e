//! Copies and launches in a stream. Each is given to the driver at once; what they use is kept until
//! the device has done it, even if the caller drops everything before.

use super::api::{DeviceMemory, Doing, Event, HostMemory, Stream};
use super::call::{COUNTERS, address, call};
use super::{Cuda, Lock, PinnedByCaller, Reused};
use crate::driver::{Handle, Launch, Pinned, Region, Running, Stage, Staging, Work};
use crate::error::Error;
use cudarc::driver::sys;
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the host's and the device's memory for tables, small copies and results.
const SCRATCH: usize = 64 << 10;

/// How many of these, and of counters, are kept for the next work: as many as works may be on their way
/// together. More than that are freed when they are done, which is slow, and made again.
const SPARE: usize = 64;

/// The same bytes on both sides, at most [`SCRATCH`] unless one item needs more. Reused.
#[derive(Debug)]
pub(super) struct Scratch {
    host: HostMemory,
    device: DeviceMemory,
    used: usize,
}

impl Scratch {
    fn new(cuda: &Cuda, len: usize) -> Result<Self, Error> {
        Ok(Self {
            host: HostMemory::new(&cuda.context, len)?,
            device: DeviceMemory::new(&cuda.context, len as u64)?,
            used: 0,
        })
    }
}

/// Bytes of a scratch.
#[derive(Clone, Copy)]
struct Place {
    host: *mut u8,
    device: u64,
    len: usize,
}

// SAFETY: It is an address in memory that is kept with it.
unsafe impl Send for Place {}

pub(super) struct InStream {
    cuda: Arc<Cuda>,
    stream: Arc<Stream>,
    start: Option<Event>,
    timed: bool,
    reads: Vec<Place>,
    kept: Kept,
}

/// What work uses. Given back, or dropped, when the work is done.
#[derive(Debug, Default)]
pub(super) struct Kept {
    memory: Vec<Handle>,
    scratch: Vec<Scratch>,
    /// Used by the launches of this work one after the other, and by no other work until it is done.
    counters: Option<DeviceMemory>,
    end: Option<Event>,
}

impl Kept {
    fn is_done(&self) -> bool {
        // Of a device that has failed nothing is in use any more.
        self.end.as_ref().is_none_or(|end| end.is_done().unwrap_or(true))
    }

    pub(super) fn wait(self) {
        if let Some(end) = &self.end {
            let _ = end.wait();
        }
    }
}

impl Cuda {
    /// Takes back the memory of work that is done and that no caller waits for.
    pub(super) fn sweep(&self) {
        let done: Vec<Kept> = {
            let mut unfinished = self.unfinished.guard();
            let (done, rest) =
                std::mem::take(&mut *unfinished).into_iter().partition(Kept::is_done);
            *unfinished = rest;
            done
        };
        for kept in done {
            self.take_back(kept);
        }
    }

    fn take_back(&self, kept: Kept) {
        // Of work that failed they may be anything.
        if let (Some(counters), Some(end)) = (kept.counters, &kept.end)
            && end.is_done().is_ok_and(|done| done)
        {
            let mut spare = self.counters.guard();
            spare.push(counters);
            spare.truncate(SPARE);
        }
        let usual = kept.scratch.into_iter().filter(|it| it.host.len == SCRATCH);
        let mut spare = self.spare.guard();
        spare.extend(usual.map(|it| Scratch { used: 0, ..it }));
        spare.truncate(SPARE);
    }
}

impl InStream {
    pub(super) fn new(cuda: &Arc<Cuda>, stream: Arc<Stream>, timed: bool) -> Result<Self, Error> {
        cuda.sweep();
        let (cuda, kept) = (cuda.clone(), Kept::default());
        Ok(Self { cuda, stream, start: None, timed, reads: Vec::new(), kept })
    }

    /// The clock starts with the first thing that the device is given, not while the host prepares it.
    fn begin(&mut self) -> Result<(), Error> {
        if self.timed && self.start.is_none() {
            self.start = Some(Event::after(&self.stream, true)?);
        }
        Ok(())
    }

    /// Room for bytes on both sides.
    fn room(&mut self, len: usize) -> Result<Place, Error> {
        let fits = |it: &Scratch| it.host.len - it.used >= len;
        if !self.kept.scratch.last().is_some_and(fits) {
            let spare = if len <= SCRATCH { self.cuda.spare.guard().pop() } else { None };
            let scratch = match spare {
                Some(spare) => spare,
                None => Scratch::new(&self.cuda, len.max(SCRATCH))?,
            };
            self.kept.scratch.push(scratch);
        }
        let scratch = self.kept.scratch.last_mut().expect("one that fits");
        let at = scratch.used;
        scratch.used = (at + len).next_multiple_of(16).min(scratch.host.len);
        // SAFETY: `at` is inside of it.
        let host = unsafe { scratch.host.start.add(at) };
        Ok(Place { host, device: scratch.device.address + at as u64, len })
    }

    fn copy_from_host(&mut self, from: *const u8, to: u64, len: usize) -> Result<(), Error> {
        self.begin()?;
        let _current = self.cuda.context.enter()?;
        // SAFETY: Callers have checked both ranges, and keep both until it is done.
        unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), len, self.stream.raw).result() }
            .doing("bytes cannot be copied to it")
    }

    /// Copies bytes that may change afterwards.
    fn copy_small(&mut self, bytes: &[u8], to: Option<u64>) -> Result<u64, Error> {
        let place = self.room(bytes.len())?;
        // SAFETY: There is room for them, and no other code uses it.
        unsafe { place.host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        let to = to.unwrap_or(place.device);
        self.copy_from_host(place.host, to, bytes.len())?;
        Ok(to)
    }

    /// The address of counters that are all 0 when the next launch starts.
    fn counters(&mut self) -> Result<u64, Error> {
        if let Some(counters) = &self.kept.counters {
            return Ok(counters.address);
        }
        let spare = self.cuda.counters.guard().pop();
        let counters = match spare {
            Some(spare) => spare,
            None => {
                let new = DeviceMemory::new(&self.cuda.context, COUNTERS as u64)?;
                let _current = self.cuda.context.enter()?;
                // SAFETY: So long it is, and it is kept until that is done.
                unsafe { sys::cuMemsetD8Async(new.address, 0, COUNTERS, self.stream.raw).result() }
                    .doing("its memory cannot be cleared")?;
                new
            }
        };
        Ok(self.kept.counters.insert(counters).address)
    }

    /// The point after a copy from memory of the host; without one the copy is waited for here.
    fn copied(&self) -> Result<Event, Error> {
        Event::after(&self.stream, false).inspect_err(|_| self.synchronize())
    }

    fn synchronize(&self) {
        if let Ok(_current) = self.cuda.context.enter() {
            // SAFETY: The stream lives.
            let _ = unsafe { sys::cuStreamSynchronize(self.stream.raw).result() };
        }
    }

    fn keep(&mut self, region: &Region) -> Result<u64, Error> {
        if region.at.checked_add(region.len).is_none_or(|end| end > region.memory.len()) {
            return Err(Error::invalid("a range outside of its buffer"));
        }
        self.kept.memory.push(region.memory.clone());
        address(region)
    }

    fn end(&mut self) -> Result<(), Error> {
        if self.kept.end.is_none() {
            self.kept.end = Some(Event::after(&self.stream, self.timed)?);
        }
        Ok(())
    }
}

impl Work for InStream {
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error> {
        let address = self.keep(to)?;
        if bytes.len() as u64 > to.len {
            return Err(Error::invalid("more bytes than there is room for"));
        }
        self.copy_small(bytes, Some(address)).map(|_| ())
    }

    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error> {
        let from: &mut dyn Any = from;
        let from = from.downcast_mut::<Reused>();
        let from = from.ok_or_else(|| Error::invalid("staging of another backend"))?;
        let address = self.keep(to)?;
        if to.len > from.memory.len as u64 {
            return Err(Error::invalid("more bytes than the staging buffer has"));
        }
        self.copy_from_host(from.memory.start, address, to.len as usize)?;
        from.copied = Some(self.copied()?);
        Ok(())
    }

    fn copy_pinned(&mut self, from: &dyn Pinned, at: u64, to: &Region) -> Result<(), Error> {
        let from: &dyn Any = from;
        let from = from.downcast_ref::<PinnedByCaller>();
        let from = from.ok_or_else(|| Error::invalid("pinned memory of another backend"))?;
        let address = self.keep(to)?;
        let len = from.memory.len as u64;
        if at.checked_add(to.len).is_none_or(|end| end > len) {
            return Err(Error::invalid("a range outside of the pinned memory"));
        }
        // SAFETY: `at` is inside of it.
        let start = unsafe { from.memory.start.add(at as usize) };
        self.copy_from_host(start, address, to.len as usize)?;
        let event = self.copied()?;
        let mut copied = from.copied.guard();
        copied.retain(|(stream, _)| !Arc::ptr_eq(stream, &self.stream));
        copied.push((self.stream.clone(), event));
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        match &launch.stage {
            Stage::Tiles { input, others, cvs, out, .. } => {
                for region in [input, cvs, out] {
                    self.keep(region)?;
                }
                self.kept.memory.extend(others.iter().cloned());
            }
            Stage::Parents { input, cvs, out, .. } => {
                for region in [input, cvs, out] {
                    self.keep(region)?;
                }
            }
            Stage::Blobs { input, offsets, out, left, .. } => {
                for region in [input, offsets, out, left] {
                    self.keep(region)?;
                }
            }
            Stage::Xof { nodes, out, .. } => {
                for region in [nodes, out] {
                    self.keep(region)?;
                }
            }
        }
        let counters = match &launch.stage {
            Stage::Tiles { whole: true, .. } => self.counters()?,
            _ => 0,
        };
        let multiprocessors = self.cuda.multiprocessors;
        let call = call(launch, multiprocessors, counters, &mut |words| {
            let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
            self.copy_small(&bytes, None)
        })?;
        let Some(call) = call else { return Ok(()) };
        let mut arguments: Vec<*mut c_void> =
            call.arguments.iter().map(|it| it.as_ptr().cast_mut().cast()).collect();
        let function = self.cuda.module.function(call.kernel);
        self.begin()?;
        let _current = self.cuda.context.enter()?;
        // SAFETY: The arguments have the layout that the kernel's parameters have, and what they
        // point to is kept, and as long as `driver` says of the stage.
        unsafe {
            sys::cuLaunchKernel(
                function,
                call.blocks,
                1,
                1,
                call.threads,
                1,
                1,
                0,
                self.stream.raw,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
            .result()
        }
        .doing(&format!("the kernel {:?} cannot be started", call.kernel))
    }

    fn read(&mut self, from: &Region) -> Result<(), Error> {
        let address = self.keep(from)?;
        let len = usize::try_from(from.len).map_err(Error::invalid)?;
        let place = self.room(len)?;
        self.reads.push(place);
        self.begin()?;
        let _current = self.cuda.context.enter()?;
        // SAFETY: There is room for them, which is kept until it is done.
        unsafe {
            sys::cuMemcpyDtoHAsync_v2(place.host.cast(), address, len, self.stream.raw).result()
        }
        .doing("bytes cannot be copied from it")
    }

    fn submit(mut self: Box<Self>) -> Result<Box<dyn Running>, Error> {
        self.end()?;
        Ok(self)
    }
}

impl Running for InStream {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.kept.end.as_ref().map_or(Ok(true), Event::is_done)
    }

    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        if let Some(end) = &self.kept.end {
            end.wait()?;
        }
        let bytes = |place: Place| {
            // SAFETY: The device has written them all, and does not any more.
            unsafe { std::slice::from_raw_parts(place.host, place.len) }.to_vec()
        };
        Ok(std::mem::take(&mut self.reads).into_iter().map(bytes).collect())
    }

    fn device_time(&self) -> Option<Duration> {
        let (start, end) = (self.start.as_ref()?, self.kept.end.as_ref()?);
        Some(Duration::from_secs_f64(end.seconds_since(start)?))
    }
}

impl Drop for InStream {
    fn drop(&mut self) {
        // What was given to the stream runs, also when something after it failed.
        if self.end().is_err() {
            // Without an event there is only this way to know.
            self.synchronize();
        }
        let kept = std::mem::take(&mut self.kept);
        if kept.is_done() {
            self.cuda.take_back(kept);
        } else {
            self.cuda.unfinished.guard().push(kept);
        }
    }
}

impl Drop for Reused {
    fn drop(&mut self) {
        if let Some(copied) = self.copied.take() {
            let _ = copied.wait();
        }
    }
}

impl Drop for PinnedByCaller {
    fn drop(&mut self) {
        for (_, copied) in self.copied.guard().drain(..) {
            let _ = copied.wait();
        }
    }
}

impl Staging for Reused {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        if let Some(copied) = self.copied.take() {
            copied.wait()?;
        }
        // SAFETY: It is so long and initialised, and the device does not read it any more.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.start, self.memory.len) })
    }
}
