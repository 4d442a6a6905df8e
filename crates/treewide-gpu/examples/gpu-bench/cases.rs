//! The cases that are measured.

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
    if !name.contains(&options.only) {
        return Ok(());
    }
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
    report.checked(1);
    let timed = device.timed();
    let all = Slice::from(&buffer);
    #[cfg(feature = "cuda")]
    if let Some(folder) = &options.kernels {
        return kernels(&timed, &all, folder, options, report);
    }
    resident(&timed, &all, options, report)?;
    batches(&timed, &all, options, report)?;
    merkle(&timed, &all, options, report)?;
    from_host(device, &host, options, report)?;
    crossovers(device, &host, options, report)
}

/// The sizes that matter most come first, as a run may be stopped.
const SIZES: [u64; 9] =
    [1 << 30, 8 << 30, 64 << 20, 1 << 20, 1 << 10, 64 << 10, 128 << 10, 256 << 10, 8 << 20];

/// For which it is to be decided whether they take one launch.
#[cfg(feature = "cuda")]
const LAUNCHED: [u64; 7] = [64 << 10, 128 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30];

fn resident(device: &Device, all: &Slice, options: &Options, report: &mut Report) -> Result<()> {
    let mut sizes = SIZES.to_vec();
    sizes.retain(|size| *size <= all.len());
    if !sizes.contains(&all.len()) {
        sizes.push(all.len());
    }
    of_sizes(device, all, &sizes, options, report, "resident")?;
    if all.len() > 64 << 20 {
        let slice = all.slice(3..64 << 20).map_err(text)?;
        let name = format!("resident {} B from byte 3", slice.len());
        let amount = (slice.len() as f64, "B");
        device_case(report, options, &name, amount, || device.hash(&Mode::PLAIN, &slice))?;
    }
    Ok(())
}

fn of_sizes(
    device: &Device,
    all: &Slice,
    sizes: &[u64],
    options: &Options,
    report: &mut Report,
    class: &str,
) -> Result<()> {
    for size in sizes.iter().filter(|size| **size <= all.len()) {
        let slice = all.slice(..*size).map_err(text)?;
        let (name, amount) = (format!("{class} {size} B"), (*size as f64, "B"));
        device_case(report, options, &name, amount, || device.hash(&Mode::PLAIN, &slice))?;
        if *size <= 64 << 20 {
            // What of that is the way of 32 bytes to the host?
            let out = Slice::from(&device.allocate(32).map_err(text)?);
            let left = format!("{name}, digest left there");
            device_case(report, options, &left, amount, || {
                device.hash_to(&Mode::PLAIN, &slice, &out)
            })?;
            in_a_row(device, &slice, options, report, &name)?;
        }
    }
    Ok(())
}

