//! Batches against one input at a time: every kernel, every form of input, every mode.

use crate::common::{Mode, Random, Tally, edge_lengths, rounds, sample, with_every_kernel};
use treewide::batch::{Blobs, Offset, OffsetProblem, Packed};
use treewide::{BLOCK_LEN, Batch, CHUNK_LEN, Hash, hash_many};

/// The batch of a mode.
fn batch(mode: &Mode) -> Batch {
    Batch::with_mode(mode.mode())
}

/// Lengths of a batch, of one of the shapes that are hashed in different ways.
fn lengths(random: &mut Random) -> Vec<usize> {
    let count = match random.below(4) {
        0 => random.below(5),
        1 => random.below(70),
        2 => [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129][random.below(12)],
        _ => random.below(1200),
    };
    let edges = edge_lengths(40 * CHUNK_LEN);
    let mut lens: Vec<usize> = match random.below(7) {
        // Equal, also to a block, and equal in blocks.
        0 => {
            vec![if random.below(3) == 0 { BLOCK_LEN } else { random.below(CHUNK_LEN + 1) }; count]
        }
        1 => {
            let blocks = random.below(16) * 64;
            (0..count).map(|_| blocks + 1 + random.below(64)).collect()
        }
        2 => (0..count).map(|_| random.below(130)).collect(),
        3 => (0..count).map(|_| random.below(CHUNK_LEN + 1)).collect(),
        4 => (0..count).map(|_| random.length(5 * CHUNK_LEN)).collect(),
        5 => (0..count).map(|_| edges[random.below(edges.len())]).collect(),
        // Runs of equal ones with others between them.
        _ => {
            let mut lens = vec![];
            while lens.len() < count {
                let len = if random.below(3) == 0 { BLOCK_LEN } else { random.length(1500) };
                let times = 1 + random.below(150);
                lens.extend(std::iter::repeat_n(len, times));
            }
            lens
        }
    };
    if !lens.is_empty() && random.below(3) == 0 {
        let at = random.below(lens.len());
        lens[at] = random.length(300 * CHUNK_LEN);
    }
    // No more than takes a moment: of the blobs, the first.
    let mut bytes = 0;
    lens.retain(|len| {
        bytes += len;
        bytes < 600 * CHUNK_LEN
    });
    lens
}

/// Blobs of these lengths in one buffer that starts at any address, and their offsets.
struct Data {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Data {
    fn new(random: &mut Random, lens: &[usize]) -> Data {
        let mut offsets = vec![random.below(70)];
        for len in lens {
            offsets.push(offsets[offsets.len() - 1] + len);
        }
        let len = offsets[offsets.len() - 1] + random.below(3);
        let bytes = random.bytes(len);
        Data { bytes, offsets }
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]]).collect()
    }
}

/// `count` outputs of `len` bytes from the `blake3` crate, one after the other.
fn expected(mode: &Mode, blobs: &[&[u8]], len: usize) -> Vec<u8> {
    let hasher = mode.blake3();
    let mut out = vec![0; blobs.len() * len];
    for (i, blob) in blobs.iter().enumerate() {
        let mut hasher = hasher.clone();
        hasher.update(blob).finalize_xof().fill(&mut out[i * len..][..len]);
    }
    out
}

