//! Batches of inputs that do not behave: iterators and `AsRef`s that panic, and `AsRef`s that return
//! something else each time. Nothing is lost or freed twice, no memory but theirs is read, and the next batch is
//! right.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Random, Tally, rounds};
use treewide::{Batch, CHUNK_LEN, Hash, hash_many};

/// Whether `f` panics; the message is not printed.
fn panics(f: impl FnOnce()) -> bool {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                print(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    QUIET.set(false);
    result.is_err()
}

/// The same batches as before are hashed right, on one thread and on several.
fn still_works(random: &mut Random) {
    let blobs: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let len = random.length(4 * CHUNK_LEN);
            random.bytes(len)
        })
        .collect();
    let expected: Vec<Hash> =
        blobs.iter().map(|blob| Hash::from_bytes(*blake3::hash(blob).as_bytes())).collect();
    assert_eq!(hash_many(&blobs), expected);
    #[cfg(feature = "rayon")]
    assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs), expected);
}

/// A blob that counts itself.
struct Counted<'a>(Vec<u8>, &'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(bytes: Vec<u8>, alive: &'a AtomicUsize) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(bytes, alive)
    }
}

impl AsRef<[u8]> for Counted<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn iterators_that_panic() {
    let mut tally = Tally::new("iterators that panic");
    let mut random = Random::new(20);
    for at in [0, 1, 2, 31, 511, 512, 513, 700, 1024, 1500] {
        let alive = AtomicUsize::new(0);
        let source = || {
            (0_usize..).map(|i| {
                assert!(i != at, "as asked");
                Counted::new(vec![i as u8; i % 3000], &alive)
            })
        };
        for batch in batches() {
            let mut given = 0;
            assert!(panics(|| batch.iter(source()).for_each(|hash| {
                assert_eq!(hash, treewide::hash(&vec![given as u8; given % 3000]));
                given += 1;
            })));
            assert_eq!(alive.load(Ordering::Relaxed), 0, "all were dropped");
            assert!(given <= at);
            // The rest of an iterator that continues after its panic can still be had.
            let mut hashes = batch.iter(source());
            while !panics(|| assert!(hashes.next().is_some())) {}
            assert!(hashes.next().is_some());
            drop(hashes);
            assert!(panics(|| batch.for_each(source(), |_, _| ())));
            assert_eq!(alive.load(Ordering::Relaxed), 0, "all were dropped");
            // So can the closure panic that takes the results.
            assert!(
                panics(|| batch.for_each(source().take(at), |_, _| panic!("as asked"))) == (at > 0)
            );
            assert_eq!(alive.load(Ordering::Relaxed), 0, "all were dropped");
            tally.case();
        }
        still_works(&mut random);
    }
}

/// A blob that panics when its bytes are requested once too often.
struct Panics<'a>(&'a [u8], &'a AtomicUsize);

impl AsRef<[u8]> for Panics<'_> {
    fn as_ref(&self) -> &[u8] {
        if self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.1.store(0, Ordering::Relaxed);
            panic!("as asked");
        }
        self.0
    }
}

#[test]
fn blobs_that_panic() {
    let mut tally = Tally::new("blobs that panic");
    let mut random = Random::new(21);
    for _ in 0..rounds(40) {
        let (count, most) = [(3, 5000), (40, 70), (300, 1024), (700, 4000)][random.below(4)];
        let bytes = random.bytes(most);
        // Equal ones in a row, and unequal ones.
        let equal = random.below(2) == 0;
        let lens: Vec<usize> =
            (0..count).map(|_| if equal { most / 2 } else { random.length(most) }).collect();
        let left = AtomicUsize::new(usize::MAX);
        let blobs: Vec<Panics> = lens.iter().map(|&len| Panics(&bytes[..len], &left)).collect();
        for batch in batches() {
            // How often a whole batch asks, so that it panics somewhere on the way. With threads it may
            // ask more or less often the next time, but each blob once.
            left.store(usize::MAX, Ordering::Relaxed);
            let digests = batch.hash(&blobs);
            let asked = usize::MAX - left.load(Ordering::Relaxed);
            let allowed = random.below(asked);
            left.store(allowed, Ordering::Relaxed);
            let must = allowed < count;
            assert!(panics(|| drop(batch.hash(&blobs))) || !must, "{allowed} of {asked}");
            left.store(allowed, Ordering::Relaxed);
            let mut out = vec![Hash::from_bytes([7; 32]); count];
            assert!(panics(|| batch.hash_into(&blobs, &mut out)) || !must);
            left.store(allowed / 2, Ordering::Relaxed);
            panics(|| drop(batch.iter(&blobs).collect::<Vec<_>>()));
            left.store(usize::MAX, Ordering::Relaxed);
            assert_eq!(batch.hash(&blobs), digests);
            tally.case();
        }
        still_works(&mut random);
    }
}

/// A blob that has another length each time it is asked.
struct Changes<'a>(&'a [u8], &'a AtomicUsize, usize);