/// As many as hide what the host takes to start one: the time of each.
fn in_a_row(
    device: &Device,
    slice: &Slice,
    options: &Options,
    report: &mut Report,
    name: &str,
) -> Result<()> {
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
    report.case(&name, "host", slice.len() as f64, "B", &runs);
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
    // What the copy alone takes is the measure of the others: in one piece, and in parts as the ring.
    #[cfg(feature = "cuda")]
    if device.backend() == treewide_gpu::Backend::Cuda {
        let copies = treewide_gpu::cuda::measure::copies(options.index, host.len(), 10);
        let copies: Vec<f64> = copies.map_err(text)?.iter().map(Duration::as_secs_f64).collect();
        let name = name("copy of pinned memory in one piece");
        report.case(&name, "device", bytes as f64, "B", &copies);
    }
    let pinned = repeat(options.seconds, || device.measure_copy(bytes).map_err(text))?;
    report.case(&name("copy of pinned memory"), "host", bytes as f64, "B", &pinned);
    host_case(report, options, &name("staged"), bytes, || {
        device.hash_bytes(plain, host).map(drop)
    })?;
    let wrapped = device.wrap(host, |wrapped| {
        host_case(report, options, &name("wrapped"), bytes, || wrapped.hash(plain).map(drop))
    });
    match wrapped {
        Ok(result) => result?,
        Err(error) => report.skipped(&name("wrapped"), &error.to_string()),
    }
    host_case(report, options, &name("wrapped, with pinning,"), bytes, || {
        device.hash_wrapped(plain, host).map(drop)
    })?;
    host_case(report, options, &name("end-to-end"), bytes, || {
        let buffer = device.upload(host)?;
        device.hash(plain, &buffer).wait().map(drop)
    })?;
    host_case(report, options, &name("CPU"), bytes, || {
        std::hint::black_box(treewide::hash_parallel(host));
        Ok(())
    })?;
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

/// From which length on a device that is open is quicker than the CPU, with bytes of the host.
fn crossovers(device: &Device, host: &[u8], options: &Options, report: &mut Report) -> Result<()> {
    let mut size = 64 << 10;
    while size < host.len() {
        let (bytes, part) = (size as u64, &host[..size]);
        host_case(report, options, &format!("staged {bytes} B"), bytes, || {
            // Not `hash_bytes`, which leaves small inputs to the CPU.
            let mut staged = treewide_gpu::Pipeline::new(device, &Mode::PLAIN, 1, bytes)?;
            staged.push(part)?;
            staged.pop().map(drop)
        })?;
        host_case(report, options, &format!("CPU {bytes} B"), bytes, || {
            std::hint::black_box(treewide::hash_parallel(part));
            Ok(())
        })?;
        size *= 4;
    }
    Ok(())
}

/// What says why the kernels are as fast as they are, and whether others were faster: single
/// instructions, one launch next to several, and kernels that `scripts/cuda.py variants` built with other
/// parameters.
#[cfg(feature = "cuda")]
fn kernels(
    device: &Device,
    all: &Slice,
    folder: &str,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let read = |path: &std::path::Path| {
        std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let image = read(&std::path::Path::new(folder).join("instructions.cubin"));
    if let Err(error) = image.and_then(|image| instructions(&image, options, report)) {
        report.skipped("instructions", &error);
    }
    // Without one launch for a whole tree, what is above 128 KiB takes two, and above 32 MiB three.
    for (launches, most) in [("one launch", u64::MAX), ("several launches", 0)] {
        let class = format!("resident, {launches},");
        of_sizes(&device.one_launch_up_to(most), all, &LAUNCHED, options, report, &class)?;
    }
    let mut paths: Vec<_> = match std::fs::read_dir(folder) {
        Ok(files) => files.flatten().map(|file| file.path()).collect(),
        Err(error) => {
            report.skipped("variants", &format!("{folder}: {error}"));
            return Ok(());
        }
    };
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    paths.retain(|path| path.file_stem().is_some_and(|name| name != "instructions"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let checked = read(&path).and_then(|image| {
            // SAFETY: the folder is the caller's, who has built the kernels from the same sources.
            let device = unsafe { treewide_gpu::cuda::open_with_kernels(options.index, &image) };
            let device = device.map_err(text)?;
            crate::check::all(&device)?;
            let sizes = [1 << 30, 64 << 20, 1 << 20, 8 << 30];
            let class = format!("variant {name}: resident");
            of_sizes(&device.timed(), all, &sizes, options, report, &class)
        });
        // A row that does not fit does not stop the others.
        if let Err(error) = checked {
            report.skipped(&format!("variant {name}"), &error);
        }
    }
    Ok(())
}

/// The rates of single instructions, from which ceilings are computed.
#[cfg(feature = "cuda")]
fn instructions(image: &[u8], options: &Options, report: &mut Report) -> Result<()> {
    use treewide_gpu::cuda::measure;

    let chip = measure::chip(options.index).map_err(text)?;
    // SAFETY: as in `kernels`.
    let rates = unsafe { measure::rates(options.index, image) }.map_err(text)?;
    let rates: Vec<_> = rates.iter().map(|rate| (rate.name, rate.per_clock)).collect();
    report.chip(&chip.name, chip.capability, chip.multiprocessors, chip.clock, &rates);
    Ok(())
}
