//! Merkle trees over digests.

use core::ffi::c_int;

use crate::errors::{Error, code};
use crate::memory::{array, outputs};
use treewide::{Hash, OUT_LEN, merkle};

/// `TREEWIDE_PROOF_MAX` of the header: the levels below the root of 2^64 leaves.
const PROOF_MAX: usize = 64;

/// # Safety
/// `leaves` are `n` times 32 bytes; `root` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_merkle_root(
    leaves: *const [u8; OUT_LEN],
    n: usize,
    root: *mut [u8; OUT_LEN],
) {
    // SAFETY: as our caller promises.
    unsafe { root.write(merkle::root(array(leaves, n)).into()) };
}

/// Computes the siblings from the leaves, so that it needs no memory for a tree.
///
/// # Safety
/// `leaves` are `n` times 32 bytes; `siblings` has room for `TREEWIDE_PROOF_MAX` times 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_merkle_prove(
    leaves: *const [u8; OUT_LEN],
    n: usize,
    index: usize,
    siblings: *mut u8,
) -> c_int {
    if index >= n {
        return Error::Index as c_int;
    }
    // SAFETY: as our caller promises.
    let leaves = unsafe { array(leaves, n) };
    let mut count = 0;
    // The node number `i` of a level is over the leaves from `i << level` up to `(i + 1) << level`.
    let mut level = 0;
    while n > 1 << level {
        let sibling = index >> level ^ 1;
        let end = n.min((sibling + 1) << level);
        if let Some(below) = leaves.get(sibling << level..end).filter(|below| !below.is_empty()) {
            // SAFETY: as our caller promises: no tree has more levels.
            let places = unsafe { outputs(siblings, count + 1, OUT_LEN) };
            places[count * OUT_LEN..].copy_from_slice(merkle::root(below).as_bytes());
            count += 1;
        }
        level += 1;
    }
    count as c_int
}

/// # Safety
/// `leaf` and `expected` are 32 bytes; `siblings` are `count` times 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_merkle_verify(
    leaf: *const [u8; OUT_LEN],
    index: u64,
    siblings: *const [u8; OUT_LEN],
    count: usize,
    expected: *const [u8; OUT_LEN],
    leaves: u64,
) -> c_int {
    // The number may come from an attacker.
    if count > PROOF_MAX {
        return Error::Proof as c_int;
    }
    // SAFETY: as our caller promises.
    let (leaf, siblings, expected) =
        unsafe { (&*leaf, array(siblings, count), Hash::from_bytes(*expected)) };
    let good = merkle::verify(leaf, index, siblings, &expected, leaves);
    code(if good { Ok(()) } else { Err(Error::Proof) })
}
