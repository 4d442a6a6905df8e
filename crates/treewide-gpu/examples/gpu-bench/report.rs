//! Lines for `treewide-bench report`, printed as they come: a run that is stopped leaves what it had.

use serde_json::json;
use treewide_gpu::Device;

/// A line above the tables.
pub(crate) fn about(text: &str) {
    println!("{}", json!({ "about": text }));
}

/// What is measured, on what.
pub(crate) fn begin(device: &Device) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    about(&format!(
        "{} ({}), {} bytes; {}; {cpus} CPUs{model}; treewide {}",
        device.name(),
        device.backend(),
        device.memory().unwrap_or(0),
        read("/proc/driver/nvidia/version").lines().next().unwrap_or("no driver of NVIDIA"),
        env!("CARGO_PKG_VERSION"),
    ));
    about(&std::env::args().collect::<Vec<_>>().join(" "));
}

/// A row: the seconds of each run by one clock.
pub(crate) fn row(name: &str, clock: &str, bytes: u64, runs: &[f64]) {
    let samples: Vec<u64> = runs.iter().map(|run| (run * 1e9).round().max(1.0) as u64).collect();
    println!("{}", json!({ "name": name, "engine": clock, "bytes": bytes, "samples": samples }));
}

pub(crate) fn skipped(name: &str, cause: &str) {
    about(&format!("{name}: skipped: {cause}"));
}
