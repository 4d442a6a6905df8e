//! Prints the tables of earlier runs, or of a short run of everything.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{batch, write};
use crate::cli;
use crate::measure::Session;
use crate::plan::{Plan, inputs, table_sizes};
use crate::report::{Bar, Report, Settings, Varies};
use crate::samples::{self, Samples};
use crate::spec::Spec;
use crate::table;
use crate::validate::{self, Asked};
use crate::work::{Feed, Mode};

pub(super) fn run(args: &cli::ReportArgs) -> Result<ExitCode> {
    if let Some(document) = &args.into {
        return into(document);
    }
    if let Some(path) = &args.json {
        super::replacement(path)?;
    }
    if args.files.is_empty() {
        let report = short()?;
        if let Some(path) = &args.json {
            write(path, &report.to_json())?;
        }
        super::print(&table::of(&report))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut bars = vec![];
    for path in &args.files {
        if samples::are_in(path) {
            bars.extend(of_samples(path, args)?);
            continue;
        }
        let report = read(path)?;
        let text = if args.markdown { table::markdown(&report.rows) } else { table::of(&report) };
        super::print(&text)?;
    }
    Ok(super::code(&bars, 0))
}

/// Prints the tables and the verdicts of samples that another program printed, and returns their bars.
fn of_samples(path: &Path, args: &cli::ReportArgs) -> Result<Vec<Bar>> {
    let Samples { about, rows, bars } = samples::file(path)?
        .map_err(|faults| anyhow!("{}: {}", path.display(), faults.join("; ")))?;
    let mut text = about.join("\n") + "\n";
    if args.markdown {
        text += &format!("\n{}", table::markdown(&rows));
    } else {
        text += &table::reading(&rows, samples::CONFIDENCE);
        text += &table::tables(&rows);
    }
    if !bars.is_empty() {
        text += &format!("\n{}", table::verdicts(&rows, &bars, 0));
    }
    super::print(&text)?;
    Ok(bars)
}

/// Reads a report whose statistics follow from its samples; others are not shown.
fn read(path: &Path) -> Result<Report> {
    validate::file(path, Asked::Figures)?
        .map_err(|faults| anyhow!("{} cannot be shown: {}", path.display(), faults.join("; ")))
}

/// Replaces the tables of a document, each between a comment that says what it holds and `<!-- end -->`.
///
/// The comment is the path of a record, from the document on, for all rows of the record:
///
/// ```text
/// <!-- results/zen5-2vcpu/lengths.json -->
/// ```
///
/// or it names a folder of records for each column, and the rows to show:
///
/// ```text
/// <!-- machines
/// Zen 5 = results/zen5-2vcpu
/// rows = hash 64 B; hash 1 KiB
/// -->
/// ```
fn into(document: &Path) -> Result<ExitCode> {
    let name = document.display();
    let old = std::fs::read_to_string(document).with_context(|| format!("cannot read {name}"))?;
    let folder = document.parent().unwrap_or(Path::new(""));
    let (mut new, mut rest, mut tables) = (String::new(), old.as_str(), 0);
    while let Some((before, after)) = rest.split_once("<!--") {
        let (comment, after) =
            after.split_once("-->").with_context(|| format!("{name}: a comment has no end"))?;
        let table = match comment.trim() {
            it if it.ends_with(".json") => Some(table::markdown(&read(&folder.join(it))?.rows)),
            it => match it.strip_prefix("machines\n") {
                Some(it) => Some(machines(folder, it).with_context(|| format!("{name}: {it}"))?),
                None => None,
            },
        };
        new += &format!("{before}<!--{comment}-->");
        rest = after;
        if let Some(table) = table {
            let (_, after) = after
                .split_once("<!-- end -->")
                .with_context(|| format!("{name}: the table of{comment}has no '<!-- end -->'"))?;
            new += &format!("\n{table}<!-- end -->");
            rest = after;
            tables += 1;
        }
    }
    if tables == 0 {
        bail!("{name} has no table: put one between '<!-- PATH.json -->' and '<!-- end -->'");
    }
    write(document, &(new + rest))?;
    Ok(ExitCode::SUCCESS)
}

/// The same rows of several machines: one column for each line `TITLE = FOLDER`.
fn machines(folder: &Path, lines: &str) -> Result<String> {
    let (mut columns, mut wanted) = (Vec::new(), Vec::new());
    for line in lines.lines() {
        match line.split_once(" = ").with_context(|| format!("'{line}' has no ' = '"))? {
            ("rows", rows) => wanted.extend(rows.split(';').map(str::trim)),
            (title, records) => {
                let records =
                    ["lengths.json", "batch.json"].map(|it| folder.join(records).join(it));
                let found = records.iter().filter(|it| it.is_file());
                let reports = found.map(|it| read(it)).collect::<Result<Vec<_>>>()?;
                columns.push((title, reports));
            }
        }
    }
    table::across(&columns, &wanted)
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
        // Powers of two, and three times powers of two.
        let sizes = (10..=26).flat_map(|n| [1 << n, 3 << n]).filter(|bytes| *bytes <= 64 << 20);
        plans.extend(sizes.map(|bytes| {
            let side = |threads| Spec { threads: Some(threads), ..sides[0].clone() };
            let work = inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
            let plan = Plan::new(work, &[side(cpus), side(1)]);
            let id = format!("{}, {cpus} threads against 1", plan.id);
            Plan { id, varies: Varies::Threads, ..plan }
        }));
    }
    session.run(&plans)?;
    Ok(session.finish())
}
