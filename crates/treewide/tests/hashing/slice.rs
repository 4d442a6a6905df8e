//! `outboard::slice`: what was sent comes back; what was changed, cut off or made of something else is found before a
//! byte of it is handed out; `bao-tree` reads ours, and we make the same.
#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges are what is wanted")]

use crate::common::{Mode, Random, Tally, edge_lengths, rounds};
use std::io::{self, Read};
use std::ops::Range;
use treewide::outboard::slice::{DecodeError, Decoded, EncodeError, Source, decode, encode};
use treewide::outboard::{Error, Group, Layout, Node, PAIR_LEN};
use treewide::{CHUNK_LEN, Hash};

/// The outboard by its definition.
fn outboard(input: &[u8], layout: &Layout, mode: &Mode) -> Vec<u8> {
    fn value(
        input: &[u8],
        layout: &Layout,
        node: Node,
        mode: &crate::reference::Mode,
        out: &mut [u8],
    ) -> [u8; 32] {
        let Some(nodes) = layout.children(node) else {
            let range = layout.span(node);
            let first = range.start / CHUNK_LEN as u64;
            let group = &input[range.start as usize..range.end as usize];
            return mode.subtree(group, first).chaining_value();
        };
        let [left, right] = nodes.map(|node| value(input, layout, node, mode, out));
        let at = PAIR_LEN * layout.position(node).expect("above groups") as usize;
        out[at..at + PAIR_LEN].copy_from_slice([left, right].as_flattened());
        mode.parent(&left, &right).chaining_value()
    }
    let mut out = vec![0; layout.bytes() as usize];
    value(input, layout, layout.root(), &mode.reference(), &mut out);
    out
}

/// An input with everything that belongs to it.
struct Case {
    mode: Mode,
    input: Vec<u8>,
    layout: Layout,
    outboard: Vec<u8>,
    root: Hash,
}

impl Case {
    fn new(mode: Mode, input: Vec<u8>, group: u8) -> Self {
        let layout = Layout::new(input.len() as u64, Group::new(group).expect("a group"));
        let outboard = outboard(&input, &layout, &mode);
        let root = Hash::from_bytes(mode.one_shot(&input));
        Self { mode, input, layout, outboard, root }
    }

    fn any(random: &mut Random, most: usize) -> Self {
        let len = random.length(most);
        Self::new(Mode::any(random), random.bytes(len), random.below(8) as u8)
    }

    fn source(&self) -> Source<'_, Vec<u8>, Vec<u8>> {
        let (layout, root, mode) = (self.layout, self.root, self.mode.mode());
        Source { data: &self.input, layout, outboard: &self.outboard, root, mode }
    }

    fn slice(&self, group: Group, ranges: &[Range<u64>]) -> Vec<u8> {
        let mut sent = Vec::new();
        encode(&self.source(), group, ranges, &mut sent).expect("nothing is wrong");
        sent
    }

    /// Reads a slice. What is handed out must always be right, and in order.
    fn read(
        &self,
        group: Group,
        ranges: &[Range<u64>],
        sent: &mut dyn Read,
    ) -> Result<(Decoded, Vec<u8>), DecodeError> {
        let (len, mode) = (self.input.len() as u64, self.mode.mode());
        let (mut received, mut at) = (Vec::new(), 0);
        let decoded = decode(&self.root, len, group, ranges, mode, sent, |place, bytes| {
            assert!(place >= at, "in order");
            at = place + bytes.len() as u64;
            assert_eq!(bytes, &self.input[place as usize..at as usize], "unverified bytes");
            received.extend_from_slice(bytes);
            Ok(())
        })?;
        assert_eq!(decoded.bytes, received.len() as u64);
        Ok((decoded, received))
    }

    /// What `ranges` have, by its definition.
    fn expected(&self, ranges: &[Range<u64>]) -> Vec<u8> {
        let mut wanted = vec![false; self.input.len()];
        for range in ranges.iter().filter(|range| range.start < range.end) {
            let end = range.end.min(self.input.len() as u64) as usize;
            let start = range.start.min(end as u64) as usize;
            wanted[start..end].fill(true);
        }
        let bytes = self.input.iter().zip(wanted);
        bytes.filter(|(_, wanted)| *wanted).map(|(byte, _)| *byte).collect()
    }
}

