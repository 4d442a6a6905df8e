//! The cases that are measured.

use crate::Options;
use crate::check::random;
use crate::report::{row, skipped};
use std::time::{Duration, Instant};
use treewide_gpu::{Backend, Device, Error, Mode, Offsets, Pending, Slice};

type Result<T> = std::result::Result<T, String>;

fn text(error: Error) -> String {
    error.to_string()
}

/// The least runs of a case, and the most.
const RUNS: (usize, usize) = (5, 200);

/// Runs until the time is over, after one run that does not count.
fn repeat(seconds: f64, mut run: impl FnMut() -> Result<Duration>) -> Result<Vec<f64>> {
    run()?;
    let (start, mut runs) = (Instant::now(), Vec::new());
    while runs.len() < RUNS.0 || (runs.len() < RUNS.1 && start.elapsed().as_secs_f64() < seconds) {
        runs.push(run()?.as_secs_f64());
    }
    Ok(runs)
}

/// By the device's clock, and by the host's.
fn device_case<T>(
    options: &Options,
    name: &str,
    bytes: u64,
    mut start: impl FnMut() -> Pending<T>,
) -> Result<()> {
    if !name.contains(&options.only) {
        return Ok(());
    }
    let mut host = Vec::new();
    let device = repeat(options.seconds, || {
        let clock = Instant::now();
        let (_, time) = start().wait_timed().map_err(text)?;
        host.push(clock.elapsed().as_secs_f64());
        Ok(time.unwrap_or_default())
    })?;
    if device.iter().all(|time| *time > 0.0) {
        row(name, "device", bytes, &device);
    }
    row(name, "host", bytes, &host[1..]);
    Ok(())
}

pub(crate) fn all(device: &Device, options: &Options) -> Result<()> {
    let largest = options.largest.min(device.most_bytes() / 16 * 16);
    let host = random(largest.min(1 << 30) as usize);
    let buffer = device.allocate(largest).map_err(text)?;
    let mut hasher = treewide::Hasher::new();
    let mut at = 0;
    while at < largest {
        let take = (largest - at).min(host.len() as u64);
        let to = buffer.slice(at..at + take).map_err(text)?;
        device.fill(to, &host[..take as usize]).map_err(text)?;
        hasher.update_rayon(&host[..take as usize]);
        at += take;
    }
    if device.hash(&Mode::PLAIN, &buffer).wait().map_err(text)? != hasher.finalize() {
        return Err(format!("WRONG: all {largest} bytes"));
    }
    let timed = device.timed();
    let all = Slice::from(&buffer);
    resident(&timed, &all, options)?;
    batches(&timed, &all, options)?;
    copies(device, host.len() as u64, options)
}

/// The sizes that matter most come first, as a run may be stopped.
const SIZES: [u64; 9] =
    [1 << 30, 8 << 30, 64 << 20, 1 << 20, 1 << 10, 64 << 10, 128 << 10, 256 << 10, 8 << 20];

/// For which it is to be decided whether they take one launch.
const LAUNCHED: [u64; 7] = [64 << 10, 128 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30];

fn resident(device: &Device, all: &Slice, options: &Options) -> Result<()> {
    let mut sizes = SIZES.to_vec();
    sizes.retain(|size| *size <= all.len());
    if !sizes.contains(&all.len()) {
        sizes.push(all.len());
    }
    of_sizes(device, all, &sizes, options, "resident")?;
    if device.backend() == Backend::Cuda {
        for (launches, most) in [("one launch", u64::MAX), ("several launches", 0)] {
            let class = format!("resident, {launches},");
            of_sizes(&device.one_launch_up_to(most), all, &LAUNCHED, options, &class)?;
        }
    }
    if all.len() > 64 << 20 {
        let slice = all.slice(3..64 << 20).map_err(text)?;
        let name = format!("resident {} B from byte 3", slice.len());
        device_case(options, &name, slice.len(), || device.hash(&Mode::PLAIN, &slice))?;
    }
    Ok(())
}