fn flat(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

/// All methods on one form of input.
fn check_form<B: Blobs + Sync + ?Sized>(batch: &Batch, blobs: &B, digests: &[u8], what: &str) {
    let count = blobs.count();
    assert_eq!(digests.len(), 32 * count, "{what}");
    assert_eq!(flat(&batch.hash(blobs)), digests, "{what}, hash");
    let mut hashes = vec![Hash::from_bytes([1; 32]); count];
    batch.hash_into(blobs, &mut hashes);
    assert_eq!(flat(&hashes), digests, "{what}, hash_into");
}

/// One batch in every form and every way.
fn check(random: &mut Random, lens: &[usize], mode: &Mode) {
    let data = Data::new(random, lens);
    let slices = data.slices();
    let digests = expected(mode, &slices, 32);
    let batch = batch(mode);
    let what = format!("{mode:?}, lengths {lens:?}");
    if let Mode::Hash = mode {
        assert_eq!(flat(&hash_many(&slices)), digests, "{what}, hash_many");
    }
    let owned: Vec<Vec<u8>> = slices.iter().map(|blob| blob.to_vec()).collect();
    check_form(&batch, &slices[..], &digests, &what);
    check_form(&batch, &owned, &digests, &what);
    let offsets: Vec<u32> = data.offsets.iter().map(|at| *at as u32).collect();
    check_form(&batch, &Packed::new(&data.bytes, &offsets).unwrap(), &digests, &what);
    assert_eq!(flat(&batch.iter(&slices).collect::<Vec<_>>()), digests, "{what}, iter");

    let len = [0, 1, 31, 32, 33, 63, 64, 65, 100, 128, 129, 1000][random.below(12)];
    let outputs = expected(mode, &slices, len);
    let batch = batch.output_len(len);
    assert_eq!(batch.bytes(&slices), outputs, "{what}, {len} bytes");
    let mut out = vec![];
    let mut next = slices.iter();
    batch.for_each(owned, |blob, output| {
        assert_eq!(Some(&&blob[..]), next.next(), "{what}, for_each");
        out.extend_from_slice(output);
    });
    assert_eq!(out, outputs, "{what}, for_each of {len} bytes");
    assert_eq!(next.next(), None);

    #[cfg(feature = "rayon")]
    {
        let batch = batch.threads(usize::MAX);
        check_form(&batch, &slices, &digests, &format!("{what}, threads"));
        assert_eq!(batch.bytes(&slices), outputs, "{what}, {len} bytes, threads");
        assert_eq!(flat(&batch.iter(&slices).collect::<Vec<_>>()), digests, "{what}, threads");
    }
}

#[test]
fn every_kernel_hashes_batches_like_one_at_a_time() {
    let mut tally = Tally::new("batches");
    with_every_kernel(|_| {
        let mut random = Random::new(4);
        for _ in 0..rounds(60) {
            let lens = lengths(&mut random);
            let mode = Mode::any(&mut random);
            check(&mut random, &lens, &mode);
            tally.case();
        }
    });
}

/// Every length up to some chunks in one batch, in order, backwards and shuffled.
#[test]
fn all_lengths_side_by_side() {
    let mut random = Random::new(5);
    let bytes = random.bytes(6 * CHUNK_LEN);
    let lens = sample((0..=bytes.len()).step_by(3));
    let mut slices: Vec<&[u8]> = lens.into_iter().map(|len| &bytes[..len]).collect();
    slices.extend(edge_lengths(bytes.len()).iter().map(|len| &bytes[bytes.len() - len..]));
    for turn in 0..3 {
        for (hash, blob) in hash_many(&slices).iter().zip(&slices) {
            assert_eq!(hash.as_bytes(), blake3::hash(blob).as_bytes(), "length {}", blob.len());
        }
        match turn {
            0 => slices.reverse(),
            _ => slices.sort_by_cached_key(|_| random.next()),
        }
    }
}

#[test]
fn empty_batches_and_empty_blobs() {
    assert!(hash_many::<&[u8]>(&[]).is_empty());
    assert!(Batch::new().output_len(100).bytes::<[&str]>(&[]).is_empty());
    assert_eq!(Batch::new().iter::<[&str; 0]>([]).next(), None);
    assert_eq!(Packed::<i64>::new(&[], &[]).unwrap().count(), 0);
    assert_eq!(Packed::new(b"abc", &[1_u64]).unwrap().count(), 0);
    for count in [1, 2, 3, 31, 32, 33, 500, 2000] {
        let hashes = hash_many(&vec![""; count]);
        assert_eq!(hashes, vec![treewide::hash(b""); count]);
        assert_eq!(Batch::new().hash(&Packed::new(b"", &vec![0_i32; count + 1]).unwrap()), hashes);
    }
}

#[test]
fn one_huge_among_tiny_ones() {
    let huge = Random::new(6).bytes((5 << 20) + 7);
    let mut blobs: Vec<&[u8]> = (0..3000).map(|i| &huge[i..i + 100]).collect();
    blobs[1234] = &huge;
    let expected: Vec<Hash> =
        blobs.iter().map(|blob| Hash::from_bytes(*blake3::hash(blob).as_bytes())).collect();
    assert_eq!(hash_many(&blobs), expected);
    #[cfg(feature = "rayon")]
    {
        assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs), expected);
        blobs.swap(1234, 0);
        assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs)[0], expected[1234]);
        blobs.swap(0, 2999);
        assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs)[2999], expected[1234]);
    }
}

