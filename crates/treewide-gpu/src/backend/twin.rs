//! The device that is the CPU: a twin of each kernel, with its shape, its tables and its results, so
//! that all that is above the backends, and what the kernels are meant to do, is tested everywhere.
//! It is not meant to be quick.

mod blobs;
mod chunk;
mod compress;
mod parents;
mod reduce;
mod tiles;
mod whole;
mod xof;

use crate::driver::Backend;
use crate::driver::{
    Driver, Handle, Info, Launch, Memory, Order, Pinned, Region, Running, Shared, Span, Stage,
    Staging, Work,
};
use crate::error::{Error, ErrorKind};
use reduce::Results;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The limits of a device that is not there.
#[derive(Clone, Copy, Debug)]
pub struct TwinLimits {
    /// The most bytes of a buffer.
    pub most_bytes: u64,
    /// The most bytes that a launch reads of one buffer.
    pub window: u64,
    /// Regions that start at other places than its multiples cost more.
    pub alignment: u64,
    /// The most workgroups of a launch.
    pub most_tiles: u32,
    /// Up to which length an input that is alone is hashed by one launch.
    pub one_launch: u64,
}

/// Those of a large GPU.
impl Default for TwinLimits {
    fn default() -> Self {
        Self {
            most_bytes: u64::MAX,
            window: u64::MAX,
            alignment: 1,
            most_tiles: 1 << 24,
            one_launch: 1 << 20,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Twin {
    info: Info,
}

impl Twin {
    pub(crate) fn new(limits: TwinLimits) -> Self {
        Self {
            info: Info {
                name: "twin of the kernels on the CPU".into(),
                backend: Backend::Twin,
                memory: None,
                unified: true,
                most_bytes: limits.most_bytes,
                window: limits.window,
                alignment: limits.alignment,
                most_tiles: limits.most_tiles,
                one_launch: limits.one_launch,
                most_in_one_launch: u64::MAX,
            },
        }
    }
}

impl Driver for Twin {
    fn info(&self) -> &Info {
        &self.info
    }

    fn allocate(&self, len: u64) -> Result<Handle, Error> {
        Ok(Arc::new(HostMemory { bytes: Arc::new(Mutex::new(cleared(len)?)), len }))
    }

    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error> {
        Ok(Box::new(HostStaging { bytes: cleared(len)? }))
    }

    unsafe fn pin(&self, bytes: *const [u8]) -> Result<Box<dyn Pinned>, Error> {
        Ok(Box::new(HostPinned { bytes }))
    }

    fn shared(&self, len: u64) -> Result<Box<dyn Shared>, Error> {
        let bytes = cleared(len)?;
        let memory = HostMemory { bytes: Arc::new(Mutex::new(Vec::new())), len };
        Ok(Box::new(HostShared { bytes, memory: Arc::new(memory) }))
    }

    fn work(&self, _: Order) -> Result<Box<dyn Work>, Error> {
        let Info { window, alignment, .. } = self.info;
        Ok(Box::new(HostWork { steps: Vec::new(), window, alignment }))
    }
}

/// `len` bytes, or an error in place of an abort. They are not 0, as bytes of a GPU may not be either.
fn cleared(len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(len).map_err(|error| Error::new(ErrorKind::OutOfMemory, error))?;
    bytes.resize(len, 0xA5);
    Ok(bytes)
}

#[derive(Debug)]
struct HostMemory {
    bytes: Arc<Mutex<Vec<u8>>>,
    len: u64,
}

impl HostMemory {
    fn of(handle: &Handle) -> &Self {
        let any: &dyn Any = &**handle;
        any.downcast_ref().expect("memory of this backend")
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory for HostMemory {
    fn len(&self) -> u64 {
        self.len
    }

    fn address(&self) -> Option<u64> {
        None
    }
}

#[derive(Debug)]
struct HostStaging {
    bytes: Vec<u8>,
}

impl Staging for HostStaging {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        Ok(&mut self.bytes)
    }
}

#[derive(Debug)]
struct HostPinned {
    bytes: *const [u8],
}

// SAFETY: the memory is only read, and the caller of `pin` does not change it.
unsafe impl Send for HostPinned {}

impl Pinned for HostPinned {}

/// The bytes are here while the host has them, and in the memory while the device does.
#[derive(Debug)]
struct HostShared {
    bytes: Vec<u8>,
    memory: Arc<HostMemory>,
}

impl Shared for HostShared {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, &mut self.memory.lock());
        }
        Ok(&mut self.bytes)
    }

    fn memory(&mut self) -> Result<Handle, Error> {
        if !self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, &mut self.memory.lock());
        }
        Ok(self.memory.clone())
    }
}

/// What is known before anything runs.
enum Step {
    Fill(Vec<u8>, Region),
    Launch(Launch),
    Read(Region),
}

struct HostWork {
    steps: Vec<Step>,
    window: u64,
    alignment: u64,
}

