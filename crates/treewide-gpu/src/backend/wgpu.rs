//! Vulkan, Metal and DX12, by the crate [`wgpu`](https://docs.rs/wgpu) and one WGSL source.
//!
//! A launch binds its regions of buffers, so a binding's limits are the window of a launch. All that
//! a `Work` writes and reads is gathered into one buffer each.

mod memory;
mod shaders;
mod work;

use crate::device::Device;
use crate::driver::{Backend, DeviceInfo};
use crate::driver::{Driver, Handle, Info, Order, Shared, Staging, Work};
use crate::error::{Error, ErrorKind};
use crate::memory::Buffer;
use ::wgpu::{
    Adapter, Backends, BufferUsages, DeviceDescriptor, DeviceType, ErrorFilter, Features, Instance,
    InstanceDescriptor, InstanceFlags, Limits, PollType, Trace,
};
use shaders::Pipelines;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

/// The devices that the drivers know of, or one entry that says that there are none. Whether they can be
/// opened is only known if that is tried.
pub(crate) fn find(try_all: bool) -> Vec<DeviceInfo> {
    let found: Vec<DeviceInfo> = adapters()
        .iter()
        .enumerate()
        .map(|(index, adapter)| {
            let info = adapter.get_info();
            DeviceInfo {
                backend: Backend::Wgpu,
                index,
                name: format!("{} ({})", info.name, info.backend),
                memory: memory_of(adapter),
                is_software: info.device_type == DeviceType::Cpu,
                problem: if try_all { open_adapter(adapter).err() } else { None },
            }
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    vec![DeviceInfo {
        backend: Backend::Wgpu,
        index: 0,
        name: "no device".into(),
        memory: None,
        is_software: false,
        problem: Some(none()),
    }]
}

/// The bytes that are the device's own, where the driver reports them: Vulkan does.
fn memory_of(adapter: &Adapter) -> Option<u64> {
    #[cfg(any(windows, target_os = "linux", target_os = "android", target_os = "freebsd"))]
    {
        // SAFETY: nothing is destroyed, and the adapter outlives what is asked of it.
        let properties = unsafe {
            let adapter = adapter.as_hal::<::wgpu::hal::api::Vulkan>()?;
            let instance = adapter.shared_instance().raw_instance();
            instance.get_physical_device_memory_properties(adapter.raw_physical_device())
        };
        let heaps = &properties.memory_heaps[..properties.memory_heap_count as usize];
        // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT is 1.
        Some(heaps.iter().filter(|heap| heap.flags.as_raw() & 1 != 0).map(|heap| heap.size).sum())
    }
    #[cfg(not(any(windows, target_os = "linux", target_os = "android", target_os = "freebsd")))]
    {
        let _ = adapter;
        None
    }
}

/// The device of that number.
pub(crate) fn open(index: usize) -> Result<Arc<dyn Driver>, Error> {
    let adapters = adapters();
    match adapters.get(index) {
        Some(adapter) => Ok(Arc::new(open_adapter(adapter)?)),
        None if adapters.is_empty() => Err(none()),
        None => {
            let cause = format_args!("there is no wgpu device {index}, but {}", adapters.len());
            Err(Error::new(ErrorKind::NoDevice, cause))
        }
    }
}

/// Hashes with a device of the caller, in the order of the caller's queue.
///
/// Features and limits are the ones that it was opened with. An error of the device that no one else
/// handles ends the program unless the caller has set
/// [`on_uncaptured_error`](::wgpu::Device::on_uncaptured_error).
///
/// # Errors
/// If the kernels cannot be built on this device.
pub fn borrow(device: &::wgpu::Device, queue: &::wgpu::Queue) -> Result<Device, Error> {
    let opened = Opened::new(device.clone(), queue.clone(), Arc::default())?;
    Ok(Device::of_driver(Arc::new(opened)))
}

/// A buffer of the caller, of the same device as the one that is to hash it. It needs the usages
/// `STORAGE` and `COPY_SRC`, and `COPY_DST` if anything is to be copied to it.
///
/// # Errors
/// If it lacks a usage, or has fewer than 16 bytes or no multiple of 4.
pub fn buffer(buffer: &::wgpu::Buffer) -> Result<Buffer, Error> {
    let needed = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    if !buffer.usage().contains(needed) {
        let has = buffer.usage();
        return Err(Error::invalid(format_args!("a buffer for {has:?} cannot be hashed")));
    }
    if buffer.size() < 16 || !buffer.size().is_multiple_of(4) {
        let len = buffer.size();
        return Err(Error::invalid(format_args!("a buffer of {len} bytes cannot be bound")));
    }
    Ok(Buffer::of_memory(memory::of_buffer(buffer.clone()), buffer.size()))
}

fn none() -> Error {
    Error::new(ErrorKind::NoDevice, "no Vulkan, Metal or DX12 driver, or none that has a device")
}

/// All there are, the ones to use first: drivers list an integrated GPU, or a program on the CPU,
/// before the GPU that was meant as often as not.
fn adapters() -> Vec<Adapter> {
    // It panics where a platform has none of them.
    if Instance::enabled_backend_features().is_empty() {
        return Vec::new();
    }
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    descriptor.flags = InstanceFlags::empty();
    let instance = Instance::new(descriptor);
    let mut adapters = now(instance.enumerate_adapters(Backends::PRIMARY));
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    });
    adapters
}

