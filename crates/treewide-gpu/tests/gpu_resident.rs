//! Bytes in the memory of a device, against the `blake3` crate.

mod common;

use common::{bytes, each, edge_lengths, modes, oracle};
use treewide::hazmat::{self, HasherExt};
use treewide_gpu::{Backend, Device, ErrorKind, Mode, Slice};

#[test]
fn digests_of_all_lengths_in_all_modes() {
    let mut cases = 0;
    each(|device| {
        let input = bytes(2 << 20);
        let buffer = device.upload(&input).unwrap();
        for len in edge_lengths() {
            for (i, mode) in modes().iter().enumerate() {
                let slice = buffer.slice(..len as u64).unwrap();
                let hash = device.hash(mode, slice).wait().unwrap();
                let expected = oracle(i, &input[..len]).finalize();
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes, {mode:?}");
                cases += 1;
            }
        }
    });
    println!("digests: {cases} cases");
}

#[test]
fn one_launch_or_several_give_the_same() {
    let mut cases = 0;
    // What takes one level above its tiles, and two.
    let tile = 131_072;
    let mut lengths = vec![0, 1, 1025, tile, tile + 1, 2 * tile, 3 * tile + 1025, 9 * tile - 1];
    lengths.extend([127 * tile + 1, 128 * tile, 128 * tile + 1, 129 * tile + 2049]);
    let input = bytes(130 * tile);
    each(|device| {
        if device.backend() == Backend::Wgpu {
            return; // has no kernel for one launch
        }
        // A multiple of 16, and not.
        for start in [0, 7] {
            let len = input.len() as u64 - start;
            let buffer = device.upload(&input[start as usize..]).or_else(|error| {
                assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
                device.upload(&input[start as usize..][..3 << 20])
            });
            let buffer = buffer.unwrap();
            assert!(buffer.len() == len || buffer.len() == 3 << 20);
            for &len in lengths.iter().filter(|len| **len as u64 <= buffer.len()) {
                let (slice, here) =
                    (buffer.slice(..len as u64).unwrap(), &input[start as usize..][..len]);
                let (mode, expected) = match cases % 3 {
                    0 => (Mode::PLAIN, treewide::hash(here)),
                    1 => (Mode::keyed(common::KEY), treewide::keyed_hash(common::KEY, here)),
                    _ => {
                        let key = treewide::derive_key(common::CONTEXT, here);
                        (Mode::derive_key(common::CONTEXT), key.into())
                    }
                };
                for most in [0, u64::MAX] {
                    let device = device.one_launch_up_to(most);
                    let hash = device.hash(&mode, &slice).wait().unwrap();
                    assert_eq!(hash, expected, "{len} bytes, one launch up to {most}");
                    cases += 1;
                }
            }
        }
    });
    println!("one launch or several: {cases} cases");
}

#[test]
fn inputs_start_at_any_byte() {
    let mut cases = 0;
    each(|device| {
        let input = bytes(400_000);
        let buffer = device.upload(&input).unwrap();
        for start in (0..33).chain([63, 64, 65, 255, 256, 257, 1023, 1025]) {
            for len in [0, 1, 3, 64, 65, 1000, 1024, 1025, 5000, 131_073, 300_001] {
                let range = start as u64..(start + len) as u64;
                let slice = buffer.slice(range).unwrap();
                let hash = device.hash(&Mode::PLAIN, slice).wait().unwrap();
                let expected = blake3::hash(&input[start..start + len]);
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "{len} bytes from {start}");
                cases += 1;
            }
        }
    });
    println!("starts: {cases} cases");
}

#[test]
fn more_than_one_level_of_parents_above_the_tiles() {
    each(|device| {
        // 260 tiles, the last of them short; where a buffer can be so large.
        let len = (259 << 17) + 70_001;
        if device.most_bytes() < len as u64 + 16 {
            println!("skipped: buffers of {} bytes at most", device.most_bytes());
            return;
        }
        let input = bytes(len);
        let buffer = device.upload(&input).unwrap();
        let hash = device.hash(&Mode::PLAIN, &buffer).wait().unwrap();
        assert_eq!(hash.as_bytes(), blake3::hash(&input).as_bytes());
        let (one, two) = (256 << 17, (256 << 17) + 1);
        for len in [one, two] {
            let hash = device.hash(&Mode::PLAIN, buffer.slice(..len).unwrap()).wait().unwrap();
            assert_eq!(hash.as_bytes(), blake3::hash(&input[..len as usize]).as_bytes());
        }
    });
}

