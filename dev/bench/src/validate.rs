//! Checks a report. It trusts nothing that it can compute.
//!
//! The shape and types are read strictly (an unknown or missing name is a fault). Inputs are
//! made again from the seed and hashed by the oracle. Every statistic is computed again from the samples. The seal shows
//! whether anything else was edited. The seal is not a signature: after an edit a report can be sealed again, but its
//! numbers must still follow from its samples, and its digests from its inputs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::engine::{self, ORACLE};
use crate::machine;
use crate::report::{Report, Row, SCHEMA, Side, Stats, Varies, seal};
use crate::stats::MIN_SAMPLES;
use crate::work::Work;

/// The requirements on a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// Its statistics follow from its samples: enough to draw them.
    Figures,
    /// In addition, nothing was edited, and its provenance is complete.
    Whole,
    /// In addition, it comes from an optimised build of a commit without changes.
    Record,
}

/// Reads a report from a file, and returns it or its faults.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn file(path: &Path, asked: Asked) -> Result<Result<Report, Vec<String>>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(report(&text, asked))
}

fn report(text: &str, asked: Asked) -> Result<Report, Vec<String>> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| vec![format!("not JSON: {error}")])?;
    if value.get("schema").and_then(|it| it.as_str()) != Some(SCHEMA) {
        return Err(vec![format!("schema: not {SCHEMA}, the one that this program knows")]);
    }
    let report: Report =
        serde_json::from_str(text).map_err(|error| vec![format!("schema: {error}")])?;
    let mut faults = Faults(vec![]);
    if asked >= Asked::Whole {
        faults.check(seal(&value) == report.seal, || "seal: the report was edited".into());
        faults.provenance(&report);
    }
    if asked == Asked::Record {
        let build = &report.build;
        faults.check(!build.dirty, || "record: built from changes that are in no commit".into());
        faults.check(build.profile == "release, opt-level 3", || {
            format!("record: not an optimised build without further flags but '{}'", build.profile)
        });
    }
    faults.rows(&report, asked >= Asked::Whole);
    faults.bars(&report);
    if faults.0.is_empty() { Ok(report) } else { Err(faults.0) }
}

struct Faults(Vec<String>);

impl Faults {
    fn check(&mut self, right: bool, fault: impl FnOnce() -> String) {
        if !right {
            self.0.push(fault());
        }
    }

    fn provenance(&mut self, report: &Report) {
        let Report { build, machine, memory, settings, .. } = report;
        let sides = || report.rows.iter().flat_map(|row| &row.sides);
        let sampled: f64 = sides().flat_map(|side| &side.samples_ns).map(|&ns| ns as f64).sum();
        let hex =
            |text: &str, len| text.len() == len && text.bytes().all(|b| b.is_ascii_hexdigit());
        for (name, there) in [
            ("command", !report.command.is_empty()),
            ("started", is_time(&report.started)),
            ("seconds", report.seconds > 0.0 && sampled <= report.seconds * 1e9 + 1e6),
            ("build.commit", hex(&build.commit, 40)),
            ("build.rustc", build.rustc.starts_with("rustc ")),
            ("build.target", !build.target.is_empty()),
            ("build.engines", build.engines.values().all(|version| !version.is_empty())),
            ("machine.cpu", !machine.cpu.is_empty()),
            ("machine.cpus", machine.cpus > 0),
            ("machine.os", !machine.os.is_empty()),
            ("kernel", !report.kernel.is_empty()),
            ("memory", memory.rss <= memory.peak_rss),
            ("settings.confidence", (0.5..1.0).contains(&settings.confidence)),
            ("rows", !report.rows.is_empty()),
        ] {
            self.check(there, || format!("provenance: {name} is missing or impossible"));
        }
        let known = |row: &Row, side: &Side| {
            matches!(row.work, Work::Program { .. } | Work::Device { .. })
                || build.engines.contains_key(&side.engine)
        };
        for row in &report.rows {
            for side in row.sides.iter().filter(|side| !known(row, side)) {
                self.0.push(format!("provenance: build.engines has no {}", side.engine));
            }
        }
    }

