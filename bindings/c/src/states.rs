//! A hasher as bytes.

use core::ffi::{c_int, c_void};

use crate::errors::{Error, code};
use crate::memory::{input, output};
use treewide::{Hasher, StateError};

/// Where a state has the number of the first chunk, as [`treewide::State`] says.
const FIRST_CHUNK: core::ops::Range<usize> = 42..50;

/// # Safety
/// `hasher` was initialised; `state` has room for `TREEWIDE_STATE_MAX` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_state_to_bytes(hasher: *const Hasher, state: *mut u8) -> usize {
    // SAFETY: as our caller promises.
    let saved = unsafe { (*hasher).to_state() };
    let bytes = saved.as_bytes();
    // SAFETY: as our caller promises; no state is longer.
    unsafe { output(state, bytes.len()) }.copy_from_slice(bytes);
    bytes.len()
}

/// # Safety
/// `hasher` has room for a `treewide_hasher`; `state` is `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn treewide_state_from_bytes(
    hasher: *mut Hasher,
    state: *const c_void,
    len: usize,
) -> c_int {
    // SAFETY: as our caller promises.
    let state = unsafe { input(state, len) };
    code(match Hasher::from_state(state) {
        // Only programs in Rust hash subtrees with a hasher. They have no root, and finalizing would abort.
        Ok(_) if state[FIRST_CHUNK] != [0; 8] => Err(Error::StatePart),
        Ok(loaded) => {
            // SAFETY: as our caller promises.
            unsafe { hasher.write(loaded.without_buffer()) };
            Ok(())
        }
        Err(StateError::NotAState) => Err(Error::NotAState),
        Err(StateError::Version(_)) => Err(Error::StateVersion),
        Err(StateError::Length(_)) => Err(Error::StateLength),
        Err(_) => Err(Error::StateDamaged),
    })
}
