//! Finds where another choice becomes faster on this machine, and writes it as variables and flags, and as JSON.
//!
//! A bisection finds the smallest size from which a device is faster than the CPU by a few percent, beyond its interval,
//! because a choice that may lose is worse than none. Where an interval is so wide that it says neither, the size is left
//! out.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
#[cfg(not(feature = "gpu"))]
use anyhow::bail;
use treewide::kernel;

use crate::cli::{self, Choice};
use crate::measure::Session;
use crate::plan::{Plan, inputs};
use crate::report::Varies;
use crate::spec::Spec;
use crate::table;
use crate::work::{Feed, Mode};
use limit::Limit;

#[cfg(feature = "gpu")]
mod gpu;
mod limit;
#[cfg(feature = "gpu")]
mod search;

/// The least gain for another choice: narrow intervals show differences that the next run of the same program does not
/// have.
const GAIN: f64 = 1.03;

pub(super) fn run(args: &cli::Tune) -> Result<ExitCode> {
    let wanted = |choice| args.only.is_empty() || args.only.contains(&choice);
    #[cfg(not(feature = "gpu"))]
    if args.which.is_any() || args.only.contains(&Choice::Gpu) {
        bail!("{}", super::NO_DEVICES);
    }
    if let Some(path) = &args.output {
        super::replacement(path)?;
    }
    let mut session = super::session(&args.common)?;
    let mut advice = heading(&session);
    if let Some(load) = session.machine.is_busy() {
        eprintln!(
            "treewide-bench: the load is {load:.2}: other programs run, or did a minute ago. They make \
             intervals wide, and what a wide interval cannot decide is left out."
        );
    }
    let limit = Limit::start(args, &advice)?;
    if wanted(Choice::Kernel) {
        best_kernel(&mut session, &mut advice)?;
        limit.found(&advice);
    }
    if wanted(Choice::Gpu) {
        #[cfg(feature = "gpu")]
        gpu::minimums(&mut session, &mut advice, &args.which, &limit)?;
        #[cfg(not(feature = "gpu"))]
        eprintln!("treewide-bench: no lengths for GPUs: {}", super::NO_DEVICES);
    }
    let report = session.finish();
    let _over = limit.end();
    let advice = with_json(&advice);
    if let Some(path) = &args.output {
        super::write(path, &advice)?;
    }
    super::finish_with(&report, &args.common, &format!("{}\n{advice}", table::of(&report)))?;
    Ok(ExitCode::SUCCESS)
}

/// What measured, when, and next to what.
fn heading(session: &Session) -> String {
    let (machine, version) = (&session.machine, env!("CARGO_PKG_VERSION"));
    let load = machine.load.map_or("unknown".to_owned(), |load| format!("{load:.2}"));
    let (cpu, cpus, started) = (&machine.cpu, machine.cpus, session.started());
    format!(
        "# Written by treewide-bench {version}, {started}.\n# {cpu}, {cpus} CPUs; load {load}\n"
    )
}

/// The lines, and behind them what they set, as an object of JSON.
fn with_json(advice: &str) -> String {
    let set = advice.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim_start_matches('-').trim_start_matches("TREEWIDE_");
        let value = value.parse::<u64>().map_or_else(|_| value.into(), serde_json::Value::from);
        Some((name.to_lowercase().replace('-', "_"), value))
    });
    format!("{advice}# As JSON:\n{}\n", serde_json::Value::Object(set.collect()))
}

/// The kernel: the library's choice, unless another kernel is faster at some sizes and slower at none, including sizes of
/// one chunk or less.
fn best_kernel(session: &mut Session, advice: &mut String) -> Result<()> {
    let default = kernel::detected().name();
    let mut sides: Vec<Spec> = vec![format!("treewide:{default}").parse()?];
    for it in kernel::all().iter().filter(|it| it.is_supported() && it.name() != default) {
        sides.push(format!("treewide:{}", it.name()).parse()?);
    }
    if sides.len() == 1 {
        return Ok(());
    }
    let caches = session.machine.caches;
    let sizes = [64, 1024, 4096, 16 << 10, 64 << 10, 1 << 20];
    let plans: Vec<Plan> = sizes
        .iter()
        .map(|&bytes| {
            let work = inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
            Plan {
                varies: Varies::Kernel,
                id: format!("{work}, kernels"),
                ..Plan::new(work, &sides)
            }
        })
        .collect();
    session.run(&plans)?;
    for (at, side) in sides[1..].iter().enumerate() {
        let ratios = || session.rows().iter().filter_map(|row| row.ratios.get(at));
        let gain =
            (-ratios().map(|ratio| ratio.median.ln()).sum::<f64>() / sizes.len() as f64).exp();
        let name = side.kernel.as_deref().unwrap_or_default();
        if gain > GAIN && ratios().all(|ratio| ratio.low <= 1.0) {
            let _ =
                writeln!(advice, "# {gain:.2} times as fast as {default}, and slower at no size");
            let _ = writeln!(advice, "TREEWIDE_KERNEL={name}");
            return Ok(());
        }
    }
    let _ = writeln!(
        advice,
        "# No kernel is faster than {default} here without being slower somewhere."
    );
    Ok(())
}
