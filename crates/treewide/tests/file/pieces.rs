//! Files in pieces, and continuing behind some of them.

use super::{TILE, TempFile, options};
use crate::common::{self, Mode, Random, Tally};
use std::fs::{self, File};
use std::ops::ControlFlow;
use treewide::file::{ErrorKind, Options, Strategy};
use treewide::hazmat::HasherExt;
use treewide::outboard::Group;

#[test]
fn pieces_of_files_by_every_strategy() {
    let mut tally = Tally::new("file/pieces");
    let mut random = Random::new(62);
    let lengths =
        vec![0, 1, 65_536, 65_537, TILE, TILE + 1, 2 * TILE, 3 * TILE - 1, 5 * TILE + 70_000];
    for len in common::sample(lengths) {
        let input = random.bytes(len);
        let temporary = TempFile::new("pieces", &input);
        for strategy in Strategy::ALL {
            for threads in [1, 2, 3] {
                let mode = Mode::any(&mut random);
                let piece = Group::new(6 + random.below(5) as u8).expect("a group");
                let size = piece.bytes() as usize;
                let options = options(&mode).strategy(strategy).threads(threads);
                let file = File::open(&temporary).expect("it can be opened");
                let hash = |known: &[_]| {
                    let mut found = known.to_vec();
                    let hashed = options
                        .hash_pieces(&file, &temporary, piece, known, |cv| found.push(cv))
                        .expect("hashed");
                    (hashed.0, hashed.1.bytes() as usize, found)
                };
                let (digest, read, all) = hash(&[]);
                assert_eq!(digest, mode.mode().hash(&input), "{strategy} {threads} {len} {size}");
                let expected = input.chunks(size).enumerate().map(|(at, part)| {
                    let mut hasher = treewide::Hasher::with_mode(mode.mode());
                    hasher.set_input_offset((at * size) as u64);
                    hasher.update(part).finalize_non_root()
                });
                let others = len.div_ceil(size).max(1) - 1;
                assert!(all == expected.take(others).collect::<Vec<_>>() && read == len);
                let known = random.below(others + 1);
                let again = hash(&all[..known]);
                assert!(again == (digest, len - known * size, all), "{strategy} {len} {known}");
                tally.case();
            }
        }
    }
}

#[test]
fn pieces_of_a_file_that_became_shorter() {
    let piece = Group::of_bytes(64 << 10).expect("a power of two");
    let file = TempFile::new("pieces-short", &[7; 300_000]);
    let mut known = Vec::new();
    let open = File::open(&file).expect("it can be opened");
    let hash = |known: &[_], each: &mut (dyn FnMut([u8; 32]) + Send + Sync)| {
        Options::new().hash_pieces(&open, &file, piece, known, each)
    };
    hash(&[], &mut |cv| known.push(cv)).expect("hashed");
    // Values of pieces that are not there any more are not used. The others are believed.
    fs::write(&file, [7; 65_537]).expect("written");
    let (digest, report) = hash(&known, &mut |_| {}).expect("hashed");
    assert_eq!((digest, report.bytes()), (treewide::hash(&[7; 65_537]), 1));
    fs::write(&file, [7; 65_536]).expect("written");
    assert_eq!(hash(&known, &mut |_| {}).expect("hashed").0, treewide::hash(&[7; 65_536]));
    fs::write(&file, []).expect("written");
    assert_eq!(hash(&known, &mut |_| {}).expect("hashed").0, treewide::hash(b""));
    let stopped = Options::new().watch(|_| ControlFlow::Break(()));
    fs::write(&file, [7; 300_000]).expect("written");
    let error = stopped.hash_pieces(&open, &file, piece, &known, |_| {}).expect_err("stopped");
    assert!(matches!(error.kind(), ErrorKind::Stopped));
}
