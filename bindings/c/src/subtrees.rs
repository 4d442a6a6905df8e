//! Parts of one input, on threads of the caller.

use core::ffi::c_void;

use crate::memory::{array, input, output};
use crate::mode::mode_at;
use treewide::hazmat::groups;
use treewide::hazmat::{Subtrees, max_subtree_len};
use treewide::{CHUNK_LEN, Mode, OUT_LEN};

/// # Safety
/// `mode` is null or a mode; `data` is `len` bytes; `cv` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_subtree(
    mode: *const Mode,
    offset: u64,
    data: *const c_void,
    len: usize,
    cv: *mut [u8; OUT_LEN],
) {
    // SAFETY: as our caller promises.
    let (mode, data) = unsafe { (mode_at(mode), input(data, len)) };
    assert!(len > 0, "a subtree has at least one byte");
    assert!(
        offset.is_multiple_of(1024),
        "a subtree begins at a multiple of 1,024 bytes, not at {offset}"
    );
    let most = max_subtree_len(offset).unwrap_or(u64::MAX);
    assert!(len as u64 <= most, "a subtree at byte {offset} has at most {most} bytes, not {len}");
    let mut values = [[0; OUT_LEN]];
    let chunks = len.div_ceil(CHUNK_LEN).next_power_of_two();
    groups::fill(data, offset, chunks, mode, &mut values);
    // SAFETY: as our caller promises.
    unsafe { cv.write(values[0]) };
}

/// # Safety
/// `mode` is null or a mode; `left` and `right` are 32 bytes; `cv` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_merge(
    mode: *const Mode,
    left: *const [u8; OUT_LEN],
    right: *const [u8; OUT_LEN],
    cv: *mut [u8; OUT_LEN],
) {
    // SAFETY: as our caller promises.
    unsafe {
        let mut both = Subtrees::new(mode_at(mode));
        both.push(&[*left, *right], 0);
        cv.write(both.finalize_non_root());
    }
}

/// # Safety
/// `mode` is null or a mode; `cvs` are `n` times 32 bytes; `out` has room for `out_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_merge_root(
    mode: *const Mode,
    cvs: *const [u8; OUT_LEN],
    n: usize,
    out: *mut u8,
    out_len: usize,
) {
    // SAFETY: as our caller promises.
    let (mode, cvs, out) = unsafe { (mode_at(mode), array(cvs, n), output(out, out_len)) };
    assert!(
        n >= 2,
        "a root has at least two subtrees, not {n}; treewide_hash_mode hashes an input that is in one part"
    );
    let mut all = Subtrees::new(mode);
    // Above parts of one size the tree has the shape that it has above chunks.
    all.push(cvs, 0);
    all.finalize_xof().fill(out);
}
