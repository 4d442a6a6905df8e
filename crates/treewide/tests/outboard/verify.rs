//! Verifying, and finding what is wrong.

use super::create::Read;
use super::sparse::Sparse;
use super::{edges, group};
use crate::common::{Mode, Random, Tally, pattern, rounds, sample};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use treewide::Hash;
use treewide::outboard::{
    self, Error, Flaw, FlawKind, Group, IoError, Layout, Node, Outboard, ReadAt,
};

/// Everything that is wrong in `range`, by all ways of reading; they must agree.
pub(crate) fn damage(
    digest: &Hash,
    layout: Layout,
    mode: treewide::Mode,
    pairs: &[u8],
    data: &[u8],
    range: Range<u64>,
) -> Vec<Flaw> {
    let all = |found: &mut dyn Iterator<Item = Result<Flaw, Error>>| -> Vec<Flaw> {
        found.collect::<Result<_, _>>().expect("memory can be read")
    };
    let in_memory = Outboard::new(digest, layout, mode, pairs);
    let found = all(&mut in_memory.damage(data, range.clone()));
    let read = Outboard::new(digest, layout, mode, Read(pairs));
    assert_eq!(found, all(&mut read.damage(&Read(data), range.clone())));
    match (found.first(), read.verify(data, range)) {
        (None, Ok(())) => {}
        (Some(first), Err(error)) => {
            let expected = match first.kind {
                FlawKind::Bad => Error::Bad(first.range.clone()),
                FlawKind::Unknown => Error::Unknown(first.range.clone()),
                _ => Error::Extra(first.range.clone()),
            };
            assert_eq!(error.to_string(), expected.to_string());
        }
        (found, verified) => panic!("{found:?}, but {verified:?}"),
    }
    found
}

/// What should be found if these groups and these pairs are broken.
fn expected(
    layout: &Layout,
    groups: &BTreeSet<u64>,
    pairs: &BTreeSet<u64>,
    range: &Range<u64>,
) -> Vec<Flaw> {
    fn below(
        layout: &Layout,
        node: Node,
        (groups, pairs, within): (&BTreeSet<u64>, &BTreeSet<u64>, &Range<u64>),
        found: &mut Vec<Flaw>,
    ) {
        let first = node.first_group().max(within.start);
        let end = (node.first_group() + node.groups()).min(within.end);
        if first >= end {
            return;
        }
        let kind = match (layout.position(node), layout.children(node)) {
            (Some(at), _) if pairs.contains(&at) => FlawKind::Unknown,
            (_, Some([left, right])) => {
                below(layout, left, (groups, pairs, within), found);
                return below(layout, right, (groups, pairs, within), found);
            }
            _ if groups.contains(&node.first_group()) => FlawKind::Bad,
            _ => return,
        };
        let range = layout.group_range(first).start..layout.group_range(end - 1).end;
        match found.last_mut() {
            Some(last) if last.kind == kind && last.range.end == range.start => {
                last.range.end = range.end
            }
            _ => found.push(Flaw { range, kind }),
        }
    }
    let mut found = Vec::new();
    below(layout, layout.root(), (groups, pairs, &layout.groups_of(range)), &mut found);
    found
}

#[test]
fn verify_accepts_what_is_intact() {
    let mut tally = Tally::new("intact ranges");
    let mut random = Random::new(3);
    for log2 in [0, 1, 4, 6] {
        for len in sample(edges(group(log2).bytes() as usize, if log2 < 4 { 40 } else { 6 })) {
            let data = pattern(len);
            for mode in &Mode::all() {
                let (digest, pairs) = outboard::create(&data, group(log2), mode.mode());
                let layout = Layout::new(len as u64, group(log2));
                let mut ranges = vec![0..u64::MAX, 0..0, len as u64..u64::MAX, u64::MAX..u64::MAX];
                for _ in 0..4 {
                    let start = random.below(len + 2) as u64;
                    ranges.push(start..start + random.below(len + 2) as u64);
                }
                for range in ranges {
                    let found = damage(&digest, layout, mode.mode(), &pairs, &data, range.clone());
                    assert_eq!(found, [], "{layout:?} {range:?}");
                    tally.case();
                }
            }
        }
    }
}

