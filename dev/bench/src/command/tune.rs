//! Finds where another choice becomes faster on this machine, and writes it as variables and flags, and as JSON.
//!
//! A bisection finds the smallest size from which a device is faster than the CPU by a few percent, beyond its interval,
//! because a choice that may lose is worse than none. Where an interval is so wide that it says neither, the size is left
//! out.

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
use crate::work::{Feed, Mode};

#[cfg(feature = "gpu")]
mod gpu;
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
    let mut session = super::session(&args.common)?;
    let machine = &session.machine;
    if let Some(load) = machine.is_busy() {
        eprintln!(
            "treewide-bench: the load is {load:.2}: other programs run, or did a minute ago. They make \
             intervals wide, and what a wide interval cannot decide is left out."
        );
    }
    let mut advice = Advice::default();
    let (version, started) = (env!("CARGO_PKG_VERSION"), session.started());
    advice.say(&format!("treewide-bench {version}, {started}"))?;
    let load = machine.load.map_or("unknown".to_owned(), |load| format!("{load:.2}"));
    advice.say(&format!("{}, {} CPUs; load {load}", machine.cpu, machine.cpus))?;
    if wanted(Choice::Kernel) {
        best_kernel(&mut session, &mut advice)?;
    }
    if wanted(Choice::Gpu) {
        #[cfg(feature = "gpu")]
        gpu::minimums(&mut session, &mut advice, &args.which)?;
        #[cfg(not(feature = "gpu"))]
        eprintln!("treewide-bench: no lengths for GPUs: {}", super::NO_DEVICES);
    }
    advice.say("As JSON:")?;
    let json = serde_json::Value::Object(advice.0);
    super::finish_with(&session.finish(), &args.common, &format!("{json}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Variables and flags, which are printed as soon as they are known: a run that is stopped has said what it found.
#[derive(Default)]
struct Advice(serde_json::Map<String, serde_json::Value>);

impl Advice {
    fn say(&self, comment: &str) -> Result<()> {
        super::print(&format!("# {comment}\n"))
    }

    fn set(&mut self, name: &str, value: impl Into<serde_json::Value>) -> Result<()> {
        let value = value.into();
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        super::print(&format!("{name}={shown}\n"))?;
        let name = name.trim_start_matches('-').trim_start_matches("TREEWIDE_");
        self.0.insert(name.to_lowercase().replace('-', "_"), value);
        Ok(())
    }
}

/// The kernel: the library's choice, unless another kernel is faster at some sizes and slower at none, including sizes of
/// one chunk or less.
fn best_kernel(session: &mut Session, advice: &mut Advice) -> Result<()> {
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
            advice.say(&format!("{gain:.2} times as fast as {default}, and slower at no size"))?;
            return advice.set("TREEWIDE_KERNEL", name);
        }
    }
    advice.say(&format!("No kernel is faster than {default} here without being slower somewhere."))
}
