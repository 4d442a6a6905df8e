//! Parts of many inputs in one call, as shards of a model have them, against the `blake3` crate.

mod common;

use common::{Random, bytes, each, modes, oracle};
use std::ops::Range;
use treewide::parts::{AbsorbError, Parts, subtrees};
use treewide_gpu::{Device, ErrorKind, Mode, Runs, Slice};

/// Lengths with one chunk, with one more than full trees have, and with levels above the tiles.
const LENGTHS: [usize; 14] = [
    0,
    1,
    1023,
    1024,
    1025,
    2048,
    2049,
    3000,
    5 * 1024,
    131_071,
    131_073,
    262_145,
    400_000,
    1_000_003,
];

/// Hashes some runs of inputs as one process would, and adds what it sends.
fn add_of_process(
    device: &Device,
    mode: &Mode,
    inputs: &[Vec<u8>],
    runs: &[Vec<Range<usize>>],
    whole: &mut [Parts],
) {
    // The runs of an input lie side by side, not at a multiple of any word.
    let mut buffers = Vec::new();
    for (input, runs) in inputs.iter().zip(runs) {
        let mut local = vec![0xA5; 3];
        runs.iter().for_each(|run| local.extend(&input[run.clone()]));
        buffers.push(device.upload(&local).unwrap());
    }
    let given = inputs.iter().zip(runs).zip(&buffers).map(|((input, runs), buffer)| {
        let mut at = 3;
        let of = |run: &Range<usize>| {
            let start = at;
            at += run.len() as u64;
            (buffer.slice(start..at).unwrap(), run.start as u64)
        };
        Runs { total: input.len() as u64, runs: runs.iter().map(of).collect() }
    });
    let given: Vec<Runs> = given.collect();
    let found = device.hash_parts(mode, &given).wait().unwrap();
    assert_eq!(found.len(), whole.len());
    for (whole, found) in whole.iter_mut().zip(found) {
        let sent = found.unwrap().to_bytes();
        whole.absorb(&Parts::from_bytes(&sent, *mode).unwrap()).unwrap();
    }
}

fn check(mode: usize, inputs: &[Vec<u8>], whole: &[Parts]) {
    for (input, parts) in inputs.iter().zip(whole) {
        assert!(parts.unchecked().is_empty());
        let expected = oracle(mode, input).finalize();
        let len = input.len();
        assert_eq!(
            parts.finish().unwrap().as_bytes(),
            expected.as_bytes(),
            "{len} bytes, mode {mode}"
        );
    }
}

#[test]
fn hash_parts_takes_shards_of_many_tensors_with_any_ends() {
    let mut cases = 0;
    let inputs: Vec<Vec<u8>> = LENGTHS.iter().map(|len| bytes(*len)).collect();
    each(|device| {
        let mut random = Random(7);
        for (i, mode) in modes().iter().enumerate() {
            for ranks in [2, 3, 7] {
                let new = |len: &usize| Parts::new(*len as u64, *mode);
                let mut whole: Vec<Parts> = LENGTHS.iter().map(new).collect();
                // Uneven; some are empty, and some cuts are those of chunks.
                let cuts: Vec<Vec<usize>> = LENGTHS
                    .iter()
                    .map(|len| {
                        let mut cuts: Vec<usize> =
                            (1..ranks).map(|_| random.below(*len as u64 + 1) as usize).collect();
                        cuts[0] -= cuts[0] % 1024;
                        cuts.extend([0, *len]);
                        cuts.sort_unstable();
                        cuts
                    })
                    .collect();
                for rank in 0..ranks {
                    let run =
                        |cuts: &Vec<usize>| std::iter::once(cuts[rank]..cuts[rank + 1]).collect();
                    let runs: Vec<_> = cuts.iter().map(run).collect();
                    add_of_process(device, mode, &inputs, &runs, &mut whole);
                }
                check(i, &inputs, &whole);
                cases += inputs.len();
            }
        }
    });
    println!("shards: {cases} cases");
}

