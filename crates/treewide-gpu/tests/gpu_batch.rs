//! Many blobs in one buffer, against the CPU.

mod common;

use common::{Random, bytes, each, modes, oracle};
use treewide_gpu::{Device, ErrorKind, Mode, Offsets, Slice};

/// Offsets of `count` blobs of random lengths up to `most` bytes.
fn offsets(count: usize, most: u64, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut at = random.below(9);
    (0..=count)
        .map(|_| {
            let offset = at;
            at += random.below(most + 1);
            offset
        })
        .collect()
}

fn on_device(device: &Device, offsets: &[u64]) -> Slice {
    let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    (&device.upload(&bytes).unwrap()).into()
}

#[test]
fn blobs_with_offsets_on_the_host_and_on_the_device() {
    let mut cases = 0;
    each(|device| {
        for (count, most) in
            [(1, 10), (7, 1024), (300, 200), (6000, 90), (200, 1100), (40, 40_000), (5000, 150)]
        {
            let mut offsets = offsets(count, most, count as u64);
            if count == 5000 {
                // Many small ones, and a few large ones among them.
                for (i, offset) in offsets.iter_mut().enumerate() {
                    *offset += (i / 1000) as u64 * 150_000;
                }
            }
            let input = bytes(offsets[count] as usize + 3);
            let buffer = device.upload(&input).unwrap();
            let table = on_device(device, &offsets);
            for (i, mode) in modes().iter().enumerate() {
                let host = device.batch(mode, &buffer, Offsets::Host(&offsets)).wait().unwrap();
                let there = device.batch(mode, &buffer, Offsets::Device(&table)).wait().unwrap();
                assert_eq!(host.len(), count);
                assert_eq!(there, host);
                for (hash, blob) in host.iter().zip(offsets.windows(2)) {
                    let blob = &input[blob[0] as usize..blob[1] as usize];
                    let expected = oracle(i, blob).finalize();
                    assert_eq!(hash.as_bytes(), expected.as_bytes(), "{} bytes", blob.len());
                    cases += 2;
                }
                let out = device.allocate(32 * count as u64).unwrap();
                let place = Slice::from(&out);
                device.batch_to(mode, &buffer, Offsets::Device(&table), &place).wait().unwrap();
                let left = device.download(&out).wait().unwrap();
                assert!(left.chunks(32).eq(host.iter().map(|hash| &hash.as_bytes()[..])));
            }
        }
        let empty = device.batch(&Mode::PLAIN, &device.upload(b"ab").unwrap(), Offsets::Host(&[1]));
        assert!(empty.wait().unwrap().is_empty());
    });
    println!("blobs: {cases} cases");
}

/// With the small limits of a twin a launch reaches the results of some only.
#[test]
fn more_results_than_a_launch_reaches() {
    each(|device| {
        let input = bytes(400_000);
        let buffer = device.upload(&input).unwrap();
        // Blobs of 20 bytes, and each thousandth of two chunks or more.
        let mut offsets = vec![0_u64];
        for i in 1..=12_000 {
            let len = if i % 1000 == 0 { 5000 } else { 20 };
            offsets.push(offsets[i - 1] + len);
        }
        let digest =
            |from: u64, to: u64| *blake3::hash(&input[from as usize..to as usize]).as_bytes();
        let expected: Vec<_> = offsets.windows(2).map(|pair| digest(pair[0], pair[1])).collect();
        let table = on_device(device, &offsets);
        for offsets in [Offsets::Host(&offsets), Offsets::Device(&table)] {
            let hashes = device.batch(&Mode::PLAIN, &buffer, offsets).wait().unwrap();
            assert!(
                hashes.iter().zip(&expected).all(|(hash, expected)| hash.as_bytes() == expected)
            );
        }
        let slices: Vec<Slice> =
            offsets.windows(2).map(|pair| buffer.slice(pair[0]..pair[1]).unwrap()).collect();
        let hashes = device.list(&Mode::PLAIN, &slices).wait().unwrap();
        assert!(hashes.iter().zip(&expected).all(|(hash, expected)| hash.as_bytes() == expected));
        // Nodes are larger than digests, and one block of output smaller than a node.
        let out = device.allocate(64 * 12_000).unwrap();
        device.xof_to(&Mode::PLAIN, &slices, 0, 1, &(&out).into()).wait().unwrap();
        let all = device.download(&out).wait().unwrap();
        assert!(all.chunks(64).zip(&expected).all(|(output, expected)| output[..32] == *expected));
    });
}

#[test]
fn offsets_that_make_no_sense_name_the_blob() {
    each(|device| {
        let buffer = device.upload(&bytes(5000)).unwrap();
        let max = u64::MAX;
        for (offsets, blob) in [
            (&[0, 10, 5, 20][..], "blob 1 "),
            (&[0, 10, 5001], "blob 1 "),
            (&[0, 4000, 5000, 7000], "blob 2 "),
            (&[4900, 5100], "blob 0 "),
            (&[6000, 6000], "blob 0 "),
            (&[max, max], "blob 0 "),
            (&[max, 5], "blob 0 "),
            (&[0, max], "blob 0 "),
        ] {
            let table = on_device(device, offsets);
            for offsets in [Offsets::Host(offsets), Offsets::Device(&table)] {
                let error = device.batch(&Mode::PLAIN, &buffer, offsets).wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                assert!(error.to_string().contains(blob), "{offsets:?}: {error}");
            }
        }
        for offsets in [&[][..], &[5001]] {
            let error = device.batch(&Mode::PLAIN, &buffer, Offsets::Host(offsets)).wait();
            assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
        }
        let odd = buffer.slice(..12).unwrap();
        let error = device.batch(&Mode::PLAIN, &buffer, Offsets::Device(&odd)).wait();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
    });
}
