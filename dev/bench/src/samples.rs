//! Samples that other programs print: the harnesses of C, Python, JavaScript and Swift, which only take times. Medians,
//! intervals and verdicts are computed here, in the same way as those of reports.
//!
//! A line is a JSON object: `{"about": TEXT}`, or the samples of one engine in one row ([`Line`]).

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::report::{self, Bar, Family, Row, Side, Stats, Varies, Verdict};
use crate::stats;
use crate::work::Work;

/// The confidence that all ratios of a file are within their intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The least turns: fewer have no interval that says anything.
const MIN_TURNS: usize = 5;

/// What other programs have measured.
pub(crate) struct Samples {
    /// The machine, the program, the versions of engines.
    pub(crate) about: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) bars: Vec<Bar>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    about: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The row. The first engine of a row is the one that the others are compared with.
    name: String,
    engine: String,
    /// Bytes that one call hashes.
    bytes: u64,
    /// Nanoseconds of a sample, in the order of the turns.
    samples: Vec<u64>,
    /// Calls in a sample.
    #[serde(default = "one")]
    calls: u64,
    /// The least ratio of this engine's time to the first one's.
    bar: Option<f64>,
}

fn one() -> u64 {
    1
}

/// Whether this names samples instead of a report: standard input, or a file of lines.
pub(crate) fn are_in(path: &Path) -> bool {
    path == Path::new("-") || path.extension().is_some_and(|it| it == "jsonl")
}

/// Reads samples, and returns them or their faults.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn file(path: &Path) -> Result<Result<Samples, Vec<String>>> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    Ok(parse(&text.with_context(|| format!("cannot read {}", path.display()))?))
}

fn parse(text: &str) -> Result<Samples, Vec<String>> {
    let (mut samples, mut faults) =
        (Samples { about: vec![], rows: vec![], bars: vec![] }, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        if let Err(fault) = samples.add(line) {
            faults.push(format!("line {number}: {fault}"));
        }
    }
    if samples.rows.is_empty() && faults.is_empty() {
        faults.push("no samples".into());
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let confidence = stats::each_of(report::ratios(&samples.rows), CONFIDENCE);
    samples.rows.iter_mut().for_each(|row| row.compute(confidence));
    for bar in &mut samples.bars {
        bar.judge(&samples.rows);
    }
    Ok(samples)
}

impl Samples {
    fn add(&mut self, line: &str) -> Result<(), String> {
        if let Ok(About { about }) = serde_json::from_str(line) {
            self.about.push(about);
            return Ok(());
        }
        let Line { name, engine, bytes, mut samples, calls, bar } =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        if samples.len() < MIN_TURNS || samples.contains(&0) || calls == 0 {
            return Err(format!(
                "{MIN_TURNS} samples are needed, each above 0, of at least a call"
            ));
        }
        // The median of an even number would be none of the samples.
        samples.truncate((samples.len() - 1) | 1);
        let side = side(engine, samples, calls);
        let Some(row) = self.rows.iter_mut().find(|row| row.id == name) else {
            if bar.is_some() {
                return Err(format!("'{name}' begins with a bar: an engine before it is needed"));
            }
            self.rows.push(row(name, bytes, side));
            return Ok(());
        };
        let first = &row.sides[0];
        let same = (row.bytes, first.calls, first.samples_ns.len());
        if same != (bytes, side.calls, side.samples_ns.len()) {
            return Err(format!(
                "bytes, calls or the number of samples differ from those of {} in '{name}'",
                first.name
            ));
        }
        if row.sides.iter().any(|it| it.name == side.name) {
            return Err(format!("'{name}' has {} twice", side.name));
        }
        if let Some(at_least) = bar {
            let (row, of, aim) = (name, Some(side.name.clone()), None);
            self.bars.push(Bar { row, of, at_least, aim, verdict: Verdict::Inconclusive });
        }
        row.sides.push(side);
        Ok(())
    }
}

fn row(id: String, bytes: u64, side: Side) -> Row {
    let work = Work::Sampled { bytes };
    Row {
        id,
        class: work.class().to_owned(),
        work,
        varies: Varies::Engine,
        bytes,
        busy: false,
        pool: None,
        digests: [].into(),
        sides: vec![side],
        ratios: vec![],
    }
}

fn side(name: String, samples_ns: Vec<u64>, calls: u64) -> Side {
    Side {
        engine: name.clone(),
        name,
        family: Family::Blake3,
        variant: String::new(),
        threads: 1,
        calls,
        samples_ns,
        digest_before: String::new(),
        digest_after: String::new(),
        stats: Stats::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(engine: &str, rest: &str) -> String {
        format!("{{\"name\":\"64 B\",\"engine\":\"{engine}\",\"bytes\":64,{rest}}}\n")
    }

    #[test]
    fn ratios_are_medians_of_turns_and_bars_are_judged() {
        let text = "{\"about\":\"a machine\"}\n".to_owned()
            + &line("ours", "\"samples\":[10,20,30,40,50,7]")
            + &line("theirs", "\"samples\":[20,40,60,80,100,7],\"bar\":1.5")
            + &line("slow", "\"samples\":[10,10,10,10,10,10],\"bar\":3");
        let it = parse(&text).expect("samples");
        assert_eq!(it.about, ["a machine"]);
        let ratios: Vec<f64> = it.rows[0].ratios.iter().map(|ratio| ratio.median).collect();
        assert_eq!(ratios, [2.0, 1.0 / 3.0]);
        let verdicts: Vec<Verdict> = it.bars.iter().map(|bar| bar.verdict).collect();
        assert_eq!(verdicts, [Verdict::Met, Verdict::Short]);
    }

    #[test]
    fn faults_name_their_line() {
        let good = line("ours", "\"samples\":[1,2,3,4,5]");
        for (text, fault) in [
            (String::new(), "no samples"),
            ("{}".into(), "line 1: missing field"),
            (line("ours", "\"samples\":[1,2,3,4]"), "line 1: 5 samples"),
            (line("ours", "\"samples\":[1,2,3,4,0]"), "each above 0"),
            (line("ours", "\"samples\":[1,2,3,4,5],\"bar\":1"), "begins with a bar"),
            (good.clone() + &good, "line 2: '64 B' has ours twice"),
            (
                good.clone() + &line("b", "\"samples\":[1,2,3,4,5],\"calls\":2"),
                "line 2: bytes, calls",
            ),
            (good.clone() + &line("b", "\"samples\":[1,2,3,4,5,6,7]"), "the number of samples"),
            (good + &line("b", "\"note\":1"), "unknown field"),
        ] {
            let faults = parse(&text).err().expect(fault).join("\n");
            assert!(faults.contains(fault), "{faults}");
        }
    }
}
