//! `hazmat::Subtrees` against the reference: inputs cut into subtrees of random levels, from the start and
//! from any chunk on, and every misuse that is promised to panic.

use crate::common::{Mode, Random, Tally, output, rounds};
use std::panic::catch_unwind;
use treewide::hazmat::{
    self, ChainingValue, HasherExt, Subtrees, merge_subtrees_non_root, merge_subtrees_root,
};
use treewide::{CHUNK_LEN, Hasher};

const CHUNK: u64 = CHUNK_LEN as u64;

/// The chaining values of `count` neighbouring parts of `len` bytes each, from byte `at` of `input`, which is at `offset`.
fn cvs(mode: &Mode, input: &[u8], offset: u64, [at, len, count]: [usize; 3]) -> Vec<ChainingValue> {
    let value = |i: usize| {
        let from = at + i * len;
        let part = &input[from..(from + len).min(input.len())];
        let mut hasher = Hasher::with_mode(mode.mode());
        hasher.set_input_offset(offset + from as u64).update(part).finalize_non_root()
    };
    (0..count).map(value).collect()
}

/// Pushes all of `input`, which starts at chunk `first`, cut at random.
fn push_all(mode: &Mode, input: &[u8], first: u64, random: &mut Random) -> Subtrees {
    let mut subtrees = Subtrees::starting_at(mode.mode(), first);
    let offset = first * CHUNK;
    let mut at = 0;
    while at < input.len() {
        let done = (at / CHUNK_LEN) as u64;
        assert_eq!(subtrees.chunks(), done);
        let whole = (input.len() - at) / CHUNK_LEN;
        let left = (input.len() - at).div_ceil(CHUNK_LEN) as u64;
        // A lone subtree has no root, so the first one is never everything.
        let fits = if done == 0 { left > 1 } else { left <= 1 << done.trailing_zeros() };
        if done > 0 && fits && (whole == 0 || random.below(4) == 0) {
            let rest = [at, input.len() - at, 1];
            subtrees.push_last(&cvs(mode, input, offset, rest)[0], left);
            return subtrees;
        }
        if whole == 0 {
            // The input is a lone chunk that is not full.
            subtrees.push_last(&cvs(mode, input, offset, [at, CHUNK_LEN, 1])[0], 1);
            return subtrees;
        }
        let highest = if done == 0 { 63 } else { done.trailing_zeros() };
        let most = if at == 0 && whole > 1 { (whole / 2).ilog2() } else { whole.ilog2() };
        let level = random.below(highest.min(most) as usize + 1) as u32;
        let len = CHUNK_LEN << level;
        let count = 1 + random.below((input.len() - at) / len);
        subtrees.push(&cvs(mode, input, offset, [at, len, count]), level);
        at += len * count;
    }
    subtrees
}

#[test]
fn subtrees_give_the_root() {
    let mut tally = Tally::new("subtrees/give the root");
    let mut random = Random::new(40);
    for round in 0..rounds(300) {
        let mode = Mode::any(&mut random);
        let len = CHUNK_LEN + 1 + random.length(300 * CHUNK_LEN);
        let input = random.bytes(len);
        let subtrees = push_all(&mode, &input, 0, &mut random);
        let what = format!("round {round}, {mode:?}, {len} bytes");
        assert_eq!(subtrees.chunks(), len.div_ceil(CHUNK_LEN) as u64, "{what}");
        assert_eq!(subtrees.finalize(), mode.one_shot(&input), "{what}");
        let mut xof = vec![0; 150];
        subtrees.finalize_xof().fill(&mut xof);
        assert_eq!(xof, output(mode.hasher().update(&input), 0, 150), "{what}");
        let reference = mode.reference().subtree(&input, 0).chaining_value();
        assert_eq!(subtrees.clone().finalize_non_root(), reference, "{what}");
        tally.case();
    }
}

#[test]
fn subtrees_anywhere_give_a_chaining_value() {
    let mut tally = Tally::new("subtrees/anywhere");
    let mut random = Random::new(41);
    for round in 0..rounds(300) {
        let mode = Mode::any(&mut random);
        let first = (random.next() >> (10 + random.below(54))) & (u64::MAX << random.below(8));
        let most = if first == 0 { 40 } else { 40.min(1 << first.trailing_zeros()) };
        let len = random.length(most * CHUNK_LEN).max(1);
        let input = random.bytes(len);
        let subtrees = push_all(&mode, &input, first, &mut random);
        let expected = mode.reference().subtree(&input, first).chaining_value();
        let what = format!("round {round}, {mode:?}, {len} bytes at chunk {first}");
        assert_eq!(subtrees.finalize_non_root(), expected, "{what}");
        tally.case();
    }
}

