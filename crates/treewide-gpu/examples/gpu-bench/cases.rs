//! What is measured.

use crate::Options;
use crate::check::random;
use crate::report::Report;
use std::time::{Duration, Instant};
use treewide_gpu::{Device, Error, ErrorKind, Mode, Offsets, Pending, Slice};

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
    report: &mut Report,
    options: &Options,
    name: &str,
    (amount, unit): (f64, &str),
    mut start: impl FnMut() -> Pending<T>,
) -> Result<()> {
    let mut host = Vec::new();
    let device = repeat(options.seconds, || {
        let clock = Instant::now();
        let (_, time) = start().wait_timed().map_err(text)?;
        host.push(clock.elapsed().as_secs_f64());
        Ok(time.unwrap_or_default())
    })?;
    if device.iter().all(|time| *time > 0.0) {
        report.case(name, "device", amount, unit, &device);
    }
    report.case(name, "host", amount, unit, &host[1..]);
    Ok(())
}

fn host_case(
    report: &mut Report,
    options: &Options,
    name: &str,
    bytes: u64,
    mut run: impl FnMut() -> std::result::Result<(), Error>,
) -> Result<()> {
    let mut unsupported = None;
    let runs = repeat(options.seconds, || {
        let clock = Instant::now();
        match run() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Unsupported => unsupported = Some(error),
            Err(error) => return Err(text(error)),
        }
        Ok(clock.elapsed())
    })?;
    match unsupported {
        Some(error) => report.skipped(name, &error.to_string()),
        None => report.case(name, "host", bytes as f64, "B", &runs),
    }
    Ok(())
}

pub(crate) fn all(device: &Device, options: &Options, report: &mut Report) -> Result<()> {
    let largest = options.largest.min(device.most_bytes() / 16 * 16);
    let host = random(largest.min(1 << 30) as usize);
    let buffer = device.allocate(largest).map_err(text)?;
    let mut at = 0;
    while at < largest {
        let take = (largest - at).min(host.len() as u64);
        let to = buffer.slice(at..at + take).map_err(text)?;
        device.fill(to, &host[..take as usize]).map_err(text)?;
        at += take;
    }
    let timed = device.timed();
    let all = Slice::from(&buffer);
    resident(&timed, &all, options, report, "resident")?;
    batches(&timed, &all, options, report)?;
    merkle(&timed, &all, options, report)?;
    from_host(device, &host, options, report)?;
    variants(&all, options, report)
}

fn resident(
    device: &Device,
    all: &Slice,
    options: &Options,
    report: &mut Report,
    class: &str,
) -> Result<()> {
    let mut sizes = vec![1 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20, 1 << 30, 8 << 30];
    sizes.retain(|size| *size <= all.len());
    if !sizes.contains(&all.len()) {
        sizes.push(all.len());
    }
    for size in sizes {
        let slice = all.slice(..size).map_err(text)?;
        let amount = (size as f64, "B");
        let name = format!("{class} {size} B");
        device_case(report, options, &name, amount, || device.hash(&Mode::PLAIN, &slice))?;
    }
    if all.len() > 64 << 20 {
        let slice = all.slice(3..64 << 20).map_err(text)?;
        let name = format!("{class} {} B from byte 3", slice.len());
        let amount = (slice.len() as f64, "B");
        device_case(report, options, &name, amount, || device.hash(&Mode::PLAIN, &slice))?;
    }
    Ok(())
}

fn batches(device: &Device, all: &Slice, options: &Options, report: &mut Report) -> Result<()> {
    // Blobs of one length, with offsets and digests on the device.
    for (count, len) in [(1 << 20, 1024), (1 << 20, 100), (1 << 16, 4096), (1 << 14, 65_536)] {
        let name = format!("ragged {count} x {len} B");
        if count * len > all.len() {
            report.skipped(&name, "more than --largest");
            continue;
        }
        let offsets: Vec<u64> = (0..=count).map(|i| i * len).collect();
        let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let table = Slice::from(&device.upload(&bytes).map_err(text)?);
        let out = Slice::from(&device.allocate(32 * count).map_err(text)?);
        let amount = ((count * len) as f64, "B");
        if len <= 1024 {
            device_case(report, options, &name, amount, || {
                device.batch_to(&Mode::PLAIN, all, Offsets::Device(&table), &out)
            })?;
        }
        let name = format!("{name}, offsets on the host");
        device_case(report, options, &name, amount, || {
            device.batch_to(&Mode::PLAIN, all, Offsets::Host(&offsets), &out)
        })?;
    }
    // 300 tensors from 4 KiB on, as large as fit, in one call and as one buffer.
    let most = (500 << 20).min(all.len() / 40) as f64;
    let (mut at, mut tensors) = (0, Vec::new());
    for i in 0..300 {
        let len = 4096.0 * (most / 4096.0).powf(f64::from(i * 7919 % 300) / 299.0);
        let len = (len as u64 / 512 * 512).min(all.len() - at);
        tensors.push(all.slice(at..at + len).map_err(text)?);
        at += len;
    }
    let amount = (at as f64, "B");
    let out = Slice::from(&device.allocate(32 * 300).map_err(text)?);
    let name = format!("list of 300 tensors of 4096 to {most:.0} B");
    device_case(report, options, &name, amount, || device.list_to(&Mode::PLAIN, &tensors, &out))?;
    let one = all.slice(..at).map_err(text)?;
    let name = format!("as many bytes in one buffer: {at} B");
    device_case(report, options, &name, amount, || device.hash(&Mode::PLAIN, &one))
}

