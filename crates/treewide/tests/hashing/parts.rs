//! `parts`: an input hashed in parts, with any cuts, in any order, some of them twice, is the same as hashed at
//! once; what is missing, wrong or damaged is found. One file although it is long: all tests share the cuts and the workers.
#![allow(
    clippy::single_range_in_vec_init,
    reason = "lists of ranges are compared with lists of ranges"
)]

use crate::common::{Mode, Random, Tally, edge_lengths, pattern, rounds};
use std::ops::Range;
#[cfg(feature = "outboard")]
use treewide::outboard::{self, Group, NoOutboard};
use treewide::parts::{AbsorbError, Absorbed, MAX_OBJECT, Part, Parts, PartsError, subtrees};
use treewide::{CHUNK_LEN, hash};

const CHUNK: u64 = CHUNK_LEN as u64;

/// The tree by its definition: the nodes of `range` below `node`.
fn model(node: Range<u128>, range: &Range<u128>, total: u128, out: &mut Vec<Range<u64>>) {
    if node.start >= range.end || range.start >= node.end {
        return;
    }
    let is_root = node == (0..total) && total > CHUNK.into();
    if !is_root && range.start <= node.start && node.end <= range.end {
        out.push(node.start as u64..node.end as u64);
        return;
    }
    let chunks = (node.end - node.start).div_ceil(CHUNK.into());
    let left = node.start + (chunks.next_power_of_two() / 2) * u128::from(CHUNK);
    model(node.start..left, range, total, out);
    model(left..node.end, range, total, out);
}

fn check_subtrees(range: Range<u64>, total: u64) {
    let nodes: Vec<_> = subtrees(range.clone(), total).expect("a range of chunks").collect();
    let mut expected = Vec::new();
    let wide = u128::from(range.start)..u128::from(range.end);
    model(0..total.into(), &wide, total.into(), &mut expected);
    assert_eq!(nodes, expected, "{range:?} of {total}");
    assert!(nodes.len() <= 108, "{range:?} of {total}: {} nodes", nodes.len());
}

#[test]
fn subtrees_are_the_nodes_of_the_tree() {
    let mut tally = Tally::new("parts/subtrees are the nodes of the tree");
    for chunks in 0..=33_u64 {
        for total in [(chunks * CHUNK).saturating_sub(1), chunks * CHUNK, chunks * CHUNK + 1] {
            let cuts: Vec<_> = (0..=total / CHUNK).map(|cut| cut * CHUNK).chain([total]).collect();
            for (i, start) in cuts.iter().enumerate() {
                for end in &cuts[i..] {
                    check_subtrees(*start..*end, total);
                    tally.case();
                }
            }
        }
    }
    let mut random = Random::new(70);
    for _ in 0..rounds(3000) {
        let total = match random.below(4) {
            0 => u64::MAX - random.next() % 3000,
            1 => (1 << (10 + random.below(54))) + random.next() % 3 - 1,
            _ => random.next() >> random.below(54),
        };
        let cuts = [random.next(), random.next()].map(|cut| {
            // Places with many zeros at their ends are starts of large nodes.
            let cut =
                (cut % total.saturating_add(1).max(1)) & (u64::MAX << (10 + random.below(50)));
            if random.below(4) == 0 { total } else { cut }
        });
        check_subtrees(cuts[0].min(cuts[1])..cuts[0].max(cuts[1]), total);
        tally.case();
    }
}