#[test]
#[cfg(feature = "rayon")]
fn threads_split_by_count_and_by_bytes() {
    let mut random = Random::new(7);
    for (count, most) in [(20_000, 20), (700, 3000), (9, 300_000), (2, 700_000)] {
        let lens: Vec<usize> = (0..count).map(|_| random.length(most)).collect();
        let data = Data::new(&mut random, &lens);
        let slices = data.slices();
        let threaded = Batch::new().threads(usize::MAX).output_len(40);
        assert_eq!(threaded.hash(&slices), hash_many(&slices));
        assert_eq!(threaded.bytes(&slices), Batch::new().output_len(40).bytes(&slices));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| threaded.hash(&slices)), hash_many(&slices));
    }
}

/// No more threads than were asked for look at the blobs.
#[test]
#[cfg(feature = "rayon")]
fn threads_are_at_most_as_many_as_asked_for() {
    use std::collections::HashSet;
    use std::sync::Mutex;

    struct Seen<'a>(&'a [u8], &'a Mutex<HashSet<std::thread::ThreadId>>);
    impl AsRef<[u8]> for Seen<'_> {
        fn as_ref(&self) -> &[u8] {
            self.1.lock().unwrap().insert(std::thread::current().id());
            self.0
        }
    }
    let data = Random::new(8).bytes(20 << 20);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for most in [0, 1, 2, 3] {
        let seen = Mutex::new(HashSet::new());
        let blobs: Vec<Seen<'_>> = data.chunks(10_000).map(|blob| Seen(blob, &seen)).collect();
        let expected: Vec<Hash> = data.chunks(10_000).map(treewide::hash).collect();
        assert_eq!(pool.install(|| Batch::new().threads(most).hash(&blobs)), expected);
        let seen = seen.into_inner().unwrap().len();
        assert!((1..=most.max(1)).contains(&seen), "{seen} of {most}");
    }
}

/// Megabytes of digests, for whose memory the system is asked otherwise.
#[test]
fn very_many() {
    let mut tally = Tally::new("very many");
    let count = if rounds(10) < 10 { 3000 } else { 140_001 };
    let blobs: Vec<[u8; 4]> = (0..count).map(u32::to_le_bytes).collect();
    let expected: Vec<Hash> =
        blobs.iter().map(|blob| Hash::from_bytes(*blake3::hash(blob).as_bytes())).collect();
    assert_eq!(hash_many(&blobs), expected);
    #[cfg(feature = "rayon")]
    assert_eq!(Batch::new().threads(usize::MAX).hash(&blobs), expected);
    tally.case();
}

/// One thread, one of two, and all of them at once; inside other work and next to it.
#[test]
#[cfg(feature = "rayon")]
fn pools_of_any_size_and_batches_within_batches() {
    let mut random = Random::new(9);
    let lens: Vec<usize> = (0..400).map(|i| if i == 77 { 1 << 20 } else { i * 7 }).collect();
    let data = Data::new(&mut random, &lens);
    let slices = data.slices();
    let expected = hash_many(&slices);
    let batch = Batch::new().threads(usize::MAX);
    let check = || assert_eq!(batch.hash(&slices), expected);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(check);
        pool.install(|| rayon::join(|| rayon::join(check, check), check));
        pool.scope(|scope| (0..5).for_each(|_| scope.spawn(|_| check())));
        // From one pool into another, while a thread of the first waits.
        pool.install(|| {
            rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(check)
        });
    }
}