fn any_group(random: &mut Random) -> Group {
    Group::new(if random.below(8) == 0 { 16 } else { random.below(8) as u8 }).expect("a group")
}

/// Ranges of bytes: none, one or many; touching, overlapping, empty, past the end, at the end of all numbers.
fn any_ranges(random: &mut Random, len: u64) -> Vec<Range<u64>> {
    let mut place = || match random.below(12) {
        0 => u64::MAX - random.below(3) as u64,
        1 => len.saturating_add(random.next() % 3000),
        2 => len,
        3 => 0,
        4 => random.next() % (len + 1) / 1024 * 1024,
        _ => random.next() % (len + 1),
    };
    let mut ranges: Vec<Range<u64>> = (0..6)
        .map(|_| {
            let (one, two) = (place(), place());
            one.min(two)..one.max(two)
        })
        .collect();
    ranges.truncate(random.below(7));
    if random.below(2) == 0 {
        // Small ones; some touch.
        ranges.iter_mut().for_each(|range| range.end = range.start.saturating_add(1500));
    }
    if random.below(4) == 0 {
        ranges.extend(ranges.last().map(|last| last.end..last.end.saturating_add(10)));
        #[expect(clippy::reversed_empty_ranges)]
        ranges.push(7..3);
    }
    ranges
}

#[test]
fn slices_come_back() {
    let mut tally = Tally::new("slice/come back");
    let mut random = Random::new(80);
    let mut cases: Vec<Case> = edge_lengths(20 * CHUNK_LEN)
        .into_iter()
        .map(|len| {
            let group = random.below(5) as u8;
            Case::new(Mode::any(&mut random), random.bytes(len), group)
        })
        .collect();
    cases.extend((0..rounds(100)).map(|_| Case::any(&mut random, 150_000)));
    for case in cases {
        let len = case.input.len() as u64;
        for _ in 0..8 {
            let (group, ranges) = (any_group(&mut random), any_ranges(&mut random, len));
            let sent = case.slice(group, &ranges);
            let (decoded, received) =
                case.read(group, &ranges, &mut &sent[..]).expect("what was sent");
            assert_eq!(received, case.expected(&ranges), "{len} {group:?} {ranges:?}");
            let last = len.saturating_sub(1) / 1024 * 1024;
            let proven = ranges.iter().any(|range| range.start < range.end && range.end > last);
            assert_eq!(decoded.len_is_proven, proven, "{len} {ranges:?}");
            // Nothing is read behind the slice.
            let mut longer = &[&sent[..], b"more"].concat()[..];
            case.read(group, &ranges, &mut longer).expect("what was sent");
            assert_eq!(longer, b"more");
            tally.case();
        }
    }
}

/// Gives one byte at a time, and says every other time that it was interrupted.
struct Slowly<'a>(&'a [u8], bool);

impl Read for Slowly<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buf.len().min(1);
        self.0.read(&mut buf[..most])
    }
}

#[test]
fn slices_may_arrive_byte_by_byte() {
    let mut tally = Tally::new("slice/byte by byte");
    let mut random = Random::new(81);
    for _ in 0..rounds(20) {
        let case = Case::any(&mut random, 20_000);
        let ranges = any_ranges(&mut random, case.input.len() as u64);
        let sent = case.slice(Group::IROH, &ranges);
        let (_, received) =
            case.read(Group::IROH, &ranges, &mut Slowly(&sent, false)).expect("what was sent");
        assert_eq!(received, case.expected(&ranges));
        tally.case();
    }
}