#[test]
fn nodes_are_not_cut_inside_of_chunks() {
    let cases = [
        (0..1000, 3000, "cut at 0 or 1024"),
        (1500..2048, 3000, "cut at 1024 or 2048"),
        (2048..2999, 3000, "cut at 2048 or 3000"),
        (0..3001, 3000, "input of 3000 bytes"),
        (3001..3001, 3000, "input of 3000 bytes"),
        #[expect(clippy::reversed_empty_ranges)]
        (2048..1024, 3000, "input of 3000 bytes"),
    ];
    for (range, total, words) in cases {
        let text = subtrees(range.clone(), total).expect_err("not chunks").to_string();
        assert!(text.contains(words), "{range:?}: `{text}` does not say `{words}`");
        let mut parts = Parts::new(total, treewide::Mode::PLAIN);
        let error = parts.push(Part { range: range.clone(), cv: [1; 32] }).unwrap_err();
        assert!(error.to_string().contains(words), "{range:?}: `{error}`");
        if range.end > total {
            let error = parts.hash(&pattern(range.clone().count()), range.start).unwrap_err();
            assert!(error.to_string().contains(words), "{range:?}: `{error}`");
        }
    }
    // Chunks, but no node.
    let mut parts = Parts::new(8 * CHUNK, treewide::Mode::PLAIN);
    for range in [0..0, 0..8 * CHUNK, CHUNK..3 * CHUNK, 2 * CHUNK..8 * CHUNK, 0..3 * CHUNK] {
        let error = parts.push(Part { range: range.clone(), cv: [1; 32] }).unwrap_err();
        assert!(error.to_string().contains("is not a node"), "{range:?}: {error}");
    }
    let error = parts.hash(&[0; 10], u64::MAX - 5).unwrap_err();
    assert!(matches!(error, AbsorbError::Cut(_)), "{error}");
    // Of many, all or none: no node, or another value of the first.
    let part = |at: u64, cv| Part { range: at * CHUNK..(at + 1) * CHUNK, cv: [cv; 32] };
    for wrong in [Part { range: 0..3 * CHUNK, cv: [1; 32] }, part(0, 2)] {
        let several = [part(0, 1), part(1, 1), wrong];
        parts.extend(several).unwrap_err();
        assert_eq!(parts.missing(), [0..8 * CHUNK]);
    }
    let added = parts.extend([part(7, 1), part(0, 1), part(7, 1)]).unwrap();
    assert_eq!((added.new, added.again), (2 * CHUNK, CHUNK));
    assert_eq!(parts.missing(), [CHUNK..7 * CHUNK]);
    Tally::new("parts/nodes are not cut inside of chunks").case();
}

/// `total` bytes cut at random places, in random order: at chunks, anywhere, or a few bytes from a chunk.
fn random_cuts(random: &mut Random, total: u64) -> Vec<Range<u64>> {
    let chunks = total / CHUNK + 1;
    let kind = random.below(3);
    let mut cut = || match kind {
        0 => random.next() % chunks * CHUNK,
        1 => random.next() % (total + 1),
        _ => total.min(random.next() % chunks * CHUNK + random.next() % 3),
    };
    let count = cut() % 12;
    let mut cuts: Vec<u64> = (0..count).map(|_| cut()).chain([0, total]).collect();
    cuts.sort_unstable();
    let mut ranges: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
    for i in (1..ranges.len()).rev() {
        ranges.swap(i, random.below(i + 1));
    }
    ranges
}

fn slice<'a>(input: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    &input[range.start as usize..range.end as usize]
}

/// A worker's result, which came as bytes.
fn worker(mode: &Mode, input: &[u8], range: &Range<u64>) -> Parts {
    let mut parts = Parts::new(input.len() as u64, mode.mode()).of_object(b"object");
    parts.hash(slice(input, range), range.start).expect("ranges of chunks");
    sent(&parts, mode)
}

fn sent(parts: &Parts, mode: &Mode) -> Parts {
    let bytes = parts.to_bytes();
    let received = Parts::from_bytes(&bytes, mode.mode()).expect("what was sent");
    assert_eq!(received.to_bytes(), bytes, "parts have one form");
    received
}

#[test]
fn parts_in_any_order_make_the_digest() {
    let mut tally = Tally::new("parts/any cuts in any order make the digest");
    let mut random = Random::new(71);
    let mut lengths = edge_lengths(40 * CHUNK_LEN);
    lengths.extend((0..rounds(400)).map(|_| random.length(300_000)));
    for len in lengths {
        let (mode, input) = (Mode::any(&mut random), random.bytes(len));
        let total = len as u64;
        let mut whole = Parts::new(total, mode.mode()).of_object(b"object");
        let mut done = vec![false; len];
        let mut ranges = random_cuts(&mut random, total);
        let twice = ranges.iter().filter(|_| random.below(4) == 0).cloned().collect::<Vec<_>>();
        ranges.extend(twice);
        if random.below(2) == 0 {
            // Hedged with other cuts.
            ranges.extend(random_cuts(&mut random, total));
        }
        for range in ranges {
            let bytes = range.start as usize..range.end as usize;
            let new = done[bytes.clone()].iter().filter(|done| !**done).count() as u64;
            assert_eq!(whole.finish().is_err(), done.contains(&false), "{mode:?} {len}");
            let absorbed = if random.below(2) == 0 {
                whole.absorb(&worker(&mode, &input, &range))
            } else {
                whole.hash(slice(&input, &range), range.start)
            };
            let absorbed = absorbed.expect("all are right");
            assert_eq!((absorbed.new, absorbed.again), (new, range.end - range.start - new));
            done[bytes].fill(true);
            let gaps = whole.missing();
            let missing: u64 = gaps.iter().map(|gap| gap.end - gap.start).sum();
            assert_eq!(missing, done.iter().filter(|done| !**done).count() as u64, "{gaps:?}");
            let is_missing = |gap: &Range<u64>| {
                !done[gap.start as usize..gap.end as usize].contains(&true) && !gap.is_empty()
            };
            assert!(gaps.iter().all(is_missing), "{gaps:?}");
            match random.below(8) {
                0 => whole.compact(),
                1 => whole = sent(&whole, &mode),
                _ => {}
            }
        }
        let expected = mode.one_shot(&input);
        assert_eq!(whole.finish().expect("all is there"), expected, "{mode:?} {len}");
        assert_eq!(mode.reference().digest(&input), expected, "{mode:?} {len}");
        whole.compact();
        assert_eq!(sent(&whole, &mode).finish().unwrap(), expected, "{mode:?} {len}");
        assert!(whole.iter().count() <= 2);
        tally.case();
    }
}

