//! Many inputs at once.

use core::ffi::{c_int, c_void};

use crate::errors::{Error, code};
use crate::memory::{array, input, outputs};
use crate::mode::mode_at;
use treewide::batch::{Batch, Packed};
use treewide::{Mode, OUT_LEN};

/// `treewide_bytes` of the header.
#[repr(C)]
pub struct Bytes {
    data: *const c_void,
    len: usize,
}

/// Checks the layout against the header.
const _: () = assert!(size_of::<Bytes>() == 2 * size_of::<usize>());

impl AsRef<[u8]> for Bytes {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller of `treewide_hash_many` promises it.
        unsafe { input(self.data, self.len) }
    }
}

// SAFETY: nothing writes to the bytes during the call.
unsafe impl Sync for Bytes {}

/// # Safety
/// `mode` is null or a mode; `inputs` are `n` inputs, which can be read; `out` has room for 32 bytes for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hash_many(
    mode: *const Mode,
    inputs: *const Bytes,
    n: usize,
    out: *mut u8,
) {
    // SAFETY: as our caller promises.
    let (mode, inputs, out) =
        unsafe { (mode_at(mode), array(inputs, n), outputs(out, n, OUT_LEN)) };
    Batch::with_mode(mode).fill(inputs, out);
}

/// # Safety
/// `mode` is null or a mode; `data` is `len` bytes; `offsets` are `n + 1` numbers; `out` has room for `n` times 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_hash_packed(
    mode: *const Mode,
    data: *const c_void,
    len: usize,
    offsets: *const u64,
    n: usize,
    out: *mut u8,
) -> c_int {
    if n == 0 {
        return 0;
    }
    // SAFETY: as our caller promises.
    let (mode, data, offsets, out) = unsafe {
        (mode_at(mode), input(data, len), array(offsets, n + 1), outputs(out, n, OUT_LEN))
    };
    code(match Packed::new(data, offsets) {
        Ok(packed) => {
            Batch::with_mode(mode).fill(&packed, out);
            Ok(())
        }
        Err(_) => Err(Error::Offsets),
    })
}
