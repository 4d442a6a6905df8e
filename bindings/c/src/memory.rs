//! Memory of C callers as slices.

use core::ffi::c_void;
use core::slice;

/// `len` bytes at `data`, which may be null if there are none.
///
/// # Safety
/// The bytes can be read, and do not change before the slice is used for the last time.
#[inline(always)]
pub(crate) unsafe fn input<'a>(data: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    check(data.is_null(), len);
    // SAFETY: as our caller promises; it is not null, and not longer than half of the address space.
    unsafe { slice::from_raw_parts(data.cast(), len) }
}

/// Room for `len` bytes at `data`, which may be null if there are none.
///
/// # Safety
/// The bytes can be written, and nothing else uses them before the slice is used for the last time.
#[inline(always)]
pub(crate) unsafe fn output<'a>(data: *mut u8, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    check(data.is_null(), len);
    // SAFETY: as our caller promises; it is not null, and not longer than half of the address space.
    unsafe { slice::from_raw_parts_mut(data, len) }
}

/// `n` elements at `start`, which may be null if there are none.
///
/// # Safety
/// The elements can be read, and do not change before the slice is used for the last time.
#[allow(dead_code, reason = "libblake3 has no arrays")]
pub(crate) unsafe fn array<'a, T>(start: *const T, n: usize) -> &'a [T] {
    if n == 0 {
        return &[];
    }
    check(start.is_null(), n.saturating_mul(size_of::<T>()));
    // SAFETY: as our caller promises; it is not null, and not longer than half of the address space.
    unsafe { slice::from_raw_parts(start, n) }
}

/// Room for `n` times `each` bytes at `out`.
///
/// # Safety
/// As for [`output`].
#[allow(dead_code, reason = "libblake3 has no arrays")]
pub(crate) unsafe fn outputs<'a>(out: *mut u8, n: usize, each: usize) -> &'a mut [u8] {
    // SAFETY: as our caller promises.
    unsafe { output(out, n.saturating_mul(each)) }
}

#[inline(always)]
fn check(is_null: bool, len: usize) {
    if is_null || len > isize::MAX as usize {
        refuse(is_null, len);
    }
}

#[cold]
#[inline(never)]
fn refuse(is_null: bool, len: usize) -> ! {
    match is_null {
        true => panic!("NULL stands for no bytes, not for {len}"),
        false => panic!("no buffer has {len} bytes"),
    }
}
