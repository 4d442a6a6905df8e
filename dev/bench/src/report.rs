//! The report: the command, the program, the machine, every sample, and the statistics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats;
use crate::work::Work;

/// The version of the format. A change that old readers would misread gets the next number.
pub(crate) const SCHEMA: &str = "treewide-bench/1";

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    pub(crate) schema: String,
    /// The command line, without the program.
    pub(crate) command: Vec<String>,
    /// The time when it began: UTC, RFC 3339.
    pub(crate) started: String,
    pub(crate) seconds: f64,
    pub(crate) build: Build,
    pub(crate) machine: Machine,
    /// The kernel that treewide chooses here.
    pub(crate) kernel: String,
    pub(crate) memory: Memory,
    pub(crate) settings: Settings,
    pub(crate) rows: Vec<Row>,
    /// Rows that were requested but not measured, and why.
    pub(crate) refused: Vec<Refused>,
    /// Only in reports of `gate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bars: Vec<Bar>,
    /// BLAKE3 of all the rest. It detects edits, but it is not a signature.
    pub(crate) seal: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Build {
    pub(crate) version: String,
    pub(crate) commit: String,
    /// Whether sources or manifests differed from the commit.
    pub(crate) dirty: bool,
    pub(crate) rustc: String,
    pub(crate) target: String,
    pub(crate) profile: String,
    pub(crate) features: Vec<String>,
    /// The libraries that are compared, with their versions.
    pub(crate) engines: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cpus: u32,
    /// Instruction sets that matter here, in the names of the operating system.
    pub(crate) cpu_features: Vec<String>,
    /// Data caches of a core, in bytes; 0 if there is none, or none is known.
    pub(crate) caches: Caches,
    /// Frequency governor, where it can be read.
    pub(crate) governor: Option<String>,
    pub(crate) memory_bytes: u64,
    pub(crate) os: String,
    /// Load average of the last minute when the run began, if the system has one.
    pub(crate) load: Option<f64>,
}

impl Machine {
    /// The load when the run began, if other programs were then at work.
    pub(crate) fn is_busy(&self) -> Option<f64> {
        self.load.filter(|&load| load >= 0.5)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caches {
    pub(crate) l1: u64,
    pub(crate) l2: u64,
    pub(crate) l3: u64,
}

/// The memory of this process when the run ended, in bytes; 0 if it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub(crate) rss: u64,
    pub(crate) peak_rss: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The seed of the inputs and of the order of turns.
    pub(crate) seed: u64,
    /// The confidence that all ratios of the report are within their intervals.
    pub(crate) confidence: f64,
    /// The time for a row.
    pub(crate) budget_ms: u64,
}

/// The one thing in which the sides of a row differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Varies {
    /// Libraries, on the same number of threads.
    Engine,
    /// Kernels of treewide, on the same number of threads.
    Kernel,
    /// The number of threads of one engine.
    Threads,
    /// Nothing: one engine alone.
    Nothing,
}

/// What the threads of a pool do before a call, or a sample, is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pool {
    /// Three milliseconds of rest: they sleep.
    Rest,
    /// A millisecond of the same calls: they are awake.
    Awake,
    /// Other work, which keeps two of them busy until then.
    AfterWork,
}

impl Pool {
    /// Whether each call is timed alone.
    pub(crate) fn is_single(self) -> bool {
        self != Self::Awake
    }

    /// What it adds to the caption of a table, and to the name of a row.
    pub(crate) fn words(self) -> [&'static str; 2] {
        match self {
            Self::Rest => ["three milliseconds of rest before each call", "pool asleep"],
            Self::Awake => ["calls in a row, pools awake", "pool awake"],
            Self::AfterWork => ["right after other work of the pool", "after other work"],
        }
    }
}

/// The algorithm of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Family {
    Blake3,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Unique in the report.
    pub(crate) id: String,
    /// The timing class, of `dev/bench/README.md`.
    pub(crate) class: String,
    pub(crate) work: Work,
    pub(crate) varies: Varies,
    /// Bytes that one call hashes or outputs.
    pub(crate) bytes: u64,
    /// Whether other processes kept every CPU busy.
    pub(crate) busy: bool,
    /// In which state its pool of threads was before each call; none if nothing was done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<Pool>,
    /// The digest of the results of all calls, from an oracle; see `work.rs`.
    pub(crate) digests: BTreeMap<Family, String>,
    pub(crate) sides: Vec<Side>,
    /// For each side except for the first: its time divided by the time of the first, turn by turn.
    pub(crate) ratios: Vec<Ratio>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    /// As it was written on the command line, and unique in the row: `treewide:avx2@2`.
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) family: Family,
    /// The kernel, instruction set, strategy or step that it used, if it is known.
    pub(crate) variant: String,
    pub(crate) threads: u32,
    /// Calls in a sample.
    pub(crate) calls: u64,
    /// Nanoseconds of all calls of a sample; sample `i` of every side is of turn `i`.
    pub(crate) samples_ns: Vec<u64>,
    pub(crate) digest_before: String,
    pub(crate) digest_after: String,
    pub(crate) stats: Stats,
}

