//! Digests of CUDA memory for C, C++ and Python: a shared library with the functions of `treewide_gpu.h`.
//!
//! ```sh
//! cargo build --release -p treewide-gpu --features cuda --example treewide_gpu_c
//! ls target/release/examples/libtreewide_gpu_c.so
//! ```
//!
//! All functions return 0, or a number that is not 0 and then `treewide_gpu_error` says what went wrong
//! on this thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use treewide_gpu::{Device, Error, Mode, Slice, cuda};

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn answer(result: Result<(), String>) -> c_int {
    let Err(text) = result else { return 0 };
    let text = text.replace('\0', " ");
    ERROR.with_borrow_mut(|last| *last = CString::new(text).unwrap_or_default());
    1
}

/// What went wrong last on this thread; valid until something else does.
#[unsafe(no_mangle)]
pub extern "C" fn treewide_gpu_error() -> *const c_char {
    ERROR.with_borrow(|last| last.as_ptr())
}

/// Opens CUDA device `index`, with the primary context. Work goes to `stream`, a `cudaStream_t` of the
/// caller (0 and 1 are the default stream).
///
/// # Safety
/// `stream` is a stream of that device and lives until `treewide_gpu_close`; `device` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_open(
    index: c_int,
    stream: *mut c_void,
    device: *mut *mut Device,
) -> c_int {
    let open = || {
        let number =
            usize::try_from(index).map_err(|_| format!("there is no CUDA device {index}"))?;
        // SAFETY: as our caller promises.
        let opened = unsafe { cuda::open_with_stream(number, stream) };
        let opened = Box::new(opened.map_err(|error| error.to_string())?);
        // SAFETY: as our caller promises.
        unsafe { *device = Box::into_raw(opened) };
        Ok(())
    };
    answer(open())
}

/// Closes a device; null does nothing.
///
/// # Safety
/// `device` is of `treewide_gpu_open`, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_close(device: *mut Device) {
    if !device.is_null() {
        // SAFETY: as our caller promises.
        drop(unsafe { Box::from_raw(device) });
    }
}

/// The digests of `count` buffers on the device, in one call: buffer `i` is `lengths[i]` bytes from
/// device address `addresses[i]` on, which may be any. Waits for the stream, and writes 32 bytes each
/// to `digests` on the host.
///
/// # Safety
/// `device` is of `treewide_gpu_open`; the arrays have `count` elements, `digests` 32 times as many
/// bytes; the buffers are on that device, and what writes them is done or in the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_gpu_hash(
    device: *const Device,
    addresses: *const u64,
    lengths: *const u64,
    count: usize,
    digests: *mut u8,
) -> c_int {
    if count == 0 {
        return 0;
    }
    // SAFETY: as our caller promises.
    let (device, addresses, lengths) = unsafe {
        let array = |start| std::slice::from_raw_parts(start, count);
        (&*device, array(addresses), array(lengths))
    };
    let hash = || -> Result<(), Error> {
        let mut slices = Vec::with_capacity(count);
        for (address, len) in addresses.iter().zip(lengths) {
            // SAFETY: as our caller promises; all work is waited for below.
            let buffer = unsafe { cuda::borrow(device, *address, *len) }?;
            slices.push(Slice::from(&buffer));
        }
        for (i, hash) in device.list(&Mode::PLAIN, &slices).wait()?.iter().enumerate() {
            // SAFETY: there is room for `count` digests.
            unsafe { digests.add(32 * i).copy_from_nonoverlapping(hash.as_bytes().as_ptr(), 32) };
        }
        Ok(())
    };
    answer(hash().map_err(|error| error.to_string()))
}
