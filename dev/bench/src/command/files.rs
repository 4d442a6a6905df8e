//! Measures files: every strategy of the library, and programs from start to end.

use std::process::ExitCode;

use anyhow::{Result, bail};
use treewide::file::Strategy;

use crate::cli;
use crate::engine::file;
use crate::plan::Plan;
use crate::report::Varies;
use crate::spec::Spec;
use crate::work::Work;

pub(super) fn run(args: &cli::Files) -> Result<ExitCode> {
    let mut session = super::session(&args.common)?;
    session.dir = Some(args.dir.clone());
    let threads = args.threads.unwrap_or(session.machine.cpus as usize);
    let strategies = Strategy::ALL.map(|strategy| Spec {
        engine: "treewide".into(),
        kernel: Some(strategy.name().into()),
        threads: Some(threads),
    });
    let programs = args.programs.iter().map(|it| Ok(it.parse::<Spec>()?.on(threads)));
    let programs = programs.collect::<Result<Vec<_>>>()?;
    if let Some(it) = programs.iter().find(|it| !file::PROGRAMS.contains(&it.engine.as_str())) {
        bail!("{} is not a program to compare; use {}", it.engine, file::PROGRAMS.join(" and "));
    }
    if programs.len() == 1 {
        bail!("--programs compares at least two, such as treewide-cli,b3sum");
    }
    let mut plans = vec![];
    for bytes in args.sizes.or(|| vec![4096, 128 << 10, 1 << 20, 16 << 20, 256 << 20]) {
        let plan = Plan::new(Work::File { bytes, cache: args.cache }, &strategies);
        plans.push(Plan { varies: Varies::Strategy, ..plan });
        if programs.len() > 1 {
            plans.push(Plan::new(Work::Program { bytes, cache: args.cache }, &programs));
        }
    }
    // By kind, and within it by size.
    plans.sort_by_key(|plan| matches!(plan.work, Work::Program { .. }));
    session.run(&plans)?;
    super::finish(session, &args.common)
}

pub(super) fn child(args: &cli::HashFile) -> Result<ExitCode> {
    file::child(&args.strategy, args.threads, &args.path)?;
    Ok(ExitCode::SUCCESS)
}
