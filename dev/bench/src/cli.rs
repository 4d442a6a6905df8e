//! The command line: every flag with its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::size;
use crate::work::{Feed, Fill, Mode, Place};

const ENVIRONMENT: &str = "\
Sizes are bytes, or in units that are powers of 1024: 64KiB, 1MiB, 2GiB, 1TiB.

Environment:
  TREEWIDE_KERNEL    the kernel that the engine treewide uses, by a name that `treewide explain` lists
  RAYON_NUM_THREADS  the most threads, where an engine does not name them";

/// Measures treewide against other hashing libraries, alternately, with confidence intervals.
///
/// Engines are written `ENGINE[:KERNEL][@THREADS]`: treewide, treewide:avx2, blake3@2. dev/bench/README.md
/// says what each timing class includes.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = ENVIRONMENT)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compares engines over many sizes.
    Compare(Compare),
    /// Compares batches of many inputs with a loop, and measures Merkle trees.
    Batch(Batch),
    /// Measures devices by where the bytes are when the clock starts; needs a build with `--features gpu`.
    ///
    /// Exit code 1: no device can be used; the devices that were found are listed.
    Gpu(Gpu),
    /// Finds the kernel and the sizes from which a GPU is faster, and prints them as flags and as JSON.
    Tune(Tune),
    /// Measures the rows of a file of bars, and reports which bars are met.
    ///
    /// Exit code 0: all bars are met. 1: at least one bar is short. 3: no bar is short, but at least one is
    /// inconclusive (its interval contains the bar) or was not measured.
    Gate(Gate),
    /// Prints the tables of earlier reports, or of a short run of everything.
    ///
    /// Also takes samples that another program printed: a FILE.jsonl, or - for standard input. If they have bars, the
    /// exit code is that of `gate`.
    Report(ReportArgs),
    /// Checks reports: fields, provenance, digests, and every statistic against its samples.
    Validate(Validate),
    /// Keeps a CPU busy until standard input ends.
    #[command(name = crate::busy::SPIN, hide = true)]
    Spin,
}

/// What every measuring command takes.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Time for each row, in milliseconds [default: 300]. At least 15 samples are taken, even if that takes
    /// longer. Time that is not measured, such as the start of a process, does not count.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    pub(crate) budget: Option<u64>,
    /// Seed for the inputs and for the order in each turn.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Confidence that all intervals of the report hold together.
    #[arg(long, default_value_t = 0.95, value_parser = confidence)]
    pub(crate) confidence: f64,
    /// Write the report with all samples to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.5..=0.999).contains(&value) => Ok(value),
        _ => Err("a confidence is a number from 0.5 to 0.999".into()),
    }
}

/// Sizes and ranges of sizes, repeated or separated by commas.
#[derive(Args, Clone)]
pub(crate) struct Sizes {
    /// Sizes: 1000, 64KiB, or a range such as 0..64KiB/61 or 1KiB..1GiB*2.
    #[arg(long, value_delimiter = ',', value_parser = size_list, value_name = "SIZE,…")]
    sizes: Vec<List>,
}

#[derive(Clone)]
struct List(Vec<u64>);

fn size_list(text: &str) -> Result<List, String> {
    size::parse_list(text).map(List)
}

impl Sizes {
    /// The sizes that were given, each once, or else `default`.
    pub(crate) fn or(&self, default: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
        if self.sizes.is_empty() {
            return default();
        }
        let mut sizes: Vec<u64> = self.sizes.iter().flat_map(|list| list.0.clone()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

#[derive(Args)]
pub(crate) struct Compare {
    /// Engines; the others' times are divided by the first one's.
    #[arg(default_values = ["treewide", "blake3"])]
    pub(crate) engines: Vec<String>,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    /// What is computed.
    #[arg(long, value_enum, default_value = "hash")]
    pub(crate) mode: Mode,
    /// How the hasher gets its input.
    #[arg(long, value_enum, default_value = "one-shot")]
    pub(crate) class: Feed,
    /// The cache that the inputs fill [default: the smallest that holds two of them].
    #[arg(long, value_enum)]
    pub(crate) fill: Option<Fill>,
    /// Threads of every engine without @THREADS.
    #[arg(long, default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or("a number of threads is 1 or more".into())
}

#[derive(Args)]
pub(crate) struct Batch {
    /// Engines; the others' times are divided by the first one's.
    #[arg(default_values = ["treewide", "blake3"])]
    pub(crate) engines: Vec<String>,
    /// Threads of every engine that does not say otherwise.
    #[arg(long, default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// By which interface.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceName {
    /// NVIDIA's driver.
    Cuda,
    /// Vulkan, Metal or DX12.
    Wgpu,
    /// The twins of the kernels on the CPU, for tests: slow.
    Twin,
}

/// Which devices.
#[derive(Args)]
#[cfg_attr(not(feature = "gpu"), allow(dead_code))]
pub(crate) struct Which {
    /// Only devices of this interface [default: all except for the twin].
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceName>,
    /// Only the device with this number, of each interface.
    #[arg(long)]
    pub(crate) index: Option<usize>,
}

impl Which {
    /// Whether any are asked for.
    pub(crate) fn is_any(&self) -> bool {
        self.device.is_some() || self.index.is_some()
    }
}

#[derive(Args)]
#[cfg_attr(not(feature = "gpu"), allow(dead_code))]
pub(crate) struct Gpu {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    /// Timing classes.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = [
            "resident", "private", "device", "shared", "staged", "wrapped", "end-to-end", "file",
        ]
    )]
    pub(crate) class: Vec<Place>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What is tuned.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Choice {
    Kernel,
    /// From which lengths on a GPU is faster; in builds with `--features gpu`.
    Gpu,
}

#[derive(Args)]
pub(crate) struct Tune {
    /// Only these [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) only: Vec<Choice>,
    /// The GPU to tune for [default: the first that is not software, as `auto` chooses].
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
pub(crate) struct Gate {
    /// A file of bars, as in `dev/bench/gates/`.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Reports that `--json` wrote, or files of samples.
    pub(crate) files: Vec<PathBuf>,
    /// Write the report of the short run to this file too.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) json: Option<PathBuf>,
    /// Print the tables in Markdown, for documents.
    #[arg(long, requires = "files")]
    pub(crate) markdown: bool,
    /// Replace the tables of this document by those of the records that it names.
    #[arg(long, value_name = "DOCUMENT", conflicts_with_all = ["files", "json", "markdown"])]
    pub(crate) into: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Validate {
    /// Reports that `--json` wrote, or files of samples.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Accept only reports from an optimised build of a commit without changes.
    #[arg(long)]
    pub(crate) record: bool,
}
