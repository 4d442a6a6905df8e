//! Finds where another choice becomes faster on this machine, and writes a profile of it.
//!
//! Most choices are crossovers: below a size one thread is faster, and from that size on all threads are, or a device. A
//! bisection finds the smallest size from which the other side is faster by a few percent, beyond its interval, because a
//! choice that may lose is worse than none. Where an interval is so wide that it says neither, the profile leaves the
//! choice to the library. The library must not choose during the measurement, so a second process measures, with a
//! profile that splits every input.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use treewide::kernel;

use crate::cli::{self, Choice};
use crate::interrupt;
use crate::measure::Session;
use crate::plan::{Plan, Spec, inputs};
use crate::report::{Ratio, Varies};
use crate::size;
use crate::table;
use crate::work::{Cache, Feed, Mode, Shape, Work};
use limit::Limit;

#[cfg(feature = "gpu")]
mod gpu;
mod limit;

/// An inconclusive size is measured once more, this many times as long, with as many times as many samples.
const LONGER: u32 = 8;
const MORE: usize = 3;

/// The samples of a row of files, each a process. The budget does not include their start and rest.
const PROCESSES: usize = 41;

/// The least gain for another choice: narrow intervals show differences that the next run of the same program does not
/// have.
const GAIN: f64 = 1.03;

/// Whether the first side of a ratio wins, beyond its interval.
fn wins(ratio: &Ratio) -> bool {
    ratio.low > 1.0 && ratio.median >= GAIN
}

/// Whether it may win by far or not at all, so that nothing follows: other programs have disturbed it.
fn says_nothing(ratio: &Ratio) -> bool {
    ratio.is_wide() && ratio.low < GAIN && ratio.high >= GAIN
}

pub(super) fn run(args: &cli::Tune) -> Result<ExitCode> {
    let wanted = |choice| args.only.is_empty() || args.only.contains(&choice);
    #[cfg(not(feature = "gpu"))]
    if args.which.is_any() || args.only.contains(&Choice::Gpu) {
        bail!("{}", super::NO_DEVICES);
    }
    if !args.split {
        super::replacement(&args.output)?;
        return in_second_process();
    }
    interrupt::end_with_parent();
    let mut session = super::session(&args.common)?;
    session.dir = args.output.parent().filter(|it| !it.as_os_str().is_empty()).map(Path::to_owned);
    let mut profile = heading(&session);
    if let Some(load) = session.machine.is_busy() {
        eprintln!(
            "treewide-bench: the load is {load:.2}: other programs run, or did a minute ago. They make \
             intervals wide, and what a wide interval cannot decide is left out."
        );
    }
    let limit = Limit::start(args, &profile)?;
    let cpus = session.machine.cpus as usize;
    if wanted(Choice::Kernel) {
        best_kernel(&mut session, &mut profile)?;
        limit.found(&profile);
    }
    if cpus == 1 {
        profile.push_str("# One CPU: nothing to split.\n");
    } else {
        if wanted(Choice::ParallelFrom) {
            parallel_from(&mut session, &mut profile, cpus)?;
            limit.found(&profile);
        }
        if wanted(Choice::BatchTask) {
            batch_task(&mut session, &mut profile, cpus)?;
            limit.found(&profile);
        }
        if wanted(Choice::FileFrom) {
            file_from(&mut session, &mut profile, cpus)?;
            limit.found(&profile);
        }
    }
    if wanted(Choice::Gpu) {
        #[cfg(feature = "gpu")]
        gpu::thresholds(&mut session, &mut profile, &args.which, &limit)?;
        #[cfg(not(feature = "gpu"))]
        eprintln!("treewide-bench: no lengths for GPUs: {}", super::NO_DEVICES);
    }
    let report = session.finish();
    let _over = limit.end();
    super::write(&args.output, &profile)?;
    super::finish_with(&report, &args.common, &format!("{}\n{profile}", table::of(&report)))?;
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

/// Runs this command again, with a profile with which the library splits every input.
fn in_second_process() -> Result<ExitCode> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    interrupt::remove(dir.path());
    let path = dir.path().join("split.profile");
    std::fs::write(&path, "parallel-from = 1\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    let program = std::env::current_exe().context("where is this program?")?;
    let mut second = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .arg("--split")
        .env("TREEWIDE_PROFILE", &path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .context("cannot start a second process")?;
    // Its end of the pipe closes when this process ends, however it ends; waiting would close it now.
    let _pipe = second.stdin.take();
    let status = second.wait().context("cannot wait for the second process")?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(code as u8)),
        None => bail!("the measuring process was killed"),
    }
}

