//! The report: machine, device and samples.

use serde_json::{Value, json};
#[cfg(feature = "cuda")]
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use treewide_gpu::Device;

pub(crate) struct Report {
    document: Value,
    /// Where it is written to, after each case: a run that is stopped leaves what it had.
    path: Option<String>,
}

impl Report {
    pub(crate) fn new(device: &Device, commit: Option<&str>, path: Option<&str>) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let document = json!({
            "device": device.name(),
            "backend": device.backend().to_string(),
            "device_memory": device.memory(),
            "driver": read("/proc/driver/nvidia/version").lines().next(),
            "cpu": model.and_then(|line| line.split(": ").nth(1)),
            "cpus": std::thread::available_parallelism().map_or(0, usize::from),
            "os": std::env::consts::OS,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": commit,
            "command": std::env::args().collect::<Vec<_>>().join(" "),
            "unix_time": unix,
            "complete": false,
            "digests_checked": 0,
            "cases": [],
        });
        Self { document, path: path.map(str::to_owned) }
    }

    pub(crate) fn checked(&mut self, digests: u64) {
        let before = self.document["digests_checked"].as_u64().unwrap_or(0);
        self.document["digests_checked"] = (before + digests).into();
        eprintln!("{} digests are right", before + digests);
    }

    pub(crate) fn complete(&mut self) {
        self.document["complete"] = true.into();
    }

    pub(crate) fn failure(&mut self, error: &str) {
        self.document["failed"] = error.into();
        eprintln!("failed: {error}");
    }

    /// A case: `amount` of `unit` took these many seconds in each run.
    pub(crate) fn case(&mut self, name: &str, clock: &str, amount: f64, unit: &str, runs: &[f64]) {
        let mut sorted = runs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        let giga = amount / median / 1e9;
        eprintln!("{name:48} {:>12.1} us {giga:>10.2} G{unit}/s  ({clock})", median * 1e6);
        let case = json!({
            "name": name,
            "clock": clock,
            "amount": amount,
            "unit": unit,
            "runs": runs.len(),
            "median_s": median,
            "least_s": sorted[0],
            "most_s": sorted[sorted.len() - 1],
            "giga_per_s": giga,
        });
        self.push(case);
    }

    fn push(&mut self, case: Value) {
        self.document["cases"].as_array_mut().expect("an array").push(case);
        // A failure is reported at the end.
        let _ = self.write();
    }

    /// What ceilings depend on: instructions of single threads in a clock of a multiprocessor.
    #[cfg(feature = "cuda")]
    pub(crate) fn chip(
        &mut self,
        name: &str,
        capability: (u32, u32),
        multiprocessors: u32,
        clock: f64,
        rates: &[(&str, f64)],
    ) {
        for (name, per_clock) in rates {
            eprintln!("instructions: {name:33} {per_clock:>12.1} a clock of a multiprocessor");
        }
        self.document["chip"] = json!({
            "name": name,
            "capability": format!("{}.{}", capability.0, capability.1),
            "multiprocessors": multiprocessors,
            "clock_hz": clock,
            "instructions_per_clock_of_a_multiprocessor": rates.iter().copied().collect::<BTreeMap<_, _>>(),
        });
    }

    pub(crate) fn skipped(&mut self, name: &str, cause: &str) {
        eprintln!("{name:48} skipped: {cause}");
        self.push(json!({ "name": name, "skipped": cause }));
    }

    /// Writes all that there is so far, at once or not at all.
    pub(crate) fn write(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let unfinished = format!("{path}.unfinished");
        std::fs::write(&unfinished, self.json())
            .and_then(|()| std::fs::rename(&unfinished, path))
            .map_err(|error| format!("{path}: {error}"))
    }

    pub(crate) fn json(&self) -> String {
        format!("{:#}\n", self.document)
    }
}
