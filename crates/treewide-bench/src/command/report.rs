//! The page: of earlier runs, or of a short run of everything.

use std::process::ExitCode;

use anyhow::Result;

use super::{batch, threads, write};
use crate::cli;
use crate::html;
use crate::measure::Session;
use crate::plan::{Plan, Spec, inputs, table_sizes};
use crate::report::{Report, Settings};
use crate::table;
use crate::work::{Feed, Mode};

pub(super) fn run(args: &cli::ReportArgs) -> Result<ExitCode> {
    let reports = if args.files.is_empty() {
        let report = short()?;
        super::print(&table::of(&report))?;
        if let Some(path) = &args.json {
            write(path, &report.to_json())?;
        }
        vec![report]
    } else {
        args.files.iter().map(|path| Report::read(path)).collect::<Result<_>>()?
    };
    if args.markdown {
        for report in &reports {
            super::print(&table::markdown(report))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    write(&args.output, &html::page(&reports)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Lengths, batches and threads, treewide against `blake3`, in about half a minute.
fn short() -> Result<Report> {
    let sides: [Spec; 2] = ["treewide".parse()?, "blake3".parse()?];
    let mut session = Session::new(Settings { seed: 1, confidence: 0.95, budget_ms: 200 });
    let caches = session.machine.caches;
    let plan = |bytes| Plan::new(inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches), &sides);
    let mut plans: Vec<Plan> = table_sizes().into_iter().map(plan).collect();
    plans.extend(batch::plans(&sides));
    let cpus = session.machine.cpus as usize;
    if cpus > 1 {
        let sizes =
            threads::sizes().into_iter().filter(|bytes| (1 << 10..=64 << 20).contains(bytes));
        plans.extend(sizes.map(|bytes| threads::never_lose(bytes, cpus, false, &caches)));
    }
    session.run(&plans)?;
    Ok(session.finish())
}