#[test]
fn a_lone_chunk_and_an_empty_input_are_parts_too() {
    let mut tally = Tally::new("parts/inputs of one chunk");
    for mode in Mode::all() {
        for len in [0, 1, 63, 64, 65, 1023, 1024, 1025] {
            let input = pattern(len);
            let mut parts = Parts::new(len as u64, mode.mode());
            assert_eq!(parts.finish().is_ok(), len == 0);
            parts.hash(&input, 0).unwrap();
            assert_eq!(parts.finish().unwrap(), mode.one_shot(&input), "{mode:?} {len}");
            if (1..=1024).contains(&len) {
                let only = Part { range: 0..len as u64, cv: mode.one_shot(&input) };
                assert_eq!(parts.iter().collect::<Vec<_>>(), std::slice::from_ref(&only));
                assert_eq!(parts.push(only).unwrap().again, len as u64);
            }
            let back = Parts::from_bytes(&parts.to_bytes(), mode.mode()).unwrap();
            assert_eq!(back.finish().unwrap(), mode.one_shot(&input), "{mode:?} {len}");
            tally.case();
        }
    }
}

#[test]
fn runs_in_one_call_are_runs_one_by_one() {
    let mut tally = Tally::new("parts/runs in one call are runs one by one");
    let mut random = Random::new(74);
    for round in 0..rounds(200) {
        // Rows of a matrix, and the columns that each of some workers has.
        let (rows, width) = (1 + random.below(40), 1 + random.below(12_000));
        let mode = Mode::any(&mut random);
        let input = random.bytes(rows * width);
        let total = input.len() as u64;
        let mut cuts: Vec<_> = (0..random.below(4)).map(|_| random.below(width + 1)).collect();
        cuts.extend([0, width]);
        cuts.sort_unstable();
        let mut whole = Parts::new(total, mode.mode());
        let mut singly = Parts::new(total, mode.mode());
        for columns in cuts.windows(2) {
            let runs: Vec<_> = (0..rows)
                .map(|row| (row * width + columns[0]) as u64..(row * width + columns[1]) as u64)
                .collect();
            let bytes: Vec<u8> = runs.iter().flat_map(|run| slice(&input, run).to_vec()).collect();
            let mut mine = Parts::new(total, mode.mode());
            let absorbed = mine.hash_runs(&bytes, runs.iter().cloned()).expect("right runs");
            assert_eq!((absorbed.new, absorbed.again), (bytes.len() as u64, 0), "round {round}");
            for run in &runs {
                singly.hash(slice(&input, run), run.start).expect("a right run");
            }
            whole.absorb(&sent(&mine, &mode)).expect("right parts");
        }
        assert_eq!(whole.finish().unwrap(), mode.one_shot(&input), "round {round}");
        assert_eq!(singly.finish().unwrap(), mode.one_shot(&input), "round {round}");
        assert_eq!(whole.unchecked(), []);
        tally.case();
    }
}

