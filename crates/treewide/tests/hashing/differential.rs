//! Every way of hashing bytes against the reference and against the `blake3` crate.
//!
//! The reference says what is right for inputs up to a few dozen chunks; the `blake3` crate, which
//! is fast, says it for all others.

use crate::common::{
    Mode, Random, Tally, blake3_output, edge_lengths, output, pattern, rounds, sample,
};

/// Longest input that is worth a run of the reference.
const SHORT: usize = 35 * crate::reference::CHUNK;

#[test]
fn edge_lengths_in_three_modes() {
    let mut tally = Tally::new("differential/edge lengths in three modes");
    let lengths = sample(edge_lengths(SHORT));
    let input = pattern(SHORT);
    for mode in Mode::all() {
        let reference = mode.reference();
        for input in lengths.iter().map(|len| &input[..*len]) {
            let expected = reference.digest(input);
            let what = format!("{mode:?}, {} bytes", input.len());
            assert_eq!(mode.one_shot(input), expected, "one-shot, {what}");
            assert_eq!(mode.hasher().update(input).finalize(), expected, "hasher, {what}");
            assert_eq!(mode.blake3().update(input).finalize(), expected, "blake3, {what}");
            tally.case();
        }
    }
}

#[test]
fn edge_lengths_of_larger_trees() {
    let mut tally = Tally::new("differential/edge lengths of larger trees");
    let lengths = sample(edge_lengths(1 << 20).into_iter().filter(|len| *len > SHORT));
    let input = pattern(1 << 20);
    for input in lengths.iter().map(|len| &input[..*len]) {
        let expected = blake3::hash(input);
        assert_eq!(treewide::hash(input), *expected.as_bytes(), "{} bytes", input.len());
        tally.case();
    }
}

#[test]
fn every_length_of_the_first_chunks() {
    let mut tally = Tally::new("differential/every length of the first chunks");
    let input = pattern(4 * crate::reference::CHUNK + 1);
    for len in sample(0..=input.len()) {
        let expected = blake3::hash(&input[..len]);
        assert_eq!(treewide::hash(&input[..len]), *expected.as_bytes(), "{len} bytes");
        tally.case();
    }
}

#[test]
fn every_alignment() {
    let mut tally = Tally::new("differential/every alignment");
    let bytes = Random::new(1).bytes(17 * crate::reference::CHUNK + 128);
    for start in sample(0..=64) {
        for len in [1, 64, 65, 1024, 3072, 8191, 17 * crate::reference::CHUNK + 1] {
            let input = &bytes[start..start + len];
            let expected = blake3::hash(input);
            assert_eq!(treewide::hash(input), *expected.as_bytes(), "{len} bytes at {start}");
            tally.case();
        }
    }
}

#[test]
fn one_byte_at_a_time() {
    let mut tally = Tally::new("differential/one byte at a time");
    let input = pattern(3 * crate::reference::CHUNK + 2);
    let mut hasher = treewide::Hasher::new();
    for len in 0..input.len() {
        assert_eq!(hasher.count(), len as u64);
        let expected = blake3::hash(&input[..len]);
        assert_eq!(hasher.finalize(), *expected.as_bytes(), "{len} bytes");
        hasher.update(&input[len..=len]);
        tally.case();
    }
}

#[test]
fn random_modes_inputs_and_pieces() {
    let mut tally = Tally::new("differential/random modes, inputs and pieces");
    let mut random = Random::new(2);
    for round in 0..rounds(300) {
        let mode = Mode::any(&mut random);
        let len = random.length(1 << 16);
        let input = random.bytes(len);
        let mut hasher = mode.hasher();
        let mut blake3 = mode.blake3();
        for piece in random.pieces(&input) {
            hasher.update(piece);
            blake3.update(piece);
            assert_eq!(hasher.count(), blake3.count());
            // Asking in the middle must not disturb what follows.
            if random.below(3) == 0 {
                let expected = blake3.finalize();
                let at = hasher.count();
                assert_eq!(hasher.finalize(), *expected.as_bytes(), "round {round} at {at}");
            }
        }
        let expected = blake3_output(&blake3, 0, 200);
        let what = format!("round {round}, {mode:?}, {len} bytes");
        assert_eq!(mode.one_shot(&input), expected[..32], "one-shot, {what}");
        assert_eq!(hasher.finalize(), expected[..32], "{what}");
        assert_eq!(output(&hasher, 0, 200), expected, "output, {what}");
        if len <= SHORT {
            assert_eq!(mode.reference().xof(&input, 0, 200), expected, "reference, {what}");
        }
        tally.case();
    }
}

/// The blocks of a chunk that is only begun are hashed in the pass of the chunks before it.
#[test]
fn pieces_that_end_within_a_chunk() {
    const CHUNK: usize = treewide::CHUNK_LEN;
    let mut tally = Tally::new("differential/pieces that end within a chunk");
    let mut random = Random::new(9);
    let input = random.bytes(300 * CHUNK);
    for before in sample([0, 1, 2, 3, 5, 8, 31, 64, 100, 127, 128]) {
        for whole in
            sample([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 100, 126, 127, 128, 130])
        {
            for tail in sample([0, 1, 63, 64, 65, 127, 128, 129, 500, 960, 961, 1000, 1023]) {
                let (start, rest) = input.split_at(before * CHUNK);
                let (piece, rest) = rest.split_at(whole * CHUNK + tail);
                let more = &rest[..random.below(3 * CHUNK)];
                let mode = Mode::any(&mut random);
                let (mut hasher, mut blake3) = (mode.hasher(), mode.blake3());
                for piece in [start, piece, more] {
                    hasher.update(piece);
                    blake3.update(piece);
                    let expected = *blake3.finalize().as_bytes();
                    assert_eq!(hasher.count(), blake3.count());
                    assert_eq!(hasher.finalize(), expected, "{mode:?}: {before}, {whole}, {tail}");
                    let state = hasher.to_state();
                    let restored = treewide::Hasher::from_state(state.as_bytes()).expect("sound");
                    assert_eq!(
                        restored.finalize(),
                        expected,
                        "{mode:?}: {before}, {whole}, {tail}"
                    );
                }
                tally.case();
            }
        }
    }
}

