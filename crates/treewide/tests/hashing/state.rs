//! Saved state: a hasher that stops, becomes bytes, and continues from them is the same hasher; and
//! bytes that are not exactly such a state are an error.

use crate::common::{Mode, Random, Tally, output, pattern, rounds};
use std::panic::{AssertUnwindSafe, catch_unwind};
use treewide::hazmat::{self, HasherExt};
use treewide::{CHUNK_LEN, Hasher, StateError};

/// Through bytes and back. What comes back must itself be saved as the same bytes.
fn resumed(hasher: &Hasher) -> Hasher {
    let state = hasher.to_state();
    let resumed = Hasher::from_state(state.as_ref()).expect("a saved state can be resumed");
    assert_eq!(resumed.to_state().as_ref(), state.as_ref());
    assert_eq!(resumed.count(), hasher.count());
    resumed
}

/// States of every shape: nothing hashed, part of a block, of a chunk, full chunks, deep stacks,
/// in every mode, and of a subtree.
fn hashers() -> Vec<(String, Hasher)> {
    let mut hashers = Vec::new();
    let chunks = |n: usize| n * CHUNK_LEN;
    let lengths =
        [0, 1, 63, 64, 65, 1023, 1024, 1025, chunks(2), chunks(3) + 1, chunks(31), 63_999];
    for mode in Mode::all() {
        for len in lengths {
            let mut hasher = mode.hasher();
            hasher.update(&pattern(len));
            hashers.push((format!("{mode:?} after {len} bytes"), hasher));
        }
    }
    let mut hasher = Hasher::new();
    hasher.set_input_offset(12 * CHUNK_LEN as u64).update(&pattern(3000));
    hashers.push(("a subtree".into(), hasher));
    hashers
}

#[test]
fn resuming_at_random_points() {
    let mut tally = Tally::new("state/resuming at random points");
    let mut random = Random::new(40);
    for round in 0..rounds(200) {
        let mode = Mode::any(&mut random);
        let len = random.length(100_000);
        let input = random.bytes(len);
        let mut hasher = resumed(&mode.hasher());
        for piece in random.pieces(&input) {
            hasher.update(piece);
            hasher = resumed(&hasher);
        }
        let what = format!("round {round}, {mode:?}, {len} bytes");
        assert_eq!(hasher.finalize(), mode.one_shot(&input), "{what}");
        let mut straight = mode.hasher();
        straight.update(&input);
        assert_eq!(output(&hasher, 0, 200), output(&straight, 0, 200), "{what}");
        // The mode and the key came along.
        assert_eq!(hasher.reset().finalize(), mode.one_shot(b""), "{what}");
        tally.case();
    }
}

#[test]
fn resuming_subtrees() {
    let mut tally = Tally::new("state/resuming subtrees");
    let mut random = Random::new(41);
    for round in 0..rounds(50) {
        let mode = Mode::any(&mut random);
        let first = (random.next() >> (10 + random.below(54))) & (u64::MAX << random.below(8));
        let offset = first * CHUNK_LEN as u64;
        let most = hazmat::max_subtree_len(offset).unwrap_or(u64::MAX).min(40_000) as usize;
        let len = random.length(most).max(1);
        let input = random.bytes(len);
        let mut hasher = mode.hasher();
        hasher.set_input_offset(offset);
        for piece in random.pieces(&input) {
            hasher = resumed(&hasher);
            hasher.update(piece);
        }
        let expected = mode.reference().subtree(&input, first).chaining_value();
        let what = format!("round {round}, {mode:?}, {len} bytes at chunk {first}");
        assert_eq!(resumed(&hasher).finalize_non_root(), expected, "{what}");
        tally.case();
    }
}

#[test]
fn a_wrong_length_is_an_error() {
    let mut tally = Tally::new("state/a wrong length is an error");
    for (what, hasher) in hashers() {
        let state = hasher.to_state();
        let state = state.as_ref();
        for len in 0..state.len() {
            assert!(Hasher::from_state(&state[..len]).is_err(), "{what}: {len} of {}", state.len());
            tally.case();
        }
        for more in [1, 2, 32, 64, 4096] {
            for fill in [0, 0xff] {
                let longer = [state, &vec![fill; more]].concat();
                assert!(Hasher::from_state(&longer).is_err(), "{what}: {more} bytes more");
                tally.case();
            }
        }
    }
}

#[test]
fn any_flipped_bit_is_an_error() {
    let mut tally = Tally::new("state/any flipped bit is an error");
    for (what, hasher) in crate::common::sample(hashers()) {
        let mut state = hasher.to_state().as_ref().to_vec();
        for bit in 0..8 * state.len() {
            state[bit / 8] ^= 1 << (bit % 8);
            assert!(Hasher::from_state(&state).is_err(), "{what}: bit {bit}");
            state[bit / 8] ^= 1 << (bit % 8);
            tally.case();
        }
        Hasher::from_state(&state).expect("every bit is back in its place");
    }
}