/// One bit in each pair, and one bit in each group.
#[test]
fn damage_of_one_bit_is_found_exactly() {
    let mut tally = Tally::new("single bits");
    let mut random = Random::new(4);
    for (log2, len) in
        [(0, 3 * 1024 + 1), (0, 33 * 1024), (1, 40_001), (4, 200_000), (4, 10_000), (0, 0), (0, 1)]
    {
        let layout = Layout::new(len, group(log2));
        let data = pattern(len as usize);
        let (digest, pairs) = outboard::create(&data, group(log2), treewide::Mode::PLAIN);
        for at in 0..layout.groups() - 1 {
            let mut pairs = pairs.clone();
            pairs[at as usize * 64 + random.below(64)] ^= 1 << random.below(8);
            let found = damage(&digest, layout, treewide::Mode::PLAIN, &pairs, &data, 0..u64::MAX);
            assert_eq!(found, expected(&layout, &BTreeSet::new(), &[at].into(), &(0..u64::MAX)));
            assert!(
                matches!(&found[..], [Flaw { kind: FlawKind::Unknown, .. }]),
                "{at}: {found:?}"
            );
            tally.case();
        }
        for at in 0..layout.groups() {
            let mut data = data.clone();
            let span = layout.group_range(at);
            if span.is_empty() {
                continue;
            }
            data[span.start as usize + random.below((span.end - span.start) as usize)] ^=
                1 << random.below(8);
            let found = damage(&digest, layout, treewide::Mode::PLAIN, &pairs, &data, 0..u64::MAX);
            assert_eq!(found, [Flaw { range: span, kind: FlawKind::Bad }]);
            tally.case();
        }
    }
}

#[test]
fn damage_of_data_and_outboard_is_found_exactly() {
    let mut tally = Tally::new("sets of damage");
    let mut random = Random::new(5);
    for _ in 0..rounds(300) {
        let log2 = random.below(6) as u8;
        let most = if random.below(10) == 0 { 6 << 20 } else { 300_000 };
        let len = 1 + random.length(most);
        let mode = Mode::any(&mut random);
        let layout = Layout::new(len as u64, group(log2));
        let mut data = random.bytes(len);
        let (digest, mut pairs) = outboard::create(&data, group(log2), mode.mode());
        let some = |random: &mut Random, of: u64| -> BTreeSet<u64> {
            let count = if of > 0 { random.below(5) } else { 0 };
            (0..count).map(|_| random.next() % of).collect()
        };
        let (bad_groups, bad_pairs) =
            (some(&mut random, layout.groups()), some(&mut random, layout.groups() - 1));
        for group in &bad_groups {
            let span = layout.group_range(*group);
            data[span.start as usize..span.end as usize]
                [random.below((span.end - span.start) as usize)] ^= 0x10;
        }
        for pair in &bad_pairs {
            pairs[*pair as usize * 64 + random.below(64)] ^= 0x80;
        }
        let start = random.below(len) as u64;
        for range in [0..u64::MAX, start..start + random.below(len) as u64] {
            let found = damage(&digest, layout, mode.mode(), &pairs, &data, range.clone());
            assert_eq!(
                found,
                expected(&layout, &bad_groups, &bad_pairs, &range),
                "{layout:?} {range:?}"
            );
            tally.case();
        }
    }
}