#[test]
fn damage_of_a_slice_is_found_before_its_bytes_are_handed_out() {
    let mut tally = Tally::new("slice/damage");
    let mut random = Random::new(82);
    for round in 0..rounds(60) {
        let case = Case::any(&mut random, 12_000);
        let len = case.input.len() as u64;
        let (group, ranges) = (any_group(&mut random), any_ranges(&mut random, len));
        let sent = case.slice(group, &ranges);
        for cut in (0..sent.len()).step_by(1 + sent.len() / 40) {
            let error = case.read(group, &ranges, &mut &sent[..cut]).expect_err("cut off");
            assert!(matches!(error, DecodeError::Ended(_)), "round {round}: {error}");
            tally.case();
        }
        for _ in 0..sent.len().min(40) {
            let mut changed = sent.clone();
            let at = random.below(changed.len());
            changed[at] ^= 1 << random.below(8);
            let error = case.read(group, &ranges, &mut &changed[..]).expect_err("changed");
            assert!(matches!(error, DecodeError::Wrong(_)), "round {round}: {error}");
            tally.case();
        }
        // Another length, mode or digest: no byte that is handed out is wrong, and the length is never proven.
        for other in [len ^ 1, len + 1, len / 2, len + 1024, 2 * len + 1, u64::MAX] {
            let mode = case.mode.mode();
            let check = |place: u64, bytes: &[u8]| {
                let place = place as usize;
                let right = case.input.get(place..place + bytes.len());
                assert_eq!(Some(bytes), right, "round {round}: {other}");
                Ok(())
            };
            let read = decode(&case.root, other, group, &ranges, mode, &sent[..], check);
            let proven = read.is_ok_and(|decoded| decoded.len_is_proven);
            assert!(!proven || other == len, "round {round}: {other} is not {len}");
            tally.case();
        }
        if !sent.is_empty() {
            let keyed = treewide::Mode::keyed(&[9; 32]);
            let never = |_: u64, _: &[u8]| panic!("of another mode");
            let read = decode(&case.root, len, group, &ranges, keyed, &sent[..], never);
            assert!(matches!(read, Err(DecodeError::Wrong(_))));
            let mode = case.mode.mode();
            let other = Hash::from_bytes([1; 32]);
            let read = decode(&other, len, group, &ranges, mode, &sent[..], never);
            assert!(matches!(read, Err(DecodeError::Wrong(_))));
            tally.case();
        }
    }
}

#[test]
fn a_slice_of_damaged_data_is_not_made() {
    let mut tally = Tally::new("slice/of damaged data");
    let mut random = Random::new(83);
    for round in 0..rounds(150) {
        let mut case = Case::any(&mut random, 60_000);
        let len = case.input.len();
        if len == 0 {
            continue;
        }
        let (group, whole) = (any_group(&mut random), 0..len as u64);
        let sent = case.slice(group, std::slice::from_ref(&whole));
        let in_data = case.outboard.is_empty() || random.below(2) == 0;
        let bytes = if in_data { &mut case.input } else { &mut case.outboard };
        let at = random.below(bytes.len());
        bytes[at] ^= 0x10;
        let mut got = Vec::new();
        let made = encode(&case.source(), group, std::slice::from_ref(&whole), &mut got);
        let Err(error) = made else {
            // Groups of the slice that are larger than those of the outboard need no pair below them.
            assert!(!in_data && group > case.layout.group() && got == sent, "round {round}");
            continue;
        };
        assert!(sent.starts_with(&got) && got.len() < sent.len(), "round {round}");
        match error {
            EncodeError::Source(Error::Bad(range)) if in_data => {
                assert!(range.contains(&(at as u64)), "round {round}: {range:?}");
                assert!(range.end - range.start <= group.bytes().max(case.layout.group().bytes()));
            }
            EncodeError::Source(Error::Unknown(range)) if !in_data => {
                assert!(range.end <= len as u64, "round {round}: {range:?}");
            }
            error => panic!("round {round}: {error}"),
        }
        tally.case();
    }
    // Data and outboards that end too early, and a reader that is gone.
    let case = Case::new(Mode::Hash, random.bytes(9000), 0);
    let short = &case.input[..8999].to_vec();
    let source = Source { data: short, ..case.source() };
    let error = encode(&source, Group::LEAST, &[0..9000], io::sink()).expect_err("short");
    assert!(matches!(error, EncodeError::Source(Error::Data(_))), "{error}");
    let short = &case.outboard[..64].to_vec();
    let source = Source { outboard: short, ..case.source() };
    let error = encode(&source, Group::LEAST, &[0..9000], io::sink()).expect_err("short");
    assert!(matches!(error, EncodeError::Source(Error::Outboard(_))), "{error}");
    let error =
        encode(&case.source(), Group::LEAST, &[0..9000], &mut [0; 100][..]).expect_err("full");
    assert!(matches!(error, EncodeError::Write(_)), "{error}");
    let sent = case.slice(Group::LEAST, &[0..9000]);
    let fails = |_: u64, _: &[u8]| Err(io::Error::other("full"));
    let mode = treewide::Mode::PLAIN;
    let read = decode(&case.root, 9000, Group::LEAST, &[0..9000], mode, &sent[..], fails);
    assert!(matches!(read, Err(DecodeError::Write(_))));
}

