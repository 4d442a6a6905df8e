//! `libtreewide_gpu`: the functions of `include/treewide_gpu.h`, which says what they do.

mod devices;
mod memory;
mod mode;
mod pipelines;
mod resident;
mod staged;
mod watch;

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Display;

use crate::memory::{array, outputs};
use crate::mode::mode_at;
use treewide::Hash;
use treewide_gpu::{Device, Error, Mode, Slice, cuda};

const FAILED: c_int = -1;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Returns 0, or the code for an error.
fn answer(result: Result<(), impl Display>) -> c_int {
    result.map_or_else(fail, |()| 0)
}

/// Returns 0 with a new object, or the code for an error.
///
/// # Safety
/// `to` can be written. The caller frees it with [`free`].
unsafe fn give<T>(made: Result<T, impl Display>, to: *mut *mut T) -> c_int {
    // SAFETY: as our caller promises.
    answer(made.map(|it| unsafe { *to = Box::into_raw(Box::new(it)) }))
}

/// Frees an object.
///
/// # Safety
/// It is of [`give`] and not used any more, or null.
unsafe fn free<T>(it: *mut T) {
    if !it.is_null() {
        // SAFETY: as our caller promises.
        drop(unsafe { Box::from_raw(it) });
    }
}

/// Returns 0 with a digest, or the code for an error.
///
/// # Safety
/// `out` has room for 32 bytes.
unsafe fn write(hash: Result<Hash, impl Display>, out: *mut [u8; 32]) -> c_int {
    // SAFETY: as our caller promises.
    answer(hash.map(|it| unsafe { out.write(it.into()) }))
}

/// Keeps the text of an error, and returns its code.
fn fail(text: impl Display) -> c_int {
    let text = text.to_string().replace('\0', " ");
    ERROR.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
    FAILED
}

#[unsafe(no_mangle)]
pub extern "C" fn treewide_gpu_error() -> *const c_char {
    ERROR.with_borrow(|last| last.as_ptr())
}

/// # Safety
/// `stream` is a stream of that device and lives until `treewide_gpu_close`; `device` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_open(
    index: c_int,
    stream: *mut c_void,
    device: *mut *mut Device,
) -> c_int {
    let Ok(index) = usize::try_from(index) else {
        return fail(format_args!("there is no CUDA device {index}"));
    };
    // SAFETY: as our caller promises.
    unsafe { give(cuda::open_with_stream(index, stream), device) }
}

/// # Safety
/// `device` is of `treewide_gpu_open`, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_close(device: *mut Device) {
    // SAFETY: as our caller promises.
    unsafe { free(device) };
}

/// The buffers on the device, in the mode at `mode`.
///
/// # Safety
/// As for [`treewide_gpu_hash`], except for `digests`; and all work with the slices is waited for.
unsafe fn slices(
    device: &Device,
    mode: *const Mode,
    addresses: *const u64,
    lengths: *const u64,
    count: usize,
) -> Result<(Mode, Vec<Slice>), Error> {
    // SAFETY: as our caller promises.
    let (mode, addresses, lengths) =
        unsafe { (mode_at(mode), array(addresses, count), array(lengths, count)) };
    let mut slices = Vec::with_capacity(count);
    for (address, len) in addresses.iter().zip(lengths) {
        // SAFETY: as our caller promises.
        let buffer = unsafe { cuda::borrow(device, *address, *len) }?;
        slices.push(Slice::from(&buffer));
    }
    Ok((mode, slices))
}

/// # Safety
/// `device` is of `treewide_gpu_open`; `mode` is null or a mode; the arrays have `count` elements, `digests` 32 times as many
/// bytes; the buffers are on that device, and what writes them is done or in the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_hash(
    device: *const Device,
    mode: *const Mode,
    addresses: *const u64,
    lengths: *const u64,
    count: usize,
    digests: *mut u8,
) -> c_int {
    if count == 0 {
        return 0;
    }
    let hash = || -> Result<(), Error> {
        // SAFETY: as our caller promises; the work is waited for here.
        let (device, (mode, slices)) =
            unsafe { (&*device, slices(&*device, mode, addresses, lengths, count)?) };
        // SAFETY: as our caller promises.
        let digests = unsafe { outputs(digests, count, 32) };
        let hashes = device.list(&mode, &slices).wait()?;
        for (digest, hash) in digests.chunks_exact_mut(32).zip(&hashes) {
            digest.copy_from_slice(hash.as_bytes());
        }
        Ok(())
    };
    answer(hash())
}

/// # Safety
/// As for [`treewide_gpu_hash`], where `digests` is an address on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_hash_to(
    device: *const Device,
    mode: *const Mode,
    addresses: *const u64,
    lengths: *const u64,
    count: usize,
    digests: u64,
) -> c_int {
    if count == 0 {
        return 0;
    }
    if !digests.is_multiple_of(4) {
        return fail(format_args!("digests start at a multiple of 4, not at {digests:#x}"));
    }
    let hash = || -> Result<(), Error> {
        // SAFETY: as our caller promises; the work is waited for here.
        let (device, (mode, slices)) =
            unsafe { (&*device, slices(&*device, mode, addresses, lengths, count)?) };
        // SAFETY: as our caller promises.
        let out = unsafe { cuda::borrow(device, digests, 32 * count as u64) }?;
        device.list_to(&mode, &slices, &Slice::from(&out)).wait()
    };
    answer(hash())
}
