//! New memory for digests. Clearing megabytes before they are written would take a second way through
//! memory, and touch all their pages on one thread; so each place is cleared when it is its turn.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::window::Places;
use crate::Hash;
use crate::kernel::as_chaining_values;
use crate::spec::{ChainingValue, OUT_LEN};

/// Places for digests, and how many of the whole vector are written. Places are only ever given away:
/// none is counted twice.
pub(super) struct Fresh<'a> {
    places: &'a mut [MaybeUninit<Hash>],
    written: &'a AtomicUsize,
}

/// `count` digests, to each of whose places `write` must have a digest written.
pub(super) fn hashes(count: usize, write: impl FnOnce(Fresh<'_>)) -> Vec<Hash> {
    let mut hashes = Vec::with_capacity(count);
    let written = AtomicUsize::new(0);
    write(Fresh { places: &mut hashes.spare_capacity_mut()[..count], written: &written });
    assert_eq!(written.into_inner(), count, "a digest in each place");
    // SAFETY: `Fresh` counts a place once, when it is written, and all have been counted.
    unsafe { hashes.set_len(count) };
    hashes
}

impl Places for Fresh<'_> {
    fn split_off(&mut self, count: usize) -> Self {
        let places = self.places.split_off_mut(..count).expect("a place for each blob");
        Self { places, written: self.written }
    }

    fn write(self, write: impl FnOnce(&mut [ChainingValue])) {
        self.places.fill(MaybeUninit::new(Hash::from_bytes([0; OUT_LEN])));
        // SAFETY: all of them have just been written.
        let places = unsafe { &mut *(core::ptr::from_mut(self.places) as *mut [Hash]) };
        self.written.fetch_add(places.len(), Ordering::Relaxed);
        write(as_chaining_values(places));
    }
}
