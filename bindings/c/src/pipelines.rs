//! Inputs of the host, one after the other, several on their way.

use std::ffi::{c_int, c_void};

use crate::memory::input;
use crate::mode::mode_at;
use crate::{fail, free, give};
use treewide::Hash;
use treewide_gpu::{Device, Error, Mode, Pipeline};

/// Returns 1 with a digest, 0 without one, or the code for an error.
///
/// # Safety
/// `out` has room for 32 bytes.
unsafe fn digest(result: Result<Option<Hash>, Error>, out: *mut [u8; 32]) -> c_int {
    match result {
        Ok(None) => 0,
        Ok(Some(hash)) => {
            // SAFETY: as our caller promises.
            unsafe { out.write(hash.into()) };
            1
        }
        Err(error) => fail(error),
    }
}

/// # Safety
/// `device` is an open device; `mode` is null or a mode; `pipeline` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_pipeline_new(
    device: *const Device,
    mode: *const Mode,
    in_flight: usize,
    most_bytes: u64,
    pipeline: *mut *mut Pipeline,
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { give(Pipeline::new(&*device, &mode_at(mode), in_flight, most_bytes), pipeline) }
}

/// # Safety
/// `pipeline` is of [`treewide_gpu_pipeline_new`] and not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_pipeline_free(pipeline: *mut Pipeline) {
    // SAFETY: as our caller promises.
    unsafe { free(pipeline) };
}

/// # Safety
/// `pipeline` is of [`treewide_gpu_pipeline_new`], and no other thread uses it; `data` is `len` bytes; `out` has room for 32
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_pipeline_push(
    pipeline: *mut Pipeline,
    data: *const c_void,
    len: usize,
    out: *mut [u8; 32],
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { digest((*pipeline).push(input(data, len)), out) }
}

/// # Safety
/// As for [`treewide_gpu_pipeline_push`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_pipeline_pop(
    pipeline: *mut Pipeline,
    out: *mut [u8; 32],
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { digest((*pipeline).pop(), out) }
}
