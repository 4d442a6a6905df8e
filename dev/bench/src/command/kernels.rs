//! Compares every kernel that this CPU can run with the one that treewide chooses, and the chosen kernel with the same
//! kernel forced, which shows what the choice costs.

use std::process::ExitCode;

use anyhow::Result;
use treewide::kernel;

use crate::cli;
use crate::plan::{Plan, inputs};
use crate::report::Varies;
use crate::spec::Spec;
use crate::work::{Feed, Mode};

pub(super) fn run(args: &cli::Kernels) -> Result<ExitCode> {
    let mut session = super::session(&args.common)?;
    let mut sides = vec!["treewide".parse::<Spec>()?];
    for kernel in kernel::all() {
        if kernel.is_supported() {
            sides.push(format!("treewide:{}", kernel.name()).parse()?);
        } else {
            let reason = "this CPU cannot run it".to_owned();
            session.refuse(&format!("kernel {}", kernel.name()), reason);
        }
    }
    let caches = session.machine.caches;
    let sizes = args.sizes.or(|| {
        const KIB: u64 = 1024;
        let mut sizes = vec![0, 64, 128, 256, 512, 1024];
        sizes.extend(
            [2, 3, 4, 5, 7, 8, 11, 15, 16, 24, 31, 32, 64, 128, 1024, 16384].map(|n| n * KIB),
        );
        sizes
    });
    let plan = |bytes| {
        let work = inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
        Plan { varies: Varies::Kernel, ..Plan::new(work, &sides) }
    };
    let plans: Vec<Plan> = sizes.into_iter().map(plan).collect();
    session.run(&plans)?;
    super::finish(session, &args.common)
}