#[test]
fn extended_output() {
    let mut cases = 0;
    each(|device| {
        let input = bytes(300_000);
        let buffer = device.upload(&input).unwrap();
        for len in [0, 1, 64, 65, 1023, 1024, 1025, 2048, 2049, 131_072, 131_073, 300_000] {
            for (i, mode) in modes().iter().enumerate() {
                let slice = buffer.slice(..len as u64).unwrap();
                let mut reader = oracle(i, &input[..len]).finalize_xof();
                for (position, count) in [(0, 0), (0, 1), (0, 64), (1, 131), (63, 66), (6400, 1000)]
                {
                    let mut expected = vec![0; count];
                    reader.set_position(position);
                    reader.fill(&mut expected);
                    let output = device.xof(mode, &slice, position, count).wait().unwrap();
                    assert_eq!(output, expected, "{count} from {position} of {len}, {mode:?}");
                    let mut ours = device.output_reader(mode, &slice).wait().unwrap();
                    ours.set_position(position);
                    let mut output = vec![0; count];
                    ours.fill(&mut output);
                    assert_eq!(output, expected, "{count} from {position} of {len}, {mode:?}");
                    cases += 2;
                }
            }
        }
        // Counters of more than 32 bits.
        let position = (1 << 40) - 70;
        let mut expected = vec![0; 1000];
        let mut reader = blake3::Hasher::new().finalize_xof();
        reader.set_position(position);
        reader.fill(&mut expected);
        let empty = buffer.slice(..0).unwrap();
        assert_eq!(device.xof(&Mode::PLAIN, empty, position, 1000).wait().unwrap(), expected);
        // More output than the small limits allow in one launch.
        let mut expected = vec![0; 400_000];
        reader.set_position(0);
        reader.fill(&mut expected);
        let empty = buffer.slice(..0).unwrap();
        assert_eq!(device.xof(&Mode::PLAIN, empty, 0, 400_000).wait().unwrap(), expected);
    });
    println!("extended output: {cases} cases");
}

#[test]
fn extended_output_stays_on_the_device() {
    each(|device| {
        let input = bytes(200_000);
        let buffer = device.upload(&input).unwrap();
        let lengths = [0_usize, 5, 1024, 1025, 140_000, 200_000];
        let inputs: Vec<Slice> =
            lengths.iter().map(|len| buffer.slice(..*len as u64).unwrap()).collect();
        for blocks in [1, 3] {
            let out = device.allocate(64 * 6 * u64::from(blocks)).unwrap();
            device.xof_to(&Mode::PLAIN, &inputs, 2, blocks, &(&out).into()).wait().unwrap();
            let all = device.download(&out).wait().unwrap();
            for (len, output) in lengths.iter().zip(all.chunks(64 * blocks as usize)) {
                let mut expected = vec![0; 64 * blocks as usize];
                let mut reader = oracle(0, &input[..*len]).finalize_xof();
                reader.set_position(128);
                reader.fill(&mut expected);
                assert_eq!(output, expected, "{len} bytes");
            }
        }
    });
}

#[test]
fn chaining_values_of_subtrees_make_one_tree_with_those_of_the_cpu() {
    each(|device| {
        let len = 700_001;
        let input = bytes(len);
        let buffer = device.upload(&input).unwrap();
        for (i, mode) in modes().iter().enumerate() {
            // The left subtree on the device, the right one here, and the other way round.
            let split = hazmat::left_subtree_len(len as u64);
            let on_device = |from: u64, to: u64| {
                let slice = buffer.slice(from..to).unwrap();
                device.subtree(mode, slice, from / 1024).wait().unwrap()
            };
            let here = |from: usize, to: usize| {
                let key = hazmat::hash_derive_key_context(common::CONTEXT);
                let mut hasher = match i {
                    0 => treewide::Hasher::new(),
                    1 => treewide::Hasher::new_keyed(common::KEY),
                    _ => treewide::Hasher::new_from_context_key(&key),
                };
                hasher.set_input_offset(from as u64);
                hasher.update(&input[from..to]).finalize_non_root()
            };
            let left = on_device(0, split);
            let right = on_device(split, len as u64);
            assert_eq!(left, here(0, split as usize));
            assert_eq!(right, here(split as usize, len));
            for (from, to) in [(1024, 2048), (3072, 3073), (4096, 8192), (131_072, 262_144)] {
                assert_eq!(on_device(from, to), here(from as usize, to as usize), "{from}..{to}");
            }
        }
        // Chunk numbers of more than 32 bits.
        let chunk = 5 << 40;
        let slice = buffer.slice(..300_000).unwrap();
        let mut hasher = treewide::Hasher::new();
        hasher.set_input_offset(chunk * 1024);
        let expected = hasher.update(&input[..300_000]).finalize_non_root();
        assert_eq!(device.subtree(&Mode::PLAIN, slice, chunk).wait().unwrap(), expected);
    });
}

