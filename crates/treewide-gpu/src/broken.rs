//! Devices that break, for tests: the twins, with something wrong.

use crate::backend::twin::Twin;
use crate::backend::twin::TwinLimits;
use crate::device::Device;
use crate::driver::{Driver, Handle, Info, Launch, Order, Pinned, Region, Running, Staging, Work};
use crate::error::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Works,
    /// Reads return other bytes than the memory has.
    Lies,
    /// It has no memory left.
    Full,
    /// It is gone after this number of works.
    LostAfter(u32),
}

pub(crate) fn device(fate: Fate) -> Device {
    let (twin, works) = (Twin::new(TwinLimits::default()), Arc::default());
    Device::of_driver(Arc::new(StandIn { twin, fate, works }))
}

#[derive(Debug)]
struct StandIn {
    twin: Twin,
    fate: Fate,
    works: Arc<AtomicU32>,
}

fn full() -> Error {
    Error::new(ErrorKind::OutOfMemory, "no memory left")
}

impl Driver for StandIn {
    fn info(&self) -> &Info {
        self.twin.info()
    }

    fn allocate(&self, len: u64) -> Result<Handle, Error> {
        if self.fate == Fate::Full { Err(full()) } else { self.twin.allocate(len) }
    }

    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error> {
        self.twin.staging(len)
    }

    unsafe fn pin(&self, bytes: *const [u8]) -> Result<Box<dyn Pinned>, Error> {
        // SAFETY: as our caller promises.
        unsafe { self.twin.pin(bytes) }
    }

    fn work(&self, order: Order) -> Result<Box<dyn Work>, Error> {
        let (work, works) = (self.twin.work(order)?, self.works.clone());
        Ok(Box::new(Fated { work, works, fate: self.fate }))
    }
}

struct Fated {
    work: Box<dyn Work>,
    works: Arc<AtomicU32>,
    fate: Fate,
}

impl Work for Fated {
    fn write(&mut self, bytes: &[u8], to: &Region) -> Result<(), Error> {
        self.work.write(bytes, to)
    }

    fn copy_in(&mut self, from: &mut dyn Staging, to: &Region) -> Result<(), Error> {
        self.work.copy_in(from, to)
    }

    fn copy_pinned(&mut self, from: &dyn Pinned, at: u64, to: &Region) -> Result<(), Error> {
        self.work.copy_pinned(from, at, to)
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), Error> {
        self.work.launch(launch)
    }

    fn read(&mut self, from: &Region) -> Result<(), Error> {
        self.work.read(from)
    }

    fn submit(self: Box<Self>) -> Result<Box<dyn Running>, Error> {
        let running = self.work.submit()?;
        let number = self.works.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Followed { running, fate: self.fate, number }))
    }
}

struct Followed {
    running: Box<dyn Running>,
    fate: Fate,
    number: u32,
}

impl Running for Followed {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.running.is_done()
    }

    fn wait(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let mut read = self.running.wait()?;
        match self.fate {
            Fate::LostAfter(works) if self.number >= works => {
                return Err(Error::new(ErrorKind::Lost, "it fell off the bus"));
            }
            Fate::Lies => read.iter_mut().flatten().for_each(|byte| *byte ^= 1),
            _ => {}
        }
        Ok(read)
    }

    fn device_time(&self) -> Option<Duration> {
        None
    }
}

/// Everything that can be asked of a device that goes away in the middle: an error that says so, and
/// nothing that hangs.
#[test]
fn a_device_that_is_lost() {
    use crate::host::pipeline::Pipeline;
    use crate::host::ring::Ring;
    use crate::host::staged::Staged;
    use crate::memory::Slice;
    use crate::resident::batch::Offsets;
    use treewide::Mode;

    let input: Vec<u8> = (0..5 << 20).map(|i: u32| (i % 251) as u8).collect();
    let lost = |error: Error| assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    let plain = &Mode::PLAIN;
    for works in 0..8 {
        let device = device(Fate::LostAfter(works));
        let ring = Ring { part: 1 << 20, parts: 2 };
        let mut staged = Staged::new(&device, plain).ring(ring).unwrap();
        let updated = staged.update(&input).map(drop);
        let hashed = staged.finalize();
        if works < 5 {
            lost(updated.and(hashed.map(drop)).unwrap_err());
        } else {
            assert_eq!(hashed.unwrap(), treewide::hash(&input));
        }
    }
    for works in 0..3 {
        let device = device(Fate::LostAfter(works));
        let mut pipeline = Pipeline::new(&device, plain, 2, 1000).unwrap();
        let mut results: Vec<_> = (0..4).map(|_| pipeline.push(b"abc")).collect();
        while !pipeline.is_empty() {
            results.push(pipeline.pop());
        }
        let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        // An input whose place a failed one had is not started.
        assert_eq!(failed.len(), [3, 2, 2][works as usize]);
        failed.into_iter().for_each(lost);
    }
    let device = device(Fate::LostAfter(1));
    let buffer = device.upload(&input[..100_000]).unwrap();
    let all = Slice::from(&buffer);
    lost(device.hash(plain, &all).wait().unwrap_err());
    lost(device.xof(plain, &all, 0, 100).wait().unwrap_err());
    lost(device.output_reader(plain, &all).wait().map(drop).unwrap_err());
    lost(device.list(plain, &[all.clone(), all.clone()]).wait().unwrap_err());
    lost(device.batch(plain, &all, Offsets::Host(&[0, 10, 5000])).wait().unwrap_err());
    lost(device.subtree(plain, &all, 0).wait().unwrap_err());
    lost(device.hash_bytes(plain, &input).unwrap_err());
    lost(device.hash_wrapped(plain, &input).unwrap_err());
    lost(device.download(&all).wait().unwrap_err());
    lost(device.fill(&buffer, &input[..70_000]).unwrap_err());
}
