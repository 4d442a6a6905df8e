//! Wraps the functions of the driver that are used. Nothing is freed twice or never, and
//! threads of the caller find the context that was current before.

use crate::error::{Error, ErrorKind};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// The oldest interface whose functions are used here: that of CUDA 12.0.
const OLDEST: c_int = 12000;

/// Functions of the driver that are used. All are looked for at first, because a call of a missing one panics.
pub(super) const USED: [&str; 35] = [
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
];

/// What went wrong, in the driver's words; `kind` unless the driver says which it is.
pub(super) fn failed(kind: ErrorKind, what: &str, error: DriverError) -> Error {
    let kind = match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        CUresult::CUDA_ERROR_NO_DEVICE | CUresult::CUDA_ERROR_INVALID_DEVICE => ErrorKind::NoDevice,
        CUresult::CUDA_ERROR_NOT_SUPPORTED => ErrorKind::Unsupported,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUresult::CUDA_ERROR_DEINITIALIZED => ErrorKind::Lost,
        _ => kind,
    };
    let text = |it: Result<&std::ffi::CStr, DriverError>| {
        it.map_or("unknown".to_owned(), |it| it.to_string_lossy().into_owned())
    };
    let (name, cause) = (text(error.error_name()), text(error.error_string()));
    Error::new(kind, format_args!("{what}: {cause} ({name})"))
}

/// Adds what was being done to a failure of the driver.
pub(super) trait Doing<T> {
    fn doing(self, what: &str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, what: &str) -> Result<T, Error> {
        self.map_err(|error| failed(ErrorKind::Lost, what, error))
    }
}

/// The number of devices of the driver, if there is a driver and it is new enough.
pub(super) fn devices() -> Result<usize, Error> {
    // SAFETY: It only looks for the library, which runs its constructors: NVIDIA's has no others
    // than every library that a program is linked with.
    if !unsafe { sys::is_culib_present() } {
        let cause = "NVIDIA's driver (libcuda.so.1 or nvcuda.dll) is not installed";
        return Err(Error::new(ErrorKind::NoDevice, cause));
    }
    // SAFETY: As above, and no function is called.
    let lacks = |name: &&&str| unsafe { sys::culib().get::<fn()>(name.as_bytes()) }.is_err();
    if let Some(name) = USED.iter().find(lacks) {
        let cause = format!(
            "NVIDIA's driver (libcuda.so.1 or nvcuda.dll) has no {name}: it is broken, too old, or \
             something else has its name"
        );
        return Err(Error::new(ErrorKind::Unusable, cause));
    }
    let mut version = 0;
    // SAFETY: It may be called before `init`; `version` is there.
    let known = unsafe { sys::cuDriverGetVersion(&mut version).result() };
    let unusable = |error| failed(ErrorKind::Unusable, "NVIDIA's driver cannot be used", error);
    known.map_err(unusable)?;
    if version < OLDEST {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        let cause = format!(
            "the driver supports CUDA {major}.{minor}, but treewide needs 12.0 or newer: update the driver"
        );
        return Err(Error::new(ErrorKind::Unusable, cause));
    }
    result::init().map_err(unusable)?;
    Ok(result::device::get_count().map_err(unusable)?.max(0) as usize)
}

/// What the driver reports of a device without making a context.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) memory: u64,
    /// Compute capability.
    pub(super) capability: (u32, u32),
    pub(super) multiprocessors: u32,
    /// Whether it has no memory of its own.
    pub(super) integrated: bool,
}

/// The primary context of a device, which it shares with all else in the process.
#[derive(Debug)]
pub(super) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
}

// SAFETY: Contexts may be used by any thread, by several at once too.
unsafe impl Send for Context {}
// SAFETY: As above.
unsafe impl Sync for Context {}

/// While it lives, the context is the current one of this thread.
pub(super) struct Current<'a>(#[allow(dead_code)] &'a Context);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: `Context::enter` has pushed it. A failure leaves nothing to be done.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