fn open_adapter(adapter: &Adapter) -> Result<Opened, Error> {
    let info = adapter.get_info();
    let name = format!("{} ({})", info.name, info.backend);
    let unusable = |cause: String| Error::new(ErrorKind::Unusable, cause).on(&name);
    let wanted = Features::MAPPABLE_PRIMARY_BUFFERS | Features::TIMESTAMP_QUERY;
    let mut features = adapter.features() & wanted;
    if !is_unified(info.device_type) {
        // There it would only move buffers to slower memory.
        features.remove(Features::MAPPABLE_PRIMARY_BUFFERS);
    }
    let allowed = adapter.limits();
    // Nothing that is not used, but all of the memory.
    let limits = Limits {
        max_buffer_size: allowed.max_buffer_size,
        max_storage_buffer_binding_size: allowed.max_storage_buffer_binding_size,
        min_storage_buffer_offset_alignment: allowed.min_storage_buffer_offset_alignment,
        min_uniform_buffer_offset_alignment: allowed.min_uniform_buffer_offset_alignment,
        // The five of the kernel with the most.
        max_storage_buffers_per_shader_stage: 5,
        ..Limits::downlevel_defaults()
    };
    if !limits.check_limits(&allowed) {
        return Err(unusable("it lacks what compute shaders need".into()));
    }
    let descriptor = DeviceDescriptor {
        label: Some("treewide"),
        required_features: features,
        required_limits: limits,
        trace: Trace::Off,
        ..DeviceDescriptor::default()
    };
    let (device, queue) = now(adapter.request_device(&descriptor))
        .map_err(|error| unusable(format!("it cannot be opened: {error}")))?;
    let failure = Arc::new(Failure::default());
    let (seen, lost) = (failure.clone(), failure.clone());
    device.on_uncaptured_error(Arc::new(move |error: ::wgpu::Error| seen.set(Error::of(&error))));
    device.set_device_lost_callback(move |_, cause| {
        let cause = if cause.is_empty() { "the device was lost" } else { &cause };
        lost.set(Error::new(ErrorKind::Lost, cause));
    });
    Opened::new(device, queue, failure).map_err(|error| unusable(error.to_string()))
}

fn is_unified(device_type: DeviceType) -> bool {
    matches!(device_type, DeviceType::IntegratedGpu | DeviceType::Cpu)
}

impl Error {
    fn of(error: &::wgpu::Error) -> Self {
        let kind = match error {
            ::wgpu::Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            ::wgpu::Error::Validation { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Lost,
        };
        Self::new(kind, error)
    }
}

/// The first thing that went wrong and that no call returned: nothing after it is to be trusted, by
/// whichever thread.
#[derive(Debug, Default)]
struct Failure {
    error: OnceLock<Error>,
}

impl Failure {
    fn set(&self, error: Error) {
        // Later ones follow from the first.
        let _ = self.error.set(error);
    }

