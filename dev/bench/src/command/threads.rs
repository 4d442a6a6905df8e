//! Compares treewide's choice of threads with one thread at every size (it must never lose), with another engine on as
//! many threads, and for long inputs numbers of threads.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cli;
use crate::engine;
use crate::plan::{Plan, inputs};
use crate::report::{Caches, Varies};
use crate::spec::Spec;
use crate::work::{Feed, Mode, Shape, Work};

pub(super) fn run(args: &cli::Threads) -> Result<ExitCode> {
    let mut session = super::session(&args.common)?;
    let cpus = session.machine.cpus as usize;
    let threads = args.threads.unwrap_or(cpus);
    if threads < 2 {
        bail!("one thread is not compared with itself: this machine has {cpus} CPU(s)");
    }
    let sizes = args.sizes.or(sizes);
    let caches = session.machine.caches;
    let against: Spec = args.against.parse::<Spec>()?.on(threads);
    engine::find(&against.engine)?;
    let mut plans: Vec<Plan> =
        sizes.iter().map(|&bytes| never_lose(bytes, threads, &caches)).collect();
    plans.extend(sizes.iter().filter(|&&bytes| bytes >= 64 << 10).map(|&bytes| {
        let sides = [treewide(threads), against.clone()];
        let plan = Plan::new(work(bytes, &caches), &sides);
        Plan { id: format!("{} on {threads} threads", plan.id), ..plan }
    }));
    if threads > 2 {
        // One more thread at a time, then twice as many.
        let counts = (1..=4).chain((3..).map(|n| 1 << n)).take_while(|&n| n <= threads);
        let sides: Vec<Spec> = counts.map(treewide).collect();
        for bytes in [1 << 20, 16 << 20, 256 << 20] {
            let plan = Plan::new(work(bytes, &caches), &sides);
            let id = format!("{}, scaling", plan.id);
            plans.push(Plan { id, varies: Varies::Threads, ..plan });
        }
    }
    for plan in &mut plans {
        (plan.busy, plan.rest, plan.awake) = (args.busy, args.rest, args.awake);
        plan.after_work = args.after_work;
    }
    let is_plain = !(args.busy || args.rest || args.awake || args.after_work);
    if is_plain {
        let long = sizes.iter().filter(|&&bytes| (256 << 10..=64 << 20).contains(&bytes));
        plans.extend(long.map(|&bytes| tasks(bytes, threads)));
    }
    session.run(&plans)?;
    super::finish(session, &args.common)
}

fn treewide(threads: usize) -> Spec {
    Spec { engine: "treewide".into(), kernel: None, threads: Some(threads) }
}

fn work(bytes: u64, caches: &Caches) -> Work {
    inputs(Mode::Hash, Feed::OneShot, bytes, None, caches)
}

/// Treewide on all threads, as it chooses, against one of them.
pub(super) fn never_lose(bytes: u64, threads: usize, caches: &Caches) -> Plan {
    let plan = Plan::new(work(bytes, caches), &[treewide(threads), treewide(1)]);
    let id = format!("{}, {threads} threads against 1", plan.id);
    Plan { id, varies: Varies::Threads, ..plan }
}

/// Twice as many tasks of a pool as it has threads. In each task, as many threads as treewide chooses hash one
/// input, against one thread for each task.
fn tasks(bytes: u64, threads: usize) -> Plan {
    let work = Work::Batch { shape: Shape::Equal { count: 2 * threads as u64, bytes } };
    let spec = |engine: &str| Spec { engine: engine.into(), kernel: None, threads: Some(threads) };
    Plan::new(work, &[spec("treewide-tasks"), spec("treewide-map")])
}

/// Powers of two, and three times powers of two, from 1 B to 1 GiB.
pub(super) fn sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..=30).map(|n| 1 << n).chain((0..=28).map(|n| 3 << n)).collect();
    sizes.sort_unstable();
    sizes
}
