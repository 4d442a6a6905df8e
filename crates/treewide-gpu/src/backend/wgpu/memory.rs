//! Buffers of the device, and buffers that the host writes to.

use super::Common;
use crate::driver::{Handle, Memory, Shared, Staging};
use crate::error::{Error, ErrorKind};
use ::wgpu::{Buffer, BufferAsyncError, BufferUsages, BufferViewMut, MapMode, SubmissionIndex};
use std::any::Any;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
struct DeviceMemory {
    buffer: Buffer,
}

pub(super) fn of_buffer(buffer: Buffer) -> Handle {
    Arc::new(DeviceMemory { buffer })
}

/// The buffer behind memory of this backend.
pub(super) fn buffer(handle: &Handle) -> &Buffer {
    let any: &dyn Any = &**handle;
    &any.downcast_ref::<DeviceMemory>().expect("memory of this backend").buffer
}

impl Memory for DeviceMemory {
    fn len(&self) -> u64 {
        self.buffer.size()
    }

    fn address(&self) -> Option<u64> {
        None
    }
}

/// The last submission that copies from a buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Copied(Arc<Mutex<Option<SubmissionIndex>>>);

impl Copied {
    pub(super) fn set(&self, submission: &SubmissionIndex) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(submission.clone());
    }

    fn take(&self) -> Option<SubmissionIndex> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How long to wait for another thread to say what it knows.
const PATIENCE: Duration = Duration::from_secs(20);

/// What `map_async` says, once the device is done. It may say so to another thread, which has asked the
/// device at the same time, and may not have come to passing it on.
pub(super) fn mapped(answer: &Receiver<Result<(), BufferAsyncError>>) -> Result<(), Error> {
    match answer.recv_timeout(PATIENCE) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Error::new(ErrorKind::Lost, error)),
        Err(_) => Err(Error::new(ErrorKind::Lost, "a buffer was never mapped")),
    }
}

/// A buffer that is mapped while the host has it.
pub(crate) struct Mapped {
    common: Arc<Common>,
    buffer: Buffer,
    view: Option<BufferViewMut>,
    memory: Handle,
    /// Empty for memory that kernels read where it lies, which may be in any work.
    pub(super) copied: Copied,
}

impl std::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapped").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}

impl Mapped {
    pub(super) fn new(common: &Arc<Common>, len: u64, usage: BufferUsages) -> Result<Self, Error> {
        let len = len.max(16).next_multiple_of(16);
        let buffer = common.create(len, usage, true)?;
        let memory = of_buffer(buffer.clone());
        let (common, copied) = (common.clone(), Copied::default());
        let mut mapped = Self { common, buffer, view: None, memory, copied };
        mapped.view = Some(mapped.mapped()?);
        Ok(mapped)
    }

    fn mapped(&self) -> Result<BufferViewMut, Error> {
        let range = self.buffer.slice(..).get_mapped_range_mut();
        range.map_err(|error| Error::new(ErrorKind::Lost, error).on(&self.common.name))
    }

    /// The host's view; waits until the device no longer uses the buffer.
    fn view(&mut self) -> Result<&mut [u8], Error> {
        if self.view.is_none() {
            let (done, is_done) = mpsc::channel();
            self.buffer.slice(..).map_async(MapMode::Write, move |result| {
                let _ = done.send(result);
            });
            // Not for more than that, as other parts are on their way.
            self.common.wait(self.copied.take())?;
            mapped(&is_done).map_err(|error| error.on(&self.common.name))?;
            self.view = Some(self.mapped()?);
        }
        let view = self.view.as_mut().expect("mapped above");
        let len = view.len();
        let start = view.slice(..).as_raw_ptr().cast::<u8>().as_ptr();
        // SAFETY: these are `len` bytes that are mapped for writing while the view lives, which this
        // borrows. They have values, as buffers are cleared. Reading this memory may be
        // slow, and atomics may not work there: callers copy to it, by a loop or a system call.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// Gives the buffer to the device.
    pub(super) fn unmapped(&mut self) -> &Buffer {
        if self.view.take().is_some() {
            self.buffer.unmap();
        }
        &self.buffer
    }
}

impl Staging for Mapped {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        self.view()
    }
}

impl Shared for Mapped {
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        self.view()
    }

    fn memory(&mut self) -> Result<Handle, Error> {
        self.unmapped();
        Ok(self.memory.clone())
    }
}
