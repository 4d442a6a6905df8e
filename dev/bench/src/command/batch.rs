//! Compares batches of many inputs with a loop, and measures Merkle trees.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli;
use crate::plan::{Plan, specs};
use crate::spec::Spec;
use crate::work::{Shape, Work};

pub(super) fn run(args: &cli::Batch) -> Result<ExitCode> {
    let sides = specs(&args.engines, args.threads)?;
    let mut session = super::session(&args.common)?;
    let mut plans = plans(&sides);
    if args.threads == 1 && sides[0].engine == "treewide" {
        let apart = "treewide-apart".parse::<Spec>()?;
        let shape = Shape::Huge { count: 10_000, bytes: 100, huge: 64 << 20 };
        plans.push(Plan::new(Work::Batch { shape }, &[sides[0].clone(), apart]));
    }
    session.run(&plans)?;
    super::finish(session, &args.common)
}

/// Batches of every kind, from two blobs on.
pub(super) fn plans(sides: &[Spec]) -> Vec<Plan> {
    const MANY: u64 = 65_536;
    let mut shapes = vec![
        Shape::Equal { count: MANY, bytes: 64 },
        Shape::Equal { count: MANY, bytes: 200 },
        Shape::Equal { count: MANY, bytes: 1024 },
        Shape::Equal { count: 4096, bytes: 4096 },
        Shape::Uniform { count: MANY, max: 4096 },
        Shape::Files { count: MANY, median: 3000, max: 2 << 20 },
    ];
    for count in [2, 3, 8, 15, 17, 32] {
        shapes.extend([100, 1024].map(|bytes| Shape::Equal { count, bytes }));
    }
    let mut plans: Vec<Plan> =
        shapes.into_iter().map(|shape| Plan::new(Work::Batch { shape }, sides)).collect();
    plans.push(Plan::new(Work::Merkle { leaves: 1 << 20 }, sides));
    plans
}
