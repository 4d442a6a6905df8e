//! Updates, interrupted ones, and differences.

use super::sparse::Sparse;
use super::{ORDERS, group};
use crate::common::{Mode, Random, Tally, pattern, rounds};
use std::ops::Range;
use std::sync::Mutex;
use treewide::outboard::{
    self, BaoFile, Error, Group, IoError, Layout, Order, Outboard, ReadAt, WriteAt,
};

/// Ranges that are written, in any order, some of them empty, joined, or past the end.
fn some_ranges(random: &mut Random, len: usize) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    for _ in 0..random.below(5) {
        let start = random.below(len + 1) as u64;
        let most = if random.below(3) == 0 { len + 1 } else { 3000 };
        ranges.push(start..start + random.below(most) as u64);
    }
    ranges
}

fn write(data: &mut [u8], ranges: &[Range<u64>]) {
    for range in ranges {
        let end = (range.end as usize).min(data.len());
        for byte in &mut data[(range.start as usize).min(end)..end] {
            *byte = byte.wrapping_add(1);
        }
    }
}

#[test]
fn update_gives_what_create_gives() {
    let mut tally = Tally::new("updates");
    let mut random = Random::new(7);
    for _ in 0..rounds(400) {
        let log2 = random.below(5) as u8;
        let order = ORDERS[random.below(2)];
        let mode = Mode::any(&mut random);
        let most = group(log2).bytes() as usize * (1 + random.below(40));
        let len = random.length(most);
        let mut data = random.bytes(len);
        let (digest, pairs) = outboard::create(&data, group(log2), order, mode.mode());
        let layout = Layout::new(len as u64, group(log2), order);
        let mut outboard = Outboard::new(&digest, layout, mode.mode(), pairs);
        for _ in 0..6 {
            let new_len = match random.below(4) {
                0 => data.len(),
                1 => data.len() + random.below(2000),
                2 => random.below(data.len() + 1),
                _ => random.length(2 * most),
            };
            let added = new_len.saturating_sub(data.len());
            data.truncate(new_len);
            data.extend(random.bytes(added));
            let ranges = some_ranges(&mut random, new_len);
            write(&mut data, &ranges);
            let digest = outboard.update(&data, &ranges, new_len as u64).expect("updated");
            let (expected, pairs) = outboard::create(&data, group(log2), order, mode.mode());
            assert_eq!(
                (digest, *outboard.root()),
                (expected, expected),
                "{:?} {ranges:?}",
                outboard.layout()
            );
            assert_eq!(outboard.layout().len(), new_len as u64);
            assert!(outboard.clone().into_store() == pairs, "{:?} {ranges:?}", outboard.layout());
            tally.case();
        }
    }
}

#[test]
fn update_at_the_edges() {
    let mut tally = Tally::new("updates at edges");
    let kib = 1024;
    let mut lengths = vec![0, 1, kib - 1, kib, kib + 1, 2 * kib];
    for groups in [3, 4, 5, 7, 8, 9, 16, 17] {
        lengths.extend([groups * kib - 1, groups * kib, groups * kib + 1]);
    }
    for order in ORDERS {
        for &from in &lengths {
            for &to in &lengths {
                let (old, new) = (pattern(from), pattern(to));
                let (digest, pairs) =
                    outboard::create(&old, Group::BAO, order, treewide::Mode::PLAIN);
                let layout = Layout::new(from as u64, Group::BAO, order);
                let mut outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
                let digest = outboard.update(&new, &[], to as u64).expect("updated");
                assert_eq!(digest, treewide::hash(&new), "{from} to {to}, {order}");
                assert!(
                    (digest, outboard.into_store())
                        == outboard::create(&new, Group::BAO, order, treewide::Mode::PLAIN)
                );
                tally.case();
            }
        }
    }
}

