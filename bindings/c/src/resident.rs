//! Memory of a device, and hashing what is in it.

use std::ffi::{c_int, c_void};

use crate::memory::input;
use crate::mode::mode_at;
use crate::{answer, free, give, write};
use treewide_gpu::{Buffer, Device, Mode};

/// # Safety
/// `device` is an open device; `buffer` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_buffer_new(
    device: *const Device,
    len: u64,
    buffer: *mut *mut Buffer,
) -> c_int {
    // SAFETY: as our caller promises.
    unsafe { give((*device).allocate(len), buffer) }
}

/// # Safety
/// `buffer` is of [`treewide_gpu_buffer_new`] and not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_buffer_free(buffer: *mut Buffer) {
    // SAFETY: as our caller promises.
    unsafe { free(buffer) };
}

/// # Safety
/// `buffer` is of this device; `data` is `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_buffer_write(
    device: *const Device,
    buffer: *const Buffer,
    offset: u64,
    data: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: as our caller promises.
    let (device, buffer, data) = unsafe { (&*device, &*buffer, input(data, len)) };
    answer(buffer.slice(offset..).and_then(|to| device.fill(to, data)))
}

/// # Safety
/// `buffer` is of this device; `mode` is null or a mode; `out` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_buffer_hash(
    device: *const Device,
    mode: *const Mode,
    buffer: *const Buffer,
    offset: u64,
    len: u64,
    out: *mut [u8; 32],
) -> c_int {
    // SAFETY: as our caller promises.
    let (device, mode, buffer) = unsafe { (&*device, mode_at(mode), &*buffer) };
    let slice = buffer.slice(offset..offset.saturating_add(len));
    let hash = slice.and_then(|slice| device.hash(&mode, slice).wait());
    // SAFETY: as our caller promises.
    unsafe { write(hash, out) }
}
