//! NVIDIA GPUs.
//!
//! The driver and, for architectures that no kernels are built for, NVRTC are looked for at run time.
//! The context is the device's primary one, which PyTorch, CuPy and the CUDA runtime use as well, so
//! their pointers and streams can be passed in as they are.

mod api;
mod call;
mod module;
#[cfg(test)]
mod tests;
mod work;

use crate::device::Device;
use crate::driver::{Backend, DeviceInfo};
use crate::driver::{Driver, Handle, Info, Memory, Order, Pinned, Staging, Work};
use crate::error::{Error, ErrorKind};
use crate::memory::Buffer;
use crate::plan::TILE_LEN;
use api::{Context, DeviceMemory, Event, HostMemory, Stream};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use work::{InStream, Kept, Scratch};

/// The devices that the driver knows of, or one that says why there is none.
pub(crate) fn find() -> Vec<DeviceInfo> {
    let found = |index, name, memory, problem| DeviceInfo {
        backend: Backend::Cuda,
        index,
        name,
        memory,
        is_software: false,
        problem,
    };
    match api::devices() {
        Err(problem) => vec![found(0, "CUDA".to_owned(), None, Some(problem))],
        Ok(0) => {
            let problem = Error::new(ErrorKind::NoDevice, "the driver found no device");
            vec![found(0, "CUDA".to_owned(), None, Some(problem))]
        }
        Ok(count) => (0..count)
            .map(|index| match Context::facts(index) {
                Ok(facts) => {
                    let problem = too_old(facts.capability);
                    found(index, facts.name, Some(facts.memory), problem)
                }
                Err(problem) => found(index, format!("CUDA device {index}"), None, Some(problem)),
            })
            .collect(),
    }
}

/// The device of that number.
pub(crate) fn open(index: usize) -> Result<Arc<dyn Driver>, Error> {
    Ok(Arc::new(Opened(Arc::new(Cuda::new(index, None)?))))
}

/// The device of that number, for a caller with a stream: work on bytes that are on the device is
/// put there, in order with other work that the caller puts there.
///
/// `stream` is a `CUstream` or `cudaStream_t`: of PyTorch `torch.cuda.current_stream().cuda_stream`.
/// 0 and 1 are the default stream, which other streams wait for.
///
/// # Errors
/// If there is no such device, or it cannot be used.
///
/// # Safety
/// The stream is one of the primary context of this device, and lives as long as the device that is
/// returned and what is made with it.
pub unsafe fn open_with_stream(index: usize, stream: *mut c_void) -> Result<Device, Error> {
    Ok(Device::of_driver(Arc::new(Opened(Arc::new(Cuda::new(index, Some(stream))?)))))
}

/// Memory that the caller has on a device of this module, without taking it over: `len` bytes from
/// `address` on, which may be any.
///
/// # Errors
/// [`ErrorKind::Invalid`] if `device` is not a CUDA device.
///
/// # Safety
/// The bytes are there, readable by the device, and stay so and unchanged until the buffer and all
/// work with it are dropped. What has written them is done, or in the stream of the device.
pub unsafe fn borrow(device: &Device, address: u64, len: u64) -> Result<Buffer, Error> {
    let driver: &dyn std::any::Any = device.driver();
    let Some(Opened(cuda)) = driver.downcast_ref::<Opened>() else {
        return Err(Error::invalid("it is not a CUDA device").on(device.name()));
    };
    let memory = DeviceMemory::of_caller(&cuda.context, address, len);
    Ok(Buffer::of_memory(Arc::new(memory), len))
}

/// Why devices of an architecture cannot be used, if they cannot.
fn too_old((major, minor): (u32, u32)) -> Option<Error> {
    let cause = format!("its architecture is {major}.{minor}, and 7.5 is needed");
    ((major, minor) < (7, 5)).then(|| Error::new(ErrorKind::Unusable, cause))
}

/// A device with its kernels.
#[derive(Debug)]
struct Cuda {
    info: Info,
    multiprocessors: u32,
    /// By the number of the queue.
    queues: Mutex<Vec<Option<Arc<Stream>>>>,
    spare: Mutex<Vec<Scratch>>,
    /// All 0, as each launch leaves them.
    counters: Mutex<Vec<DeviceMemory>>,
    unfinished: Mutex<Vec<Kept>>,
    module: module::Module,
    context: Arc<Context>,
}