impl HostWork {
    /// That a launch reaches no more than a device with these limits would.
    fn check(&self, launch: &Launch) {
        let mut reached = Vec::new();
        match &launch.stage {
            Stage::Tiles { input, cvs, out, spans, .. }
            | Stage::Parents { input, cvs, out, spans, .. } => {
                reached.extend([input, cvs, out]);
                assert!((4 * Span::WORDS * spans.len()) as u64 <= self.window, "a table");
            }
            Stage::Blobs { input, offsets, out, left, .. } => {
                reached.extend([input, offsets, out, left]);
            }
            Stage::Xof { nodes, out, .. } => {
                reached.extend([nodes, out]);
            }
        }
        for region in reached {
            let end = region.at + region.len;
            assert!(end - region.at / self.alignment * self.alignment <= self.window, "{launch:?}");
        }
    }
}

impl Work for HostWork {
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error> {
        self.steps.push(Step::Fill(bytes.to_vec(), to.clone()));
        Ok(())
    }

    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error> {
        let bytes = from.bytes()?[..to.len as usize].to_vec();
        self.steps.push(Step::Fill(bytes, to.clone()));
        Ok(())
    }

    fn copy_pinned(&mut self, from: &dyn Pinned, at: u64, to: &Region) -> Result<(), Error> {
        let any: &dyn Any = from;
        let pinned: &HostPinned = any.downcast_ref().expect("pinned by this backend");
        // SAFETY: the caller of `pin` keeps the memory as it is while `from` lives.
        let bytes = unsafe { &*pinned.bytes };
        let bytes = bytes[at as usize..][..to.len as usize].to_vec();
        self.steps.push(Step::Fill(bytes, to.clone()));
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        self.steps.push(Step::Launch(launch.clone()));
        Ok(())
    }

    fn read(&mut self, from: &Region) -> Result<(), Error> {
        self.steps.push(Step::Read(from.clone()));
        Ok(())
    }

    fn submit(self: Box<Self>) -> Result<Box<dyn Running>, Error> {
        let mut read = Vec::new();
        for step in &self.steps {
            match step {
                Step::Fill(from, to) => {
                    HostMemory::of(&to.memory).lock()[range(to)].copy_from_slice(from);
                }
                Step::Launch(launch) => {
                    self.check(launch);
                    run(launch);
                }
                Step::Read(from) => {
                    read.push(HostMemory::of(&from.memory).lock()[range(from)].to_vec());
                }
            }
        }
        Ok(Box::new(Done { read }))
    }
}

struct Done {
    read: Vec<Vec<u8>>,
}

impl Running for Done {
    fn is_done(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(std::mem::take(&mut self.read))
    }

    fn device_time(&self) -> Option<Duration> {
        None
    }
}

fn range(region: &Region) -> std::ops::Range<usize> {
    region.at as usize..(region.at + region.len) as usize
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// The words of a region while a kernel writes them.
fn change(region: &Region, kernel: impl FnOnce(&mut [u32])) {
    let mut all = HostMemory::of(&region.memory).lock();
    let mut words = words(&all[range(region)]);
    kernel(&mut words);
    for (bytes, word) in all[range(region)].as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

fn run(launch: &Launch) {
    let (key, flags) = (&launch.mode.key_words(), u32::from(launch.mode.flags()));
    let read = |region: &Region| words(&HostMemory::of(&region.memory).lock()[range(region)]);
    match &launch.stage {
        Stage::Tiles { input, others, spans, slots, whole, cvs, out } => {
            assert!(others.is_empty(), "no addresses here");
            // All of it, not only the region, but the region is what may be read.
            let input = HostMemory::of(&input.memory).lock()[range(input)].to_vec();
            change(cvs, |cvs| {
                change(out, |out| {
                    let results = Results { cvs, out };
                    if *whole {
                        whole::run(&input, &spans[0], key, flags, results);
                    } else {
                        tiles::run(&input, spans, *slots, key, flags, results);
                    }
                });
            });
        }
        Stage::Parents { input, spans, slots, cvs, out } => {
            let input = read(input);
            change(cvs, |cvs| {
                change(out, |out| {
                    parents::run(&input, spans, *slots, key, flags, Results { cvs, out });
                });
            });
        }
        Stage::Blobs { input, offsets, count, base, last, out, left } => {
            let input = HostMemory::of(&input.memory).lock()[range(input)].to_vec();
            let (offsets, handled) = (read(offsets), *base..=*last);
            change(left, |left| {
                change(out, |out| {
                    blobs::run(&input, &offsets, *count, handled, (key, flags), out, &mut left[0]);
                });
            });
        }
        Stage::Xof { nodes, count, out, position, blocks } => {
            let nodes = read(nodes);
            change(out, |out| xof::run(&nodes, *count, *position, *blocks, out));
        }
    }
}