    fn rows(&mut self, report: &Report, digests: bool) {
        let mut ids = BTreeSet::new();
        let confidence = report.confidence_of_each();
        let room = machine::machine().memory_bytes / 2;
        let works = report.rows.iter().map(|row| &row.work);
        let longest = works.filter(|it| it.fits(room)).map(Work::stream_len).max().unwrap_or(0);
        let stream = if digests { engine::stream(report.settings.seed, longest) } else { &[] };
        for row in &report.rows {
            let mut faults = Self(vec![]);
            faults.check(ids.insert(&row.id), || "another row has the same id".into());
            // Nothing more can be computed of work that no memory holds.
            let fits = row.work.fits(room);
            faults.check(fits, || "more than half of the memory of this machine".into());
            if fits {
                faults.counts(row);
                faults.comparable(row);
            }
            if digests && faults.0.is_empty() {
                faults.digests(row, stream);
            }
            if faults.0.is_empty() {
                faults.statistics(row, confidence);
            }
            self.0.extend(faults.0.into_iter().map(|fault| format!("row '{}': {fault}", row.id)));
        }
    }

    /// Samples, and what they count.
    fn counts(&mut self, row: &Row) {
        self.check(!row.sides.is_empty(), || "no sides".into());
        let turns = row.sides.first().map_or(0, |side| side.samples_ns.len());
        self.check(turns % 2 == 1 && turns >= MIN_SAMPLES, || {
            format!("{turns} samples, where an odd number from {MIN_SAMPLES} on is needed")
        });
        self.check(!matches!(row.work, Work::Input { buffers: 0, .. }), || "no inputs".into());
        self.check(row.bytes == row.work.bytes(), || "bytes do not follow from the work".into());
        self.check(row.class == row.work.class(), || {
            "the class does not follow from the work".into()
        });
        let mut names = BTreeSet::new();
        for side in &row.sides {
            let name = &side.name;
            self.check(names.insert(name), || format!("two sides are called {name}"));
            self.check(side.samples_ns.len() == turns, || {
                format!("{name} has not one sample for each turn")
            });
            self.check(side.calls == row.sides[0].calls, || {
                format!("samples of {name} are of another number of calls")
            });
            self.check(side.calls > 0 && side.threads > 0, || format!("{name} did nothing"));
            self.check(side.samples_ns.iter().all(|&ns| ns > 0), || {
                format!("{name} has samples that took no time")
            });
        }
    }

    /// That sides differ in one thing only.
    fn comparable(&mut self, row: &Row) {
        let Some(first) = row.sides.first() else { return };
        let threads = row.sides.iter().all(|side| side.threads == first.threads);
        let engine = row.sides.iter().all(|side| side.engine == first.engine);
        match row.varies {
            Varies::Engine => {
                self.check(threads, || "sides on different numbers of threads".into());
            }
            Varies::Kernel => {
                self.check(threads && engine, || "sides differ in more than one thing".into());
            }
            Varies::Threads => self.check(engine, || "sides differ in more than threads".into()),
            Varies::Nothing => {
                self.check(row.sides.len() == 1, || "there is more than one side".into());
            }
        }
    }

    /// The digest from the oracle.
    fn digests(&mut self, row: &Row, stream: &'static [u8]) {
        for side in &row.sides {
            let expected = row.digests.get(&side.family);
            for (when, digest) in [("before", &side.digest_before), ("after", &side.digest_after)] {
                self.check(expected == Some(digest), || {
                    format!("{} gave another digest {when} it was timed", side.name)
                });
            }
        }
        for digest in row.digests.values() {
            let task = (ORACLE.task)(&row.work, stream, false);
            let right = task.and_then(|mut task| Some(task.outcome().ok()?.to_string()));
            self.check(right.as_ref() == Some(digest), || {
                "the digest is not that of the inputs".into()
            });
        }
    }

    fn statistics(&mut self, row: &Row, confidence: f64) {
        for side in &row.sides {
            let right = Stats::of(&side.times(), row.bytes, confidence);
            self.check(side.stats == right, || {
                format!("the statistics of {} do not follow from its samples", side.name)
            });
        }
        self.check(row.ratios == row.ratios_of_samples(confidence), || {
            "the ratios do not follow from the samples".into()
        });
    }

    fn bars(&mut self, report: &Report) {
        for bar in &report.bars {
            let Some(ratio) = bar.ratio(&report.rows) else {
                self.0.push(format!("bar '{}': there is no such row", bar.row));
                continue;
            };
            self.check(bar.verdict == bar.verdict_of(ratio), || {
                format!("bar '{}': the verdict does not follow from the ratio", bar.row)
            });
        }
    }
}

/// `2026-11-21T11:45:30Z`
fn is_time(text: &str) -> bool {
    let shape = "0000-00-00T00:00:00Z";
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, place)| match place {
            b'0' => byte.is_ascii_digit(),
            _ => byte == place,
        })
}
