//! Hashers that are fed many short pieces: what is gathered, in every state, against both oracles.

use std::sync::Barrier;
use std::thread;

use crate::common::{
    Mode, Random, Tally, blake3_output, output, rounds, sample, with_every_kernel,
};
use treewide::{BLOCK_LEN, CHUNK_LEN, Hasher};

/// Gathering begins after the first chunk: every total after that, in pieces of random lengths.
#[test]
fn hasher_of_every_total_behind_the_first_chunk() {
    let mut tally = Tally::new("streams/every total behind the first chunk");
    let mut random = Random::new(90);
    let input = random.bytes(4 * CHUNK_LEN);
    for len in sample(CHUNK_LEN..=input.len()) {
        let mode = Mode::any(&mut random);
        let mut hasher = mode.hasher();
        let mut at = 0;
        while at < len {
            let piece = random.below(300).min(len - at);
            hasher.update(&input[at..at + piece]);
            at += piece;
        }
        assert_eq!(hasher.finalize(), mode.reference().digest(&input[..len]), "{len} bytes");
        tally.case();
    }
}

/// Every total of up to three chunks next to the end of a block, cut everywhere, and both sides in pieces of a random length.
#[test]
fn hasher_of_every_split_of_totals_next_to_blocks() {
    let mut tally = Tally::new("streams/every split of totals next to blocks");
    let mut random = Random::new(97);
    let input = random.bytes(3 * CHUNK_LEN);
    for len in sample((0..=input.len()).filter(|len| (len + 1) % BLOCK_LEN <= 2)) {
        let expected = *blake3::hash(&input[..len]).as_bytes();
        for cut in sample(0..=len) {
            let piece = 64 + random.length(1500);
            let mut hasher = Hasher::new();
            for side in [&input[..cut], &input[cut..len]] {
                for piece in side.chunks(piece) {
                    hasher.update(piece);
                }
            }
            assert_eq!(hasher.finalize(), expected, "{len} bytes, cut at {cut}, by {piece}");
            tally.case();
        }
    }
}

/// Two pieces behind the first chunk, cut everywhere; then a third, so that both ends of the gathered bytes move.
#[test]
fn hasher_of_every_split_behind_the_first_chunk() {
    let mut tally = Tally::new("streams/every split behind the first chunk");
    let input = Random::new(91).bytes(4 * CHUNK_LEN + 7);
    let expected = *blake3::hash(&input).as_bytes();
    for cut in sample(CHUNK_LEN..=input.len()) {
        for first in [CHUNK_LEN, CHUNK_LEN - 1] {
            let mut hasher = Hasher::new();
            hasher.update(&input[..first]).update(&input[first..cut]);
            for piece in input[cut..].chunks(1000) {
                hasher.update(piece);
            }
            assert_eq!(hasher.finalize(), expected, "{first} bytes, up to {cut}, by 1,000");
            tally.case();
        }
    }
}

/// One way after another of using a hasher, next to one of the `blake3` crate.
fn random_stream(random: &mut Random, updates: usize) {
    let mode = Mode::any(random);
    let bytes = random.bytes(1 << 17);
    let (mut ours, mut theirs) = (mode.hasher(), mode.blake3());
    // Streams that stay with one length of pieces, and others.
    let usual = random.length(5000);
    for _ in 0..updates {
        match random.below(1000) {
            0 => {
                assert_eq!(ours.reset().count(), 0);
                theirs.reset();
            }
            1 => ours = ours.clone(),
            2 => {
                let copy = ours.clone();
                assert_eq!(copy.finalize(), *theirs.finalize().as_bytes());
            }
            3 => ours = Hasher::from_state(ours.to_state().as_bytes()).expect("it was saved"),
            4 => assert_eq!(output(&ours, 50, 200), blake3_output(&theirs, 50, 200)),
            5 => ours = ours.without_buffer(),
            6 => {
                let piece = &bytes[..random.length(bytes.len())];
                ours.update(piece);
                theirs.update(piece);
            }
            7..20 => assert_eq!(ours.finalize(), *theirs.finalize().as_bytes()),
            _ => {
                let len = if random.below(4) > 0 { usual } else { random.length(3000) };
                let at = random.below(bytes.len() - len);
                ours.update(&bytes[at..at + len]);
                theirs.update(&bytes[at..at + len]);
            }
        }
        assert_eq!(ours.count(), theirs.count());
    }
    assert_eq!(ours.finalize(), *theirs.finalize().as_bytes(), "{mode:?}, pieces of {usual}");
}

#[test]
fn hasher_of_random_streams() {
    let mut tally = Tally::new("streams/random streams, updates");
    let mut random = Random::new(92);
    for _ in 0..rounds(500) {
        random_stream(&mut random, 2000);
        (0..2000).for_each(|_| tally.case());
    }
}

#[test]
fn hasher_of_random_streams_with_every_kernel() {
    let mut tally = Tally::new("streams/random streams with every kernel");
    let mut random = Random::new(93);
    with_every_kernel(|_| {
        for _ in 0..rounds(10) {
            random_stream(&mut random, 500);
            tally.case();
        }
    });
}

