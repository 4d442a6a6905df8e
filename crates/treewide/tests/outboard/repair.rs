//! Repair from copies.

use super::group;
use crate::common::{Random, Tally, pattern, rounds};
use treewide::outboard::{
    self, Error, Flaw, FlawKind, Group, IoError, Layout, Mended, Outboard, ReadAt, Repair, WriteAt,
};

#[test]
fn repair_mends_what_the_copy_has() {
    let mut tally = Tally::new("repairs");
    let mut random = Random::new(12);
    for _ in 0..rounds(200) {
        let log2 = random.below(5) as u8;
        let len = 1 + random.length(60 * group(log2).bytes() as usize);
        let right = random.bytes(len);
        let layout = Layout::new(len as u64, group(log2));
        let (digest, pairs) = outboard::create(&right, group(log2), treewide::Mode::PLAIN);
        let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
        let spoil = |random: &mut Random| {
            let mut bytes = right.clone();
            for _ in 0..random.below(6) {
                bytes[random.below(len)] ^= 1 + random.below(255) as u8;
            }
            if random.below(4) == 0 {
                bytes.truncate(random.below(len));
            }
            bytes
        };
        let (mut data, copy) = (spoil(&mut random), spoil(&mut random));
        // What neither has stays bad.
        let group_of = |bytes: &[u8], group| {
            let span = layout.group_range(group);
            bytes.get(span.start as usize..span.end as usize)
                == Some(&right[span.start as usize..span.end as usize])
        };
        let lost = (0..layout.groups())
            .filter(|group| !group_of(&data, *group) && !group_of(&copy, *group))
            .count();
        let before = data.clone();
        let repair = outboard.repair(&mut data, &copy, ..).expect("repaired");
        let mended: u64 =
            repair.repaired.iter().map(|range| layout.groups_of(range).count() as u64).sum();
        assert_eq!(repair.left.len(), lost);
        assert!(repair.left.iter().all(|found| found.kind == FlawKind::Bad));
        for group in 0..layout.groups() {
            assert_eq!(group_of(&data, group), group_of(&before, group) || group_of(&copy, group));
        }
        assert_eq!(lost == 0, data == right);
        assert_eq!(mended == 0, data == before);
        tally.case();
    }
}

#[test]
fn repair_leaves_what_it_cannot_know() {
    let right = pattern(50_000);
    let layout = Layout::new(50_000, Group::LEAST);
    let (digest, mut pairs) = outboard::create(&right, Group::LEAST, treewide::Mode::PLAIN);
    pairs[64] ^= 1; // above the first 32 groups
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    let mut data = right.clone();
    data[1000] ^= 1;
    data[40_000] ^= 1;
    data.push(7);
    let repair = outboard.repair(&mut data, &right, ..).expect("repaired");
    let unknown = Flaw { range: 0..32_768, kind: FlawKind::Unknown };
    let extra = Flaw { range: 50_000..50_001, kind: FlawKind::Extra };
    assert_eq!((repair.repaired.len(), repair.repaired[0].clone()), (1, 39_936..40_960));
    assert_eq!(repair.left, [unknown, extra]);
    assert!(data[40_000] == right[40_000] && data[1000] != right[1000] && data.len() == 50_001);
    // Only the range that is asked for.
    data[40_000] ^= 1;
    assert_eq!(
        outboard.repair(&mut data, &right, 45_000..46_000).expect("nothing to do"),
        Repair::default()
    );
}

/// More ranges than are held at a time, with groups that cannot be repaired between them, and bytes past the end.
#[test]
fn repair_of_many_ranges_tells_each_once() {
    let right = pattern(5000 * 1024 + 7);
    let layout = Layout::new(right.len() as u64, Group::LEAST);
    let (digest, pairs) = outboard::create(&right, Group::LEAST, treewide::Mode::PLAIN);
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, pairs);
    let (mut data, mut copy) = (right.clone(), right.clone());
    for group in (0..5001).step_by(2) {
        data[group * 1024] ^= 1;
        copy[group * 1024] ^= u8::from(group % 50 == 0);
    }
    data.push(7);
    let mut said = Vec::new();
    let each = |mended| said.push(mended);
    outboard.repair_each(&mut data, &copy, .., each).expect("repaired");
    let expected: Vec<_> = (0..5001)
        .step_by(2)
        .map(|group| {
            let range = layout.group_range(group);
            match group % 50 {
                0 => Mended::Left(Flaw { range, kind: FlawKind::Bad }),
                _ => Mended::Repaired(range),
            }
        })
        .chain([Mended::Left(Flaw { range: 5_120_007..5_120_008, kind: FlawKind::Extra })])
        .collect();
    assert!(
        said == expected,
        "{:?}",
        said.iter().zip(&expected).find(|(is, expected)| is != expected)
    );
}

/// Data that cannot be written from some write on, or that keeps another byte than was written.
struct Bytes {
    bytes: Vec<u8>,
    writes_left: usize,
    forgets: bool,
}

impl ReadAt for Bytes {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.bytes.read_exact_at(buf, at)
    }
}

impl WriteAt for Bytes {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        self.writes_left =
            self.writes_left.checked_sub(1).ok_or(IoError::new("it is read-only"))?;
        self.bytes.write_all_at(buf, at)?;
        self.bytes[at as usize] ^= u8::from(self.forgets);
        Ok(())
    }

    fn set_size(&mut self, _: u64) -> Result<(), IoError> {
        Err(IoError::new("no one asked for that"))
    }
}

#[test]
fn repair_that_is_interrupted_or_not_kept() {
    let right = pattern(50_000);
    let layout = Layout::new(50_000, Group::LEAST);
    let (digest, pairs) = outboard::create(&right, Group::LEAST, treewide::Mode::PLAIN);
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    let mut bytes = right.clone();
    for at in [5, 20_000, 49_999] {
        bytes[at] ^= 1;
    }
    for writes_left in 0..3 {
        let mut data = Bytes { bytes: bytes.clone(), writes_left, forgets: false };
        let error = outboard.repair(&mut data, &right, ..).expect_err("read-only");
        assert!(
            matches!(&error, Error::Data(_)) && error.to_string().contains("read-only"),
            "{error}"
        );
        let again = outboard.repair(&mut data.bytes, &right, ..).expect("now it can be written");
        assert!(again.repaired.len() == 3 - writes_left && data.bytes == right);
    }
    // What was written is read again.
    let mut data = Bytes { bytes, writes_left: 9, forgets: true };
    let repair = outboard.repair(&mut data, &right, ..).expect("read and written");
    assert!(repair.repaired.is_empty() && repair.left.len() == 3);
    // A copy that cannot be read is not a bad copy.
    struct Fails;
    impl ReadAt for Fails {
        fn read_exact_at(&self, _: &mut [u8], _: u64) -> Result<(), IoError> {
            Err(IoError::new("the network is down"))
        }
    }
    let error = outboard.repair(&mut data.bytes, &Fails, ..).expect_err("down");
    assert!(
        matches!(&error, Error::Copy(_)) && error.to_string().contains("the network is down"),
        "{error}"
    );
}
