//! Measures where the time of a short input goes.
//!
//! Each step includes the steps before it: making a hasher; that and `update`; that and `finalize`; the one-shot function,
//! which needs no hasher. The time of a step is the difference of two medians. The time of a compression is the time of
//! one more block.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::plan::{Plan, Spec, inputs};
use crate::report::{Report, Row, Varies};
use crate::size;
use crate::work::{Feed, Mode, Work};

const STEPS: [Feed; 4] = [Feed::Init, Feed::Update, Feed::Finalize, Feed::OneShot];

pub(super) fn run(args: &cli::Attribution) -> Result<ExitCode> {
    let mut session = super::session(&args.common)?;
    let caches = session.machine.caches;
    let sides = [Spec { threads: Some(1), .."treewide".parse()? }, args.against.parse()?];
    let sizes = args.sizes.or(|| vec![0, 1, 64, 128, 256, 512, 1024, 1025, 2048]);
    let mut plans = vec![];
    for feed in STEPS {
        let plan = |&bytes| Plan::new(inputs(Mode::Hash, feed, bytes, None, &caches), &sides);
        plans.extend(sizes.iter().map(plan));
    }
    for &bytes in &sizes {
        // The kernel that is chosen anyway, forced by its name.
        let kernel = treewide::kernel::detected().name().to_owned();
        let direct = Spec { kernel: Some(kernel), ..sides[0].clone() };
        let work = inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
        let plan = Plan::new(work, &[sides[0].clone(), direct]);
        plans.push(Plan {
            id: format!("{}, auto against direct", plan.id),
            varies: Varies::Kernel,
            ..plan
        });
    }
    session.run(&plans)?;
    let report = session.finish();
    super::finish_with(
        &report,
        &args.common,
        &(crate::table::of(&report) + &steps(&report, &sizes)),
    )
}

fn row(report: &Report, bytes: u64, step: Feed) -> Option<&Row> {
    report.rows.iter().find(|row| {
        let Work::Input { feed, bytes: len, .. } = row.work else { return false };
        feed == step && len == bytes && row.varies == Varies::Engine
    })
}

/// Differences of medians, for each side.
fn steps(report: &Report, sizes: &[u64]) -> String {
    let mut text = String::from("\nDifferences of medians, ns\n");
    let header = ["input", "engine", "init", "update", "finalize", "one-shot"];
    let [input, engine, init, update, finalize, one_shot] = header;
    let _ = writeln!(
        text,
        "{input:>8}  {engine:<16} {init:>9} {update:>9} {finalize:>9} {one_shot:>9}"
    );
    for &bytes in sizes {
        let rows: Option<Vec<&Row>> = STEPS.iter().map(|&step| row(report, bytes, step)).collect();
        let Some(rows) = rows else { continue };
        for side in 0..rows[0].sides.len() {
            let at = |step: usize| rows[step].sides[side].stats.median;
            let _ = writeln!(
                text,
                "{:>8}  {:<16} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
                size::show(bytes),
                rows[0].sides[side].name,
                at(0),
                at(1) - at(0),
                at(2) - at(1),
                at(3),
            );
        }
    }
    if let (Some(short), Some(long)) =
        (row(report, 64, Feed::OneShot), row(report, 1024, Feed::OneShot))
    {
        for (short, long) in short.sides.iter().zip(&long.sides) {
            let block = (long.stats.median - short.stats.median) / 15.0;
            let name = &short.name;
            let _ = writeln!(text, "{name}: {block:.1} ns a compression, from 64 B to 1 KiB");
        }
    }
    text
}