/// The tree is the one of the reference, wherever a digest is asked for.
#[test]
fn hasher_in_pieces_against_the_reference() {
    let mut tally = Tally::new("streams/in pieces against the reference");
    let mut random = Random::new(94);
    for _ in 0..rounds(40) {
        let (mode, input) = (Mode::any(&mut random), random.bytes(70 * CHUNK_LEN));
        let (mut hasher, piece) = (mode.hasher(), 1 + random.length(2000));
        for end in (0..=input.len()).step_by(piece) {
            hasher.update(&input[end.saturating_sub(piece)..end]);
            if random.below(100) == 0 {
                let expected = mode.reference().xof(&input[..end], 0, 70);
                assert_eq!(output(&hasher, 0, 70), expected, "{end} bytes by {piece}");
                tally.case();
            }
        }
    }
}

/// Gathered bytes come before the bytes that threads and readers append.
#[cfg(feature = "rayon")]
#[test]
fn update_rayon_behind_what_is_gathered() {
    let mut tally = Tally::new("streams/update_rayon behind what is gathered");
    let mut random = Random::new(95);
    for _ in 0..rounds(20) {
        let bytes = random.bytes(5 << 20);
        let mut at = 1000 + random.below(60_000);
        let mut hasher = Hasher::new();
        bytes[..at].chunks(100).for_each(|piece| {
            hasher.update(piece);
        });
        for len in [random.below(4 << 20), random.below(3000), random.below(100_000)] {
            hasher.update_rayon(&bytes[at..at + len]);
            at += len;
        }
        hasher.update_reader(&bytes[at..]).expect("memory can be read");
        assert_eq!(hasher.finalize(), *blake3::hash(&bytes).as_bytes());
        tally.case();
    }
}

/// Reads of all lengths, in a row and not, at all places: what is kept is right, wherever it is asked for.
fn random_reads(random: &mut Random, reads: usize) {
    let input = random.bytes(70);
    let mut ours = Hasher::new().update(&input).finalize_xof();
    let mut theirs = blake3::Hasher::new().update(&input).finalize_xof();
    let usual = random.length(200);
    for _ in 0..reads {
        match random.below(40) {
            0 => ours = ours.clone(),
            1 => {
                let start = [0, 1 << 20, (1 << 38) - 500, u64::MAX - 5000][random.below(4)];
                let position = start + random.below(3000) as u64;
                ours.set_position(position);
                theirs.set_position(position);
            }
            2 => {
                let position = ours.position() - ours.position().min(random.length(2000) as u64);
                ours.set_position(position);
                theirs.set_position(position);
            }
            step => {
                let len = if step < 30 { usual } else { random.length(5000) };
                // The `blake3` crate counts beyond the end of the output.
                if ours.position().checked_add(len as u64 + 64).is_none() {
                    continue;
                }
                let [mut a, mut b] = [vec![0; len], vec![0; len]];
                ours.fill(&mut a);
                theirs.fill(&mut b);
                assert!(a == b, "{len} bytes up to {}", ours.position());
            }
        }
        assert_eq!(ours.position(), theirs.position());
    }
}

#[test]
fn output_reader_of_random_reads_with_every_kernel() {
    let mut tally = Tally::new("streams/random reads with every kernel");
    let mut random = Random::new(96);
    with_every_kernel(|_| {
        for _ in 0..rounds(50) {
            random_reads(&mut random, 500);
            tally.case();
        }
    });
}

/// Every byte of the first blocks, in reads of each length.
#[test]
fn output_reader_of_short_reads_against_the_reference() {
    let mut tally = Tally::new("streams/short reads against the reference");
    let expected = Mode::Hash.reference().xof(b"seed", 0, 3000);
    for len in sample(1..=200) {
        let mut reader = Hasher::new().update(b"seed").finalize_xof();
        for expected in expected.chunks(len) {
            let mut out = vec![0; expected.len()];
            reader.fill(&mut out);
            assert_eq!(out, expected, "reads of {len}, before {}", reader.position());
        }
        tally.case();
    }
}

/// What a digest changes behind a shared reference, from several threads at the same time.
#[test]
fn hasher_shared_by_threads() {
    let mut tally = Tally::new("streams/shared by threads");
    let mut random = Random::new(94);
    let bytes = random.bytes(1 << 16);
    for _ in 0..rounds(300) {
        let len = random.length(bytes.len());
        let piece = 1 + random.below(2000);
        let expected = *blake3::hash(&bytes[..len]).as_bytes();
        let mut hasher = treewide::Hasher::new();
        bytes[..len].chunks(piece).for_each(|piece| _ = hasher.update(piece));
        let start = Barrier::new(3);
        thread::scope(|scope| {
            for way in 0..3 {
                let (hasher, start) = (&hasher, &start);
                scope.spawn(move || {
                    start.wait();
                    match way {
                        0 => assert_eq!(hasher.finalize(), expected),
                        1 => assert_eq!(hasher.clone().finalize(), expected),
                        _ => assert_eq!(hasher.count(), len as u64),
                    }
                    assert_eq!(hasher.finalize_xof().clone().position(), 0);
                    assert_eq!(hasher.finalize(), expected);
                });
            }
        });
        tally.case();
    }
}
