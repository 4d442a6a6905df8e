//! Bytes of the host, files, pipelines and choices, against the `blake3` crate.

mod common;

use common::{bytes, each, modes, oracle};
use std::io::Write;
use treewide_gpu::{
    Backend, Cancel, Choice, Device, ErrorKind, Mode, Pipeline, Ring, Staged, TwinLimits,
};

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
            hashes.extend(pipeline.try_pop().unwrap());
        }
        assert_eq!(hashes.len(), lengths.len());
        for (hash, len) in hashes.iter().zip(lengths) {
            assert_eq!(hash.as_bytes(), blake3::hash(&input[7..7 + len]).as_bytes());
        }
        assert!(pipeline.pop().unwrap().is_none());
    });
}

#[test]
fn cancelling() {
    each(|device| {
        let cancel = Cancel::default();
        let staged = Staged::new(device, &Mode::PLAIN).ring(SMALL).unwrap();
        let mut staged = staged.cancel(&cancel);
        staged.update(&bytes(3 << 20)).unwrap();
        let pipeline = Pipeline::new(device, &Mode::PLAIN, 2, 1000).unwrap();
        let mut pipeline = pipeline.cancel(&cancel);
        pipeline.push(b"one").unwrap();
        cancel.cancel();
        assert_eq!(staged.update(&bytes(2 << 20)).unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(staged.finalize().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(pipeline.push(b"two").unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(pipeline.pop().unwrap_err().kind(), ErrorKind::Cancelled);
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
fn the_cpu_takes_any_pieces() {
    let input = bytes((13 << 20) + 300_001);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&input).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mb = 1 << 20;
    let lengths =
        [0, 1, 1025, mb - 1, mb, mb + 1, 2 * mb, 4 * mb, 5 * mb, 7 * mb + 5, 8 * mb, input.len()];
    let mut cases = 0;
    for (i, mode) in modes().iter().enumerate() {
        let staged = || Choice::Cpu.stage(mode, None, None).unwrap().ring(SMALL).unwrap();
        for input in lengths.map(|len| &input[..len]) {
            let expected = oracle(i, input).finalize();
            let check = |staged: Staged, how: &str| {
                let len = input.len();
                assert_eq!(staged.count(), len as u64);
                let hash = staged.finalize().unwrap();
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes, {mode:?}, {how}");
            };
            // Subtrees of many parts, of two, of one, and such as begin within a part.
            for piece in [usize::MAX, 6 * mb, 3 * mb, 2 * mb + 1, 700_001] {
                let mut pieces = staged();
                for piece in input.chunks(piece) {
                    pieces.update(piece).unwrap();
                }
                check(pieces, &format!("pieces of {piece}"));
            }
            let (first, rest) = input.split_at(input.len() / 2);
            let mut read = staged();
            read.update(first).unwrap();
            assert_eq!(read.update_reader(rest).unwrap(), rest.len() as u64);
            assert_eq!(read.update_reader(&[][..]).unwrap(), 0);
            check(read, "read");
            let mut read = staged();
            read.update_file(&file, 0, input.len() as u64).unwrap();
            read.update_file(&file, 0, 0).unwrap();
            check(read, "a file");
            let mut read = staged();
            pool.install(|| read.update_reader(input).map(drop)).unwrap();
            check(read, "in a pool of one thread");
            cases += 8;
        }
    }
    println!("the CPU: {cases} cases");
    // A failed one fails again.
    let mut staged = Choice::Cpu.stage(&Mode::PLAIN, None, None).unwrap().ring(SMALL).unwrap();
    let error = staged.update_file(&file, 10, input.len() as u64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(staged.update(b"more").unwrap_err().kind(), ErrorKind::Io);
    let cancel = Cancel::default();
    let mut staged = Choice::Cpu.stage(&Mode::PLAIN, None, None).unwrap().cancel(&cancel);
    cancel.cancel();
    assert_eq!(staged.update_reader(&b"more"[..]).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(staged.update(b"more").unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn choices() {
    let input = bytes(40 << 20);
    for choice in ["auto", "cpu"] {
        let choice: Choice = choice.parse().unwrap();
        let mut staged = choice.stage(&Mode::PLAIN, Some(1), Some(input.len() as u64)).unwrap();
        staged.update(&input).unwrap();
        assert_eq!(staged.finalize().unwrap().as_bytes(), blake3::hash(&input).as_bytes());
    }
    // Of unknown length, or too short.
    for len in [None, Some(0)] {
        assert!(Choice::Auto.open(Some(1), len).unwrap().is_none());
    }
    let error = "gpu".parse::<Choice>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A backend that is absent says what was found.
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

/// The twin's memory is the host's, so without a minimum the default for unified memory counts.
#[test]
fn hash_auto_on_both_sides_of_the_minimum() {
    let device = Device::twin(TwinLimits::default());
    let input = bytes((16 << 20) + 1);
    let mut cases = 0;
    for minimum in [None, Some(0), Some(1000), Some(u64::MAX)] {
        for len in [0, 999, 1000, (16 << 20) - 1, 16 << 20, input.len()] {
            let hash = device.hash_auto(&Mode::PLAIN, minimum, &input[..len]).unwrap();
            assert_eq!(hash.as_bytes(), blake3::hash(&input[..len]).as_bytes(), "{len} bytes");
            cases += 1;
        }
    }
    println!("both sides of the minimum: {cases} cases");
}