#[test]
fn subtrees_of_2_to_the_54_chunks() {
    // All chunks are alike except for their numbers, so the values here are made up: the shape is what counts.
    let mut one = Subtrees::new(treewide::Mode::PLAIN);
    one.push(&[[1; 32]; 8], 51);
    let mut other = Subtrees::new(treewide::Mode::PLAIN);
    other.push(&[[1; 32]; 8], 0);
    assert_eq!(one.finalize(), other.finalize());
    assert_eq!(one.chunks(), 1 << 54);
}

#[test]
fn subtrees_of_each_level_and_a_last_one() {
    // 2^54 - 1 chunks, one subtree of each level, and the chunk that ends the longest input.
    let cv = |level: u32| [level as u8; 32];
    let mut subtrees = Subtrees::new(treewide::Mode::PLAIN);
    (0..54).rev().for_each(|level| subtrees.push(&[cv(level)], level));
    let mut right = [99; 32];
    for level in 0..53 {
        right = merge_subtrees_non_root(&cv(level), &right, hazmat::Mode::Hash);
    }
    let expected = merge_subtrees_root(&cv(53), &right, hazmat::Mode::Hash);
    subtrees.push_last(&[99; 32], 1);
    assert_eq!(subtrees.finalize(), expected);
    assert_eq!(subtrees.chunks(), 1 << 54);
}

#[test]
fn subtrees_debug_hides_secrets() {
    let mut subtrees = Subtrees::new(treewide::Mode::keyed(&[0xab; 32]));
    subtrees.push(&[[0xcd; 32]; 3], 0);
    let text = format!("{subtrees:?}");
    assert!(text.starts_with("Subtrees") && text.contains("chunks: 3"), "{text}");
    assert!(!text.contains("171") && !text.contains("205"), "{text}");
}

#[test]
fn subtrees_refuse_misuse() {
    let plain = || Subtrees::new(treewide::Mode::PLAIN);
    let cv = [7; 32];
    let panic_of = |misuse: &(dyn Fn() + std::panic::RefUnwindSafe)| {
        let payload = catch_unwind(misuse).expect_err("it panics");
        match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => payload.downcast::<&str>().expect("a text").to_string(),
        }
    };
    let cases: [(&str, &(dyn Fn() + std::panic::RefUnwindSafe)); 13] = [
        ("a subtree of 2^1 chunks cannot follow 3", &|| {
            let mut subtrees = plain();
            subtrees.push(&[cv; 3], 0);
            subtrees.push(&[cv], 1);
        }),
        ("a subtree of 2 chunks cannot follow 3", &|| {
            let mut subtrees = plain();
            subtrees.push(&[cv; 3], 0);
            subtrees.push_last(&cv, 2);
        }),
        ("nothing follows the last", &|| {
            let mut subtrees = plain();
            subtrees.push_last(&cv, 2);
            subtrees.push(&[cv], 0);
        }),
        ("nothing follows the last", &|| {
            let mut subtrees = plain();
            subtrees.push_last(&cv, 2);
            subtrees.push_last(&cv, 1);
        }),
        ("no subtree is empty", &|| plain().push_last(&cv, 0)),
        ("no subtree is empty", &|| _ = plain().finalize_non_root()),
        ("no tree has a level 55", &|| plain().push(&[cv], 55)),
        ("no room", &|| plain().push(&[cv; 2], 54)),
        ("no room", &|| plain().push_last(&cv, (1 << 54) + 1)),
        ("no room", &|| Subtrees::starting_at(treewide::Mode::PLAIN, 6).push(&[cv; 3], 0)),
        ("push at least two", &|| _ = plain().finalize()),
        ("push at least two", &|| {
            let mut subtrees = plain();
            subtrees.push(&[cv], 4);
            _ = subtrees.finalize_xof();
        }),
        ("from chunk 0 on", &|| {
            let mut subtrees = Subtrees::starting_at(treewide::Mode::PLAIN, 8);
            subtrees.push(&[cv; 2], 0);
            _ = subtrees.finalize();
        }),
    ];
    for (words, misuse) in cases {
        let text = panic_of(misuse);
        assert!(text.contains(words), "`{text}` does not say `{words}`");
    }
    let mut tally = Tally::new("subtrees/misuse");
    (0..cases.len()).for_each(|_| tally.case());
}