#[test]
fn lists_of_inputs_in_one_or_many_buffers() {
    each(|device| {
        let input = bytes(1_500_000);
        let (one, two) = (device.upload(&input).unwrap(), device.upload(&input[7..]).unwrap());
        let mut random = common::Random(5);
        let mut slices: Vec<Slice> = Vec::new();
        let mut expected = Vec::new();
        for i in 0..60 {
            let most = [1, 70, 1025, 9000, 140_000, 1_400_000][i % 6];
            let len = random.below(most + 1);
            let start = random.below(1_499_000 - len);
            let in_two = random.below(3) == 0;
            let slice = if in_two { &two } else { &one }.slice(start..start + len).unwrap();
            slices.push(slice);
            let start = start as usize + if in_two { 7 } else { 0 };
            expected.push(*blake3::hash(&input[start..start + len as usize]).as_bytes());
        }
        let hashes = device.list(&Mode::PLAIN, &slices).wait().unwrap();
        assert!(hashes.iter().zip(&expected).all(|(hash, expected)| hash.as_bytes() == expected));
        assert_eq!(hashes.len(), 60);
        assert!(device.list(&Mode::PLAIN, &[]).wait().unwrap().is_empty());
        // On the device.
        let out = device.allocate(60 * 32 + 64).unwrap();
        let place = out.slice(32..).unwrap();
        device.list_to(&Mode::PLAIN, &slices, &place).wait().unwrap();
        let out = device.download(out.slice(32..32 + 60 * 32).unwrap()).wait().unwrap();
        assert_eq!(out, expected.concat());
    });
}

#[test]
fn inputs_at_the_end_of_their_buffer() {
    each(|device| {
        for size in [16, 256, 260, 512, 1024] {
            let input = bytes(size);
            let buffer = device.upload(&input).unwrap();
            for len in [0, 1, 4, 16] {
                let slice = buffer.slice((size - len) as u64..).unwrap();
                let expected = blake3::hash(&input[size - len..]);
                let hash = device.hash(&Mode::PLAIN, &slice).wait().unwrap();
                assert_eq!(hash.as_bytes(), expected.as_bytes(), "the last {len} of {size}");
                let mut reader = device.output_reader(&Mode::PLAIN, &slice).wait().unwrap();
                let mut output = [0; 32];
                reader.fill(&mut output);
                assert_eq!(output, *expected.as_bytes());
            }
        }
    });
}

#[test]
fn results_may_be_dropped_or_asked_for() {
    each(|device| {
        let input = bytes(150_000);
        let buffer = device.upload(&input).unwrap();
        // Dropped before it is done: nothing breaks.
        drop(device.hash(&Mode::PLAIN, &buffer));
        let mut pending = device.hash(&Mode::PLAIN, &buffer);
        while !pending.is_done() {
            std::thread::yield_now();
        }
        assert_eq!(pending.wait().unwrap().as_bytes(), blake3::hash(&input).as_bytes());
    });
}

#[test]
fn a_digest_may_stay_in_the_buffer_that_is_hashed() {
    each(|device| {
        let input = bytes(140_000);
        let buffer = device.upload(&input).unwrap();
        let (slice, place) = (buffer.slice(4..139_900).unwrap(), buffer.slice(139_904..).unwrap());
        device.hash_to(&Mode::PLAIN, &slice, &place).wait().unwrap();
        let out = device.download(place.slice(..32).unwrap()).wait().unwrap();
        assert_eq!(out, blake3::hash(&input[4..139_900]).as_bytes());
    });
}

