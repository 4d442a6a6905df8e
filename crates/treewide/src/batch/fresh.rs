//! New memory for digests. Zeroing the vector first would touch every page twice, and on one thread; so each
//! place is zeroed just before it is written.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::window::Places;
use crate::hash::Hash;
use crate::hash::as_chaining_values;
use crate::spec::{ChainingValue, OUT_LEN};

/// Places for digests, and how many of the whole vector are written. Each place is handed out once, so none is
/// counted twice.
pub(super) struct Fresh<'a> {
    places: &'a mut [MaybeUninit<Hash>],
    written: &'a AtomicUsize,
}

/// Makes a vector of `count` digests. `write` must write a digest to every place.
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

/// From this many bytes on, large pages are requested. Below, most allocators reuse memory
/// (`results/zen5-2vcpu/limits.md#new-memory-for-digests`).
#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
const LARGE: usize = 4 << 20;

/// Asks the system for pages of 2 MiB for `places`, which will all be written. With pages of 4 KiB, the page
/// faults take longer than hashing the blobs of 64 bytes themselves
/// (`results/zen5-2vcpu/limits.md#new-memory-for-digests`).
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
    // Only pages that are completely inside: the others also hold data that is not ours.
    let start = places.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE);
    let pages = len.saturating_sub(before) / PAGE;
    // SAFETY: the range is inside `places`, and advice does not change the contents. An error means that the
    // system has no such pages, which does no harm.
    unsafe { madvise(start.wrapping_add(before).cast(), pages * PAGE, MADV_HUGEPAGE) };
}

impl Places for Fresh<'_> {
    fn split_off(&mut self, count: usize) -> Self {
        let places = self.places.split_off_mut(..count).expect("a place for each blob");
        Self { places, written: self.written }
    }

    fn write(self, write: impl FnOnce(&mut [ChainingValue])) {
        self.places.fill(MaybeUninit::new(Hash::from_bytes([0; OUT_LEN])));
        // SAFETY: all places have just been written.
        let places = unsafe { &mut *(core::ptr::from_mut(self.places) as *mut [Hash]) };
        self.written.fetch_add(places.len(), Ordering::Relaxed);
        write(as_chaining_values(places));
    }
}