#[test]
fn offsets_of_every_type() {
    fn check<O: Offset + TryFrom<usize, Error: std::fmt::Debug>>() {
        let bytes = crate::common::pattern(3000);
        let offsets: Vec<O> =
            [5, 5, 6, 70, 1500, 1500, 2999].map(|at: usize| O::try_from(at).unwrap()).into();
        let packed = Packed::new(&bytes, &offsets).unwrap();
        assert_eq!(packed.count(), 6);
        assert_eq!(packed.get(3), &bytes[70..1500]);
        let slices: Vec<&[u8]> = (0..6).map(|i| packed.get(i)).collect();
        assert_eq!(Batch::new().hash(&packed), hash_many(&slices));
    }
    check::<u32>();
    check::<u64>();
    check::<usize>();
    check::<i32>();
    check::<i64>();
}

#[test]
fn wrong_offsets_are_errors_that_name_the_first() {
    fn error<O: Offset>(offsets: &[O]) -> (usize, OffsetProblem) {
        let error = Packed::new(&[0; 10], offsets).expect_err("they are wrong");
        assert!(error.to_string().contains(&error.index().to_string()));
        (error.index(), error.problem())
    }
    use OffsetProblem::{Decreasing, Negative, OutOfRange};
    assert_eq!(error(&[0_u32, 4, 3, 10]), (2, Decreasing));
    assert_eq!(error(&[0_u64, 4, 3, 2, 11]), (2, Decreasing));
    assert_eq!(error(&[0_i32, 4, -1]), (2, Negative));
    assert_eq!(error(&[-1_i64, 0, 4]), (0, Negative));
    assert_eq!(error(&[i64::MIN]), (0, Negative));
    assert_eq!(error(&[0_usize, 10, 11, 12]), (2, OutOfRange));
    assert_eq!(error(&[11_u32]), (0, OutOfRange));
    assert_eq!(error(&[0, u64::MAX]), (1, OutOfRange));
    assert_eq!(error(&[0, i64::MAX, 3]), (1, OutOfRange));
    assert_eq!(error(&[0, usize::MAX, usize::MAX]), (1, OutOfRange));
    assert_eq!(error(&[u64::MAX, 0]), (0, OutOfRange));
    assert_eq!(error(&[3, i64::MIN, 5]), (1, Negative));
    assert_eq!(error(&[i32::MAX, i32::MIN]), (0, OutOfRange));
    assert!(Packed::new(&[0; 10], &[0_u32, 10, 10]).is_ok());
}

#[test]
fn iterators_are_taken_from_lazily_and_a_little_ahead() {
    use std::cell::Cell;
    let taken = Cell::new(0_usize);
    let source = |len| {
        let taken = &taken;
        (0..).map(move |i: u32| {
            taken.set(taken.get() + 1);
            vec![i as u8; len]
        })
    };
    let mut hashes = Batch::new().iter(source(10));
    assert_eq!(taken.get(), 0);
    assert_eq!(hashes.next().unwrap(), treewide::hash(&[0; 10]));
    assert_eq!(taken.get(), 512);
    for i in 1..512 {
        assert_eq!(hashes.next().unwrap(), treewide::hash(&[i as u8; 10]));
    }
    assert_eq!(taken.get(), 512);
    hashes.next();
    assert_eq!(taken.get(), 1024);

    // Bytes bound it too.
    taken.set(0);
    let mut hashes = Batch::new().iter(source(200 * CHUNK_LEN));
    hashes.next();
    assert_eq!(taken.get(), 3);

    // And bytes of output.
    taken.set(0);
    let (mut given, batch) = (0, Batch::new().output_len(200 * CHUNK_LEN));
    batch.for_each(source(10).take(7), |_, output| {
        given += 1;
        assert_eq!(output.len(), 200 * CHUNK_LEN);
        assert!(taken.get() < given + 3, "{} taken for number {given}", taken.get());
    });
    assert_eq!((given, taken.get()), (7, 7));

    // The end is the end.
    let mut hashes = Batch::new().iter(["a", "b"]);
    assert_eq!(hashes.size_hint(), (2, Some(2)));
    assert!(hashes.next().is_some());
    assert_eq!(hashes.size_hint(), (1, Some(1)));
    assert!(hashes.next().is_some() && hashes.next().is_none() && hashes.next().is_none());
}

