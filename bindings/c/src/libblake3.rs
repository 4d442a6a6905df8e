//! `libblake3`: the functions of `include/blake3.h`, which says what they do.
//!
//! A `blake3_hasher` holds a [`Hasher`]. It is copied with `=` and never destroyed, as a [`Hasher`] without a buffer owns nothing.

#![cfg_attr(not(feature = "parallel"), no_std)]

mod memory;
#[cfg(not(feature = "parallel"))]
mod no_std;
mod output;

use core::ffi::{CStr, c_char, c_void};
use memory::{input, output};
use output::finalize;
use treewide::hazmat::{HasherExt, hash_derive_key_context_bytes};
use treewide::{Hasher, KEY_LEN, OUT_LEN};

/// `blake3_chunk_state` of the header.
#[repr(C)]
struct ChunkState {
    words: [u32; 8],
    number: u64,
    block: [u8; 64],
    lengths: [u8; 3],
}

/// `blake3_hasher` of the header.
#[repr(C)]
struct Room {
    key: [u32; 8],
    chunk: ChunkState,
    stack_len: u8,
    stack: [u8; 55 * OUT_LEN],
}

const _: () = assert!(size_of::<Hasher>() <= size_of::<Room>());
const _: () = assert!(align_of::<Hasher>() <= align_of::<Room>());

/// Below this many bytes threads are never worth it, and asking for their number takes 2 ns.
#[cfg(feature = "parallel")]
const WORTH_ASKING: usize = 128 * 1024;

/// The version of the interface: programs compare it with that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn blake3_version() -> *const c_char {
    c"1.8.7".as_ptr()
}

/// # Safety
/// `hasher` has room for a `blake3_hasher`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init(hasher: *mut Hasher) {
    // SAFETY: as our caller promises.
    unsafe { hasher.write(Hasher::new().without_buffer()) };
}

/// # Safety
/// `hasher` has room for a `blake3_hasher`; `key` is 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_keyed(hasher: *mut Hasher, key: *const [u8; KEY_LEN]) {
    // SAFETY: as our caller promises.
    unsafe { hasher.write(Hasher::new_keyed(&*key).without_buffer()) };
}

/// # Safety
/// `hasher` has room for a `blake3_hasher`; `context` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key(
    hasher: *mut Hasher,
    context: *const c_char,
) {
    // SAFETY: as our caller promises.
    unsafe {
        let context = CStr::from_ptr(context).to_bytes();
        blake3_hasher_init_derive_key_raw(hasher, context.as_ptr().cast(), context.len());
    }
}

/// # Safety
/// `hasher` has room for a `blake3_hasher`; `context` is `len` bytes, or null for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key_raw(
    hasher: *mut Hasher,
    context: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe {
        let key = hash_derive_key_context_bytes(input(context, len));
        hasher.write(Hasher::new_from_context_key(&key).without_buffer());
    }
}

/// # Safety
/// `hasher` was initialised; `data` is `len` bytes, or null for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update(
    hasher: *mut Hasher,
    data: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).update(input(data, len)) };
}

/// On several threads, if the library was built with the feature `parallel`.
///
/// # Safety
/// As for [`blake3_hasher_update`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update_tbb(
    hasher: *mut Hasher,
    data: *const c_void,
    len: usize,
) {
    // SAFETY: as our caller promises.
    let (hasher, data) = unsafe { (&mut *hasher, input(data, len)) };
    #[cfg(feature = "parallel")]
    if data.len() >= WORTH_ASKING {
        hasher.update_rayon(data);
        return;
    }
    hasher.update(data);
}

/// # Safety
/// `hasher` was initialised; `out` has room for `len` bytes, and is null only for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_finalize(hasher: *const Hasher, out: *mut u8, len: usize) {
    // SAFETY: as our caller promises.
    unsafe { finalize(&*hasher, 0, output(out, len)) };
}

/// # Safety
/// As for [`blake3_hasher_finalize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_finalize_seek(
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
pub unsafe extern "C" fn blake3_hasher_reset(hasher: *mut Hasher) {
    // SAFETY: as our caller promises.
    unsafe { (*hasher).reset() };
}