#[test]
fn enormous_lengths_allocate_nothing() {
    let mut tally = Tally::new("slice/enormous lengths");
    let mode = treewide::Mode::PLAIN;
    for len in [1 << 40, 1 << 63, u64::MAX - 1, u64::MAX] {
        for group in [Group::LEAST, Group::IROH, Group::MOST] {
            for ranges in [vec![0..u64::MAX], vec![u64::MAX - 1..u64::MAX], vec![len / 2..len]] {
                let never = |_: u64, _: &[u8]| panic!("nothing is right");
                let sent = vec![0; 1 << 20];
                let read =
                    decode(&Hash::from_bytes([0; 32]), len, group, &ranges, mode, &sent[..], never);
                assert!(matches!(read, Err(DecodeError::Wrong(_))));
                tally.case();
            }
        }
    }
}

/// The other implementation.
#[cfg(target_arch = "x86_64")]
mod others {
    use super::*;
    use bao_tree::io::outboard::PreOrderMemOutboard;
    use bao_tree::io::round_up_to_chunks;
    use bao_tree::io::sync::{DecodeResponseIter, encode_ranges, keyed_encode_ranges};
    use bao_tree::io::{BaoContentItem, Leaf};
    use bao_tree::{BaoTree, BlockSize, ByteRanges, ChunkRanges, blake3};

    fn chunk_ranges(ranges: &[Range<u64>]) -> ChunkRanges {
        let mut all = ByteRanges::empty();
        for range in ranges.iter().filter(|range| range.start < range.end) {
            all |= ByteRanges::from(range.clone());
        }
        round_up_to_chunks(&all)
    }

    #[test]
    fn bao_tree_makes_the_same_slices() {
        let mut tally = Tally::new("slice/bao-tree");
        let mut random = Random::new(85);
        let mut lengths = edge_lengths(35 * CHUNK_LEN);
        lengths.extend((0..rounds(400)).map(|_| random.length(200_000)));
        for len in lengths {
            let log2 = random.below(7) as u8;
            let (group, block) = (Group::new(log2).unwrap(), BlockSize::from_chunk_log(log2));
            let key: [u8; 32] = random.bytes(32).try_into().unwrap();
            let mode = if random.below(4) == 0 { Mode::KeyedHash(key) } else { Mode::Hash };
            // Our outboard may have other groups than the slice.
            let own = if random.below(4) == 0 { random.below(7) as u8 } else { log2 };
            let case = Case::new(mode, random.bytes(len), own);
            let ranges = any_ranges(&mut random, len as u64);
            let wanted = chunk_ranges(&ranges);
            let sent = case.slice(group, &ranges);
            let mut theirs = Vec::new();
            match &case.mode {
                Mode::KeyedHash(key) => {
                    let tree = PreOrderMemOutboard::create_keyed(&case.input, block, key);
                    assert_eq!(*tree.root.as_bytes(), *case.root.as_bytes());
                    keyed_encode_ranges(&case.input[..], tree, &wanted, &mut theirs, key).unwrap();
                }
                _ => {
                    let tree = PreOrderMemOutboard::create(&case.input, block);
                    encode_ranges(&case.input[..], &tree, &wanted, &mut theirs).unwrap();
                    if own == log2 {
                        assert_eq!(tree.data, case.outboard);
                    }
                }
            }
            assert!(sent == theirs, "{len} bytes, groups of 2^{log2}, {ranges:?}");
            // They read ours.
            let tree = BaoTree::new(len as u64, block);
            let root = blake3::Hash::from(*case.root.as_bytes());
            let items: Vec<BaoContentItem> = match &case.mode {
                Mode::KeyedHash(key) => {
                    DecodeResponseIter::new_keyed(root, tree, &sent[..], &wanted, key)
                        .collect::<Result<_, _>>()
                        .expect("ours")
                }
                _ => DecodeResponseIter::new(root, tree, &sent[..], &wanted)
                    .collect::<Result<_, _>>()
                    .expect("ours"),
            };
            for item in items {
                if let BaoContentItem::Leaf(Leaf { offset, data }) = item {
                    assert_eq!(data, case.input[offset as usize..offset as usize + data.len()]);
                }
            }
            tally.case();
        }
    }
}