#[test]
fn hash_parts_takes_runs_inside_rows() {
    let mut cases = 0;
    each(|device| {
        // Bytes of a row that a rank has: less than a block, less than a chunk, whole chunks, and more than a tile.
        for (rows, run, ranks) in [
            (900, 6, 7),
            (130, 331, 3),
            (64, 1024, 7),
            (33, 2048, 2),
            (17, 3072, 3),
            (5, 133_120, 2),
            (5, 140_001, 3),
        ] {
            let full = bytes(rows * run * ranks);
            let mut whole = [Parts::new(full.len() as u64, Mode::PLAIN)];
            let inputs = [full];
            for rank in 0..ranks {
                let of = |row: usize| {
                    let start = (row * ranks + rank) * run;
                    start..start + run
                };
                let runs: Vec<_> = (0..rows).map(of).collect();
                add_of_process(device, &Mode::PLAIN, &inputs, &[runs], &mut whole);
            }
            check(0, &inputs, &whole);
            cases += 1;
        }
    });
    println!("inside rows: {cases} cases");
}

#[test]
fn subtrees_of_many_inputs_are_those_of_each() {
    each(|device| {
        let input = bytes(600_000);
        let buffer = device.upload(&input).unwrap();
        for mode in &modes() {
            let mut list = Vec::new();
            for total in [5000, 140_000, 600_000] {
                for node in subtrees(1024..total, total).unwrap() {
                    list.push((buffer.slice(node.clone()).unwrap(), node.start / 1024));
                }
            }
            let values = device.subtrees(mode, &list).wait().unwrap();
            let one = |(slice, chunk): &(Slice, u64)| device.subtree(mode, slice, *chunk).wait();
            let each: Vec<_> = list.iter().map(|it| one(it).unwrap()).collect();
            assert_eq!(values, each);
        }
        assert!(device.subtrees(&Mode::PLAIN, &[]).wait().unwrap().is_empty());
        assert!(device.hash_parts(&Mode::PLAIN, &[]).wait().unwrap().is_empty());
    });
}

#[test]
fn parts_that_make_no_sense_are_errors_that_say_so() {
    each(|device| {
        let buffer = device.upload(&bytes(5000)).unwrap();
        let plain = &Mode::PLAIN;
        let all = Slice::from(&buffer);
        let runs = |total, at| [Runs { total, runs: vec![(all.clone(), at)] }];
        let subtree = [(buffer.slice(..2048).unwrap(), 1)];
        for (error, words) in [
            (
                device.hash_parts(plain, &runs(4999, 0)).wait().unwrap_err(),
                "not in an input of 4999",
            ),
            (
                device.hash_parts(plain, &runs(u64::MAX, u64::MAX - 4999)).wait().unwrap_err(),
                "5000 bytes",
            ),
            (device.subtrees(plain, &subtree).wait().unwrap_err(), "not a subtree"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        // The last bytes that an input can have.
        let most = device.hash_parts(plain, &runs(u64::MAX, u64::MAX - 5000)).wait().unwrap();
        assert_eq!(most[0].as_ref().unwrap().missing(), vec![0..u64::MAX - 5000]);
        // The same place twice, with other bytes; the next input has its own values.
        let (left, right) = (buffer.slice(..2500).unwrap(), buffer.slice(2500..).unwrap());
        let twice = Runs { total: 9000, runs: vec![(left.clone(), 0), (right, 0)] };
        let once = Runs { total: 2500, runs: vec![(left, 0)] };
        let found = device.hash_parts(plain, &[twice, once]).wait().unwrap();
        assert!(matches!(found[0], Err(AbsorbError::Clash { .. })), "{found:?}");
        let digest = found[1].as_ref().unwrap().finish().unwrap();
        assert_eq!(digest.as_bytes(), blake3::hash(&bytes(5000)[..2500]).as_bytes());
    });
}
