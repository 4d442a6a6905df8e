//! The kernels' logic, on the CPU, against the `blake3` crate and the library; and what there is to
//! say where there is no driver.

use super::host::{devices, with_parameters};
use crate::{Device, ErrorKind, Mode, Offsets, Slice};
use treewide::hazmat::HasherExt;
use treewide::merkle;

const KEY: &[u8; 32] = b"whats the Elvish word for friend";
const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

fn modes() -> [(Mode, blake3::Hasher); 3] {
    [
        (Mode::PLAIN, blake3::Hasher::new()),
        (Mode::keyed(KEY), blake3::Hasher::new_keyed(KEY)),
        (Mode::derive_key(CONTEXT), blake3::Hasher::new_derive_key(CONTEXT)),
    ]
}

/// Bytes of which no two words are equal.
fn bytes(len: usize) -> Vec<u8> {
    let word = |i: u32| i.wrapping_mul(0x9E37_79B9).rotate_left(11).wrapping_add(i).to_le_bytes();
    let mut bytes: Vec<u8> = (1..=len.div_ceil(4) as u32).flat_map(word).collect();
    bytes.truncate(len);
    bytes
}

/// Lengths at the edges of blocks, chunks, tiles, and blocks of threads.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 3, 4, 16, 63, 64, 65, 128, 960, 1000];
    for chunks in [1, 2, 3, 4, 7, 8, 31, 32, 33, 127, 128, 129, 255, 256, 300, 511, 512, 513, 1100]
    {
        lengths.extend([1024 * chunks - 1, 1024 * chunks, 1024 * chunks + 1]);
    }
    lengths
}

#[test]
fn digests_of_all_lengths_in_all_modes() {
    let mut cases = 0;
    for device in devices() {
        let input = bytes(1_200_000);
        for len in lengths() {
            // Nothing follows it: what is read after the 16 bytes in which it ends is a fault.
            let buffer = device.upload(&input[..len]).unwrap();
            for (mode, oracle) in modes() {
                let hash = device.hash(&mode, &buffer).wait().unwrap();
                let expected = oracle.clone().update(&input[..len]).finalize();
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes, {mode:?}");
                cases += 1;
            }
        }
    }
    println!("CUDA kernels, digests: {cases} cases");
}

#[test]
fn inputs_start_at_any_byte() {
    let mut cases = 0;
    for device in devices() {
        let input = bytes(150_000);
        for start in (0..18).chain([31, 33, 1023]) {
            for len in [0, 1, 15, 64, 100, 1000, 1024, 2048, 5000, 131_072, 140_001] {
                let buffer = device.upload(&input[..start + len]).unwrap();
                let range = start as u64..(start + len) as u64;
                let hash = device.hash(&Mode::PLAIN, buffer.slice(range).unwrap()).wait().unwrap();
                let expected = blake3::hash(&input[start..start + len]);
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes from {start}");
                cases += 1;
            }
        }
    }
    println!("CUDA kernels, starts: {cases} cases");
}

#[test]
fn extended_output_and_subtrees() {
    let mut cases = 0;
    for device in devices() {
        let input = bytes(300_000);
        let buffer = device.upload(&input).unwrap();
        for len in [0, 1, 64, 1000, 1024, 1025, 2048, 131_072, 262_144, 300_000] {
            let slice = buffer.slice(..len as u64).unwrap();
            for (mode, oracle) in modes() {
                let mut reader = oracle.clone().update(&input[..len]).finalize_xof();
                for (position, count) in [(0, 1), (1, 131), ((1 << 38) - 65, 1000)] {
                    let mut expected = vec![0; count];
                    reader.set_position(position);
                    reader.fill(&mut expected);
                    let output = device.xof(&mode, &slice, position, count).wait().unwrap();
                    assert_eq!(output, expected, "{count} from {position} of {len}, {mode:?}");
                    cases += 1;
                }
            }
        }
        // Chunk numbers of more than 32 bits, and subtrees of one and several tiles.
        for (chunk, len) in
            [(5_u64 << 40, 300_000), (128, 131_072), (1, 1024), (2, 1500), (4, 4096)]
        {
            let mut hasher = treewide::Hasher::new();
            hasher.set_input_offset(chunk * 1024);
            let expected = hasher.update(&input[..len]).finalize_non_root();
            let slice = buffer.slice(..len as u64).unwrap();
            let value = device.subtree(&Mode::PLAIN, slice, chunk).wait().unwrap();
            assert_eq!(value, expected, "{len} bytes from chunk {chunk}");
            cases += 1;
        }
    }
    println!("CUDA kernels, outputs: {cases} cases");
}