#[test]
fn nonsense_is_an_error() {
    let mut tally = Tally::new("state/nonsense is an error");
    let mut random = Random::new(42);
    for _ in 0..rounds(2000) {
        let len = random.length(2500);
        let error = Hasher::from_state(&random.bytes(len)).expect_err("this was never saved");
        assert!(!error.to_string().is_empty());
        tally.case();
    }
    // Damage over more than one bit: bytes exchanged, runs overwritten, two states spliced.
    let states: Vec<Vec<u8>> =
        hashers().iter().map(|(_, hasher)| hasher.to_state().as_ref().to_vec()).collect();
    for _ in 0..rounds(2000) {
        let good = &states[random.below(states.len())];
        let other = &states[random.below(states.len())];
        let mut bad = good.clone();
        let at = random.below(good.len());
        match random.below(3) {
            0 => bad.swap(at, random.below(good.len())),
            1 => bad[at..].fill(random.next() as u8),
            _ => bad = [&good[..at], &other[at.min(other.len())..]].concat(),
        }
        if !states.contains(&bad) {
            Hasher::from_state(&bad).expect_err("this was never saved");
            tally.case();
        }
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let state = Hasher::new().update(b"abc").to_state().as_ref().to_vec();
    let error = |state: &[u8]| Hasher::from_state(state).expect_err("it is wrong");
    assert_eq!(error(b""), StateError::NotAState);
    assert_eq!(error(b"something else altogether"), StateError::NotAState);
    assert_eq!(error(&state[..8]), StateError::Length(8));
    assert_eq!(error(&state[..100]), StateError::Length(100));
    assert_eq!(error(&[&state[..], &[0]].concat()), StateError::Length(state.len() + 1));
    assert_eq!(error(&[&state[..8], &[2], &state[9..]].concat()), StateError::Version(2));
    assert_eq!(error(&[&state[..20], &[77], &state[21..]].concat()), StateError::Damaged);
    let _: &dyn std::error::Error = &StateError::Damaged;
}

/// The documented layout, put together from the reference: what this version writes, every later
/// one must read, on every machine.
#[test]
fn the_layout_is_as_documented() {
    let mut tally = Tally::new("state/the layout is as documented");
    let mut random = Random::new(43);
    for (mode, flags) in Mode::all().into_iter().zip([0, 16, 64]) {
        let key = match &mode {
            // The initialisation vector, little-endian.
            Mode::Hash => {
                *b"\x67\xe6\x09\x6a\x85\xae\x67\xbb\x72\xf3\x6e\x3c\x3a\xf5\x4f\xa5\
                             \x7f\x52\x0e\x51\x8c\x68\x05\x9b\xab\xd9\x83\x1f\x19\xcd\xe0\x5b"
            }
            Mode::KeyedHash(key) => *key,
            Mode::DeriveKey(context) => crate::reference::context_key(context),
        };
        for (first, chunks, stack) in [
            (0, 0, &[][..]),
            (0, 2, &[0..1, 1..2]),
            (0, 3, &[0..2, 2..3]),
            (0, 8, &[0..4, 4..8]),
            (0, 13, &[0..8, 8..12, 12..13]),
            (32, 13, &[0..8, 8..12, 12..13]),
        ] {
            // At most one block is begun, so that none of its chunk is compressed yet.
            let rest = 1 + random.below(64);
            let input = random.bytes(chunks * CHUNK_LEN + rest);
            let mut state = b"treewide\x01".to_vec();
            state.push(flags);
            state.extend(key);
            state.extend(u64::to_le_bytes(first));
            state.extend((chunks as u64).to_le_bytes());
            state.extend((rest as u16).to_le_bytes());
            state.extend(key);
            state.extend(&input[chunks * CHUNK_LEN..]);
            state.resize(156, 0);
            for nodes in stack {
                let bytes = &input[nodes.start * CHUNK_LEN..nodes.end * CHUNK_LEN];
                let node = mode.reference().subtree(bytes, first + nodes.start as u64);
                state.extend(node.chaining_value());
            }
            state.extend(crate::reference::Mode::hash().digest(&state));

            let mut hasher = mode.hasher();
            hasher.set_input_offset(first * CHUNK_LEN as u64).update(&input);
            let what = format!("{mode:?}, {chunks} chunks from {first}");
            assert_eq!(hasher.to_state().as_ref(), state, "{what}");
            let resumed = Hasher::from_state(&state).expect("it is as documented");
            let expected = mode.reference().subtree(&input, first).chaining_value();
            assert_eq!(resumed.finalize_non_root(), expected, "{what}");
            tally.case();
        }
    }
}

/// In builds of every kind: a count that wraps would make another tree.
#[test]
fn an_input_ends_before_its_count_does() {
    let mut tally = Tally::new("state/the last bytes that can be counted");
    // Of 2^54 chunks all but the bytes that are missing from the last.
    for missing in [1, 2, 64, 1000, 1024] {
        let chunks = (1_u64 << 54) - 1;
        let len = (CHUNK_LEN - missing) as u16;
        let mut state =
            Hasher::new().update(&vec![0; usize::from(len)]).to_state().as_ref().to_vec();
        state.truncate(156);
        state[50..58].copy_from_slice(&chunks.to_le_bytes());
        state.resize(156 + 32 * 54, 7);
        state.extend(treewide::hash(&state).as_bytes());
        let hasher = Hasher::from_state(&state).expect("a state that may be");
        assert_eq!(hasher.count(), u64::MAX - (missing as u64 - 1));
        let room = missing - 1;
        let mut full = hasher.clone();
        full.update(&vec![0; room]).update(&[]).finalize();
        assert_eq!(full.count(), u64::MAX);
        for (mut hasher, more) in [(full, 1), (hasher.clone(), room + 1), (hasher, room + 5000)] {
            let before = hasher.to_state();
            let update = AssertUnwindSafe(|| hasher.update(&vec![0; more]).count());
            let panic = catch_unwind(update).expect_err("there is no room");
            let text = panic.downcast_ref::<&str>().expect("a message");
            assert_eq!(*text, "an input has fewer than 2^64 bytes");
            assert_eq!(hasher.to_state().as_ref(), before.as_ref(), "nothing was appended");
            tally.case();
        }
    }
}

/// Very long inputs are not gathered, so that their end is found in time.
#[test]
fn an_input_passes_its_last_gathered_byte() {
    let mut tally = Tally::new("state/past the last gathered byte");
    for (before, total) in [(1, 100), (10, 30_000), (10, 50_000), (40, 50_000), (40, 200_000)] {
        let chunks = (1_u64 << 50) - before;
        let mut state = Hasher::new().to_state().as_ref()[..156].to_vec();
        state[50..58].copy_from_slice(&chunks.to_le_bytes());
        state.resize(156 + 32 * chunks.count_ones() as usize, 7);
        state.extend(treewide::hash(&state).as_bytes());
        let mut gathering = Hasher::from_state(&state).expect("a state that may be");
        let mut plain = gathering.clone().without_buffer();
        for piece in pattern(total).chunks(100) {
            gathering.update(piece);
            plain.update(piece);
        }
        assert_eq!(gathering.count(), plain.count());
        assert_eq!(gathering.finalize(), plain.finalize(), "{before} chunks, {total} bytes");
        tally.case();
    }
}

/// States that someone made up, with a check that is right. Some are refused; the others must be
/// good for something, and nothing about them may panic.
#[test]
fn forged_states_do_no_harm() {
    let mut tally = Tally::new("state/forged states do no harm");
    let mut random = Random::new(44);
    let states: Vec<Vec<u8>> =
        hashers().iter().map(|(_, hasher)| hasher.to_state().as_ref().to_vec()).collect();
    let mut accepted = 0;
    for round in 0..rounds(20_000) {
        let mut state = states[random.below(states.len())].clone();
        state.truncate(state.len() - 32);
        for _ in 0..=random.below(2) {
            // A field of numbers, where the harm would be, or any byte.
            let (at, len) = [(9, 1), (42, 8), (50, 8), (58, 2), (random.below(state.len()), 1)]
                [random.below(5)];
            let value = match random.below(3) {
                0 => random.next() >> random.below(64),
                // Near powers of two; most often 2^54 chunks, which are one byte too many.
                1 => (1 << random.below(64)) + random.below(3) as u64 - 1,
                _ => (1 << 54) + random.below(3) as u64 - 1,
            };
            state[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        // The stack that the number of chunks asks for.
        let chunks = u64::from_le_bytes(state[50..58].try_into().unwrap());
        let two = chunks > 1 && chunks.is_power_of_two();
        state.resize(156 + 32 * if two { 2 } else { chunks.count_ones() as usize }, 7);
        state.extend(treewide::hash(&state).as_bytes());
        if let Ok(mut hasher) = Hasher::from_state(&state) {
            accepted += 1;
            assert_eq!(hasher.to_state().as_ref(), state, "round {round}");
            let first = u64::from_le_bytes(state[42..50].try_into().unwrap());
            if hasher.count() > 0 {
                hasher.finalize_non_root();
            }
            if first == 0 {
                hasher.finalize();
                hasher.finalize_xof().fill(&mut [0; 100]);
            }
            let most = hazmat::max_subtree_len(first * CHUNK_LEN as u64).unwrap_or(u64::MAX);
            if most - hasher.count() >= 3000 {
                hasher.update(&[1; 3000]).finalize_non_root();
            }
            hasher.reset().update(b"x").finalize();
        }
        tally.case();
    }
    println!("state/forged states do no harm: {accepted} accepted");
    assert!(accepted > 0, "some forged states differ in nothing that can be checked");
}