impl Context {
    /// The facts of a device whose number is below what `devices` returned.
    pub(super) fn facts(index: usize) -> Result<Facts, Error> {
        let unusable = |error| failed(ErrorKind::Unusable, "it cannot be asked what it is", error);
        let device = result::device::get(index as c_int).map_err(unusable)?;
        use sys::CUdevice_attribute as A;
        // SAFETY: The device is one that the driver has given.
        let ask = |what: A| unsafe { result::device::get_attribute(device, what) };
        let major = ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).map_err(unusable)?;
        let minor = ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).map_err(unusable)?;
        let multiprocessors = ask(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).map_err(unusable)?;
        // SAFETY: As above.
        let memory = unsafe { result::device::total_mem(device) }.map_err(unusable)?;
        Ok(Facts {
            name: result::device::get_name(device).map_err(unusable)?,
            memory: memory as u64,
            capability: (major as u32, minor as u32),
            multiprocessors: multiprocessors as u32,
            integrated: ask(A::CU_DEVICE_ATTRIBUTE_INTEGRATED).is_ok_and(|it| it != 0),
        })
    }

    /// The primary context of a device.
    pub(super) fn primary(index: usize) -> Result<Arc<Self>, Error> {
        let unusable = |error| failed(ErrorKind::Unusable, "it cannot be used", error);
        let device = result::device::get(index as c_int).map_err(unusable)?;
        // SAFETY: The device is one that the driver has given; `drop` releases what is retained.
        let raw = unsafe { result::primary_ctx::retain(device) }.map_err(unusable)?;
        Ok(Arc::new(Self { device, raw }))
    }

    /// Makes it this thread's context for a while.
    pub(super) fn enter(&self) -> Result<Current<'_>, Error> {
        // SAFETY: It is retained as long as `self` lives.
        unsafe { sys::cuCtxPushCurrent_v2(self.raw).result() }
            .doing("its context cannot be used")?;
        Ok(Current(self))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `primary` has retained it, once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A queue of a device.
#[derive(Debug)]
pub(super) struct Stream {
    context: Arc<Context>,
    pub(super) raw: sys::CUstream,
    /// Whether it is ours.
    made: bool,
}

// SAFETY: Streams may be used by any thread, by several at once too.
unsafe impl Send for Stream {}
// SAFETY: As above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new one, which does not wait for the default stream.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let _current = context.enter()?;
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking);
        Ok(Self { context: context.clone(), raw: raw.doing("no stream can be made")?, made: true })
    }

    /// One of the caller, who has promised to keep it.
    pub(super) fn of_caller(context: &Arc<Context>, raw: *mut c_void) -> Self {
        Self { context: context.clone(), raw: raw.cast(), made: false }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.made
            && let Ok(_current) = self.context.enter()
        {
            // SAFETY: It is ours, and who gave it work has kept it until that was done.
            let _ = unsafe { result::stream::destroy(self.raw) };
        }
    }
}

/// A point in a stream.
#[derive(Debug)]
pub(super) struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: Events may be used by any thread, by several at once too.
unsafe impl Send for Event {}
// SAFETY: As above.
unsafe impl Sync for Event {}

impl Event {
    /// The point after all that the stream was given up to now.
    pub(super) fn after(stream: &Stream, timed: bool) -> Result<Self, Error> {
        use sys::CUevent_flags as F;
        let _current = stream.context.enter()?;
        let flags = if timed { F::CU_EVENT_DEFAULT } else { F::CU_EVENT_DISABLE_TIMING };
        let raw = result::event::create(flags).doing("no event can be made")?;
        let event = Self { context: stream.context.clone(), raw };
        // SAFETY: Both are of this context and live.
        unsafe { result::event::record(raw, stream.raw) }.doing("its work cannot be followed")?;
        Ok(event)
    }

    /// Whether the device has come that far.
    pub(super) fn is_done(&self) -> Result<bool, Error> {
        let _current = self.context.enter()?;
        // SAFETY: It lives.
        match unsafe { result::event::query(self.raw) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(failed(ErrorKind::Lost, "its work failed", error)),
        }
    }

