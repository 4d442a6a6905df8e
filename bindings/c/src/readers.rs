//! Output that is read in pieces.

use crate::memory::output;
use treewide::{Hasher, OutputReader};

/// The size and alignment of `treewide_reader`.
const _: () = assert!(size_of::<OutputReader>() <= 1200);
const _: () = assert!(align_of::<OutputReader>() <= align_of::<u64>());
const _: () = assert!(!core::mem::needs_drop::<OutputReader>());

/// # Safety
/// `hasher` was initialised; `reader` has room for a `treewide_reader`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_reader_init(reader: *mut OutputReader, hasher: *const Hasher) {
    // SAFETY: as our caller promises.
    unsafe { reader.write((*hasher).finalize_xof()) };
}

/// # Safety
/// `reader` was initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_reader_seek(reader: *mut OutputReader, position: u64) {
    // SAFETY: as our caller promises.
    unsafe { (*reader).set_position(position) };
}

/// # Safety
/// `reader` was initialised; `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_reader_read(reader: *mut OutputReader, out: *mut u8, len: usize) {
    // SAFETY: as our caller promises.
    unsafe { (*reader).fill(output(out, len)) };
}