#[test]
fn update_believes_what_it_is_told() {
    let mut data = pattern(100_000);
    let layout = Layout::new(100_000, Group::IROH, Order::Post);
    let (digest, pairs) = outboard::create(&data, Group::IROH, Order::Post, treewide::Mode::PLAIN);
    let mut outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs.clone());
    data[20_000] ^= 1;
    data[90_000] ^= 1;
    // The write at 90,000 is not named: `verify` finds it.
    let digest = outboard.update(&data, &[20_000..20_001], 100_000).expect("updated");
    assert_ne!(digest, treewide::hash(&data));
    assert!(
        matches!(outboard.verify(&data, ..), Err(Error::Bad(range)) if range == (81_920..98_304))
    );
    outboard.verify(&data, ..81_920).expect("the rest is right");

    // An outboard that is broken above what is dirty is not mended by accident, and stays as it is.
    let mut broken = pairs;
    broken[64 + 10] ^= 1;
    let digest = treewide::hash(&pattern(100_000));
    let mut outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, broken.clone());
    let mut failed = 0;
    for start in (0..100_000).step_by(16_384) {
        match outboard.update(&data, &[start..start + 1], 100_000) {
            Err(Error::Unknown(_)) => {
                assert!(*outboard.root() == digest && outboard.clone().into_store() == broken);
                failed += 1;
            }
            other => {
                other.expect("not above this group");
                outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, broken.clone());
            }
        }
    }
    assert!((1..7).contains(&failed), "{failed}");
    // The data ends before the length that is given.
    let (digest, pairs) = outboard::create(&data, Group::IROH, Order::Post, treewide::Mode::PLAIN);
    let mut outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
    let error = outboard.update(&data, &[], 100_001).expect_err("it ends early");
    assert!(matches!(&error, Error::Data(error) if error.is_end()), "{error}");
    assert_eq!(*outboard.root(), digest);
    outboard.verify(&data, ..).expect("as before");
}

/// One group of inputs up to the longest, and an append at their end.
#[test]
fn update_of_a_terabyte_writes_little() {
    struct Counted(super::sparse::Pairs, u64);
    impl ReadAt for Counted {
        fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
            self.0.read_exact_at(buf, at)
        }
    }
    impl WriteAt for Counted {
        fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
            self.1 += buf.len() as u64;
            self.0.write_all_at(buf, at)
        }
        fn set_size(&mut self, _: u64) -> Result<(), IoError> {
            Ok(())
        }
    }
    let mut random = Random::new(8);
    for (len, appended) in [
        (1_000_000_000_000, 0),
        (1_000_000_000_000, 1 << 20),
        (1 << 50, 1 << 20),
        (1 << 63, 1),
        (u64::MAX, 0),
    ] {
        let layout = Layout::new(len, Group::IROH, Order::Post);
        let new_len = len + appended;
        let last = layout.groups() - 1;
        let sparse = Sparse::new(layout, last..last + 1, &mut random);
        let mut data = sparse.data.clone();
        data.0.end = new_len;
        let at = layout.group_range(last).start;
        let mut outboard =
            Outboard::new(&sparse.digest, layout, treewide::Mode::PLAIN, Counted(sparse.pairs, 0));
        let digest = outboard.update(&data, &[at..at + 1], new_len).expect("updated");
        assert_eq!(appended == 0, digest == sparse.digest);
        outboard.verify(&data, at..new_len).expect("right");
        let written = outboard.into_store().1;
        assert!(written <= 64 * (54 + 2 * (appended >> 14) + 2), "{written} bytes for {len}");
    }
}

/// A disk that dies at a write, after half of the bytes. What was not synced may be there or not; here it is.
struct Disk<'a> {
    bytes: Vec<u8>,
    writes_left: &'a Mutex<usize>,
}

impl Disk<'_> {
    fn spend(&self) -> bool {
        let mut left = self.writes_left.lock().expect("one thread");
        let lives = *left > 0;
        *left = left.saturating_sub(1);
        lives
    }
}

const DEAD: IoError = IoError::new("the machine has no power");

impl ReadAt for Disk<'_> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.bytes.read_exact_at(buf, at)
    }
}

impl WriteAt for Disk<'_> {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        if self.spend() {
            return self.bytes.write_all_at(buf, at);
        }
        // It writes sectors, and a pair lies in one.
        let half = if buf.len() == 64 { 0 } else { buf.len() / 2 };
        self.bytes.write_all_at(&buf[..half], at)?;
        Err(DEAD)
    }

    fn set_size(&mut self, size: u64) -> Result<(), IoError> {
        if self.spend() { self.bytes.set_size(size) } else { Err(DEAD) }
    }

    fn sync(&mut self) -> Result<(), IoError> {
        if self.spend() { Ok(()) } else { Err(DEAD) }
    }
}