/// Groups, pairs, lengths, orders, modes and files that take the place of others.
#[test]
fn damage_by_what_takes_another_place() {
    let len = 20 * 1024 + 100;
    let data = pattern(len);
    let layout = Layout::new(len as u64, Group::LEAST);
    let plain = treewide::Mode::PLAIN;
    let (digest, pairs) = outboard::create(&data, Group::LEAST, plain);
    let whole = [Flaw { range: 0..len as u64, kind: FlawKind::Unknown }];
    let find = |layout: Layout, mode, pairs: &[u8], data: &[u8]| {
        damage(&digest, layout, mode, pairs, data, 0..u64::MAX)
    };

    // Two groups with equal bytes are still in their places.
    let mut swapped = data.clone();
    let (left, right) = swapped.split_at_mut(3 * 1024);
    left[1024..2048].swap_with_slice(&mut right[2048..3072]);
    let bad = |range| Flaw { range, kind: FlawKind::Bad };
    assert_eq!(find(layout, plain, &pairs, &swapped), [bad(1024..2048), bad(5 * 1024..6 * 1024)]);

    let mut swapped = pairs.clone();
    let (left, right) = swapped.split_at_mut(3 * 64);
    left[128..192].swap_with_slice(&mut right[128..192]);
    let places = BTreeSet::from([2, 5]);
    assert_eq!(
        find(layout, plain, &swapped, &data),
        expected(&layout, &BTreeSet::new(), &places, &(0..u64::MAX))
    );
    let mut twice = pairs.clone();
    twice.copy_within(64..128, 7 * 64);
    let places = BTreeSet::from([7]);
    assert_eq!(
        find(layout, plain, &twice, &data),
        expected(&layout, &BTreeSet::new(), &places, &(0..u64::MAX))
    );

    // Another group, mode or file.
    let (_, large) = outboard::create(&pattern(20 * 16 * 1024 + 100), Group::IROH, plain);
    assert_eq!(large.len(), pairs.len());
    assert_eq!(find(layout, plain, &large, &data), whole);
    for mode in [Mode::KeyedHash([7; 32]), Mode::DeriveKey("context".into())] {
        assert_eq!(find(layout, mode.mode(), &pairs, &data), whole);
        let (_, other) = outboard::create(&data, Group::LEAST, mode.mode());
        assert_eq!(find(layout, plain, &other, &data), whole);
    }
    let mut other = data.clone();
    other[12_345] ^= 1;
    let (_, of_other) = outboard::create(&other, Group::LEAST, plain);
    assert_eq!(find(layout, plain, &of_other, &other), whole);

    // Another length: with as many groups the last one is bad, and with others nothing is known.
    for wrong in [20 * 1024 + 1, len - 1, len + 1, 21 * 1024] {
        let mut data = data.clone();
        data.resize(wrong, 0);
        let found = find(Layout::new(wrong as u64, Group::LEAST), plain, &pairs, &data);
        assert_eq!(found, [bad(20 * 1024..wrong as u64)]);
    }
    // With another shape, a node that is in both trees may be verified. No byte that is verified is another one.
    for wrong in [0, 1, 1024, 10 * 1024, 20 * 1024, 21 * 1024 + 1, 40 * 1024, 64 * 1024] {
        let mut longer = data.clone();
        longer.resize(wrong, 0);
        let found = find(Layout::new(wrong as u64, Group::LEAST), plain, &pairs, &longer);
        assert!(
            found.last().is_some_and(|last| last.range.end == wrong as u64),
            "{wrong}: {found:?}"
        );
    }
    // Data that ends early or late. Junk behind the outboard is not read.
    let found = find(layout, plain, &pairs, &data[..5_000]);
    assert_eq!(found, [bad(4096..len as u64)]);
    let junk = [&pairs[..], &[1, 2, 3]].concat();
    assert_eq!(find(layout, plain, &junk, &data), []);
    let longer = [&data[..], &[0]].concat();
    let outboard = Outboard::new(&digest, layout, plain, &pairs);
    let extra = Flaw { range: len as u64..len as u64 + 1, kind: FlawKind::Extra };
    assert_eq!(outboard.damage(&longer, ..).collect::<Result<Vec<_>, _>>().expect("read"), [extra]);
    outboard.verify(&longer, ..len as u64).expect("nothing behind is asked for");
    assert!(matches!(outboard.verify(&longer, ..), Err(Error::Extra(_))));
    // An outboard that ends early: everything behind its end is unknown, if a pair above it is missing.
    let found = find(layout, plain, &pairs[..64], &data);
    assert_eq!(found, whole);
}