#[test]
fn bytes_inside_of_a_chunk_are_compared() {
    let input = pattern(5000);
    let fresh = || Parts::new(5000, treewide::Mode::PLAIN);
    let mut wrong = input.clone();
    wrong[1100] ^= 1;
    wrong[1200] ^= 1;
    // With one another, also where they only overlap.
    let mut parts = fresh();
    parts.hash(&input[1000..1300], 1000).unwrap();
    let before = parts.to_bytes();
    let error = parts.hash(&wrong[1050..1600], 1050).expect_err("two bytes differ");
    assert_eq!(error, AbsorbError::Clash { here: 1100..1201, there: 1100..1201 });
    assert_eq!(parts.to_bytes(), before);
    // With a whole chunk: when its bytes are at hand, or when the bytes of the chunk are all there.
    let error = parts.hash(&wrong, 0).expect_err("the same bytes differ");
    assert_eq!(error, AbsorbError::Clash { here: 1100..1201, there: 1100..1201 });
    let mut other = fresh();
    other.hash(&wrong, 0).unwrap();
    parts.absorb(&other).expect("a digest of the chunk says nothing of some of its bytes");
    assert_eq!(parts.unchecked(), [1000..1024, 1024..1300]);
    assert_eq!(parts.hash(&input[..1000], 0).unwrap().again, 1000);
    assert_eq!(parts.unchecked(), [0..1024, 1024..1300]);
    let error = parts.hash(&input[1300..4096], 1300).expect_err("the chunk was another one");
    assert!(matches!(&error, AbsorbError::Clash { here, .. } if here.contains(&1100)), "{error}");
    // With bytes that completed a chunk: of replicas, one that was cut in the same place.
    let mut replicas = fresh().keeping_cut_chunks();
    for range in [0..1500, 0..1500, 1500..5000, 1500..5000] {
        let mut one = fresh();
        one.hash(slice(&input, &range), range.start).unwrap();
        replicas.absorb(&one).expect("the same bytes");
    }
    assert_eq!(replicas.unchecked(), []);
    let mut one = fresh();
    one.hash(&wrong[1100..1900], 1100).unwrap();
    let error = replicas.absorb(&one).expect_err("two bytes differ");
    assert_eq!(error, AbsorbError::Clash { here: 1100..1201, there: 1100..1201 });
    // What is forgotten is missing, with the rest of its chunk. Beyond the end is nothing to forget.
    parts.forget(5000..5001);
    parts.forget(1100..1101);
    assert!(parts.missing().iter().any(|gap| gap.start <= 1100 && gap.end > 1300));
    parts.hash(&input, 0).unwrap();
    assert_eq!(parts.finish().unwrap(), hash(&input));
    Tally::new("parts/bytes inside of a chunk are compared").case();
}

#[test]
fn what_was_compared_does_not_wait_again() {
    let input = pattern(8 * CHUNK_LEN);
    let mut parts = worker(&Mode::Hash, &input, &(0..8 * CHUNK));
    for chunks in [2..4, 0..2, 2..4, 3..4] {
        let range = chunks.start * CHUNK..chunks.end * CHUNK;
        parts.absorb(&worker(&Mode::Hash, &input, &range)).unwrap();
    }
    // The half of a node that was compared has no sibling yet.
    assert_eq!(parts.unchecked(), [3 * CHUNK..4 * CHUNK]);
    // What was compared is forgotten with the parts above it, and a merged part hides it.
    parts.compact();
    assert_eq!(parts.unchecked(), [3 * CHUNK..4 * CHUNK]);
    parts.forget(0..1);
    assert_eq!((parts.unchecked(), parts.missing()), (vec![], vec![0..4 * CHUNK]));
}

#[test]
fn whole_copies_in_any_order_are_compared() {
    let mut tally = Tally::new("parts/whole copies in any order are compared");
    let mut random = Random::new(76);
    let mut check = |input: &[u8], copies: &[Vec<Range<u64>>], random: &mut Random| {
        let mut ranges = copies.concat();
        for i in (1..ranges.len()).rev() {
            ranges.swap(i, random.below(i + 1));
        }
        let total = input.len() as u64;
        let mode = Mode::Hash;
        let mut whole = Parts::new(total, mode.mode()).of_object(b"object").keeping_cut_chunks();
        ranges.iter().for_each(|range| _ = whole.absorb(&worker(&mode, input, range)).unwrap());
        assert_eq!((whole.unchecked(), whole.missing()), (vec![], vec![]), "{ranges:?}");
        assert_eq!(whole.finish().unwrap(), hash(input));
        tally.case();
    };
    // A whole, and two replicas of two shards.
    for cut in [1024, 1500, 2048, 3072, 5120] {
        let two = vec![0..cut, cut..8192];
        for _ in 0..40 {
            check(&pattern(8192), &[vec![0..8192, 0..8192], two.clone(), two.clone()], &mut random);
        }
    }
    for _ in 0..rounds(600) {
        let len = random.length(30_000).max(1);
        let input = random.bytes(len);
        let copies: Vec<_> =
            (0..=random.below(4)).map(|_| random_cuts(&mut random, len as u64)).collect();
        check(&input, &copies, &mut random);
    }
}

