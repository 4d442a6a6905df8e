//! Allocations of a hasher: nothing for a short message, one buffer for a stream in short pieces. A test of its own, as
//! its allocator counts.
#![cfg(feature = "alloc")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use treewide::{CHUNK_LEN, Hasher, kernel};

struct Counting;

thread_local! {
    /// Calls and bytes of this thread: the one that runs tests allocates when it likes.
    static COUNTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (calls, bytes) = COUNTS.get();
        COUNTS.set((calls + 1, bytes + layout.size()));
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as our caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `f` allocates, and how much.
fn allocated(f: impl FnOnce()) -> (usize, usize) {
    COUNTS.set((0, 0));
    f();
    COUNTS.get()
}

fn fed(mut hasher: Hasher, total: usize, piece: usize) -> Hasher {
    let input = [7; 64 * CHUNK_LEN];
    for len in (0..total).step_by(piece).map(|at| piece.min(total - at)) {
        hasher.update(&input[..len]);
    }
    hasher
}

#[test]
fn hasher_allocates_one_buffer_for_a_stream() {
    let mut hasher = Hasher::new();
    // Chooses the kernel.
    hasher.update(b"first").finalize();
    for name in kernel::all().iter().filter(|it| it.is_supported()).map(|it| it.name()) {
        kernel::force(name).expect("supported");
        for (total, piece) in
            [(0, 1), (64, 64), (1000, 7), (1024, 1), (1024, 1024), (40_000, 40_000)]
        {
            let none = allocated(|| _ = fed(Hasher::new(), total, piece).finalize());
            assert_eq!(none, (0, 0), "{name}: {total} bytes by {piece}");
        }
        let lanes = kernel::detected().degree();
        let buffer = if lanes > 1 { (1, 32 * CHUNK_LEN) } else { (0, 0) };
        for piece in [1, 100, 2000] {
            let one = allocated(|| {
                let hasher = fed(Hasher::new(), 300_000, piece);
                // A copy has no buffer before it needs one.
                hasher.clone().finalize();
                hasher.finalize_xof().fill(&mut [0; 100]);
                hasher.to_state();
                fed(hasher, 100_000, piece).reset();
            });
            assert_eq!(one, buffer, "{name}: by {piece}");
            hasher = fed(hasher, 100_000, piece);
            let again = allocated(|| {
                hasher.reset();
                for _ in 0..100_000 / piece {
                    hasher.update(&[7; 2000][..piece]);
                }
            });
            assert_eq!(again, (0, 0), "{name}: by {piece}, after reset");
            hasher = Hasher::new();
        }
        // A digest of an earlier input does not keep the next one from being gathered.
        let mut used = Hasher::new();
        used.update(&[7; 5000]).finalize();
        used.reset();
        let one = allocated(|| _ = fed(used, 1200, 50));
        assert_eq!(one, buffer, "{name}: reset after a digest");
        let none = allocated(|| _ = fed(Hasher::new().without_buffer(), 300_000, 100).finalize());
        assert_eq!(none, (0, 0), "{name}: without a buffer");
    }
}

#[cfg(feature = "std")]
#[test]
fn parts_hold_a_chunk_only_until_it_is_whole() {
    use treewide::parts::Parts;
    let input = [7; 300 * CHUNK_LEN];
    let hashed = |mut parts: Parts| {
        for (number, piece) in input.chunks(1500).enumerate() {
            parts.hash(piece, 1500 * number as u64).expect("inside");
        }
        parts
    };
    let held = |parts: &Parts| allocated(|| _ = parts.clone()).1;
    let fresh = || Parts::new(input.len() as u64, treewide::Mode::PLAIN);
    let parts = hashed(fresh());
    assert!(held(&parts) < input.len() / 5, "{} bytes", held(&parts));
    // Unless it is asked to, and then until its parts are merged.
    let mut parts = hashed(fresh().keeping_cut_chunks());
    assert!(held(&parts) > input.len() / 2, "{} bytes", held(&parts));
    parts.compact();
    assert!(held(&parts) < 2000, "{} bytes", held(&parts));
}