fn merkle(device: &Device, all: &Slice, options: &Options, report: &mut Report) -> Result<()> {
    let leaves = (1 << 25).min(all.len() / 32);
    let leaves = all.slice(..32 * leaves).map_err(text)?;
    let count = leaves.len() / 32;
    let nodes = device.allocate(leaves.len()).map_err(text)?;
    let nodes = Slice::from(&nodes);
    let name = format!("Merkle, all levels above {count} leaves");
    let amount = ((count - 1) as f64, "compressions");
    device_case(report, options, &name, amount, || device.merkle_nodes(&leaves, &nodes))
}

fn from_host(device: &Device, host: &[u8], options: &Options, report: &mut Report) -> Result<()> {
    let bytes = host.len() as u64;
    let name = |class: &str| format!("{class} {bytes} B");
    let plain = &Mode::PLAIN;
    // What the copy alone takes is the measure of the others.
    let pinned = repeat(options.seconds, || device.measure_copy(bytes).map_err(text))?;
    report.case(&name("copy of pinned memory"), "host", bytes as f64, "B", &pinned);
    host_case(report, options, &name("staged"), bytes, || {
        device.hash_bytes(plain, host).map(drop)
    })?;
    host_case(report, options, &name("wrapped"), bytes, || {
        device.hash_wrapped(plain, host).map(drop)
    })?;
    host_case(report, options, &name("end-to-end"), bytes, || {
        let buffer = device.upload(host)?;
        device.hash(plain, &buffer).wait().map(drop)
    })?;
    let cpu = repeat(options.seconds, || {
        let clock = Instant::now();
        std::hint::black_box(treewide::hash_parallel(host));
        Ok(clock.elapsed())
    })?;
    report.case(&name("CPU"), "host", bytes as f64, "B", &cpu);
    let mut file = tempfile::tempfile().map_err(|error| error.to_string())?;
    std::io::Write::write_all(&mut file, host).map_err(|error| error.to_string())?;
    host_case(report, options, &name("file"), bytes, || {
        let mut staged = treewide_gpu::Staged::new(device, plain);
        staged.update_file(&file, 0, bytes)?;
        staged.finalize().map(drop)
    })?;
    if device.is_unified() {
        let mut shared = match device.allocate_shared(bytes) {
            Ok(shared) => shared,
            Err(error) => {
                report.skipped(&name("host-visible"), &error.to_string());
                return Ok(());
            }
        };
        shared.bytes().map_err(text)?.copy_from_slice(host);
        let slice = shared.to_device().map_err(text)?;
        let timed = device.timed();
        let amount = (bytes as f64, "B");
        device_case(report, options, &name("host-visible"), amount, || timed.hash(plain, &slice))?;
    }
    Ok(())
}

/// Kernels that `scripts/cuda.py variants` built with other parameters.
#[cfg(feature = "cuda")]
fn variants(all: &Slice, options: &Options, report: &mut Report) -> Result<()> {
    let Some(folder) = &options.kernels else { return Ok(()) };
    let files = std::fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let image = std::fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
        if name == "instructions" {
            instructions(&image, options, report)?;
            continue;
        }
        // SAFETY: the folder is the caller's, who has built the kernels from the same sources.
        let device = unsafe { treewide_gpu::cuda::open_with_kernels(options.index, &image) };
        // One that does not fit is no reason to stop.
        let checked = device.map_err(text).and_then(|device| {
            crate::check::all(&device)?;
            resident(&device.timed(), all, options, report, &format!("variant {name}: resident"))
        });
        if let Err(error) = checked {
            report.skipped(&format!("variant {name}"), &error);
        }
    }
    Ok(())
}

/// Single instructions, of which ceilings are made.
#[cfg(feature = "cuda")]
fn instructions(image: &[u8], options: &Options, report: &mut Report) -> Result<()> {
    use treewide_gpu::cuda::measure;

    let chip = measure::chip(options.index).map_err(text)?;
    // SAFETY: as in `variants`.
    let rates = unsafe { measure::rates(options.index, image) }.map_err(text)?;
    let rates: Vec<_> = rates.iter().map(|rate| (rate.name, rate.per_clock)).collect();
    report.chip(&chip.name, chip.capability, chip.multiprocessors, chip.clock, &rates);
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn variants(_: &Slice, options: &Options, _: &mut Report) -> Result<()> {
    match options.kernels {
        Some(_) => Err("--kernels needs the feature cuda".into()),
        None => Ok(()),
    }
}