#[test]
fn parts_of_many_inputs_are_one_message() {
    let mut random = Random::new(75);
    let mode = Mode::KeyedHash([3; 32]);
    let all: Vec<Parts> = (0..40)
        .map(|number: u8| {
            let input = random.bytes(usize::from(number) * 300);
            let mut parts = Parts::new(input.len() as u64, mode.mode()).of_object(&[number]);
            for range in random_cuts(&mut random, input.len() as u64).into_iter().take(2) {
                parts.hash(slice(&input, &range), range.start).unwrap();
            }
            parts
        })
        .collect();
    let message = Parts::pack(mode.mode(), &all);
    let alone: usize = all.iter().map(|parts| parts.to_bytes().len()).sum();
    assert_eq!(message.len(), alone - 39 * (42 + 32));
    let back = Parts::unpack(&message, mode.mode()).unwrap();
    assert!(back.iter().map(Parts::to_bytes).eq(all.iter().map(Parts::to_bytes)));
    assert!(matches!(Parts::from_bytes(&message, mode.mode()), Err(PartsError::Length(_))));
    for len in 0..message.len() {
        assert!(Parts::unpack(&message[..len], mode.mode()).is_err(), "{len} bytes");
    }
    assert_eq!(Parts::unpack(&Parts::pack(mode.mode(), []), mode.mode()).unwrap().len(), 0);
    assert_eq!(Parts::unpack(&message, treewide::Mode::PLAIN).unwrap_err(), PartsError::Mode);
}

#[test]
#[should_panic(expected = "fewer bytes")]
fn runs_cover_the_bytes() {
    let _ = Parts::new(9, treewide::Mode::PLAIN).hash_runs(&[0; 5], [0..2, 4..6]);
}

#[cfg(feature = "outboard")]
#[test]
fn an_outboard_of_parts_is_that_of_the_data() {
    let mut tally = Tally::new("parts/an outboard of parts is that of the data");
    let mut random = Random::new(79);
    for mode in Mode::all() {
        for round in 0..rounds(60) {
            let group = Group::new((round % 5) as u8).expect("small");
            let len = match round % 6 {
                // Around whole groups.
                0 => random.below(20) * group.bytes() as usize + random.below(3),
                _ => random.below(200_000),
            };
            let (input, total) = (pattern(len), len as u64);
            let mut parts = Parts::new(total, mode.mode());
            for range in random_cuts(&mut random, total) {
                // Whole groups at most, in any order; and what is smaller is merged.
                let mut at = range.start;
                while at < range.end {
                    let end = range.end.min((at / group.bytes() + 1) * group.bytes());
                    parts.hash(slice(&input, &(at..end)), at).expect("ranges of chunks");
                    at = end;
                }
            }
            let (digest, pairs) = outboard::create(&input, group, mode.mode());
            assert_eq!(parts.outboard(group).as_ref(), Ok(&pairs), "{len} by {group:?}");
            assert_eq!(parts.finish().unwrap(), digest);
            tally.case();
        }
    }

    // Nothing is made up: not of parts that are missing, nor of those above a group.
    let input = pattern(300_000);
    let mut parts = Parts::new(300_000, treewide::Mode::PLAIN);
    parts.hash(&input[..262_144], 0).unwrap();
    let missing = parts.outboard(Group::IROH).unwrap_err();
    assert_eq!(missing.to_string(), "37856 bytes are not hashed yet, from 262144..300000 on");
    parts.hash(&input[262_144..], 262_144).unwrap();
    let larger = parts.outboard(Group::IROH).unwrap_err();
    assert_eq!(larger, NoOutboard::Larger { part: 0..262_144, group: 16_384 });
    assert!(
        larger
            .to_string()
            .starts_with("0..262144 is one part, and an outboard needs parts of at most 16384")
    );
}

