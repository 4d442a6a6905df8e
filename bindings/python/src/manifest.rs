//! Functions for `treewide.manifest`: runs over a tree and its manifest, whose results are plain tuples.
//!
//! The library `treewide-manifest` decides everything, and `python/treewide/manifest.py` gives the results names and types.

use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use treewide::OUT_LEN;
use treewide_files::name::shown;
use treewide_manifest::machine::{Clock, Draft, Limit, Update, Verify};
use treewide_manifest::record::What;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{
    Budget, Cancel, Class, Error, ErrorKind, Evidence, Finding, Globs, Manifest, Options, Report,
    Rules, Totals, facts_of,
};

use crate::failure;
use crate::files::{Course, watched};
use crate::paths::{FilePath, text_of};
use crate::threads::Threads;

/// Records between two looks for signals. A guess: reading them takes a few milliseconds.
const RECORDS: usize = 4096;

create_exception!(
    treewide.manifest,
    ManifestError,
    PyValueError,
    "A manifest that cannot be used: it is damaged, or not the one that was expected."
);

/// Path, verdict, type, the path that it was, detail, evidence.
type Told<'py> = (
    Bound<'py, PyString>,
    &'static str,
    &'static str,
    Option<Bound<'py, PyString>>,
    String,
    Option<&'static str>,
);

/// Findings; counts by verdict, and of files that are as recorded by evidence; numbers; blind spots; verdicts on all.
type Ended<'py> = (
    Vec<Told<'py>>,
    (Bound<'py, PyDict>, Bound<'py, PyDict>),
    Numbers,
    Untold,
    (bool, bool, String),
);

/// Files read, bytes read, files not read, their bytes, files that an interrupted run had read, files whose old digests
/// stay, paths that `only` left out, files that a killed run left behind, paths that new rules leave out.
type Numbers = (u64, u64, u64, u64, u64, u64, u64, u64, u64);

/// What is wrong with the index, whether nothing was checked, whether `trusted.*` could not be seen, and rules of exclusion and
/// accepted globs that matched nothing, and what the manifest that was replaced had as well.
type Untold = (Option<String>, bool, bool, Vec<String>, Vec<String>, Vec<&'static str>);

/// Globs of files whose new digests are taken; whether an empty directory and a damaged index are accepted; how many files may
/// be gone.
type Accepted = (Vec<String>, bool, bool, Option<String>);

/// The same with files, bytes, the hash of the list and the hash of all facts.
type Made<'py> = (Ended<'py>, (u64, u64), Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub(crate) fn failed(py: Python<'_>, error: Error) -> PyErr {
    match error.kind() {
        ErrorKind::Read(cause) | ErrorKind::Write(cause) if cause.raw_os_error().is_some() => {
            failure::of_system(py, error.path(), cause)
        }
        ErrorKind::Read(_) | ErrorKind::Write(_) | ErrorKind::Cancelled => {
            PyOSError::new_err(error.to_string())
        }
        ErrorKind::Usage(_) => PyValueError::new_err(error.to_string()),
        _ => ManifestError::new_err(error.to_string()),
    }
}

fn ended<'py>(py: Python<'py>, findings: Vec<Finding>, report: &Report) -> PyResult<Ended<'py>> {
    let told = |it: Finding| {
        let from = it.verdict.from().map(|name| text_of(py, name)).transpose()?;
        let (verdict, detail) = (it.verdict.class().word(), it.verdict.detail());
        let evidence = it.evidence.map(Evidence::word);
        Ok((text_of(py, &it.name)?, verdict, it.kind.word(), from, detail, evidence))
    };
    let findings = findings.into_iter().map(told).collect::<PyResult<Vec<_>>>()?;
    let counts = PyDict::new(py);
    for class in Class::ALL {
        counts.set_item(class.word(), report.count(class))?;
    }
    let known_by = PyDict::new(py);
    for evidence in Evidence::ALL {
        known_by.set_item(evidence.word(), report.known_by(evidence))?;
    }
    let numbers = (
        report.files_read,
        report.bytes_read,
        report.files_unread,
        report.bytes_unread,
        report.files_resumed,
        report.files_kept,
        report.skipped,
        report.leftovers,
        report.uncovered,
    );
    let nothing_checked = report.nothing_checked || !report.unmatched.is_empty();
    let idle = (report.idle_rules.clone(), report.idle_accepts.clone());
    let (damage, dropped) = (report.damage.clone(), report.dropped.clone());
    let untold = (damage, nothing_checked, report.trusted_unseen, idle.0, idle.1, dropped);
    let all = (report.is_certain(), report.differs(), report.to_string());
    Ok((findings, (counts, known_by), numbers, untold, all))
}

/// Runs `work` with options and a collector of findings. It leaves out what is the same.
fn run<R: Send>(
    py: Python<'_>,
    threads: Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Options, &Cancel, &mut dyn FnMut(Finding)) -> Result<R, Error> + Send,
) -> PyResult<(R, Vec<Finding>)> {
    let work = |options: &Options, cancel: &Cancel| {
        let mut findings = Vec::new();
        let each = &mut |finding: Finding| {
            if finding.verdict.class() != Class::Same {
                findings.push(finding);
            }
        };
        work(options, cancel, each).map(|result| (result, findings))
    };
    run_with(py, threads, progress, work)?.map_err(|error| failed(py, error))
}

/// Runs `work` with options that can be cancelled.
pub(crate) fn run_watched<R: Send>(
    py: Python<'_>,
    threads: Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Options) -> Result<R, Error> + Send,
) -> PyResult<Result<R, Error>> {
    run_with(py, threads, progress, |options, _| work(options))
}

