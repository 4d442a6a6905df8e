//! Measures extended output.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::plan::{Plan, specs};
use crate::work::Work;

pub(super) fn run(args: &cli::Xof) -> Result<ExitCode> {
    let sides = specs(&args.engines, 1)?;
    let mut session = super::session(&args.common)?;
    let plans: Vec<Plan> =
        args.sizes.or(sizes).into_iter().map(|bytes| plan(bytes, &sides)).collect();
    session.run(&plans)?;
    super::finish(session, &args.common)
}

pub(super) fn sizes() -> Vec<u64> {
    vec![32, 64, 128, 256, 1000, 1024, 4096, 16 << 10, 64 << 10, 1 << 20, 16 << 20]
}

pub(super) fn plan(bytes: u64, sides: &[crate::plan::Spec]) -> Plan {
    Plan::new(Work::Output { bytes }, sides)
}