#[test]
fn other_values_of_the_same_bytes_clash() {
    let mut tally = Tally::new("parts/other values of the same bytes clash");
    let mut random = Random::new(72);
    for round in 0..rounds(600) {
        let mode = Mode::any(&mut random);
        let len = random.length(100_000).max(1);
        let input = random.bytes(len);
        let total = len as u64;
        let mut wrong = input.clone();
        let bad = random.below(len);
        wrong[bad] ^= 1 << random.below(8);
        let mut whole = Parts::new(total, mode.mode()).of_object(b"object");
        for range in random_cuts(&mut random, total) {
            whole.absorb(&worker(&mode, &input, &range)).unwrap();
        }
        if random.below(2) == 0 {
            whole.compact();
        }
        // Each node of one side has all its bytes on the other side too, so some comparison must fail.
        let mut clash = None;
        for range in random_cuts(&mut random, total) {
            let before = whole.to_bytes();
            if let Err(error) = whole.absorb(&worker(&mode, &wrong, &range)) {
                assert_eq!(whole.to_bytes(), before, "round {round}: nothing is added");
                assert!(clash.replace(error).is_none(), "round {round}: one bit, one clash");
            }
        }
        let Some(AbsorbError::Clash { here, there }) = clash else {
            panic!("round {round}: no clash in {len} bytes");
        };
        assert!(here.contains(&(bad as u64)), "round {round}: {bad} is not in {here:?}");
        assert!(there.start < total && there.end <= total);
        assert_eq!(whole.finish().unwrap(), mode.one_shot(&input), "round {round}");

        // The other way: what is here is wrong. It is forgotten, and hashed a third time.
        let mut whole = worker(&mode, &wrong, &(0..total));
        let right = worker(&mode, &input, &(0..total));
        let Err(AbsorbError::Clash { here, .. }) = whole.absorb(&right) else {
            panic!("round {round}: no clash the other way");
        };
        whole.forget(here.clone());
        assert_eq!(whole.missing(), [here], "round {round}");
        whole.absorb(&right).expect("what was wrong is gone");
        assert_eq!(whole.finish().unwrap(), mode.one_shot(&input), "round {round}");
        tally.case();
    }
}

#[test]
fn halves_wait_for_each_other_to_be_compared() {
    let mut tally = Tally::new("parts/halves wait for each other");
    let input = pattern(8 * CHUNK_LEN);
    let mut wrong = input.clone();
    wrong[5 * CHUNK_LEN] ^= 1;
    let part = |input: &[u8], chunks: Range<u64>| {
        let range = chunks.start * CHUNK..chunks.end * CHUNK;
        worker(&Mode::Hash, input, &range)
    };
    // The whole first, or the half first.
    for whole_first in [true, false] {
        let mut parts = part(&input, 0..4);
        let two = [part(&input, 4..8), part(&wrong, 4..6)];
        let order = if whole_first { [0, 1] } else { [1, 0] };
        order.iter().for_each(|i| _ = parts.absorb(&two[*i]).expect("nothing can be compared"));
        assert_eq!(parts.unchecked(), [4 * CHUNK..6 * CHUNK]);
        assert_eq!(parts.finish().unwrap(), hash(&input));
        let mut parts = sent(&parts, &Mode::Hash);
        // Chunk by chunk: the second one completes it.
        parts.absorb(&part(&input, 7..8)).unwrap();
        let error = parts.absorb(&part(&input, 6..7)).expect_err("the half was wrong");
        let AbsorbError::Clash { here, there } = &error else { panic!("{error}") };
        assert_eq!((here.clone(), there.clone()), (4 * CHUNK..8 * CHUNK, 6 * CHUNK..7 * CHUNK));
        let text = error.to_string();
        assert!(text.contains("4096..8192") && text.contains("a third time"), "{text}");
        assert_eq!(parts.unchecked(), [4 * CHUNK..6 * CHUNK, 7 * CHUNK..8 * CHUNK]);
        parts.forget(5 * CHUNK..5 * CHUNK + 1);
        assert_eq!((parts.unchecked(), parts.missing()), (vec![], vec![4 * CHUNK..8 * CHUNK]));
        tally.case();
    }
    // Halves that agree leave nothing to wait for.
    let mut parts = part(&input, 0..8);
    for chunk in [3, 0, 2, 1, 6, 4, 7, 5] {
        let absorbed = parts.absorb(&part(&input, chunk..chunk + 1)).unwrap();
        assert_eq!(absorbed, {
            let mut it = Absorbed::default();
            it.again = CHUNK;
            it
        });
    }
    assert!(parts.unchecked().is_empty());
    tally.case();
}