fn run_with<R: Send>(
    py: Python<'_>,
    threads: Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Options, &Cancel) -> Result<R, Error> + Send,
) -> PyResult<Result<R, Error>> {
    let course = Arc::new(Course::default());
    let options = course.options();
    let work = || {
        threads.run_at_most(|most| {
            let options = if most == usize::MAX { options } else { options.threads(most) };
            work(&options.cancel(&course.cancel), &course.cancel)
        })
    };
    watched(py, &course, work, |_| course.tell(progress))
}

/// Compares a directory with its manifest.
#[pyfunction]
#[pyo3(signature = (list, directory, /, *, quick, only, expected, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _verify<'py>(
    py: Python<'py>,
    list: FilePath,
    directory: FilePath,
    quick: bool,
    only: Vec<String>,
    expected: Option<[u8; OUT_LEN]>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Ended<'py>> {
    let only = Globs::new(&only).map_err(|error| failed(py, error))?;
    let name = shown(&list.0);
    let expected = expected.map(treewide::Hash::from_bytes);
    let verify = Verify::new().quick(quick).only(only);
    let (report, findings) = run(py, Threads::new(threads)?, progress, move |options, _, each| {
        let manifest = Manifest::open(&list.0)?;
        if let Some(expected) = expected {
            let (list, facts) = (manifest.list().hash(), facts_of(&manifest));
            if list != expected && facts != Some(expected) {
                return Ok(Err((list, facts)));
            }
        }
        verify.run(&manifest, &directory.0, options, each).map(Ok)
    })?;
    match report {
        Ok(report) => ended(py, findings, &report),
        Err((list, facts)) => {
            let facts = match facts {
                Some(facts) => format!("its facts have {facts}"),
                None => "there is no index with its facts".into(),
            };
            Err(ManifestError::new_err(format!(
                "{name}: has the digest {list}, {facts}, and neither is the one expected; nothing was compared"
            )))
        }
    }
}

/// Compares two manifests.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn _diff<'py>(py: Python<'py>, old: FilePath, new: FilePath) -> PyResult<Ended<'py>> {
    let (report, findings) = run(py, Threads::One, None, move |_, cancel, each| {
        let (old, new) = (Manifest::open(&old.0)?, Manifest::open(&new.0)?);
        treewide_manifest::machine::diff(&old, &new, cancel, each)
    })?;
    ended(py, findings, &report)
}

/// Makes a manifest, from the one at `old` if there is one.
#[pyfunction]
#[pyo3(signature = (
    old, directory, output, /, *, rules, index, full, scrub, accepted, resume, sync, threads, progress
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _make<'py>(
    py: Python<'py>,
    old: Option<FilePath>,
    directory: FilePath,
    output: FilePath,
    rules: Option<(Vec<String>, bool, bool, bool, bool, bool)>,
    index: bool,
    full: bool,
    scrub: Option<&str>,
    accepted: Accepted,
    resume: bool,
    sync: bool,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Made<'py>> {
    let (globs, allow_empty, accept_damage, most_removed) = accepted;
    let globs = Globs::new(&globs).map_err(|error| failed(py, error))?;
    let mut update = Update::new().full(full).accept_rot(globs).allow_empty(allow_empty);
    update = update.accept_damage(accept_damage);
    if let Some(most) = most_removed {
        update = update.most_removed(Limit::parse(&most).map_err(PyValueError::new_err)?);
    }
    if let Some(scrub) = scrub {
        update = update.scrub(Budget::parse(scrub).map_err(PyValueError::new_err)?);
    }
    if let Some((exclude, hidden, follow, one_file_system, modes, xattrs)) = rules {
        Globs::new(&exclude).map_err(|error| failed(py, error))?;
        let xattrs = if xattrs { Xattrs::readable() } else { Xattrs::None };
        update = update.rules(Rules { exclude, hidden, follow, one_file_system, modes, xattrs });
    }
    let clock = if sync { Clock::new() } else { Clock::without_sync() };
    let work = move |options: &Options, _: &Cancel, each: &mut dyn FnMut(Finding)| {
        // No other program can write the manifest once this one has begun.
        let from = old.as_ref().map(|old| &*old.0);
        let draft = Draft::begin_over(&output.0, index, accept_damage, from)?.with_journal(resume);
        let old = old.map(|old| Manifest::open(&old.0)).transpose()?;
        let clock = Box::new(clock);
        update.run(old.as_ref(), &directory.0, draft, clock, options, each)
    };
    let (made, findings) = run(py, Threads::new(threads)?, progress, work)?;
    let (report, draft) = (made.report, made.draft);
    // Only when nothing can stop it any more.
    let totals = py.detach(|| draft.appear()).map_err(|error| failed(py, error))?;
    let Totals { files, bytes, list, facts } = totals;
    let hash = |hash: &treewide::Hash| PyBytes::new(py, hash.as_bytes());
    Ok((ended(py, findings, &report)?, (files, bytes), hash(&list), hash(&facts)))
}

/// The digests that a manifest has, by the paths.
#[pyfunction]
#[pyo3(signature = (list, /))]
pub(crate) fn _digests(py: Python<'_>, list: FilePath) -> PyResult<Bound<'_, PyDict>> {
    let failed = |error| failed(py, error);
    let manifest = py.detach(|| Manifest::open(&list.0)).map_err(failed)?;
    manifest.check_index().map_err(failed)?;
    let digests = PyDict::new(py);
    let mut records = manifest.records().map_err(failed)?;
    for (at, record) in records.by_ref().enumerate() {
        if at % RECORDS == 0 {
            py.check_signals()?;
        }
        let record = record.map_err(failed)?;
        if let What::File(file) = &record.what {
            digests.set_item(text_of(py, record.bare())?, PyBytes::new(py, &file.digest))?;
        }
    }
    // What was found while it was read.
    records.check(&list.0).map_err(failed)?;
    Ok(digests)
}
