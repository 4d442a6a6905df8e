//! A hasher that gathers short pieces.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::ffi::c_void;

use crate::memory::{input, output};
use crate::mode::mode_at;
use crate::output::finalize;
use treewide::{Hasher, Mode};

/// Room for a hasher; null without memory.
fn room() -> *mut Hasher {
    // SAFETY: a hasher has bytes.
    unsafe { alloc(Layout::new::<Hasher>()).cast() }
}

/// # Safety
/// `mode` is null or a mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_new(mode: *const Mode) -> *mut Hasher {
    let stream = room();
    if !stream.is_null() {
        // SAFETY: as our caller promises; there is room.
        unsafe { stream.write(Hasher::with_mode(mode_at(mode))) };
    }
    stream
}

/// # Safety
/// `hasher` was initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_from_hasher(hasher: *const Hasher) -> *mut Hasher {
    let stream = room();
    if !stream.is_null() {
        // SAFETY: as our caller promises; there is room.
        unsafe { stream.write((*hasher).clone().with_buffer()) };
    }
    stream
}

/// # Safety
/// `stream` is a stream; `hasher` has room for a `treewide_hasher`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_to_hasher(stream: *const Hasher, hasher: *mut Hasher) {
    // SAFETY: as our caller promises.
    unsafe { hasher.write((*stream).clone().without_buffer()) };
}

/// # Safety
/// `stream` is null or a stream, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_free(stream: *mut Hasher) {
    if !stream.is_null() {
        // SAFETY: as our caller promises; it was allocated as a box is.
        drop(unsafe { Box::from_raw(stream) });
    }
}

/// # Safety
/// `stream` is a stream; `data` is `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_update(
    stream: *mut Hasher,
    data: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe { (*stream).update(input(data, len)) };
}

/// # Safety
/// `stream` is a stream; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_finalize(
    stream: *const Hasher,
    seek: u64,
    out: *mut u8,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe { finalize(&*stream, seek, output(out, len)) };
}

/// # Safety
/// `stream` is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_reset(stream: *mut Hasher) {
    // SAFETY: as our caller promises.
    unsafe { (*stream).reset() };
}

/// # Safety
/// `stream` is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_stream_count(stream: *const Hasher) -> u64 {
    // SAFETY: as our caller promises.
    unsafe { (*stream).count() }
}