impl AsRef<[u8]> for Changes<'_> {
    fn as_ref(&self) -> &[u8] {
        // A step that visits all lengths, mostly far from the last.
        let now = self.1.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9) >> 7;
        &self.0[..match self.2 {
            // Mostly the same, so that blobs look like those of a row.
            0 => {
                if now.is_multiple_of(50) {
                    now % (self.0.len() + 1)
                } else {
                    64.min(self.0.len())
                }
            }
            1 => now % 1100.min(self.0.len() + 1),
            _ => now % (self.0.len() + 1),
        }]
    }
}

/// Their digests may be any, or there may be a panic; but what is not theirs is not touched
/// (AddressSanitizer looks).
#[test]
fn blobs_that_change() {
    let mut tally = Tally::new("blobs that change");
    let mut random = Random::new(22);
    for turn in 0..rounds(200) {
        let len = [70, 1024, 5000, 40 * CHUNK_LEN][random.below(4)];
        let bytes = random.bytes(len);
        let asked = AtomicUsize::new(random.below(1 << 20));
        let count = 1 + random.below(400);
        let blobs: Vec<Changes> = (0..count).map(|_| Changes(&bytes, &asked, turn % 3)).collect();
        for batch in batches() {
            panics(|| assert_eq!(batch.hash(&blobs).len(), count));
            panics(|| assert_eq!(batch.clone().output_len(70).bytes(&blobs).len(), 70 * count));
            panics(|| assert_eq!(batch.iter(&blobs).count(), count));
            tally.case();
        }
    }
    still_works(&mut random);
}

/// A blob that uses the pool of the batch to say what its bytes are.
#[cfg(feature = "rayon")]
struct Joins(Vec<u8>);

#[cfg(feature = "rayon")]
impl AsRef<[u8]> for Joins {
    fn as_ref(&self) -> &[u8] {
        // Long enough for another thread to take one half, so that this one looks for other work.
        let wait = || (0..1000).for_each(|_| std::hint::spin_loop());
        rayon::join(wait, wait);
        &self.0
    }
}

/// A blob that asks all threads of the pool, which answer when they have nothing else to do.
#[cfg(feature = "rayon")]
struct Broadcasts(Vec<u8>);

#[cfg(feature = "rayon")]
impl AsRef<[u8]> for Broadcasts {
    fn as_ref(&self) -> &[u8] {
        rayon::broadcast(|_| std::hint::spin_loop());
        &self.0
    }
}

/// Callers in pools and outside, several at a time; none may hang.
#[cfg(feature = "rayon")]
fn every_batch_ends<T: AsRef<[u8]> + Send + Sync + 'static>(
    tally: &mut Tally,
    blobs: Vec<T>,
    expected: Vec<Hash>,
) {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// For tests that hang.
    const PATIENCE: Duration = Duration::from_secs(100);

    let (blobs, expected) = (Arc::new(blobs), Arc::new(expected));
    let (sender, done) = channel();
    let mut callers = 0;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let pool = Arc::new(pool);
        // In the pool, two callers of one pool, and outside of any, in the global one.
        for in_pool in [true, true, false] {
            let (pool, blobs, expected, sender) =
                (Arc::clone(&pool), Arc::clone(&blobs), Arc::clone(&expected), sender.clone());
            std::thread::spawn(move || {
                for _ in 0..rounds(4) {
                    let hash = || Batch::new().threads(usize::MAX).hash(&*blobs);
                    assert_eq!(if in_pool { pool.install(hash) } else { hash() }, *expected);
                }
                sender.send(()).expect("the test waits");
            });
            callers += 1;
        }
    }
    for _ in 0..callers {
        done.recv_timeout(PATIENCE).expect("every batch ends");
        tally.case();
    }
}

/// A thread that waits in an `as_ref` may run a part of the batch while it waits, and a thread that wants a part may be
/// the one that another thread's `as_ref` waits for.
#[cfg(feature = "rayon")]
#[test]
fn blobs_that_use_the_pool() {
    let mut tally = Tally::new("blobs that use the pool");
    let mut random = Random::new(23);
    let blobs: Vec<Joins> = (0..300).map(|_| Joins(random.bytes(8192))).collect();
    let digest = |it: &Joins| Hash::from_bytes(*blake3::hash(&it.0).as_bytes());
    let expected = blobs.iter().map(digest).collect();
    every_batch_ends(&mut tally, blobs, expected);
}

/// A thread of the pool that has called a batch waits for those at its last parts, and they for it.
#[cfg(feature = "rayon")]
#[test]
fn blobs_that_use_the_whole_pool() {
    let mut tally = Tally::new("blobs that use the whole pool");
    // Enough bytes for threads.
    let len = if rounds(10) < 10 { 9000 } else { 40_000 };
    let bytes = Random::new(24).bytes(len);
    let blobs: Vec<Broadcasts> = (0..600).map(|_| Broadcasts(bytes.clone())).collect();
    let expected = vec![Hash::from_bytes(*blake3::hash(&bytes).as_bytes()); blobs.len()];
    every_batch_ends(&mut tally, blobs, expected);
}

/// On one thread and on several.
fn batches() -> Vec<Batch> {
    #[allow(unused_mut, reason = "without threads there is one")]
    let mut batches = vec![Batch::new()];
    #[cfg(feature = "rayon")]
    batches.push(Batch::new().threads(usize::MAX));
    batches
}
