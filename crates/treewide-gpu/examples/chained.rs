//! Hashes rows that lie in the memory of a GPU, and then the list of their digests: first each alone, then both in a chain,
//! so that only one digest comes back.
//!
//! ```text
//! cargo run --release -p treewide-gpu --all-features --example chained
//! ```
//!
//! A program of your own needs this in its Cargo.toml:
//!
//! ```toml
//! [dependencies]
//! treewide = { path = "…/crates/treewide" }
//! treewide-gpu = { path = "…/crates/treewide-gpu", features = ["cuda", "wgpu"] }
//! ```

use treewide_gpu::{Device, Error, Mode, Offsets, devices};

#[allow(dead_code)] // A test runs the rest on other devices.
fn main() -> Result<(), Error> {
    let found = devices();
    for it in &found {
        match &it.problem {
            Some(problem) => eprintln!("{} {}: {problem}", it.backend, it.name),
            // Such as lavapipe: good for tests, and slower than the library `treewide`.
            None if it.is_software => eprintln!("{} {}: a program on the CPU", it.backend, it.name),
            None => eprintln!("{} {}", it.backend, it.name),
        }
    }
    // The first real GPU, or else software.
    let usable = || found.iter().filter(|it| it.problem.is_none());
    let Some(chosen) = usable().find(|it| !it.is_software).or_else(|| usable().next()) else {
        eprintln!("no device can be used");
        return Ok(());
    };
    if chosen.is_software {
        eprintln!("there is no GPU: what follows is hashed by the CPU, and slowly");
    }
    run(&chosen.open()?, 100_000)
}

pub(crate) fn run(device: &Device, count: usize) -> Result<(), Error> {
    // Row `i` is `bytes[offsets[i]..offsets[i + 1]]`.
    let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
    for row in 0..count {
        bytes.extend_from_slice(format!("{row},customer {},paid\n", row % 997).as_bytes());
        offsets.push(bytes.len() as u64);
    }
    let rows = device.upload(&bytes)?;

    // A batch: one digest for each row.
    let digests = device.batch(&Mode::PLAIN, &rows, Offsets::Host(&offsets)).wait()?;
    let last = &bytes[offsets[count - 1] as usize..];
    assert_eq!(digests[count - 1], treewide::hash(last));

    // The digest of the list of them, which is on the host.
    let list: Vec<u8> = digests.iter().flat_map(|digest| *digest.as_bytes()).collect();
    let whole = device.hash(&Mode::PLAIN, &device.upload(&list)?).wait()?;
    assert_eq!(whole, treewide::hash(&list));

    // The chain: the digests stay on the device, which does its work in the order of the calls. Waiting in between
    // would only cost time.
    let list = device.allocate(32 * count as u64)?;
    let hashed = device.batch_to(&Mode::PLAIN, &rows, Offsets::Host(&offsets), &list.slice(..)?);
    let chained = device.hash(&Mode::PLAIN, &list);
    hashed.wait()?;
    assert_eq!(chained.wait()?, whole);

    println!("{}: {count} rows, {} bytes, all in all {whole}", device.name(), bytes.len());
    Ok(())
}