#[test]
fn large_inputs() {
    let mut tally = Tally::new("differential/large inputs");
    let mut random = Random::new(3);
    for len in sample([1 << 20, (1 << 20) + 1, (3 << 20) - 1, (5 << 20) + 1025]) {
        let input = random.bytes(len);
        let expected = blake3::hash(&input);
        assert_eq!(treewide::hash(&input), *expected.as_bytes(), "one-shot, {len} bytes");
        let mut hasher = treewide::Hasher::new();
        for piece in random.pieces(&input) {
            hasher.update(piece);
        }
        assert_eq!(hasher.finalize(), *expected.as_bytes(), "in pieces, {len} bytes");
        tally.case();
    }
}

/// Hashers that are cloned, reset, fed and finalised in random order, each together with a hasher of the `blake3` crate
/// that does the same.
#[test]
fn random_walks() {
    let mut tally = Tally::new("differential/random walks");
    let mut random = Random::new(4);
    let input = random.bytes(1 << 14);
    for walk in 0..rounds(60) {
        let mode = Mode::any(&mut random);
        let mut pairs = vec![(mode.hasher(), mode.blake3())];
        for step in 0..40 {
            let (known, at) = (pairs.len(), random.below(pairs.len()));
            let (hasher, blake3) = &mut pairs[at];
            match random.below(10) {
                0 => {
                    hasher.reset();
                    blake3.reset();
                }
                1 if known < 4 => {
                    let pair = pairs[at].clone();
                    pairs.push(pair);
                }
                2..5 => {
                    let (seek, len) = (random.next() >> random.below(64), random.length(700));
                    let seek = seek.min(u64::MAX - len as u64);
                    let expected = blake3_output(blake3, seek, len);
                    assert_eq!(output(hasher, seek, len), expected, "walk {walk}, step {step}");
                    tally.case();
                }
                _ => {
                    let piece = &input[..random.length(input.len())];
                    hasher.update(piece);
                    blake3.update(piece);
                    assert_eq!(hasher.count(), blake3.count(), "walk {walk}, step {step}");
                }
            }
        }
        for (hasher, blake3) in &pairs {
            assert_eq!(hasher.finalize(), *blake3.finalize().as_bytes(), "walk {walk}");
            tally.case();
        }
    }
}

#[test]
fn extended_output_anywhere() {
    let mut tally = Tally::new("differential/extended output anywhere");
    let mut random = Random::new(5);
    for round in 0..rounds(400) {
        let mode = Mode::any(&mut random);
        let input_len = random.length(3000);
        let input = random.bytes(input_len);
        let len = random.length(4000);
        // Of any magnitude, or just before the number of the output block passes 2^32.
        let seek = match random.below(4) {
            0 => (1 << 38) - random.below(4000) as u64,
            1 => u64::MAX - len as u64 - random.below(3) as u64,
            _ => random.next() >> random.below(64),
        };
        let seek = seek.min(u64::MAX - len as u64);
        let mut hasher = mode.hasher();
        hasher.update(&input);
        let expected = mode.reference().xof(&input, seek, len);
        let what = format!("round {round}, {mode:?}, {input_len} bytes, {len} from {seek}");
        assert_eq!(output(&hasher, seek, len), expected, "{what}");
        assert_eq!(blake3_output(mode.blake3().update(&input), seek, len), expected, "{what}");

        // The same in pieces, with a clone in the middle that must not notice the original.
        let mut reader = hasher.finalize_xof();
        reader.set_position(seek);
        let mut found = vec![0; len];
        let mut at = 0;
        let pieces: Vec<usize> = random.pieces(&expected).iter().map(|piece| piece.len()).collect();
        for piece in pieces {
            let mut clone = reader.clone();
            reader.fill(&mut found[at..at + piece]);
            at += piece;
            assert_eq!(reader.position(), seek + at as u64, "{what}");
            let mut again = vec![0; piece];
            clone.fill(&mut again);
            assert_eq!(again, found[at - piece..at], "clone, {what}");
        }
        assert_eq!(found, expected, "in pieces, {what}");
        tally.case();
    }
}

#[test]
fn every_output_length() {
    let mut tally = Tally::new("differential/every output length");
    // Up to more blocks than any kernel has lanes, twice.
    const MOST: usize = 2 * 32 * crate::reference::BLOCK + 65;
    let mut hasher = treewide::Hasher::new();
    hasher.update(b"every output length");
    let expected = crate::reference::Mode::hash().xof(b"every output length", 0, MOST + 40);
    for start in [0, 1, 40] {
        for len in sample((0..=520).chain((200..=MOST).step_by(61))) {
            // What lies beyond the wanted bytes must stay as it was.
            let mut buffer = vec![0xa5; len + 64];
            let mut reader = hasher.finalize_xof();
            reader.set_position(start as u64);
            reader.fill(&mut buffer[..len]);
            assert_eq!(buffer[..len], expected[start..start + len], "{len} bytes from {start}");
            assert!(buffer[len..].iter().all(|byte| *byte == 0xa5), "{len} bytes from {start}");
            tally.case();
        }
    }
}
