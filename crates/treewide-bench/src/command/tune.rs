//! Finds where another choice becomes faster on this machine, and writes a profile of it.
//!
//! A choice is a crossover: below a size one thread wins, from it on all of them do. It is found by
//! bisection over sizes: the crossover is the smallest size from which on threads are faster by a few
//! hundredths, beyond their interval, as a choice that may lose is worse than none. The library must not choose
//! meanwhile, so the measuring is done by a second process, whose profile splits every input.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use treewide::kernel;

use crate::cli;
use crate::interrupt;
use crate::measure::Session;
use crate::plan::{Plan, Spec, inputs};
use crate::report::{Ratio, Varies};
use crate::size;
use crate::table;
use crate::work::{Cache, Feed, Mode, Shape, Work};

/// Of a size that cannot be told apart, how many times longer it is measured once more.
const LONGER: u32 = 8;

/// What gains less than this is not worth another choice: narrow intervals tell of differences that the
/// next run of the same program does not have.
const GAIN: f64 = 1.03;

/// Whether the first side of a ratio wins, beyond its interval.
fn wins(ratio: &Ratio) -> bool {
    ratio.low > 1.0 && ratio.median >= GAIN
}

pub(super) fn run(args: &cli::Tune) -> Result<ExitCode> {
    if !args.split {
        super::temporary(&args.output)?;
        return in_second_process();
    }
    let mut session = super::session(&args.common)?;
    let mut profile = format!(
        "# Written by treewide-bench {}.\n# {}, {} CPUs\n",
        env!("CARGO_PKG_VERSION"),
        session.machine.cpu,
        session.machine.cpus
    );
    one_lane(&mut session, &mut profile)?;
    let cpus = session.machine.cpus as usize;
    if cpus > 1 {
        let caches = session.machine.caches;
        let input = |bytes| inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
        let inputs = Crossover {
            name: "parallel-from",
            what: "inputs",
            engine: "treewide",
            work: &input,
            from: 13,
            to: 26,
        };
        let batch = |bytes| Work::Batch { shape: Shape::Equal { count: bytes >> 10, bytes: 1024 } };
        let batches = Crossover {
            name: "batch-task",
            what: "batches of 1 KiB blobs",
            engine: "treewide-halves",
            work: &batch,
            from: 13,
            to: 24,
        };
        for crossover in [inputs, batches] {
            crossover.find(&mut session, &mut profile, cpus)?;
        }
        session.dir =
            args.output.parent().filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned);
        files(&mut session, &mut profile, cpus)?;
    } else {
        profile.push_str("# One CPU: nothing to split.\n");
    }
    let report = session.finish();
    super::write(&args.output, &profile)?;
    super::finish_with(&report, &args.common, &format!("{}\n{profile}", table::of(&report)))?;
    Ok(ExitCode::SUCCESS)
}

/// This command again, with a profile by which the library splits every input.
fn in_second_process() -> Result<ExitCode> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    interrupt::remove(dir.path());
    let path = dir.path().join("split.profile");
    std::fs::write(&path, "parallel-from = 1\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    let program = std::env::current_exe().context("where is this program?")?;
    let status = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg("--split")
        .env("TREEWIDE_PROFILE", &path)
        .status()
        .context("cannot start a second process")?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(code as u8)),
        None => bail!("the measuring process was killed"),
    }
}

/// The kernel: that of the library, unless another one is faster at most sizes, one chunk or less
/// included, where the way of hashing one lane decides.
fn one_lane(session: &mut Session, profile: &mut String) -> Result<()> {
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
                writeln!(profile, "# {gain:.2} times as fast as {default}, and slower at no size");
            let _ = writeln!(profile, "kernel = \"{name}\"");
            return Ok(());
        }
    }
    let _ = writeln!(
        profile,
        "# No kernel is faster than {default} here without being slower somewhere."
    );
    Ok(())
}

/// A size from which on threads win.
struct Crossover<'a> {
    /// In the profile.
    name: &'a str,
    /// In words.
    what: &'a str,
    /// Which splits at any size.
    engine: &'a str,
    work: &'a dyn Fn(u64) -> Work,
    /// Binary logarithms of the sizes that are searched.
    from: u32,
    to: u32,
}