/// Nanoseconds for a call; the last field is bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stats {
    pub(crate) min: f64,
    pub(crate) median: f64,
    /// The interval of the median.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Of enough samples only.
    pub(crate) p95: Option<f64>,
    pub(crate) max: f64,
    /// At the median.
    pub(crate) bytes_per_second: f64,
}

/// How many times as long as the first side another one takes: above 1 the first is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ratio {
    /// The name of the other side.
    pub(crate) of: String,
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratio {
    /// The ends of an interval that is worth reading differ by less than this factor.
    pub(crate) const WIDE: f64 = 1.5;

    /// Whether the interval is too wide to be worth much: other programs have disturbed the row.
    pub(crate) fn is_wide(&self) -> bool {
        self.high > self.low * Self::WIDE
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    pub(crate) id: String,
    pub(crate) reason: String,
}

/// What a gate asks of a row: of its first ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bar {
    pub(crate) row: String,
    /// The other side; the second one of the row if this is missing, as it is in reports.
    #[serde(skip)]
    pub(crate) of: Option<String>,
    pub(crate) at_least: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aim: Option<f64>,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The whole interval is at or above the bar.
    Met,
    /// The whole interval is below the bar.
    Short,
    /// The interval straddles the bar.
    Inconclusive,
}

impl Bar {
    /// The ratio that it is about, if these rows have it.
    pub(crate) fn ratio<'a>(&self, rows: &'a [Row]) -> Option<&'a Ratio> {
        let row = rows.iter().find(|row| row.id == self.row)?;
        row.ratios.iter().find(|ratio| self.of.as_ref().is_none_or(|of| ratio.of == *of))
    }

    /// What follows from that ratio.
    pub(crate) fn verdict_of(&self, ratio: &Ratio) -> Verdict {
        if ratio.low >= self.at_least {
            Verdict::Met
        } else if ratio.high < self.at_least {
            Verdict::Short
        } else {
            Verdict::Inconclusive
        }
    }

    pub(crate) fn judge(&mut self, rows: &[Row]) {
        if let Some(ratio) = self.ratio(rows) {
            self.verdict = self.verdict_of(ratio);
        }
    }
}

impl Side {
    /// Nanoseconds of one call, in the order of the turns.
    pub(crate) fn times(&self) -> Vec<f64> {
        self.samples_ns.iter().map(|&ns| ns as f64 / self.calls as f64).collect()
    }
}

impl Stats {
    pub(crate) fn of(times: &[f64], bytes: u64, confidence: f64) -> Self {
        let it = stats::estimate(times, confidence);
        Self {
            min: times.iter().copied().fold(f64::INFINITY, f64::min),
            median: it.median,
            low: it.low,
            high: it.high,
            p95: stats::p95(times),
            max: times.iter().copied().fold(0.0, f64::max),
            bytes_per_second: bytes as f64 / it.median * 1e9,
        }
    }
}

impl Row {
    /// The ratios of the other sides to the first, from the samples.
    pub(crate) fn ratios_of_samples(&self, confidence: f64) -> Vec<Ratio> {
        let Some((first, others)) = self.sides.split_first() else { return vec![] };
        let ours = first.times();
        let ratio = |other: &Side| {
            let pairs: Vec<f64> =
                other.times().iter().zip(&ours).map(|(theirs, ours)| theirs / ours).collect();
            let it = stats::estimate(&pairs, confidence);
            Ratio { of: other.name.clone(), median: it.median, low: it.low, high: it.high }
        };
        others.iter().map(ratio).collect()
    }

    /// All that follows from the samples, at this confidence of each interval.
    pub(crate) fn compute(&mut self, confidence: f64) {
        for side in &mut self.sides {
            side.stats = Stats::of(&side.times(), self.bytes, confidence);
        }
        self.ratios = self.ratios_of_samples(confidence);
    }
}

impl Report {
    /// The confidence of each ratio such that all of them hold together.
    pub(crate) fn confidence_of_each(&self) -> f64 {
        stats::each_of(ratios(&self.rows), self.settings.confidence)
    }

    /// Computes everything that follows from the samples, and seals the report.
    pub(crate) fn finish(&mut self) {
        let confidence = self.confidence_of_each();
        for row in &mut self.rows {
            row.compute(confidence);
        }
        for bar in &mut self.bars {
            bar.judge(&self.rows);
        }
        self.seal = seal(&serde_json::to_value(&*self).expect("a report is JSON"));
    }

    pub(crate) fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("a report is JSON");
        // A row a line: records lie in a repository, where lines are what is compared.
        text =
            text.replace(",\"rows\":[{", ",\n\"rows\":[\n{").replace("},{\"id\":", "},\n{\"id\":");
        text.push('\n');
        text
    }
}

/// How many ratios these rows have.
pub(crate) fn ratios(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.sides.len().saturating_sub(1)).sum()
}

/// BLAKE3 of a report without its seal: compact JSON, the names of every object in order.
pub(crate) fn seal(report: &serde_json::Value) -> String {
    let mut report = report.clone();
    if let Some(fields) = report.as_object_mut() {
        fields.remove("seal");
    }
    blake3::hash(report.to_string().as_bytes()).to_hex().to_string()
}