#[test]
fn parts_of_something_else_are_refused() {
    let mut tally = Tally::new("parts/of something else");
    let (key, context) = (Mode::KeyedHash([7; 32]), Mode::DeriveKey("context".into()));
    let input = pattern(5000);
    let here = || Parts::new(5000, key.mode()).of_object(b"version 1");
    let mut parts = here();
    parts.hash(&input, 0).unwrap();
    let refused = |other: &Parts| parts.clone().absorb(other).expect_err("of something else");
    let other_key = Mode::KeyedHash([8; 32]);
    let others = [
        (Parts::new(4999, key.mode()).of_object(b"version 1"), "input of 4999 bytes"),
        (Parts::new(5000, other_key.mode()).of_object(b"version 1"), "another key"),
        (Parts::new(5000, context.mode()).of_object(b"version 1"), "another mode"),
        (Parts::new(5000, treewide::Mode::PLAIN).of_object(b"version 1"), "another mode"),
        (Parts::new(5000, key.mode()), "another object"),
        (here().of_object(b"version 2"), "another version"),
    ];
    for (other, words) in others {
        let error = refused(&other);
        assert!(error.to_string().contains(words), "`{error}` does not say `{words}`");
        tally.case();
    }
    // The key is not in the bytes, and another one is not accepted.
    let bytes = parts.to_bytes();
    assert!(!bytes.windows(8).any(|bytes| bytes == [7; 8]));
    for other in [&other_key, &context, &Mode::Hash, &Mode::DeriveKey("other".into())] {
        assert_eq!(Parts::from_bytes(&bytes, other.mode()).unwrap_err(), PartsError::Mode);
        tally.case();
    }
    let debug = format!("{parts:?}");
    assert!(debug.contains("missing: 0") && !debug.contains("7, 7"), "{debug}");
}

/// The bytes with the right check at their end.
fn checked(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 32;
    let check = hash(&bytes[..body]);
    bytes[body..].copy_from_slice(check.as_bytes());
    bytes
}

#[test]
fn bytes_that_are_not_parts_are_errors() {
    let mut tally = Tally::new("parts/bytes that are not parts");
    let input = pattern(20_000);
    let mut parts = worker(&Mode::Hash, &input, &(0..20_000));
    parts.compact();
    parts.absorb(&worker(&Mode::Hash, &input, &(2048..3072))).unwrap();
    assert_eq!(parts.unchecked().len(), 1);
    let bytes = parts.to_bytes();
    let plain = treewide::Mode::PLAIN;
    for len in 0..bytes.len() {
        assert!(Parts::from_bytes(&bytes[..len], plain).is_err(), "{len} bytes");
        tally.case();
    }
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Parts::from_bytes(&changed, plain).is_err(), "bit {bit}");
        tally.case();
    }
    for more in [1, 48, 96] {
        let longer = [&bytes[..], &vec![0; more]].concat();
        assert!(Parts::from_bytes(&longer, plain).is_err(), "{more} bytes more");
        tally.case();
    }
    // With a right check: numbers that ask for memory or for other nodes.
    let parts_at = 78 + b"object".len();
    let forged: [(usize, u64, &str); 13] = [
        (8, 0x0000_0000_0000_0003, "version 3"),
        (9, 0x0000_0000_0000_0010, "another mode"),
        (42, 19_999, "damaged"),
        (42, u64::MAX, "damaged"),
        (50, 0xffff_ffff, "wrong length"),
        (54, u64::MAX, "wrong length"),
        (54, 3, "wrong length"),
        (62, u64::MAX - 1, "wrong length"),
        (70, 47, "wrong length"),
        (70, u64::MAX, "wrong length"),
        (parts_at, 1, "damaged"),
        (parts_at + 8, u64::MAX, "damaged"),
        (parts_at + 8, 0, "damaged"),
    ];
    for (at, value, words) in forged {
        let mut changed = bytes.clone();
        let width = if at == 50 {
            4
        } else if at < 42 {
            1
        } else {
            8
        };
        changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        let error = Parts::from_bytes(&checked(changed), plain).expect_err("forged");
        assert!(error.to_string().contains(words), "at {at}: `{error}` does not say `{words}`");
        tally.case();
    }
    // What waits without a whole above it; a whole twice; out of order.
    let part = |at: usize| bytes[parts_at + 48 * at..][..48].to_vec();
    let head = |count: u64, waiting: u64, parts: &[Vec<u8>]| {
        let mut forged = bytes[..parts_at].to_vec();
        forged[54..62].copy_from_slice(&count.to_le_bytes());
        forged[62..70].copy_from_slice(&waiting.to_le_bytes());
        checked([forged, parts.concat(), vec![0; 32]].concat())
    };
    assert!(Parts::from_bytes(&head(2, 1, &[part(0), part(1), part(2)]), plain).is_ok());
    for (count, waiting, order) in [
        (3, 0, &[0, 1, 2][..]),
        (2, 1, &[1, 0, 2]),
        (1, 1, &[1, 2]),
        (1, 1, &[0, 0]),
        (0, 3, &[0, 1, 2]),
        (2, 2, &[0, 1, 2, 2]),
        (2, 0, &[0, 0]),
    ] {
        let parts: Vec<_> = order.iter().map(|at| part(*at)).collect();
        let error = Parts::from_bytes(&head(count, waiting, &parts), plain).expect_err("forged");
        assert_eq!(error, PartsError::Damaged, "{order:?}");
        tally.case();
    }
    // Fragments that no one writes: empty, whole chunks, over the end of a chunk or of the input, touching, out of order.
    let fragments = |of: &[(u64, u16)]| {
        let written = of.iter().flat_map(|(start, len)| {
            let content = vec![0; usize::from(*len)];
            [&start.to_le_bytes()[..], &len.to_le_bytes(), &content].concat()
        });
        let written: Vec<u8> = written.collect();
        let mut forged = bytes[..parts_at].to_vec();
        forged[54..70].fill(0);
        forged[70..78].copy_from_slice(&(written.len() as u64).to_le_bytes());
        Parts::from_bytes(&checked([forged, written, vec![0; 32]].concat()), plain)
    };
    let right = fragments(&[(0, 9), (10, 1), (1000, 24), (1024, 5), (19_999, 1)]).unwrap();
    assert_eq!(sent(&right, &Mode::Hash).missing().len(), 3);
    for of in [
        &[(0, 0)][..],
        &[(1024, 1024)],
        &[(19_456, 544)],
        &[(19_999, 2)],
        &[(1000, 25)],
        &[(20_000, 1)],
        &[(u64::MAX, 1)],
        &[(0, 9), (9, 1)],
        &[(0, 9), (8, 1)],
        &[(10, 9), (0, 1)],
    ] {
        assert_eq!(fragments(of).expect_err("forged"), PartsError::Damaged, "{of:?}");
        tally.case();
    }
    // Two siblings that wait are one node.
    let mut other = part(2);
    other[0..8].copy_from_slice(&3072_u64.to_le_bytes());
    let error = Parts::from_bytes(&head(2, 2, &[part(0), part(1), part(2), other]), plain);
    assert_eq!(error.expect_err("forged"), PartsError::Damaged);
    // The only chunk waits below nothing.
    let one = worker(&Mode::Hash, &input[..9], &(0..9)).to_bytes();
    let mut forged = one.clone();
    forged.copy_within(54..62, 62);
    forged[54..62].fill(0);
    let error = Parts::from_bytes(&checked(forged), plain);
    assert_eq!(error.expect_err("forged"), PartsError::Damaged);
    tally.case();
}