#[test]
fn batches_and_lists() {
    let mut cases = 0;
    for device in devices() {
        let input = bytes(700_000);
        let buffer = device.upload(&input).unwrap();
        // Small blobs of all alignments, and some that are no small ones.
        for most in [1, 40, 1024, 1030, 9000] {
            let (mut offsets, mut random) = (vec![3_u64], 17_u64);
            while offsets.len() < 400 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let next = offsets.last().unwrap() + (random >> 33) % (most + 1);
                if next > 700_000 {
                    break;
                }
                offsets.push(next);
            }
            let expected: Vec<[u8; 32]> = offsets
                .windows(2)
                .map(|pair| blake3::hash(&input[pair[0] as usize..pair[1] as usize]).into())
                .collect();
            let check = |hashes: Vec<treewide::Hash>| {
                let hashes: Vec<[u8; 32]> = hashes.into_iter().map(Into::into).collect();
                assert!(hashes == expected, "blobs of up to {most} bytes");
            };
            let plain = &Mode::PLAIN;
            check(device.batch(plain, &buffer, Offsets::Host(&offsets)).wait().unwrap());
            let table: Vec<u8> = offsets.iter().flat_map(|it| it.to_le_bytes()).collect();
            let table = device.upload(&[&[0; 4][..], &table].concat()).unwrap();
            let table = table.slice(4..4 + 8 * offsets.len() as u64).unwrap();
            check(device.batch(plain, &buffer, Offsets::Device(&table)).wait().unwrap());
            let slices: Vec<Slice> =
                offsets.windows(2).map(|it| buffer.slice(it[0]..it[1]).unwrap()).collect();
            check(device.list(plain, &slices).wait().unwrap());
            cases += 3 * expected.len();
        }
        // One after the other in one list: trees of all sizes share tiles and blocks.
        let sizes = [140_000, 1, 1024, 5000, 131_072, 0, 70_000, 300_000, 1025];
        let slices: Vec<Slice> =
            sizes.iter().map(|len| buffer.slice(5..5 + len).unwrap()).collect();
        let hashes = device.list(&Mode::keyed(KEY), &slices).wait().unwrap();
        for (hash, len) in hashes.iter().zip(sizes) {
            let expected = blake3::keyed_hash(KEY, &input[5..5 + len as usize]);
            assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes");
            cases += 1;
        }
    }
    println!("CUDA kernels, blobs: {cases} cases");
}

#[test]
fn merkle_levels() {
    let mut cases = 0;
    for device in devices() {
        let input = bytes(32 * 700 + 4);
        let buffer = device.upload(&input).unwrap();
        for count in [1, 2, 3, 5, 127, 128, 129, 255, 256, 257, 700] {
            // Not at a multiple of 16.
            let leaves = &input[4..4 + 32 * count];
            let slice = buffer.slice(4..4 + 32 * count as u64).unwrap();
            let leaves = leaves.as_chunks().0;
            let mut expected = vec![[0; 32]; merkle::node_count(count)];
            merkle::fill_nodes(leaves, &mut expected);
            let out = device.allocate(32 * expected.len() as u64).unwrap();
            device.merkle_nodes(&slice, &Slice::from(&out)).wait().unwrap();
            let nodes = device.download(&out).wait().unwrap();
            assert_eq!(nodes, expected.concat(), "{count} leaves");
            let root = device.merkle_root(&slice).wait().unwrap();
            assert_eq!(root, merkle::root(leaves), "{count} leaves");
            cases += 2;
        }
    }
    println!("CUDA kernels, leaves: {cases} cases");
}

#[test]
fn other_parameters_give_the_same() {
    for defines in [
        &["TREEWIDE_IMADS=0"][..],
        &["TREEWIDE_IMADS=112"],
        &["TREEWIDE_AHEAD=1"],
        &["TREEWIDE_STAGED=1"],
        &["TREEWIDE_STAGED=1", "TREEWIDE_IMADS=112"],
    ] {
        let device: Device = match with_parameters(defines) {
            Ok(device) => device,
            Err(cause) => {
                println!("SKIPPED: CUDA kernels with other parameters: {cause}");
                return;
            }
        };
        let input = bytes(600_000);
        let buffer = device.upload(&input).unwrap();
        for (start, len) in [(0, 1000), (0, 131_072), (1, 140_000), (16, 524_288), (0, 599_999)] {
            let slice = buffer.slice(start..start + len).unwrap();
            let hash = device.hash(&Mode::PLAIN, slice).wait().unwrap();
            let expected = blake3::hash(&input[start as usize..(start + len) as usize]);
            assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} from {start}, {defines:?}");
        }
    }
}

#[test]
fn no_driver_is_an_error_that_says_so() {
    let found = super::find();
    assert!(!found.is_empty());
    let usable = found.iter().filter(|it| it.problem.is_none()).count();
    if usable > 0 {
        println!("SKIPPED: a machine without a usable NVIDIA GPU: this one has {usable}");
    }
    for it in found.iter().filter(|it| it.problem.is_some()) {
        let problem = it.problem.as_ref().unwrap();
        assert!(matches!(problem.kind(), ErrorKind::NoDevice | ErrorKind::Unusable), "{problem}");
        assert!(!problem.to_string().is_empty());
        assert_eq!(super::open(it.index).map(|_| ()).unwrap_err().kind(), problem.kind());
    }
    let error = super::open(1000).map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoDevice | ErrorKind::Unusable), "{error}");
}