impl Crossover<'_> {
    fn find(&self, session: &mut Session, profile: &mut String, cpus: usize) -> Result<()> {
        // Steps of a half: 8, 12, 16, 24 KiB.
        let size = |step: u32| {
            let power = 1_u64 << (self.from + step / 2);
            if step.is_multiple_of(2) { power } else { power / 2 * 3 }
        };
        let last = 2 * (self.to - self.from);
        let Some(best) = self.measure(session, size(last), cpus)? else {
            let _ = writeln!(profile, "# {}: not measured", self.name);
            return Ok(());
        };
        let (mut loses, mut least) = (None, last);
        let mut ratio = best;
        if !wins(&ratio) {
            let _ = writeln!(
                profile,
                "# {cpus} threads win at no size of {} up to {}",
                self.what,
                size::show(size(last))
            );
            let _ = writeln!(profile, "{} = \"never\"", self.name);
            return Ok(());
        }
        while loses.map_or(0, |step| step + 1) < least {
            let middle = (loses.map_or(0, |step| step + 1) + least) / 2;
            match self.measure(session, size(middle), cpus)? {
                Some(it) if wins(&it) => (least, ratio) = (middle, it),
                _ => loses = Some(middle),
            }
        }
        let _ = writeln!(
            profile,
            "# {cpus} threads win for {} from here on: {:.2} [{:.2}, {:.2}] times as fast as one",
            self.what, ratio.median, ratio.low, ratio.high
        );
        let _ = writeln!(profile, "{} = {}", self.name, size(least));
        Ok(())
    }

    /// One thread's time by that of all, measured for longer if that cannot tell which wins.
    fn measure(&self, session: &mut Session, bytes: u64, cpus: usize) -> Result<Option<Ratio>> {
        let on =
            |threads| Spec { engine: self.engine.into(), kernel: None, threads: Some(threads) };
        let work = (self.work)(bytes);
        let id = format!("{work}, {cpus} threads against 1");
        let plan = Plan { id, varies: Varies::Threads, ..Plan::new(work, &[on(cpus), on(1)]) };
        session.run(std::slice::from_ref(&plan))?;
        let ratio = |session: &Session| {
            let row = session.rows().iter().find(|row| row.id == plan.id)?;
            row.ratios_of_samples(session.settings().confidence).into_iter().next()
        };
        match ratio(session) {
            Some(it) if it.low <= 1.0 && it.high > 1.0 => {
                session.again(&plan, session.budget() * LONGER)?;
                Ok(ratio(session))
            }
            ratio => Ok(ratio),
        }
    }
}

/// The largest file for which one read on one thread is as fast as the parallel strategy.
fn files(session: &mut Session, profile: &mut String, cpus: usize) -> Result<()> {
    let side = |strategy: &str| Spec {
        engine: "treewide".into(),
        kernel: Some(strategy.into()),
        threads: Some(cpus),
    };
    let mut one_thread = 0;
    for bytes in (16..=25).map(|n| 1_u64 << n) {
        let work = Work::File { bytes, cache: Cache::Warm };
        let plan = Plan::new(work, &[side("pread"), side("read")]);
        let plan = Plan { varies: Varies::Strategy, ..plan };
        session.run(std::slice::from_ref(&plan))?;
        let Some(row) = session.rows().iter().find(|row| row.id == plan.id) else {
            let _ = writeln!(profile, "# file-from: files cannot be measured in this folder");
            return Ok(());
        };
        if row.ratios.first().is_some_and(wins) {
            let ratio = &row.ratios[0];
            let _ = writeln!(
                profile,
                "# {cpus} threads win for files of {}: {:.2} [{:.2}, {:.2}] times as fast as one",
                size::show(bytes),
                ratio.median,
                ratio.low,
                ratio.high
            );
            let _ = writeln!(profile, "file-from = {one_thread}");
            return Ok(());
        }
        one_thread = bytes;
    }
    let _ = writeln!(profile, "# {cpus} threads win for no file up to {}", size::show(one_thread));
    let _ = writeln!(profile, "file-from = \"never\"");
    Ok(())
}