    /// Waits until the device has come that far.
    pub(super) fn wait(&self) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: It lives.
        unsafe { result::event::synchronize(self.raw) }.doing("its work failed")
    }

    /// Seconds from one event to another; both were asked to be timed and are done.
    pub(super) fn seconds_since(&self, start: &Self) -> Option<f64> {
        let _current = self.context.enter().ok()?;
        // SAFETY: They live.
        let milliseconds = unsafe { result::event::elapsed(start.raw, self.raw) }.ok()?;
        Some(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: It is ours; the driver lets work that refers to it continue.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}

/// Memory of the device, ours or borrowed.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    context: Arc<Context>,
    pub(super) address: u64,
    pub(super) len: u64,
    made: bool,
}

impl DeviceMemory {
    pub(super) fn new(context: &Arc<Context>, len: u64) -> Result<Self, Error> {
        let _current = context.enter()?;
        let bytes = usize::try_from(len).unwrap_or(usize::MAX).max(1);
        // SAFETY: It is read only after it is written, except by callers who may read anything.
        let address = unsafe { result::malloc_sync(bytes) };
        let address = address.doing(&format!("cannot allocate {len} bytes of its memory"))?;
        Ok(Self { context: context.clone(), address, len, made: true })
    }

    /// Memory of the caller, who has promised to keep it.
    pub(super) fn of_caller(context: &Arc<Context>, address: u64, len: u64) -> Self {
        Self { context: context.clone(), address, len, made: false }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.made
            && let Ok(_current) = self.context.enter()
        {
            // SAFETY: It is ours, and work that uses it holds it until it is done.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Pinned memory of the host, ours or memory of the caller that we have registered.
#[derive(Debug)]
pub(super) struct HostMemory {
    context: Arc<Context>,
    pub(super) start: *mut u8,
    pub(super) len: usize,
    how: How,
}

#[derive(Debug, PartialEq)]
enum How {
    Allocated,
    Registered,
    /// The caller had registered it.
    Found,
}

// SAFETY: It is plain memory; who writes to it has `&mut` of it, or the device alone does.
unsafe impl Send for HostMemory {}

impl HostMemory {
    pub(super) fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        let _current = context.enter()?;
        // SAFETY: It is zeroed before anyone sees it.
        let start = unsafe { result::malloc_host(len.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) };
        let start = start.doing(&format!("no {len} bytes of memory can be pinned"))?.cast::<u8>();
        // SAFETY: So long it is.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { context: context.clone(), start, len, how: How::Allocated })
    }

    /// Pins memory where it lies.
    ///
    /// # Safety
    /// It stays there until this is dropped.
    pub(super) unsafe fn register(
        context: &Arc<Context>,
        bytes: *const [u8],
    ) -> Result<Self, Error> {
        let _current = context.enter()?;
        let (start, len) = (bytes.cast::<u8>().cast_mut(), bytes.len());
        // SAFETY: The driver checks the range, and the caller keeps it.
        let register = |flags| unsafe {
            sys::cuMemHostRegister_v2(start.cast(), len, sys::CU_MEMHOSTREGISTER_PORTABLE | flags)
        };
        // A mapped file that may only be read has to be registered so.
        let mut code = register(0);
        if !matches!(
            code,
            CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
        ) {
            code = register(sys::CU_MEMHOSTREGISTER_READ_ONLY);
        }
        let how = match code {
            CUresult::CUDA_SUCCESS => How::Registered,
            CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED => How::Found,
            code => {
                let what = format!("{len} bytes of memory cannot be pinned");
                return Err(failed(ErrorKind::Unsupported, &what, DriverError(code)));
            }
        };
        Ok(Self { context: context.clone(), start, len, how })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let Ok(_current) = self.context.enter() else { return };
        // SAFETY: It is what `new` or `register` made, and work that uses it is done by then.
        let _ = unsafe {
            match self.how {
                How::Allocated => result::free_host(self.start.cast()),
                How::Registered => sys::cuMemHostUnregister(self.start.cast()).result(),
                How::Found => Ok(()),
            }
        };
    }
}
