//! Digests: compared, and as text.

use core::ffi::{CStr, c_char, c_int};

use crate::errors::{Error, code};
use crate::memory::output;
use treewide::{Hash, OUT_LEN};

/// # Safety
/// `a` and `b` are 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_equal(a: *const [u8; OUT_LEN], b: *const [u8; OUT_LEN]) -> c_int {
    // SAFETY: as our caller promises.
    let (a, b) = unsafe { (Hash::from_bytes(*a), Hash::from_bytes(*b)) };
    c_int::from(a == b)
}

/// # Safety
/// `digest` is 32 bytes; `text` has room for 65 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hex(digest: *const [u8; OUT_LEN], text: *mut c_char) {
    // SAFETY: as our caller promises.
    let (text, hash) = unsafe { (output(text.cast(), 2 * OUT_LEN + 1), Hash::from_bytes(*digest)) };
    text[..2 * OUT_LEN].copy_from_slice(hash.to_hex().as_bytes());
    text[2 * OUT_LEN] = 0;
}

/// # Safety
/// `text` ends with a zero; `digest` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_from_hex(
    text: *const c_char,
    digest: *mut [u8; OUT_LEN],
) -> c_int {
    // SAFETY: as our caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    code(match Hash::from_hex(text.to_bytes()) {
        Ok(hash) => {
            // SAFETY: as our caller promises.
            unsafe { digest.write(hash.into()) };
            Ok(())
        }
        Err(_) => Err(Error::Hex),
    })
}
