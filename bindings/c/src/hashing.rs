//! One input: at once, in pieces, on several threads.

use core::ffi::{c_char, c_void};

use crate::memory::{input, output};
use crate::mode::mode_at;
use crate::output::finalize;
use treewide::hazmat::hash_derive_key_context_bytes;
use treewide::{Hasher, KEY_LEN, Mode, OUT_LEN};

/// The size and alignment of `treewide_hasher` and `treewide_mode`.
const _: () = assert!(size_of::<Hasher>() <= 1912 && align_of::<Hasher>() <= align_of::<u64>());
const _: () = assert!(size_of::<Mode>() <= 36 && align_of::<Mode>() <= align_of::<u32>());
const _: () = assert!(!core::mem::needs_drop::<Mode>());

#[unsafe(no_mangle)]
pub extern "C" fn treewide_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// # Safety
/// `mode` has room for a `treewide_mode`; `key` is 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_mode_keyed(mode: *mut Mode, key: *const [u8; KEY_LEN]) {
    // SAFETY: as our caller promises.
    unsafe { mode.write(Mode::keyed(&*key)) };
}

/// # Safety
/// `mode` has room for a `treewide_mode`; `context` is `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_mode_derive_key(
    mode: *mut Mode,
    context: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe {
        let key = hash_derive_key_context_bytes(input(context, len));
        mode.write(Mode::from_context_key(&key));
    }
}

/// # Safety
/// `data` is `len` bytes; `out` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hash(data: *const c_void, len: usize, out: *mut [u8; OUT_LEN]) {
    // SAFETY: as our caller promises.
    unsafe { out.write(treewide::hash(input(data, len)).into()) };
}

/// # Safety
/// `mode` is null or a mode; `data` is `len` bytes; `out` has room for `out_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hash_mode(
    mode: *const Mode,
    data: *const c_void,
    len: usize,
    out: *mut u8,
    out_len: usize,
) {
    // SAFETY: as our caller promises.
    let (mode, data, out) = unsafe { (mode_at(mode), input(data, len), output(out, out_len)) };
    if out_len <= OUT_LEN {
        out.copy_from_slice(&mode.hash(data).as_bytes()[..out_len]);
    } else {
        Hasher::with_mode(mode).update(data).finalize_xof().fill(out);
    }
}

/// # Safety
/// `hasher` has room for a `treewide_hasher`; `mode` is null or a mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_init(hasher: *mut Hasher, mode: *const Mode) {
    // SAFETY: as our caller promises.
    unsafe { hasher.write(Hasher::with_mode(mode_at(mode)).without_buffer()) };
}

/// # Safety
/// `hasher` was initialised; `data` is `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_update(hasher: *mut Hasher, data: *const c_void, len: usize) {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).update(input(data, len)) };
}

/// # Safety
/// As for [`treewide_update`].
#[cfg(feature = "parallel")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_update_parallel(
    hasher: *mut Hasher,
    data: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).update_rayon(input(data, len)) };
}

/// # Safety
/// `hasher` was initialised; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_finalize(
    hasher: *const Hasher,
    seek: u64,
    out: *mut u8,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe { finalize(&*hasher, seek, output(out, len)) };
}

/// # Safety
/// `hasher` was initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_reset(hasher: *mut Hasher) {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).reset() };
}

/// # Safety
/// `hasher` was initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_count(hasher: *const Hasher) -> u64 {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).count() }
}