#[test]
fn parts_of_enormous_inputs_are_counted_right() {
    let mut tally = Tally::new("parts/enormous inputs");
    let mut random = Random::new(73);
    for round in 0..rounds(300) {
        let total = u64::MAX - (random.next() >> random.below(64)).min(u64::MAX - 1025);
        let mut parts = Parts::new(total, treewide::Mode::PLAIN);
        let mut new = 0;
        for _ in 0..20 {
            let cut = (random.next() % total) & (u64::MAX << (10 + random.below(50)));
            let nodes: Vec<_> = subtrees(cut..total, total).unwrap().collect();
            let range = nodes[random.below(nodes.len())].clone();
            match parts.push(Part { range, cv: [7; 32] }) {
                Ok(absorbed) => new += absorbed.new,
                Err(error) => assert!(matches!(error, AbsorbError::Clash { .. }), "{error}"),
            }
        }
        let missing: u64 = parts.missing().iter().map(|gap| gap.end - gap.start).sum();
        assert_eq!(missing, total - new, "round {round}");
        let bytes = parts.to_bytes();
        assert_eq!(Parts::from_bytes(&bytes, treewide::Mode::PLAIN).unwrap().to_bytes(), bytes);
        let absorbed = Parts::new(total, treewide::Mode::PLAIN).absorb(&parts).unwrap();
        assert_eq!((absorbed.new, absorbed.again), (new, 0), "round {round}");
        parts.compact();
        assert_eq!(parts.missing().iter().map(|gap| gap.end - gap.start).sum::<u64>(), missing);
        parts.forget(0..total);
        assert_eq!(parts.missing(), [0..total]);
        tally.case();
    }
}

#[test]
#[should_panic(expected = "at most 65536 bytes")]
fn an_object_has_a_short_name() {
    let _ = Parts::new(1, treewide::Mode::PLAIN).of_object(&vec![0; MAX_OBJECT + 1]);
}