    fn check(&self) -> Result<(), Error> {
        self.error.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// A device that was opened.
#[derive(Debug)]
struct Opened {
    shared: Arc<Common>,
    info: Info,
}

/// What memory and work hold on to.
#[derive(Debug)]
struct Common {
    device: ::wgpu::Device,
    queue: ::wgpu::Queue,
    pipelines: Pipelines,
    failure: Arc<Failure>,
    name: String,
    /// Where bindings of storage buffers may start.
    alignment: u64,
}

impl Opened {
    fn new(
        device: ::wgpu::Device,
        queue: ::wgpu::Queue,
        failure: Arc<Failure>,
    ) -> Result<Self, Error> {
        let (limits, adapter) = (device.limits(), device.adapter_info());
        let pipelines = Pipelines::new(&device)?;
        let alignment = u64::from(limits.min_storage_buffer_offset_alignment);
        let features = device.features();
        let info = Info {
            name: format!("{} ({})", adapter.name, adapter.backend),
            backend: Backend::Wgpu,
            memory: None,
            unified: features.contains(Features::MAPPABLE_PRIMARY_BUFFERS),
            most_bytes: limits.max_buffer_size / 16 * 16,
            // Kernels count bytes with 32 bits.
            window: limits.max_storage_buffer_binding_size.min(u64::from(u32::MAX)) / 16 * 16,
            alignment: alignment.max(16),
            most_tiles: limits.max_compute_workgroups_per_dimension,
            // Workgroups of WGSL cannot wait for each other's stores: see README.md.
            one_launch: 0,
            most_in_one_launch: 0,
        };
        let name = info.name.clone();
        let shared = Arc::new(Common { device, queue, pipelines, failure, name, alignment });
        Ok(Self { shared, info })
    }
}

impl Common {
    /// What a call that has no error of its own gives, or what went wrong in it: errors of this thread,
    /// so that those of others are theirs.
    fn checked<T>(&self, call: impl FnOnce() -> T) -> Result<T, Error> {
        let filters = [ErrorFilter::OutOfMemory, ErrorFilter::Validation, ErrorFilter::Internal];
        let mut scopes = filters.map(|filter| Some(self.device.push_error_scope(filter)));
        let result = call();
        let errors: Vec<_> =
            scopes.iter_mut().rev().filter_map(|scope| now(scope.take()?.pop())).collect();
        self.failure.check().map_err(|error| error.on(&self.name))?;
        match errors.first() {
            Some(error) => Err(Error::of(error).on(&self.name)),
            None => Ok(result),
        }
    }

    /// A new buffer, or why there is none.
    fn create(&self, len: u64, usage: BufferUsages, mapped: bool) -> Result<::wgpu::Buffer, Error> {
        let descriptor =
            ::wgpu::BufferDescriptor { label: None, size: len, usage, mapped_at_creation: mapped };
        self.checked(|| self.device.create_buffer(&descriptor)).map_err(|error| {
            match error.kind() {
                // Some drivers call it so.
                ErrorKind::OutOfMemory | ErrorKind::Invalid => {
                    let cause = format_args!("no memory for {len} bytes: {error}");
                    Error::new(ErrorKind::OutOfMemory, cause)
                }
                _ => error,
            }
        })
    }

    /// Waits for a submission, or for all of them.
    fn wait(&self, submission: Option<::wgpu::SubmissionIndex>) -> Result<(), Error> {
        let poll = PollType::Wait { submission_index: submission, timeout: None };
        let polled = self.device.poll(poll);
        self.failure.check().map_err(|error| error.on(&self.name))?;
        match polled {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::new(ErrorKind::Lost, error).on(&self.name)),
        }
    }
}

impl Driver for Opened {
    fn info(&self) -> &Info {
        &self.info
    }

    fn allocate(&self, len: u64) -> Result<Handle, Error> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        Ok(memory::of_buffer(self.shared.create(len, usage, false)?))
    }

    fn staging(&self, len: u64) -> Result<Box<dyn Staging>, Error> {
        let usage = BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC;
        Ok(Box::new(memory::Mapped::new(&self.shared, len, usage)?))
    }

    fn shared(&self, len: u64) -> Result<Box<dyn Shared>, Error> {
        if !self.info.unified {
            return Err(self.unsupported("device and host have no memory in common"));
        }
        let usage = BufferUsages::MAP_WRITE | BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        Ok(Box::new(memory::Mapped::new(&self.shared, len, usage)?))
    }

    fn work(&self, order: Order) -> Result<Box<dyn Work>, Error> {
        Ok(Box::new(work::Recorded::new(self.shared.clone(), order)))
    }
}

/// The result of a future that is ready, as those of native drivers are.
fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
