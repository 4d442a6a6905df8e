//! Measures one size for a long time, and compares the last quarter of the samples with the first. This shows when a CPU
//! becomes hot, or when neighbours take it away.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::cli;
use crate::plan::{Plan, Spec, inputs};
use crate::report::{Row, Varies};
use crate::stats;
use crate::table;
use crate::work::{Feed, Mode};

/// The samples of a side, so that a report of an hour stays readable.
const SAMPLES: usize = 4001;

pub(super) fn run(args: &cli::Sustained) -> Result<ExitCode> {
    let parse = |it: &String| {
        let spec = it.parse::<Spec>()?.on(args.threads);
        spec.engine().map(|_| spec)
    };
    let sides = args.engines.iter().map(parse).collect::<Result<Vec<Spec>>>()?;
    if args.common.budget.is_some() {
        bail!("SECONDS sets the time: leave out --budget");
    }
    let budget = Some(args.seconds * 1000);
    let mut session = super::session(&cli::Common { budget, ..args.common.clone() })?;
    session.max_samples = SAMPLES;
    let share = Duration::from_secs(args.seconds) / (SAMPLES * sides.len()) as u32;
    session.sample = session.sample.max(share);
    let work = inputs(Mode::Hash, Feed::OneShot, args.size, None, &session.machine.caches);
    let varies = if sides.len() == 1 { Varies::Nothing } else { Varies::Engine };
    session.run(&[Plan { varies, ..Plan::new(work, &sides) }])?;
    let report = session.finish();
    let drift: String = report.rows.iter().map(drift).collect();
    super::finish_with(&report, &args.common, &(table::of(&report) + &drift))
}

/// The spread of a call's time, and its medians in the first and the last quarter.
fn drift(row: &Row) -> String {
    let header = [
        "",
        "samples",
        "min",
        "median",
        "p95",
        "max",
        "first quarter",
        "last quarter",
        "last / first",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for side in &row.sides {
        let times = side.times();
        // An odd number, as a median needs.
        let quarter = (times.len() / 4).saturating_sub(1) | 1;
        let [first, last] = [&times[..quarter], &times[times.len() - quarter..]]
            .map(|times| stats::estimate(times, 0.95).median);
        lines.push(vec![
            table::side_name(side),
            times.len().to_string(),
            table::time(side.stats.min),
            table::time(side.stats.median),
            side.stats.p95.map_or("too few samples".into(), table::time),
            table::time(side.stats.max),
            table::time(first),
            table::time(last),
            format!("{:.3}", last / first),
        ]);
    }
    let mut text = String::from("\nOver time, of one call\n");
    let _ = write!(text, "{}", table::align(&lines));
    text
}
