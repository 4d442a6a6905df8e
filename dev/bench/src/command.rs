//! The commands. Each makes plans, measures them, and prints the result.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use treewide_files::Replacement;

use crate::busy;
use crate::cli::{Command, Common};
use crate::measure::Session;
use crate::report::{Bar, Report, Settings, Verdict};
use crate::table;

mod batch;
mod compare;
mod gate;
#[cfg(feature = "gpu")]
mod gpu;
mod report;
mod tune;
mod validate;

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Compare(args) => compare::run(&args),
        Command::Batch(args) => batch::run(&args),
        #[cfg(feature = "gpu")]
        Command::Gpu(args) => gpu::run(&args),
        #[cfg(not(feature = "gpu"))]
        Command::Gpu(_) => anyhow::bail!("{NO_DEVICES}"),
        Command::Tune(args) => tune::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Spin => {
            busy::spin();
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(not(feature = "gpu"))]
const NO_DEVICES: &str = "this build measures no devices: build treewide-bench with --features gpu";

/// Default time for a row, in milliseconds.
const BUDGET_MS: u64 = 300;

/// Begins a run, after checking that its output files can be written.
fn session(common: &Common) -> Result<Session> {
    if let Some(path) = &common.json {
        replacement(path)?;
    }
    let Common { seed, confidence, budget, .. } = *common;
    Ok(Session::new(Settings { seed, confidence, budget_ms: budget.unwrap_or(BUDGET_MS) }))
}

/// Writes the report if that was requested, and prints its tables.
fn finish(session: Session, common: &Common) -> Result<ExitCode> {
    let report = session.finish();
    finish_with(&report, common, &table::of(&report))
}

/// Writes the report if that was requested, and prints this text. The file first, so that a full standard output does not lose the
/// measurement. A run that measured nothing has failed.
fn finish_with(report: &Report, common: &Common, text: &str) -> Result<ExitCode> {
    if let Some(path) = &common.json {
        write(path, &report.to_json())?;
    }
    print(text)?;
    Ok(if report.rows.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// 1 if a bar is short, 3 if a bar is inconclusive or was not measured.
fn code(bars: &[Bar], not_measured: usize) -> ExitCode {
    let any = |verdict| bars.iter().any(|bar| bar.verdict == verdict);
    match () {
        () if any(Verdict::Short) => ExitCode::from(1),
        () if any(Verdict::Inconclusive) || not_measured > 0 => ExitCode::from(3),
        () => ExitCode::SUCCESS,
    }
}

/// Prints to standard output. A reader that closes the pipe early is not an error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// A file that replaces the one of this name once it is complete; `None` for a device or a pipe, which is written to.
fn replacement(path: &Path) -> Result<Option<Replacement>> {
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(None);
    }
    Ok(Some(Replacement::begin(path).with_context(|| format!("cannot write {}", path.display()))?))
}

/// Writes a complete file. What cannot appear at its place stays in a temporary file, which the error names.
fn write(path: &Path, text: &str) -> Result<()> {
    let written = match replacement(path)? {
        Some(mut file) => file
            .write_all(text.as_bytes())
            .and_then(|()| file.complete())
            .and_then(|()| file.appear())
            .map(|left| {
                if let Some((path, error)) = left {
                    eprintln!("{}: this temporary file cannot be removed: {error}", path.display());
                }
            }),
        None => OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes())),
    };
    written.with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