/// The kernel: the library's choice, unless another kernel is faster at some sizes and slower at none, including sizes of
/// one chunk or less.
fn best_kernel(session: &mut Session, profile: &mut String) -> Result<()> {
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

fn parallel_from(session: &mut Session, profile: &mut String, cpus: usize) -> Result<()> {
    let caches = session.machine.caches;
    let found = search(13, 26, |bytes| {
        let work = inputs(Mode::Hash, Feed::OneShot, bytes, None, &caches);
        told(session, threads_against_one(work, "treewide", cpus))
    })?;
    found.line(profile, "parallel-from", &format!("{cpus} threads win"), "inputs", "one");
    Ok(())
}

fn batch_task(session: &mut Session, profile: &mut String, cpus: usize) -> Result<()> {
    let found = search(13, 26, |bytes| {
        let work = Work::Batch { shape: Shape::Equal { count: bytes >> 10, bytes: 1024 } };
        // Which splits at any size.
        told(session, threads_against_one(work, "treewide-halves", cpus))
    })?;
    let who = format!("{cpus} threads win");
    found.line(profile, "batch-task", &who, "batches of 1 KiB blobs", "one");
    Ok(())
}

/// The largest file for which one read on one thread is as fast as the parallel strategy.
fn file_from(session: &mut Session, profile: &mut String, cpus: usize) -> Result<()> {
    let found = search(16, 25, |bytes| {
        let work = Work::File { bytes, cache: Cache::Warm };
        let plan = Plan::new(work, &[way("pread", cpus), way("read", cpus)]);
        of_processes(session, |session| told(session, Plan { varies: Varies::Strategy, ..plan }))
    })?;
    // The profile says up to where one thread does all.
    let from = found.from.map(|_| found.before);
    let up_to = Found { from, ..found };
    up_to.line(profile, "file-from", &format!("{cpus} threads win"), "files", "one");
    Ok(())
}

/// A way to hash a file.
fn way(name: &str, cpus: usize) -> Spec {
    Spec { engine: "treewide".into(), kernel: Some(name.into()), threads: Some(cpus) }
}

fn threads_against_one(work: Work, engine: &str, cpus: usize) -> Plan {
    let on = |threads| Spec { engine: engine.into(), kernel: None, threads: Some(threads) };
    let id = format!("{work}, {cpus} threads against 1");
    Plan { id, varies: Varies::Threads, ..Plan::new(work, &[on(cpus), on(1)]) }
}

/// Measures rows in which each sample is a process.
fn of_processes<T>(session: &mut Session, run: impl FnOnce(&mut Session) -> T) -> T {
    let most = std::mem::replace(&mut session.max_samples, PROCESSES);
    let result = run(session);
    session.max_samples = most;
    result
}

/// The first ratio of a row, measured longer if it is inconclusive; `None` if it cannot be measured.
fn told(session: &mut Session, plan: Plan) -> Result<Option<Ratio>> {
    session.run(std::slice::from_ref(&plan))?;
    let ratio = |session: &Session| {
        let row = session.rows().iter().find(|row| row.id == plan.id)?;
        row.ratios_of_samples(session.settings().confidence).into_iter().next()
    };
    match ratio(session) {
        Some(it) if it.low <= 1.0 && it.high > 1.0 => {
            session.max_samples *= MORE;
            session.again(&plan, session.budget() * LONGER)?;
            session.max_samples /= MORE;
            Ok(ratio(session))
        }
        ratio => Ok(ratio),
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    /// The smallest size from which the first side wins.
    from: Option<u64>,
    /// The largest size at which it does not win, or 0.
    before: u64,
    /// The ratio at the smallest size, or else at the largest one; `None` if nothing was measured.
    last: Option<Ratio>,
    /// The size at which the ratio said nothing, and so ended the search.
    unknown: Option<u64>,
}

/// Searches sizes from `2^from` to `2^to`, in steps of a half: 8, 12, 16, 24 KiB.
fn search(
    from: u32,
    to: u32,
    mut measure: impl FnMut(u64) -> Result<Option<Ratio>>,
) -> Result<Found> {
    let size = |step: u32| {
        let power = 1_u64 << (from + step / 2);
        if step.is_multiple_of(2) { power } else { power / 2 * 3 }
    };
    let mut least = 2 * (to - from);
    let mut last = measure(size(least))?;
    let unknown = last.as_ref().is_some_and(says_nothing).then(|| size(least));
    if unknown.is_some() || !last.as_ref().is_some_and(wins) {
        return Ok(Found { from: None, before: size(least), last, unknown });
    }
    // The number of first steps that are known not to win.
    let mut lost = 0;
    while lost < least {
        let middle = (lost + least) / 2;
        match measure(size(middle))? {
            Some(it) if says_nothing(&it) => {
                let (before, unknown) = (size(middle), Some(size(middle)));
                return Ok(Found { from: None, before, last: Some(it), unknown });
            }
            Some(it) if wins(&it) => (least, last) = (middle, Some(it)),
            _ => lost = middle + 1,
        }
    }
    let before = least.checked_sub(1).map_or(0, size);
    Ok(Found { from: Some(size(least)), before, last, unknown: None })
}

impl Found {
    /// Writes the result to the profile.
    fn line(&self, profile: &mut String, name: &str, who: &str, what: &str, other: &str) {
        let _ = match (self.from, &self.last) {
            (_, None) => writeln!(profile, "# {name}: cannot be measured here"),
            (_, Some(Ratio { median, low, high, .. })) if self.unknown.is_some() => {
                let size = size::show(self.before);
                writeln!(
                    profile,
                    "# {name}: left out. At {size} the ratio to {other} is {median:.2} [{low:.2}, {high:.2}], \
                     which decides nothing: measure on an idle machine"
                )
            }
            (Some(from), Some(it)) => {
                let Ratio { median, low, high, .. } = it;
                writeln!(
                    profile,
                    "# {who} for {what} from here on: {median:.2} [{low:.2}, {high:.2}] times as fast \
                     as {other}\n{name} = {from}"
                )
            }
            (None, Some(_)) => {
                let most = size::show(self.before);
                writeln!(profile, "# {who} for no {what} up to {most}\n{name} = \"never\"")
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(median: f64) -> Ratio {
        Ratio { of: "other".into(), median, low: median - 0.02, high: median + 0.02 }
    }

    /// Searches with a side that wins from `size` on, and returns the sizes that it measured.
    fn searched(crossover: u64) -> (Found, Vec<u64>) {
        let mut sizes = vec![];
        let found = search(13, 26, |bytes| {
            sizes.push(bytes);
            Ok(Some(ratio(if bytes >= crossover { 1.5 } else { 0.9 })))
        });
        (found.expect("nothing fails"), sizes)
    }

    #[test]
    fn bisection_finds_every_crossover() {
        let steps: Vec<u64> =
            (13..26).flat_map(|n| [1 << n, 3 << (n - 1)]).chain([1 << 26]).collect();
        for (at, &size) in steps.iter().enumerate() {
            let (found, sizes) = searched(size);
            let before = if at == 0 { 0 } else { steps[at - 1] };
            assert_eq!((found.from, found.before), (Some(size), before));
            assert!(sizes.len() <= 6, "{sizes:?}");
        }
        let (found, sizes) = searched(u64::MAX);
        assert_eq!((found.from, found.before, sizes), (None, 1 << 26, vec![1 << 26]));
    }

    #[test]
    fn what_was_found_is_a_line_that_can_be_loaded() {
        let line = |found: Found| {
            let mut text = String::new();
            found.line(&mut text, "parallel-from", "2 threads win", "inputs", "one");
            text
        };
        let (found, _) = searched(12 << 10);
        let expected = "# 2 threads win for inputs from here on: 1.50 [1.48, 1.52] times as fast as \
                        one\nparallel-from = 12288\n";
        assert_eq!(line(found), expected);
        let expected = "# 2 threads win for no inputs up to 64 MiB\nparallel-from = \"never\"\n";
        assert_eq!(line(searched(u64::MAX).0), expected);
        let found = search(13, 26, |_| Ok(None)).expect("nothing fails");
        assert_eq!(line(found), "# parallel-from: cannot be measured here\n");
        let wide = || Ratio { low: 0.7, high: 1.9, ..ratio(1.2) };
        let found = search(13, 26, |_| Ok(Some(wide()))).expect("nothing fails");
        let expected = "# parallel-from: left out. At 64 MiB the ratio to one is 1.20 [0.70, 1.90], which \
                        decides nothing: measure on an idle machine\n";
        assert_eq!(line(found), expected);
        // The same in the middle of a search.
        let found =
            search(13, 26, |bytes| Ok(Some(if bytes < 1 << 25 { wide() } else { ratio(1.5) })));
        let text = line(found.expect("nothing fails"));
        assert!(text.starts_with("# parallel-from: left out."), "{text}");
        assert!(!text.contains("parallel-from ="), "{text}");
    }

    #[test]
    fn little_and_uncertain_gains_are_none() {
        assert!(wins(&ratio(1.04)));
        assert!(!wins(&ratio(1.025)));
        let wide = Ratio { low: 0.99, ..ratio(1.5) };
        assert!(!wins(&wide));
    }
}
