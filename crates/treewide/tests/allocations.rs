//! Allocations of a hasher: nothing for a short message, one buffer for a stream in short pieces; and what is in memory that
//! is freed. A test of its own, as its allocator counts and looks.
#![cfg(feature = "alloc")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use treewide::{CHUNK_LEN, Hasher, kernel};

struct Counting;

thread_local! {
    /// Calls and bytes of this thread: the one that runs tests allocates when it likes.
    static COUNTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Bytes that are not freed.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Freed blocks with [`SECRET`] in them.
    static FOUND: Cell<usize> = const { Cell::new(0) };
}

/// A byte that fills no long run of memory by chance.
const SECRET: u8 = 0xb7;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (calls, bytes) = COUNTS.get();
        COUNTS.set((calls + 1, bytes + layout.size()));
        LIVE.set(LIVE.get() + layout.size() as isize);
        // SAFETY: as our caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // Byte by byte, as some may never have been written.
        let is_secret = |i| {
            // SAFETY: within the block.
            unsafe { at.add(i).read_volatile() == SECRET }
        };
        let mut run = 0;
        for i in 0..layout.size() {
            run = if is_secret(i) { run + 1 } else { 0 };
            if run == 8 {
                FOUND.set(FOUND.get() + 1);
                break;
            }
        }
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
            let before = LIVE.get();
            let live = || LIVE.get() - before;
            let mut hasher = Hasher::new();
            assert_eq!(
                allocated(|| hasher = fed(Hasher::new(), 300_000, piece)),
                buffer,
                "{name}: by {piece}"
            );
            hasher.finalize();
            assert!(live() <= 2048, "{name}: {} bytes after a digest", live());
            hasher.finalize_xof().fill(&mut [0; 100]);
            assert_eq!(live(), 0, "{name}: after the second digest");
            assert_eq!(
                allocated(|| hasher = fed(hasher.clone(), 100_000, piece)),
                buffer,
                "{name}: by {piece}"
            );
            let copy = hasher.clone();
            assert_eq!(live(), 0, "{name}: after a clone");
            assert_eq!(copy.finalize(), hasher.finalize());
            assert_eq!(
                allocated(|| hasher = fed(hasher.clone(), 100_000, piece)),
                buffer,
                "{name}: by {piece}"
            );
            hasher.reset();
            assert_eq!(live(), 0, "{name}: after reset");
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

/// What `f` frees with a secret in it.
#[cfg(feature = "zeroize")]
fn found(f: impl FnOnce()) -> usize {
    FOUND.set(0);
    f();
    FOUND.get()
}

#[cfg(feature = "zeroize")]
#[test]
fn nothing_secret_is_in_freed_memory() {
    use zeroize::Zeroize;
    static INPUT: [u8; 100_000] = [SECRET; 100_000];
    let secret = || drop(std::hint::black_box(vec![SECRET; 100]));
    assert_eq!(found(secret), 1, "it finds the secret");
    let fed = |piece| {
        let mut hasher = Box::new(Hasher::new_keyed(&[SECRET; 32]));
        INPUT.chunks(piece).for_each(|piece| _ = hasher.update(piece));
        hasher
    };
    for piece in [100, 5000, INPUT.len()] {
        for digests in 0..3 {
            let mut hasher = fed(piece);
            (0..digests).for_each(|_| _ = hasher.finalize());
            assert_eq!(found(|| hasher.zeroize()), 0, "{piece}, {digests}: wiping");
            assert_eq!(found(|| drop(hasher)), 0, "{piece}, {digests}: wiped");
            let mut hasher = Box::new(*fed(piece));
            assert_eq!(found(|| _ = hasher.reset()), 0, "{piece}, {digests}: reset");
        }
        let hasher = fed(piece);
        assert_eq!(found(|| (0..3).for_each(|_| _ = hasher.finalize())), 0, "{piece}: digests");
        let hasher = Hasher::new().update(&INPUT[..piece]).clone();
        let hasher = INPUT.chunks(piece).fold(hasher, |mut all, piece| all.update(piece).clone());
        assert_eq!(found(|| _ = hasher.without_buffer().finalize()), 0, "{piece}: without_buffer");
    }
    let read = || _ = Hasher::new().update_reader(&INPUT[..]).expect("it cannot fail");
    assert_eq!(found(read), 0, "update_reader");
    #[cfg(feature = "file")]
    {
        let path = std::env::temp_dir().join(format!("treewide-freed-{}", std::process::id()));
        std::fs::write(&path, INPUT).expect("a file");
        let hash = || _ = treewide::file::Options::new().hash(&path).expect("a file");
        assert_eq!(found(hash), 0, "a file");
        std::fs::remove_file(&path).expect("it is there");
    }
}
