//! New memory for digests. Clearing megabytes before they are written would take a second way through
//! memory, and touch all their pages on one thread; so each place is cleared when it is its turn.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::window::Places;
use crate::hash::Hash;
use crate::hash::as_chaining_values;
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
    let places = &mut hashes.spare_capacity_mut()[..count];
    #[cfg(all(feature = "std", target_os = "linux", not(miri)))]
    ask_for_large_pages(places);
    let written = AtomicUsize::new(0);
    write(Fresh { places, written: &written });
    assert_eq!(written.into_inner(), count, "a digest in each place");
    // SAFETY: `Fresh` counts a place once, when it is written, and all have been counted.
    unsafe { hashes.set_len(count) };
    hashes
}

/// Bytes from which on large pages are asked for: below, most allocators have memory that is there.
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
const LARGE: usize = 4 << 20;

/// Asks the system for pages of 2 MiB for `places`, all of which will be written: one fault for each page
/// of 4 KiB takes longer than to hash the blobs of a block whose digests it holds
/// (`results/zen5-2vcpu/threads.txt`).
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
fn ask_for_large_pages(places: &mut [MaybeUninit<Hash>]) {
    use core::ffi::{c_int, c_void};

    const PAGE: usize = 2 << 20;
    const MADV_HUGEPAGE: c_int = 14;

    // The standard library is linked to the C library anyway: this needs no dependency.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, len: usize, advice: c_int) -> c_int;
    }

    let len = size_of_val(places);
    if len < LARGE {
        return;
    }
    // Pages that lie within as a whole: what else is in the others is not ours.
    let start = places.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    let pages = len.saturating_sub(before) / PAGE;
    // SAFETY: within `places`, and advice changes nothing that is there. An error says that the system has
    // no such pages, and is no loss.
    unsafe { madvise(start.wrapping_add(before).cast(), pages * PAGE, MADV_HUGEPAGE) };
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
