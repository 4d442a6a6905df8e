//! Are the digests right? Against the library on the CPU, which is tested against everything else.

use std::time::{Duration, Instant};
use treewide::Hasher;
use treewide::hazmat::HasherExt;
use treewide_gpu::{Device, Mode, Offsets, Slice};

/// Bytes that look random.
pub(crate) fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

/// How many digests were right, or which one was not.
pub(crate) fn all(device: &Device) -> Result<u64, String> {
    let failed = |error: treewide_gpu::Error| error.to_string();
    let input = random((40 << 20) + 4321);
    let buffer = device.upload(&input).map_err(failed)?;
    let key = [7; 32];
    let modes = [
        (Mode::PLAIN, Hasher::new()),
        (Mode::keyed(&key), Hasher::new_keyed(&key)),
        (Mode::derive_key("gpu-bench"), Hasher::new_derive_key("gpu-bench")),
    ];
    let mut lengths = vec![0, 1, 63, 64, 65, 1023, 1024, 1025, 4096, 131_071, 131_072, 131_073];
    lengths.extend([(1 << 20) - 1, (1 << 20) + 1, (33 << 20) + 5, input.len() - 16]);
    let mut each_way = vec![device.one_launch_up_to(0)];
    if device.backend() == treewide_gpu::Backend::Cuda {
        each_way.push(device.one_launch_up_to(u64::MAX));
    }
    let mut checked = 0;
    for len in lengths {
        for start in [0, 1, 4, 15] {
            for (mode, hasher) in &modes {
                let range = start as u64..(start + len) as u64;
                let slice = buffer.slice(range).map_err(failed)?;
                let expected = hasher.clone().update(&input[start..start + len]).finalize();
                let device = &each_way[checked as usize % each_way.len()];
                if device.hash(mode, &slice).wait().map_err(failed)? != expected {
                    return Err(format!("WRONG: {len} bytes from {start}, {mode:?}"));
                }
                checked += 1;
            }
        }
    }
    // Blocks come to their common values in another order each time: a quick device has many times.
    for len in [300_000, 1 << 20, (17 << 20) + 5] {
        let slice = buffer.slice(..len as u64).map_err(failed)?;
        let expected = treewide::hash(&input[..len]);
        let clock = Instant::now();
        loop {
            let device = &each_way[each_way.len() - 1];
            let some: Vec<_> = (0..4).map(|_| device.hash(&Mode::PLAIN, &slice)).collect();
            for hash in some {
                if hash.wait().map_err(failed)? != expected {
                    return Err(format!("WRONG: {len} bytes, hashed again and again"));
                }
                checked += 1;
            }
            if clock.elapsed() > Duration::from_millis(100) {
                break;
            }
        }
    }
    for (len, position) in [(0, 0), (1024, 7), (1025, 1 << 40), (140_000, 63), (33 << 20, 0)] {
        for (mode, hasher) in &modes {
            let slice = buffer.slice(..len as u64).map_err(failed)?;
            let output = device.xof(mode, slice, position, 1000).wait().map_err(failed)?;
            let mut reader = hasher.clone().update(&input[..len]).finalize_xof();
            let mut expected = vec![0; 1000];
            reader.set_position(position);
            reader.fill(&mut expected);
            if output != expected {
                return Err(format!("WRONG: output of {len} bytes from {position}, {mode:?}"));
            }
            checked += 1;
        }
    }
    for (chunk, len) in [(1, 1000), (1024, 1 << 20), (1 << 40, 5_000_001), (0, 40 << 20)] {
        let slice = buffer.slice(..len as u64).map_err(failed)?;
        let value = device.subtree(&Mode::PLAIN, slice, chunk).wait().map_err(failed)?;
        let mut hasher = Hasher::new();
        hasher.set_input_offset(chunk * 1024).update(&input[..len]);
        if value != hasher.finalize_non_root() {
            return Err(format!("WRONG: the subtree of {len} bytes from chunk {chunk}"));
        }
        checked += 1;
    }
    let offsets: Vec<u64> = (0..=20_000).map(|i| i * 1024 - i * i / 100_000).collect();
    let table: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let table = Slice::from(&device.upload(&table).map_err(failed)?);
    for place in [Offsets::Host(&offsets), Offsets::Device(&table)] {
        let hashes = device.batch(&Mode::PLAIN, &buffer, place).wait();
        for (hash, pair) in hashes.map_err(failed)?.iter().zip(offsets.windows(2)) {
            if *hash != treewide::hash(&input[pair[0] as usize..pair[1] as usize]) {
                return Err(format!("WRONG: blob of bytes {} to {}", pair[0], pair[1]));
            }
            checked += 1;
        }
    }
    let slices: Vec<Slice> = (0..50)
        .map(|i| buffer.slice(i * 1000..i * 1000 + i * i * i * 200).map_err(failed))
        .collect::<Result<_, _>>()?;
    let hashes = device.list(&Mode::PLAIN, &slices).wait().map_err(failed)?;
    for (i, hash) in (0..).zip(&hashes) {
        if *hash != treewide::hash(&input[i * 1000..i * 1000 + i * i * i * 200]) {
            return Err(format!("WRONG: number {i} of a list"));
        }
        checked += 1;
    }
    for hash in [device.hash_bytes(&Mode::PLAIN, &input), device.hash_wrapped(&Mode::PLAIN, &input)]
    {
        match hash {
            Ok(hash) if hash == treewide::hash(&input) => checked += 1,
            Ok(_) => return Err("WRONG: staged or wrapped bytes".into()),
            Err(error) if error.kind() == treewide_gpu::ErrorKind::Unsupported => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(checked + 1)
}
