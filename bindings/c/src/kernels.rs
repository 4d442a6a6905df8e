//! Which instructions hash.

use core::ffi::{CStr, c_char, c_int};

use crate::errors::{Error, code};
use crate::memory::output;
use treewide::kernel;

/// Bytes of a name with its final zero: `TREEWIDE_KERNEL_MAX`.
const MAX: usize = 32;

/// # Safety
/// `name` has room for `TREEWIDE_KERNEL_MAX` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_kernel(name: *mut c_char) {
    let bytes = kernel::detected().name().as_bytes();
    // SAFETY: as our caller promises.
    let name = unsafe { output(name.cast(), MAX) };
    name.fill(0);
    name[..bytes.len()].copy_from_slice(bytes);
}

/// # Safety
/// `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_kernel_force(name: *const c_char) -> c_int {
    // SAFETY: as our caller promises.
    let name = unsafe { CStr::from_ptr(name) };
    let forced = name.to_str().is_ok_and(|name| kernel::force(name).is_ok());
    code(if forced { Ok(()) } else { Err(Error::Kernel) })
}
