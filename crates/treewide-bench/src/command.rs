//! The commands: each makes plans, has them measured, and prints.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::busy;
use crate::cli::{Command, Common};
use crate::html;
use crate::measure::Session;
use crate::report::{Report, Settings};
use crate::table;

mod attribution;
mod batch;
mod compare;
mod files;
mod gate;
mod kernels;
mod report;
mod sustained;
mod threads;
mod tune;
mod validate;
mod xof;

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Compare(args) => compare::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Attribution(args) => attribution::run(&args),
        Command::Batch(args) => batch::run(&args),
        Command::Xof(args) => xof::run(&args),
        Command::Threads(args) => threads::run(&args),
        Command::Files(args) => files::run(&args),
        Command::Sustained(args) => sustained::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::HashFile(args) => files::child(&args),
        Command::Spin => {
            busy::spin();
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn session(common: &Common) -> Session {
    let Common { seed, confidence, budget, .. } = *common;
    Session::new(Settings { seed, confidence, budget_ms: budget })
}

/// Prints the report's tables and writes what was asked for. A run that measured nothing has failed.
fn finish(session: Session, common: &Common) -> Result<ExitCode> {
    let report = session.finish();
    print(&table::of(&report))?;
    write_all(&report, common)?;
    Ok(if report.rows.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn write_all(report: &Report, common: &Common) -> Result<()> {
    if let Some(path) = &common.json {
        write(path, &report.to_json())?;
    }
    if let Some(path) = &common.html {
        write(path, &html::page(std::slice::from_ref(report))?)?;
    }
    Ok(())
}

/// To standard output; a reader that has seen enough is no error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// A whole file or none.
fn write(path: &Path, text: &str) -> Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = || format!("cannot write {}", path.display());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut file = builder.tempfile_in(dir).with_context(name)?;
    file.write_all(text.as_bytes()).with_context(name)?;
    file.persist(path).with_context(name)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
