//! Measures a device, once its digests are known to be right: all timing classes, as one JSON document.
//!
//! ```sh
//! cargo build --release -p treewide-gpu --features cuda,wgpu --example gpu-bench
//! target/release/examples/gpu-bench --backend cuda --largest 8G --out results.json
//! ```
//!
//! | class | where the bytes are when the clock starts |
//! |---|---|
//! | resident | on the device; the device's own clock, else the host's |
//! | staged | on the host, pageable; through the ring of pinned buffers |
//! | wrapped | on the host, pinned where they lie |
//! | wrapped, with pinning | on the host; they are pinned, hashed, and unpinned |
//! | end-to-end | on the host; fresh device memory, a copy, the hash, the digest |
//! | file | in the page cache |
//!
//! With `--kernels FOLDER` none of these: the rates of single instructions, one launch for a tree next to
//! several, and the kernels that `scripts/cuda.py variants FOLDER` built with other parameters.
//!
//! A time is the median of several runs. GB/s are 10^9 bytes of input a second. What was measured so far
//! is in the file after each case.

mod cases;
mod check;
mod report;

use report::Report;
use std::process::ExitCode;
use treewide_gpu::{Backend, Device};

const USAGE: &str = "usage: gpu-bench [--backend cuda|wgpu] [--index N] [--largest BYTES[K|M|G]] \
                     [--seconds N] [--only TEXT] [--kernels FOLDER] [--commit ID] [--out FILE]";

/// What was asked for.
struct Options {
    backend: Backend,
    index: usize,
    largest: u64,
    /// For the runs of one case, at most.
    seconds: f64,
    /// What the names of the cases contain that are to be run.
    only: String,
    kernels: Option<String>,
    commit: Option<String>,
    out: Option<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpu-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        backend: Backend::Cuda,
        index: 0,
        largest: 1 << 30,
        seconds: 1.0,
        only: String::new(),
        kernels: None,
        commit: None,
        out: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
        let bad = || format!("{flag} {value}: not understood\n{USAGE}");
        match flag.as_str() {
            "--backend" if value == "cuda" => options.backend = Backend::Cuda,
            "--backend" if value == "wgpu" => options.backend = Backend::Wgpu,
            "--index" => options.index = value.parse().map_err(|_| bad())?,
            "--largest" => options.largest = bytes(&value).ok_or_else(bad)?,
            "--seconds" => options.seconds = value.parse().map_err(|_| bad())?,
            "--only" => options.only = value,
            "--kernels" => options.kernels = Some(value),
            "--commit" => options.commit = Some(value),
            "--out" => options.out = Some(value),
            _ => return Err(bad()),
        }
    }
    if options.kernels.is_some()
        && (options.backend != Backend::Cuda || cfg!(not(feature = "cuda")))
    {
        return Err(format!("--kernels is for --backend cuda, with the feature cuda\n{USAGE}"));
    }
    Ok(options)
}

fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn run(options: &Options) -> Result<(), String> {
    let device = Device::open(options.backend, options.index).map_err(|error| error.to_string())?;
    let (commit, out) = (options.commit.as_deref(), options.out.as_deref());
    let mut report = Report::new(&device, commit, out);
    report.checked(check::all(&device)?);
    let result = cases::all(&device, options, &mut report);
    match &result {
        Ok(()) => report.complete(),
        Err(error) => report.failure(error),
    }
    report.write()?;
    if out.is_none() {
        println!("{}", report.json());
    }
    result
}
