//! Measures a device, once its digests are known to be right, and prints samples:
//!
//! ```sh
//! cargo build --release -p treewide-gpu --features cuda,wgpu --example gpu-bench
//! target/release/examples/gpu-bench --backend cuda --largest 8589934592 | treewide-bench report -
//! ```
//!
//! It has what `treewide-bench gpu` has not: batches, lists of tensors, copies, and one launch for a tree
//! next to several.

mod cases;
mod check;
mod report;

use std::process::ExitCode;
use treewide_gpu::{Backend, Device};

const USAGE: &str = "usage: gpu-bench [--backend cuda|wgpu] [--index N] [--largest BYTES] \
                     [--seconds N] [--only TEXT]";

/// What was asked for.
struct Options {
    backend: Backend,
    index: usize,
    largest: u64,
    /// For the runs of one case, at most.
    seconds: f64,
    /// What the names of the cases contain that are to be run.
    only: String,
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
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
        let bad = || format!("{flag} {value}: not understood\n{USAGE}");
        match flag.as_str() {
            "--backend" if value == "cuda" => options.backend = Backend::Cuda,
            "--backend" if value == "wgpu" => options.backend = Backend::Wgpu,
            "--index" => options.index = value.parse().map_err(|_| bad())?,
            "--largest" => options.largest = value.parse().map_err(|_| bad())?,
            "--seconds" => options.seconds = value.parse().map_err(|_| bad())?,
            "--only" => options.only = value,
            _ => return Err(bad()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let device = Device::open(options.backend, options.index).map_err(|error| error.to_string())?;
    report::begin(&device);
    let checked = check::all(&device)?;
    report::about(&format!("{checked} digests are right"));
    cases::all(&device, options)?;
    report::about("complete");
    Ok(())
}
