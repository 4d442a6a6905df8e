//! How this machine hashes an input of some length.

#[cfg(feature = "gpu")]
use crate::args::device;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use clap::Args;
use std::fmt::Write;
use treewide::kernel::{self, Kernel};
use treewide_files::size;

pub(crate) const NOTES: Notes = Notes::new(&[
    ("treewide explain", "an input of 1 MiB"),
    ("treewide explain 100G", "a longer one"),
    ("TREEWIDE_KERNEL=portable treewide explain 1000", "without vectors"),
]);

/// Explain how an input would be hashed on this machine
///
/// Prints the version, the CPU, the kernels of this build with their lanes, which of them is in use
/// (TREEWIDE_KERNEL forces another), the threads, and the passes that an input of that length
/// takes.
#[cfg_attr(
    feature = "gpu",
    doc = "Also lists the GPUs, and says whether one would hash a file of that length."
)]
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct ExplainArgs {
    /// Length of the input in bytes, or in powers of 1024: 64K, 1M, 2G, 1T
    #[arg(value_name = "BYTES", default_value = "1M", value_parser = size::parse)]
    bytes: u64,
}

impl ExplainArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        let explanation = treewide::explain(self.bytes);
        // First what a report of a bug needs.
        let (version, system) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        let mut text = format!("treewide {version} on {system}\nCPU: {}\n", cpu());
        for kernel in kernel::all() {
            writeln!(text, "kernel {}", about(kernel, explanation.kernel()))?;
        }
        writeln!(text, "{explanation}")?;
        #[cfg(feature = "gpu")]
        text.push_str(&device::explain(self.bytes)?);
        output::print(text.as_bytes())?;
        Ok(Outcome::Success)
    }
}

fn about(kernel: &Kernel, used: &Kernel) -> String {
    let lanes = if kernel.degree() == 1 { "lane" } else { "lanes" };
    let note = match kernel.is_supported() {
        false => ", which this CPU cannot run",
        true if kernel.name() == used.name() => ", in use",
        true => "",
    };
    // The record is about what this CPU is like, and need not have kernels for each of its instruction sets.
    let record = match kernel.record() {
        Some(record) if kernel.is_supported() => format!("; made for CPUs like this, by {record}"),
        _ => String::new(),
    };
    format!("{}: {} {lanes}{note}{record}", kernel.name(), kernel.degree())
}

/// The name of the CPU, if the system reports it, and its architecture.
fn cpu() -> String {
    let arch = std::env::consts::ARCH;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then_some(value.trim())
    });
    name.map_or_else(|| arch.to_string(), |name| format!("{name} ({arch})"))
}
