//! The page: of earlier runs, or of a short run of everything.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{batch, threads, write};
use crate::cli;
use crate::html;
use crate::measure::Session;
use crate::plan::{Plan, Spec, inputs, table_sizes};
use crate::report::{Report, Settings};
use crate::table;
use crate::validate::{self, Asked};
use crate::work::{Feed, Mode};

pub(super) fn run(args: &cli::ReportArgs) -> Result<ExitCode> {
    if let Some(document) = &args.into {
        return into(document);
    }
    if args.markdown {
        for path in &args.files {
            super::print(&table::markdown(&read(path)?))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    for path in args.json.iter().chain([&args.output]) {
        super::temporary(path)?;
    }
    if !args.files.is_empty() {
        let reports = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
        write(&args.output, &html::page(&reports)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = short()?;
    if let Some(path) = &args.json {
        write(path, &report.to_json())?;
    }
    write(&args.output, &html::page(std::slice::from_ref(&report))?)?;
    super::print(&table::of(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// A report whose figures are right: others are not drawn.
fn read(path: &Path) -> Result<Report> {
    validate::file(path, Asked::Figures)?.map_err(|faults| {
        anyhow!("{} is no report that can be shown: {}", path.display(), faults.join("; "))
    })
}

/// Writes anew the tables of a document, each between the comments `<!-- RECORD -->` and
/// `<!-- end -->`, where RECORD is a report's path from the document on.
fn into(document: &Path) -> Result<ExitCode> {
    let name = document.display();
    let old = std::fs::read_to_string(document).with_context(|| format!("cannot read {name}"))?;
    let folder = document.parent().unwrap_or(Path::new(""));
    let (mut new, mut rest) = (String::new(), old.as_str());
    while let Some((before, after)) = rest.split_once("<!-- results/") {
        let cut = after.split_once(" -->\n");
        let cut = cut.and_then(|(it, after)| Some((it, after.split_once("<!-- end -->")?.1)));
        let (record, after) = cut.with_context(|| format!("{name}: a table has no end"))?;
        let record = format!("results/{record}");
        let table = table::markdown(&read(&folder.join(&record))?);
        new += &format!("{before}<!-- {record} -->\n{table}<!-- end -->");
        rest = after;
    }
    if new.is_empty() {
        bail!("{name} has no table between '<!-- results/… -->' and '<!-- end -->'");
    }
    write(document, &(new + rest))?;
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
        plans.extend(sizes.map(|bytes| threads::never_lose(bytes, cpus, &caches)));
    }
    session.run(&plans)?;
    Ok(session.finish())
}
