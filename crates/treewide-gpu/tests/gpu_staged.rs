//! Bytes of the host, files, pipelines and choices, against the `blake3` crate.

mod common;

use common::{bytes, each, modes, oracle};
use std::io::Write;
use treewide_gpu::{Backend, Choice, ErrorKind, Mode, Pipeline, Ring, Staged};

const SMALL: Ring = Ring { part: 1 << 20, parts: 2 };

#[test]
fn bytes_of_the_host_in_any_pieces() {
    let mut cases = 0;
    each(|device| {
        let input = bytes((9 << 20) + 300_001);
        let mb = 1 << 20;
        for len in [
            0,
            1,
            1024,
            1025,
            256 << 10,
            mb - 1,
            mb,
            mb + 1,
            2 * mb,
            2 * mb + 300_001,
            3 * mb + 1024,
            4 * mb,
            5 * mb - 1,
            8 * mb,
            9 * mb + 300_001,
        ] {
            for (i, mode) in modes().iter().enumerate() {
                for piece in [usize::MAX, 700_001] {
                    let mut staged = Staged::new(device, mode).ring(SMALL).unwrap();
                    for part in input[..len].chunks(piece) {
                        staged.update(part).unwrap();
                    }
                    assert_eq!(staged.count(), len as u64);
                    let expected = oracle(i, &input[..len]).finalize();
                    let hash = staged.finalize().unwrap();
                    assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes, {mode:?}");
                    cases += 1;
                }
            }
            let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
            staged.update(&input[..len]).unwrap();
            let (mut ours, mut expected) = ([0; 100], [0; 100]);
            staged.finalize_xof().unwrap().fill(&mut ours);
            oracle(0, &input[..len]).finalize_xof().fill(&mut expected);
            assert_eq!(ours, expected, "{len} bytes");
        }
    });
    println!("staged: {cases} cases");
}

#[test]
fn wrapped_memory_or_an_error() {
    each(|device| {
        let input = bytes(33 << 20);
        for len in [0, 1, 300_000, (16 << 20) + 5, 33 << 20] {
            match device.hash_wrapped(&Mode::PLAIN, &input[..len]) {
                Ok(hash) => assert_eq!(hash.as_bytes(), blake3::hash(&input[..len]).as_bytes()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
            }
            if device.backend() == Backend::Wgpu && len > 1 << 20 {
                break;
            }
        }
    });
}

#[test]
fn files_and_readers() {
    each(|device| {
        let input = bytes((3 << 20) + 4321);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&input).unwrap();
        for (start, len) in [(0, input.len()), (5, 2 << 20), (1, 0), (0, 1 << 20)] {
            let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
            staged.update_file(&file, start as u64, len as u64).unwrap();
            let expected = blake3::hash(&input[start..start + len]);
            assert_eq!(staged.finalize().unwrap().as_bytes(), expected.as_bytes());
        }
        let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
        assert_eq!(staged.update_reader(&input[..]).unwrap(), input.len() as u64);
        let expected = blake3::hash(&input);
        assert_eq!(staged.finalize().unwrap().as_bytes(), expected.as_bytes());
        // Whether more comes after a whole part shows only at the end.
        for len in [0, 1, 2].map(|parts| parts * SMALL.part) {
            let expected = blake3::hash(&input[..len]);
            let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
            assert_eq!(staged.update_reader(&input[..len]).unwrap(), len as u64);
            assert_eq!(staged.update_reader(&[][..]).unwrap(), 0);
            assert_eq!(staged.finalize().unwrap().as_bytes(), expected.as_bytes());
            let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
            staged.update_file(&file, 0, len as u64).unwrap();
            staged.update_file(&file, 0, 0).unwrap();
            assert_eq!(staged.finalize().unwrap().as_bytes(), expected.as_bytes());
        }
        // A file that is too short, and a failed one fails again.
        let mut staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
        let error = staged.update_file(&file, 10, input.len() as u64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(staged.update(b"more").unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(staged.finalize().unwrap_err().kind(), ErrorKind::Io);
    });
}

#[test]
fn pipelines_keep_the_order() {
    each(|device| {
        let input = bytes(400_000);
        let mut pipeline = Pipeline::new(device, &Mode::PLAIN, 3, 300_000).unwrap();
        let lengths = [0, 1, 300_000, 1024, 1025, 131_072, 299_999, 5, 200_000];
        let mut hashes = Vec::new();
        for len in lengths {
            hashes.extend(pipeline.push(&input[7..7 + len]).unwrap());
            assert!(pipeline.len() <= 3);
        }
        let error = pipeline.push(&input[..300_001]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        while !pipeline.is_empty() {
            hashes.extend(pipeline.pop().unwrap());
        }
        assert_eq!(hashes.len(), lengths.len());
        for (hash, len) in hashes.iter().zip(lengths) {
            assert_eq!(hash.as_bytes(), blake3::hash(&input[7..7 + len]).as_bytes());
        }
        assert!(pipeline.pop().unwrap().is_none());
    });
}

#[test]
fn shared_memory_is_hashed_where_it_lies() {
    each(|device| {
        let input = bytes(150_000);
        let mut shared = match device.allocate_shared(150_000) {
            Ok(shared) => shared,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                println!("skipped: {error}");
                return;
            }
        };
        for shift in [0, 1] {
            shared.bytes().unwrap()[shift..].copy_from_slice(&input[shift..]);
            let slice = shared.to_device().unwrap().slice(shift as u64..).unwrap();
            let hash = device.hash(&Mode::PLAIN, slice).wait().unwrap();
            assert_eq!(hash.as_bytes(), blake3::hash(&input[shift..]).as_bytes());
        }
    });
}

#[test]
fn choices() {
    assert!("cpu".parse::<Choice>().unwrap().open(Some(1), Some(1 << 30)).unwrap().is_none());
    // Of unknown length, or too short.
    for len in [None, Some(0)] {
        assert!(Choice::Auto.open(Some(1), len).unwrap().is_none());
    }
    let error = "gpu".parse::<Choice>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A backend that is absent says what was found. The stand-in for a driver is there from the first device on.
    each(|_| {});
    let found = treewide_gpu::devices();
    for (choice, backend) in [(Choice::Cuda, Backend::Cuda), (Choice::Wgpu, Backend::Wgpu)] {
        if !found.iter().any(|found| found.backend == backend && found.problem.is_none()) {
            let error = choice.open(None, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoDevice);
            let message = error.to_string();
            assert!(found.iter().all(|found| message.contains(&found.name)), "{message}");
        }
    }
}