fn of_sizes(
    device: &Device,
    all: &Slice,
    sizes: &[u64],
    options: &Options,
    class: &str,
) -> Result<()> {
    for size in sizes.iter().filter(|size| **size <= all.len()) {
        let slice = all.slice(..*size).map_err(text)?;
        let name = format!("{class} {size} B");
        device_case(options, &name, *size, || device.hash(&Mode::PLAIN, &slice))?;
        if *size <= 64 << 20 {
            // What of that is the way of 32 bytes to the host?
            let out = Slice::from(&device.allocate(32).map_err(text)?);
            let left = format!("{name}, digest left there");
            device_case(options, &left, *size, || device.hash_to(&Mode::PLAIN, &slice, &out))?;
            in_a_row(device, &slice, options, &name)?;
        }
    }
    Ok(())
}

/// As many as hide what the host takes to start one: the time of each.
fn in_a_row(device: &Device, slice: &Slice, options: &Options, name: &str) -> Result<()> {
    const ROW: u32 = 32;
    let name = format!("{name}, one of {ROW} in a row");
    if !name.contains(&options.only) {
        return Ok(());
    }
    let runs = repeat(options.seconds, || {
        let clock = Instant::now();
        let row: Vec<_> = (0..ROW).map(|_| device.hash(&Mode::PLAIN, slice)).collect();
        row.into_iter().try_for_each(|it| it.wait().map(drop)).map_err(text)?;
        Ok(clock.elapsed() / ROW)
    })?;
    row(&name, "host", slice.len(), &runs);
    Ok(())
}

fn batches(device: &Device, all: &Slice, options: &Options) -> Result<()> {
    // Blobs of one length, with offsets and digests on the device.
    for (count, len) in [(1 << 20, 1024), (1 << 20, 100), (1 << 16, 4096), (1 << 14, 65_536)] {
        let name = format!("ragged {count} x {len} B");
        if count * len > all.len() {
            skipped(&name, "more than --largest");
            continue;
        }
        let offsets: Vec<u64> = (0..=count).map(|i| i * len).collect();
        let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let table = Slice::from(&device.upload(&bytes).map_err(text)?);
        let out = Slice::from(&device.allocate(32 * count).map_err(text)?);
        let bytes = count * len;
        if len <= 1024 {
            device_case(options, &name, bytes, || {
                device.batch_to(&Mode::PLAIN, all, Offsets::Device(&table), &out)
            })?;
        }
        let name = format!("{name}, offsets on the host");
        device_case(options, &name, bytes, || {
            device.batch_to(&Mode::PLAIN, all, Offsets::Host(&offsets), &out)
        })?;
    }
    // 300 tensors from 4 KiB to 500 MiB, or smaller ones if these are more than there is, in one call
    // and as one buffer.
    let least: f64 = 4096.0;
    let len = |i: u32, most: f64| {
        let len = least * (most / least).powf(f64::from(i * 7919 % 300) / 299.0);
        len as u64 / 512 * 512
    };
    let mut most = f64::from(500 << 20);
    while (0..300).map(|i| len(i, most)).sum::<u64>() > all.len() && most > least {
        most /= 1.25;
    }
    let (mut at, mut tensors) = (0, Vec::new());
    for i in 0..300 {
        let end = (at + len(i, most)).min(all.len());
        tensors.push(all.slice(at..end).map_err(text)?);
        at = end;
    }
    let out = Slice::from(&device.allocate(32 * 300).map_err(text)?);
    let name = format!("list of 300 tensors of 4096 to {most:.0} B");
    device_case(options, &name, at, || device.list_to(&Mode::PLAIN, &tensors, &out))?;
    let one = all.slice(..at).map_err(text)?;
    let name = format!("as many bytes in one buffer: {at} B");
    device_case(options, &name, at, || device.hash(&Mode::PLAIN, &one))
}

/// What the copy alone takes is the measure of all classes in which the bytes are the host's: `treewide-bench gpu` has them.
fn copies(device: &Device, bytes: u64, options: &Options) -> Result<()> {
    let pinned = repeat(options.seconds, || device.measure_copy(bytes).map_err(text))?;
    row(
        &format!("copy of {bytes} B of pinned memory, in parts as the ring"),
        "host",
        bytes,
        &pinned,
    );
    Ok(())
}