/// Fails at the bytes from `at` on, not by ending there.
struct Failing<'a>(&'a [u8], u64);

impl ReadAt for Failing<'_> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        if at + buf.len() as u64 > self.1 {
            return Err(IoError::new("the disk fails"));
        }
        self.0.read_exact_at(buf, at)
    }
}

#[test]
fn damage_ends_with_an_error_of_reading() {
    let mut data = pattern(4 << 20);
    let (digest, pairs) = outboard::create(&data, Group::IROH, treewide::Mode::PLAIN);
    let layout = Layout::new(4 << 20, Group::IROH);
    data[100] ^= 1;
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    // In 600 KiB, which one thread verifies, what was found before comes first.
    let failing = Failing(&data, 520 << 10);
    let mut found = outboard.damage(&failing, ..600 << 10);
    assert!(
        matches!(found.next(), Some(Ok(Flaw { range, kind: FlawKind::Bad })) if range == (0..16384))
    );
    assert!(matches!(found.next(), Some(Err(Error::Data(_)))));
    assert!(found.next().is_none() && found.next().is_none());
    assert!(matches!(
        outboard.damage(&Failing(&data, 3 << 20), ..).last(),
        Some(Err(Error::Data(_)))
    ));
    let failing = Outboard::new(&digest, layout, treewide::Mode::PLAIN, Failing(&pairs, 5_000));
    assert!(matches!(failing.damage(&data, ..).last(), Some(Err(Error::Outboard(_)))));
    assert!(matches!(failing.verify(&data, 1..), Err(Error::Outboard(_) | Error::Bad(_))));
}

#[test]
fn one_range_of_a_terabyte_needs_few_reads() {
    let mut tally = Tally::new("ranges of large inputs");
    let mut random = Random::new(6);
    for (len, log2) in
        [(1_000_000_000_000, 4), (1 << 63, 4), (u64::MAX, 0), (u64::MAX, 10), ((5 << 30) + 7, 0)]
    {
        let layout = Layout::new(len, group(log2));
        for start in [0, 5 << 29, random.next() % len, len - (1 << 20)] {
            let range = start..start.saturating_add(1 << 20).min(len);
            let sparse = Sparse::new(layout, layout.groups_of(&range), &mut random);
            let counted = Counted(&sparse.pairs, AtomicUsize::new(0));
            let data = Counted(&sparse.data, AtomicUsize::new(0));
            let outboard = Outboard::new(&sparse.digest, layout, treewide::Mode::PLAIN, &counted);
            outboard.verify(&data, range.clone()).expect("intact");
            let reads = (counted.1.into_inner(), data.1.into_inner());
            if log2 == 4 {
                assert!(reads.0 + reads.1 <= 64 + 26, "{reads:?} for {range:?} of {len}");
            }
            tally.case();
        }
    }
}

struct Counted<'a, T>(&'a T, AtomicUsize);

impl<T: ReadAt> ReadAt for Counted<'_, T> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_exact_at(buf, at)
    }
}

#[test]
fn verify_from_several_threads() {
    let data = pattern(3 << 20);
    let (digest, pairs) = outboard::create(&data, Group::IROH, treewide::Mode::PLAIN);
    let layout = Layout::new(3 << 20, Group::IROH);
    let outboard = Outboard::new(&digest, layout, treewide::Mode::PLAIN, &pairs);
    std::thread::scope(|scope| {
        for from in 0..4 {
            let (outboard, data) = (&outboard, &data);
            scope.spawn(move || outboard.verify(data, from * 500_000..).expect("intact"));
        }
    });
}
