//! Compares engines over many sizes.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::plan::{Plan, inputs, specs, table_sizes};

pub(super) fn run(args: &cli::Compare) -> Result<ExitCode> {
    let sides = specs(&args.engines, args.threads)?;
    let mut session = super::session(&args.common)?;
    let caches = session.machine.caches;
    let plan = |bytes| Plan::new(inputs(args.mode, args.class, bytes, args.fill, &caches), &sides);
    let plans: Vec<Plan> = args.sizes.or(table_sizes).into_iter().map(plan).collect();
    session.run(&plans)?;
    super::finish(session, &args.common)
}