#[test]
#[should_panic(expected = "a place for each digest")]
fn too_few_places() {
    Batch::new().hash_into(&["a", "b"], &mut [Hash::from_bytes([0; 32])]);
}

#[test]
#[should_panic(expected = "33 bytes for each of 2 blobs")]
fn too_many_bytes() {
    Batch::new().output_len(33).fill(&["a", "b"], &mut [0; 67]);
}

#[test]
fn keys_stay_out_of_debug_output() {
    let text = format!("{:?}", Batch::with_mode(treewide::Mode::keyed(&[0xab; 32])));
    assert!(!text.contains("171") && !text.contains("ab,"), "{text}");
}

/// Inputs that end where memory ends: reading beyond them crashes.
#[cfg(unix)]
mod guarded {
    use super::*;
    use std::ptr;

    const PAGE: usize = 16 * 1024;

    /// Readable pages with one after them that no one may touch.
    struct Pages(*mut u8);

    impl Pages {
        const LEN: usize = 4 * PAGE;

        fn new() -> Pages {
            // SAFETY: a new mapping, whose last part becomes inaccessible.
            unsafe {
                let (len, prot) = (Self::LEN + PAGE, libc::PROT_READ | libc::PROT_WRITE);
                let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
                let start = libc::mmap(ptr::null_mut(), len, prot, flags, -1, 0);
                assert_ne!(start, libc::MAP_FAILED);
                let guard = start.cast::<u8>().add(Self::LEN);
                assert_eq!(libc::mprotect(guard.cast(), PAGE, libc::PROT_NONE), 0);
                Pages(start.cast())
            }
        }

        fn fill(&mut self, random: &mut Random) {
            let bytes = random.bytes(Self::LEN);
            // SAFETY: `LEN` bytes are writable.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, Self::LEN) }
        }

        fn last(&self, len: usize) -> &[u8] {
            assert!(len <= Self::LEN);
            // SAFETY: the last `len` bytes are readable, and nothing writes them while they are borrowed.
            unsafe { std::slice::from_raw_parts(self.0.add(Self::LEN - len), len) }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: the mapping of `new`.
            unsafe { libc::munmap(self.0.cast(), Self::LEN + PAGE) };
        }
    }

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let mut random = Random::new(8);
        let mut tally = Tally::new("batches before a guard");
        let mut pages = Pages::new();
        pages.fill(&mut random);
        with_every_kernel(|name| {
            for _ in 0..rounds(30) {
                let count = 1 + random.below(200);
                let most = [64, 300, 1024, 5000, Pages::LEN][random.below(5)];
                let blobs: Vec<&[u8]> =
                    (0..count).map(|_| pages.last(random.length(most))).collect();
                let expected = expected(&Mode::Hash, &blobs, 70);
                assert_eq!(Batch::new().output_len(70).bytes(&blobs), expected, "{name}");
                for (hash, expected) in hash_many(&blobs).iter().zip(expected.chunks(70)) {
                    assert_eq!(hash.as_bytes(), &expected[..32], "{name}");
                }
                tally.case();
            }
        });
    }
}