#[test]
fn what_makes_no_sense_is_an_error_that_says_so() {
    each(|device: &Device| {
        let buffer = device.upload(&bytes(5000)).unwrap();
        let all = Slice::from(&buffer);
        let plain = &Mode::PLAIN;
        let mut errors = vec![
            buffer.slice(..5001).unwrap_err(),
            buffer.slice(3..=u64::MAX).unwrap_err(),
            device.subtree(plain, buffer.slice(..0).unwrap(), 0).wait().unwrap_err(),
            device.subtree(plain, &buffer, 1).wait().unwrap_err(),
            device.subtree(plain, &buffer, u64::MAX).wait().unwrap_err(),
            device.hash_to(plain, &all, &buffer.slice(4990..).unwrap()).wait().unwrap_err(),
            device.hash_to(plain, &all, &buffer.slice(1..100).unwrap()).wait().unwrap_err(),
            device.xof_to(plain, std::slice::from_ref(&all), 0, 100, &all).wait().unwrap_err(),
            device.fill(&buffer, &[0; 5001]).unwrap_err(),
            device.fill(buffer.slice(1..).unwrap(), &[0; 5]).unwrap_err(),
        ];
        for error in errors.drain(..) {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        if device.most_bytes() < 1 << 60 {
            let error = device.allocate(device.most_bytes() + 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
            assert_eq!(error.device(), Some(device.name()));
        }
    });
}

#[test]
fn what_is_copied_changes_nothing_beside_it() {
    let mut cases = 0;
    each(|device| {
        for (size, at, len) in [
            (10, 0, 5),
            (10, 4, 6),
            (9, 8, 1),
            (100, 12, 7),
            (100, 96, 3),
            (64, 60, 4),
            (200_000, 4, 70_001),
            (200_000, 130_000, 69_999),
        ] {
            let (mut all, part) = (bytes(size), bytes(len));
            let buffer = device.upload(&all).unwrap();
            let place = buffer.slice(at as u64..(at + len) as u64).unwrap();
            device.fill(&place, &part).unwrap();
            all[at..at + len].copy_from_slice(&part);
            assert!(device.download(&buffer).wait().unwrap() == all, "{len} bytes to {at}");
            for start in 0..5_usize.min(size) {
                let slice = buffer.slice(start as u64..).unwrap();
                assert!(device.download(slice).wait().unwrap() == all[start..], "from {start}");
            }
            cases += 1;
        }
        let none = device.upload(&[]).unwrap();
        assert!(device.download(&none).wait().unwrap().is_empty());
    });
    println!("copies: {cases} cases");
}

#[test]
fn an_input_that_no_binding_holds() {
    each(|device| {
        // Bindings of programs that pass for a GPU have at most 128 MiB.
        let len = (136 << 20) + 5;
        if device.backend() != Backend::Wgpu || device.most_bytes() < len as u64 {
            return;
        }
        let input = bytes(len);
        let buffer = device.upload(&input).unwrap();
        let hash = device.hash(&Mode::PLAIN, buffer.slice(3..).unwrap()).wait().unwrap();
        assert_eq!(hash.as_bytes(), blake3::hash(&input[3..]).as_bytes());
        println!("{len} bytes on {}", device.name());
    });
}

#[test]
fn several_threads_have_one_device() {
    let mut cases = 0;
    each(|device| {
        let input = bytes(600_000);
        let buffer = device.upload(&input).unwrap();
        std::thread::scope(|scope| {
            let work = |seed: u64| {
                let (input, buffer) = (&input, &buffer);
                move || {
                    let mut random = common::Random(seed);
                    for _ in 0..12 {
                        let len = random.below(300_000);
                        let start = random.below(600_000 - len);
                        let slice = buffer.slice(start..start + len).unwrap();
                        let here = &input[start as usize..(start + len) as usize];
                        let expected = *blake3::hash(here).as_bytes();
                        let pending = device.hash(&Mode::PLAIN, &slice);
                        let copy = device.download(&slice);
                        let list = device.list(&Mode::PLAIN, &[slice.clone(), slice.clone()]);
                        assert_eq!(*pending.wait().unwrap().as_bytes(), expected);
                        assert!(copy.wait().unwrap() == here);
                        for hash in list.wait().unwrap() {
                            assert_eq!(*hash.as_bytes(), expected);
                        }
                        // What makes no sense for one does not touch the others.
                        let wrong = device.subtree(&Mode::PLAIN, buffer.slice(..0).unwrap(), 0);
                        assert_eq!(wrong.wait().unwrap_err().kind(), ErrorKind::Invalid);
                        assert_eq!(
                            *device.hash_bytes(&Mode::PLAIN, here).unwrap().as_bytes(),
                            expected
                        );
                    }
                }
            };
            let threads: Vec<_> = (0..3).map(|seed| scope.spawn(work(seed))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        cases += 3 * 12 * 6;
    });
    println!("threads: {cases} cases");
}