/// The digest from before stays, and so a mixture is found.
#[test]
fn update_that_cannot_write_keeps_its_digest() {
    let mut tally = Tally::new("updates that cannot write");
    let mode = treewide::Mode::PLAIN;
    for order in ORDERS {
        for (from, to) in [
            (40 * 1024, 40 * 1024),
            (10_000, 10_500),
            (8 * 1024, 8 * 1024 + 1),
            (20_000, 3000),
            (70_000, 1),
        ] {
            let old = pattern(from);
            let mut new = pattern(to);
            write(&mut new, &[500..501, 2500..2501]);
            let (digest, pairs) = outboard::create(&old, Group::BAO, order, mode);
            let layout = Layout::new(from as u64, Group::BAO, order);
            for writes in 0.. {
                let left = Mutex::new(writes);
                let store = Disk { bytes: pairs.clone(), writes_left: &left };
                let mut outboard = Outboard::new(&digest, layout, mode, store);
                let result = outboard.update(&new, &[500..501, 2500..2501], to as u64);
                let Err(error) = result else {
                    let made = outboard::create(&new, Group::BAO, order, mode);
                    assert!((*outboard.root(), outboard.into_store().bytes) == made);
                    assert!(writes > 1, "{writes}");
                    break;
                };
                assert!(matches!(&error, Error::Outboard(_)), "{error}");
                assert_eq!((*outboard.root(), *outboard.layout()), (digest, layout));
                let store = outboard.into_store().bytes;
                let found = Outboard::new(&digest, layout, mode, &store).verify(&old, ..);
                assert_eq!(found.is_ok(), store.starts_with(&pairs), "{writes} of {order} {from}");
                tally.case();
            }
        }
    }
}

#[test]
fn update_of_a_bao_file() {
    let (old, new) = (pattern(5000), pattern(9000));
    let mut file = Vec::new();
    let (layout, mut pairs) = BaoFile::create(&mut file, 5000).expect("written");
    let digest =
        outboard::create_at(&old, &layout, treewide::Mode::PLAIN, &mut pairs).expect("made");
    let (layout, pairs) = BaoFile::open(&mut file).expect("read");
    let mut outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
    let digest = outboard.update(&new, &[], 9000).expect("updated");
    outboard.into_store().set_data_len(9000).expect("written");
    let (layout, pairs) = BaoFile::open(&file).expect("read");
    assert_eq!((digest, layout.len()), (treewide::hash(&new), 9000));
    Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs).verify(&new, ..).expect("right");
}

#[test]
fn differences_are_found_without_data() {
    let mut tally = Tally::new("differences");
    let mut random = Random::new(9);
    for _ in 0..rounds(500) {
        let log2 = random.below(4) as u8;
        let bytes = group(log2).bytes() as usize;
        let len = 1 + random.length(40 * bytes);
        let old = random.bytes(len);
        let mut new = old.clone();
        write(&mut new, &some_ranges(&mut random, len));
        if random.below(2) == 0 {
            let len = 1 + random.length(40 * bytes);
            new.resize(len, 0);
        }
        let outboard = |data: &[u8], order| {
            let (digest, pairs) = outboard::create(data, group(log2), order, treewide::Mode::PLAIN);
            Outboard::new(
                &digest,
                Layout::new(data.len() as u64, group(log2), order),
                treewide::Mode::PLAIN,
                pairs,
            )
        };
        let (ours, theirs) =
            (outboard(&new, ORDERS[random.below(2)]), outboard(&old, ORDERS[random.below(2)]));
        // Group by group.
        let mut expected: Vec<Range<u64>> = Vec::new();
        let single = new.len() != old.len() && (new.len() <= bytes || old.len() <= bytes);
        for number in 0..new.len().max(old.len()).div_ceil(bytes) {
            let span = |data: &[u8]| {
                (number * bytes).min(data.len())..((number + 1) * bytes).min(data.len())
            };
            if old[span(&old)] == new[span(&new)] && !(single && number == 0) {
                continue;
            }
            let range = (number * bytes) as u64..span(&old).end.max(span(&new).end) as u64;
            match expected.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => expected.push(range),
            }
        }
        for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
            let found: Vec<_> =
                one.differences(other).collect::<Result<_, _>>().expect("both are whole");
            assert_eq!(found, expected, "{:?} {:?}", one.layout(), other.layout());
        }
        tally.case();
    }
    // A broken one is an error, and ends it.
    let (one, other) = (pattern(100_000), vec![0; 100_000]);
    let layout = Layout::new(100_000, Group::BAO, Order::Pre);
    let (digest, pairs) = outboard::create(&one, Group::BAO, Order::Pre, treewide::Mode::PLAIN);
    let (other_digest, mut broken) =
        outboard::create(&other, Group::BAO, Order::Pre, treewide::Mode::PLAIN);
    broken[0] ^= 1;
    let one = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
    let broken = Outboard::new(&other_digest, layout, treewide::Mode::PLAIN, broken);
    let mut found = broken.differences(&one);
    assert!(matches!(found.next(), Some(Err(Error::Unknown(range))) if range == (0..100_000)));
    assert!(found.next().is_none());
    assert!(matches!(one.differences(&broken).last(), Some(Err(Error::Unknown(_)))));
}