impl Cuda {
    fn new(index: usize, stream: Option<*mut c_void>) -> Result<Self, Error> {
        let count = api::devices()?;
        if index >= count {
            let cause = format!("there is no CUDA device {index}: the driver knows of {count}");
            return Err(Error::new(ErrorKind::NoDevice, cause));
        }
        let facts = Context::facts(index)?;
        let named = |error: Error| error.on(&facts.name);
        if let Some(problem) = too_old(facts.capability) {
            return Err(named(problem));
        }
        let context = Context::primary(index).map_err(named)?;
        let module = module::Module::of_device(&context, &facts);
        let queues = stream.map(|it| Some(Arc::new(Stream::of_caller(&context, it))));
        Ok(Self {
            module: module.map_err(named)?,
            info: Info {
                name: facts.name.clone(),
                backend: Backend::Cuda,
                memory: Some(facts.memory),
                unified: facts.integrated,
                most_bytes: facts.memory,
                window: u64::MAX,
                alignment: 1,
                most_tiles: (1 << 25) - 1, // slots are counted with 32 bits
                one_launch: call::WHOLE * u64::from(facts.multiprocessors) * TILE_LEN,
                most_in_one_launch: call::MOST_WHOLE * TILE_LEN,
            },
            multiprocessors: facts.multiprocessors,
            queues: Mutex::new(queues.into_iter().collect()),
            spare: Mutex::default(),
            counters: Mutex::default(),
            unfinished: Mutex::default(),
            context,
        })
    }

    fn queue(&self, number: usize) -> Result<Arc<Stream>, Error> {
        let mut queues = self.queues.guard();
        if queues.len() <= number {
            queues.resize(number + 1, None);
        }
        if let Some(stream) = &queues[number] {
            return Ok(stream.clone());
        }
        let stream = Arc::new(Stream::new(&self.context)?);
        queues[number] = Some(stream.clone());
        Ok(stream)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Work without a waiting caller is waited for here, because it uses the kernels.
        for kept in std::mem::take(&mut *self.unfinished.guard()) {
            kept.wait();
        }
    }
}

/// What work refers to, which may be in use after the device itself is dropped.
#[derive(Debug)]
struct Opened(Arc<Cuda>);

impl Driver for Opened {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn allocate(&self, len: u64) -> Result<Handle, Error> {
        let memory = DeviceMemory::new(&self.0.context, len);
        Ok(Arc::new(memory.map_err(|error| error.on(&self.0.info.name))?))
    }

    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let memory = HostMemory::new(&self.0.context, len);
        let memory = memory.map_err(|error| error.on(&self.0.info.name))?;
        Ok(Box::new(Reused { copied: None, memory }))
    }

    unsafe fn pin(&self, bytes: *const [u8]) -> Result<Box<dyn Pinned>, Error> {
        // SAFETY: That is what our caller promises.
        let memory = unsafe { HostMemory::register(&self.0.context, bytes) };
        let memory = memory.map_err(|error| error.on(&self.0.info.name))?;
        Ok(Box::new(PinnedByCaller { copied: Mutex::default(), memory }))
    }

    fn work(&self, order: Order) -> Result<Box<dyn Work>, Error> {
        let stream = self.0.queue(order.queue);
        let work = stream.and_then(|stream| InStream::new(&self.0, stream, order.timed));
        Ok(Box::new(work.map_err(|error| error.on(&self.0.info.name))?))
    }
}

impl Memory for DeviceMemory {
    fn len(&self) -> u64 {
        self.len
    }

    fn address(&self) -> Option<u64> {
        Some(self.address)
    }
}

/// Pinned memory from which the device copies.
#[derive(Debug)]
struct Reused {
    /// When the device has copied the bytes.
    copied: Option<Event>,
    memory: HostMemory,
}

/// Memory of the caller.
#[derive(Debug)]
struct PinnedByCaller {
    /// The last copy from there in each stream, which is waited for before the memory is unpinned.
    copied: Mutex<Vec<(Arc<Stream>, Event)>>,
    memory: HostMemory,
}

impl Pinned for PinnedByCaller {}

/// A value that a panicking thread left is as good as any other.
trait Lock<T> {
    fn guard(&self) -> MutexGuard<'_, T>;
}

impl<T> Lock<T> for Mutex<T> {
    fn guard(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
