//! The functions of `treewide.manifest` that make manifests and compare them. The library `treewide-manifest` decides everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use treewide_digests::Algorithm;
use treewide_files::list::Lines;
use treewide_files::name::shown;
use treewide_manifest::machine::{
    self, Against, Clock, Compared, Draft, Forget, Limit, Places, Update, Verify,
};
use treewide_manifest::record::What;
use treewide_manifest::xattrs::Xattrs;
use treewide_manifest::{
    Budget, Cancel, Class, Error, ErrorKind, Evidence, Globs, Located, Manifest, Options,
    Outboards, Rules, facts_of, open,
};

use crate::check::{Paths, algorithm, finding_of};
use crate::failure;
use crate::files::{Course, watched};
use crate::merkle::trusted;
use crate::outboard::damage;
use crate::paths::{FilePath, text_of};
use crate::record::{Record, make, record};
use crate::threads::Threads;

/// Records between two looks for signals. A guess: reading them takes a few milliseconds.
const RECORDS: usize = 4096;

/// Files that a message names. A guess: more make a message that no one reads.
const NAMED: usize = 10;

create_exception!(
    treewide.manifest,
    ManifestError,
    PyValueError,
    "A manifest that cannot be used: it is damaged, or not the one that was expected."
);

record! { "treewide.manifest", Finding: Record { path, verdict, r#type, other, detail, evidence, until, as_then, ranges } }

record! {
    "treewide.manifest",
    Report: Record {
        findings, counts, known_by, files_read, bytes_read, files_unread, bytes_unread, files_resumed, files_kept, skipped,
        leftovers, uncovered, damage, nothing_checked, trusted_unseen, idle_rules, idle_accepts, past_damage, unused_journal, is_certain, differs, _summary,
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.is_certain.is_truthy(py)? && !self.differs.is_truthy(py)?)
    }

    fn __str__(&self) -> &Py<PyAny> {
        &self._summary
    }
}

record! {
    "treewide.manifest",
    Made: Report { total_files, total_bytes, list_digest, digest, as_listed, unlisted, outboards, outboards_failed }

    fn __bool__(made: PyRef<'_, Self>, py: Python<'_>) -> PyResult<bool> {
        let report = made.as_super();
        let is_whole = report.is_certain.is_truthy(py)? && !report.files_kept.is_truthy(py)?;
        Ok(is_whole && made.outboards_failed.is_none(py))
    }
}

/// Globs of paths.
#[derive(Default)]
pub(crate) struct Patterns(Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Patterns {
    type Error = PyErr;

    fn extract(globs: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(glob) = globs.cast::<PyString>() {
            let text = "this is one glob, and a list of them is wanted: pass";
            return Err(PyTypeError::new_err(format!("{text} [{}]", glob.repr()?)));
        }
        let glob = |it: PyResult<Bound<'_, PyAny>>| it?.extract();
        globs.try_iter()?.map(glob).collect::<PyResult<_>>().map(Self)
    }
}

/// A number of bytes, also of text such as `16K`.
pub(crate) struct Size(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Size {
    type Error = PyErr;

    fn extract(size: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match size.extract::<String>() {
            Ok(text) => treewide_files::size::parse(&text).map_err(PyValueError::new_err),
            Err(_) => size.extract().map_err(|error: PyErr| {
                match error.is_instance_of::<PyOverflowError>(size.py()) {
                    true => PyValueError::new_err(format!("{} is not a number of bytes", &*size)),
                    false => error,
                }
            }),
        }
        .map(Self)
    }
}

#[pyfunction]
#[pyo3(signature = (size, /))]
pub(crate) fn _size_of(size: Size) -> u64 {
    size.0
}

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

/// A path and the verdict on it.
fn finding(py: Python<'_>, it: treewide_manifest::Finding) -> PyResult<Py<PyAny>> {
    let text = it.located.as_ref().map(Located::to_string);
    let detail = [Some(it.detail()), text].into_iter().flatten();
    let detail: Vec<_> = detail.filter(|it| !it.is_empty()).collect();
    let ranges = match it.located {
        Some(Located::Bytes(bad)) => {
            let ranges = bad.first.iter().map(|it| damage(py, it)).collect::<PyResult<Vec<_>>>()?;
            Some(PyTuple::new(py, ranges)?)
        }
        _ => None,
    };
    let other = it.verdict.from().map(|name| text_of(py, name)).transpose()?;
    let found = make!(
        py,
        Finding {
            path: text_of(py, &it.name)?,
            verdict: it.verdict.class().word(),
            r#type: it.kind.word(),
            other: other,
            detail: detail.join("; "),
            evidence: it.evidence.map(Evidence::word),
            until: it.then.as_ref().map(|it| &it.until),
            as_then: it.then.as_ref().map(|it| it.as_then),
            ranges: ranges,
        }
    );
    Ok(Py::new(py, (found, Record))?.into_any())
}

/// How a comparison ended.
fn report(
    py: Python<'_>,
    findings: Vec<treewide_manifest::Finding>,
    report: &treewide_manifest::Report,
) -> PyResult<PyClassInitializer<Report>> {
    let findings = findings.into_iter().map(|it| finding(py, it)).collect::<PyResult<Vec<_>>>()?;
    let (counts, known_by) = (PyDict::new(py), PyDict::new(py));
    for class in Class::ALL {
        counts.set_item(class.word(), report.count(class))?;
    }
    for evidence in Evidence::ALL {
        known_by.set_item(evidence.word(), report.known_by(evidence))?;
    }
    let own = make!(
        py,
        Report {
            findings: PyTuple::new(py, findings)?,
            counts: counts,
            known_by: known_by,
            files_read: report.files_read,
            bytes_read: report.bytes_read,
            files_unread: report.files_unread,
            bytes_unread: report.bytes_unread,
            files_resumed: report.files_resumed,
            files_kept: report.files_kept,
            skipped: report.skipped,
            leftovers: report.leftovers,
            uncovered: report.uncovered,
            damage: &report.damage,
            nothing_checked: report.nothing_checked || !report.unmatched.is_empty(),
            trusted_unseen: report.trusted_unseen,
            idle_rules: &report.idle_rules,
            idle_accepts: &report.idle_accepts,
            past_damage: &report.past_damage,
            unused_journal: &report.unused_journal,
            is_certain: report.is_certain(),
            differs: report.differs(),
            _summary: report.to_string(),
        }
    );
    Ok((own, Record).into())
}

/// Runs `work` with options and a collector of findings. It leaves out what is the same.
fn run<R: Send>(
    py: Python<'_>,
    threads: Threads,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Options, &Cancel, &mut dyn FnMut(treewide_manifest::Finding)) -> Result<R, Error>
    + Send,
) -> PyResult<(R, Vec<treewide_manifest::Finding>)> {
    let work = |options: &Options, cancel: &Cancel| {
        let mut findings = Vec::new();
        let each = &mut |finding: treewide_manifest::Finding| {
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

/// A folder of outboards, and the least length of a file that has one.
fn outboards(folder: Option<FilePath>, min: Option<Size>) -> Option<Outboards> {
    let folder = Outboards::new(folder?.0);
    Some(min.into_iter().fold(folder, |folder, Size(bytes)| folder.min(bytes)))
}

#[doc = stub!("_manifest_verify")]
#[pyfunction]
#[pyo3(name = "verify", signature = (
    list, directory, /, *, quick=false, only=Patterns::default(), expected=None, outboards=None, min=None, threads=1, progress=None
), text_signature = "(list, directory, /, *, quick=False, only=(), expected=None, outboards=None, min=None, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn verify(
    py: Python<'_>,
    list: FilePath,
    directory: FilePath,
    quick: bool,
    only: Patterns,
    expected: Option<&Bound<'_, PyAny>>,
    outboards: Option<FilePath>,
    min: Option<Size>,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Report>> {
    let only = Globs::new(&only.0).map_err(|error| failed(py, error))?;
    let name = shown(&list.0);
    let expected = expected.map(|it| trusted(it, "expected")).transpose()?;
    let mut verify = Verify::new().quick(quick).only(only);
    if let Some(outboards) = self::outboards(outboards, min) {
        if let Err(error) = outboards.folder().read_dir() {
            return Err(failure::of_system(py, outboards.folder(), &error));
        }
        verify = verify.outboards(outboards);
    }
    let (found, findings) = run(py, Threads::new(threads)?, progress, move |options, _, each| {
        let manifest = open(&list.0)?;
        if let Some(expected) = expected {
            let (list, facts) = (manifest.list().hash(), facts_of(&manifest));
            if list != expected && facts != Some(expected) {
                return Ok(Err((list, facts)));
            }
        }
        verify.run(&manifest, &directory.0, options, each).map(Ok)
    })?;
    match found {
        Ok(found) => Py::new(py, report(py, findings, &found)?),
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

#[doc = stub!("_manifest_diff")]
#[pyfunction]
#[pyo3(name = "diff", signature = (old, new, /))]
pub(crate) fn diff(py: Python<'_>, old: FilePath, new: FilePath) -> PyResult<Py<Report>> {
    let (found, findings) = run(py, Threads::One, None, move |_, cancel, each| {
        let (old, new) = (open(&old.0)?, open(&new.0)?);
        machine::diff(&old, &new, cancel, each)
    })?;
    Py::new(py, report(py, findings, &found)?)
}

/// What all functions have that make a manifest.
struct Making {
    old: Option<PathBuf>,
    directory: FilePath,
    output: PathBuf,
    update: Update,
    accept_damage: bool,
    index: bool,
    also: Vec<String>,
    against: Vec<PathBuf>,
    outboards: Option<Outboards>,
    resume: bool,
    sync: bool,
}

impl Making {
    fn run(
        self,
        py: Python<'_>,
        threads: isize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Made>> {
        let failed = |error| failed(py, error);
        let has_lines = |it: &Algorithm| it.tag().is_some() && *it != Algorithm::BLAKE3;
        let also = self.also.iter().map(|name| algorithm(name, has_lines));
        let mut update = self.update.also(also.collect::<PyResult<Vec<_>>>()?);
        let places = Places::new().writes_manifest(&self.output);
        self.against.iter().fold(places, |it, list| it.reads(list)).check(None).map_err(failed)?;
        if !self.against.is_empty() {
            let (mut said, lists, root) = (Vec::new(), self.against, &self.directory.0);
            let lists = lists.into_iter().map(|it| (it.clone(), Lines::open(&it)));
            let read = py.detach(|| Against::of_lists(lists, root, &mut |text| said.push(text)));
            let Some(against) = read.map_err(failed)? else {
                return Err(ManifestError::new_err(said.join("; ")));
            };
            update = update.against(against);
        }
        if let Some(outboards) = self.outboards {
            update = update.outboards(outboards);
        }
        let clock = if self.sync { Clock::new() } else { Clock::without_sync() };
        let output = self.output.clone();
        let work = move |options: &Options, _: &Cancel, each: &mut dyn FnMut(_)| {
            // No other program can write the manifest once this one has begun.
            let draft = Draft::begin_over(&self.output, self.index, self.accept_damage)?;
            let draft = draft.with_journal(self.resume);
            let old = self.old.map(|old| Manifest::open(&old)).transpose()?;
            update.run(old.as_ref(), &self.directory.0, draft, Box::new(clock), options, each)
        };
        let (made, findings) = run(py, Threads::new(threads)?, progress, work)?;
        let compared = made.compared.unwrap_or_else(|| Compared { ok: 1, ..Compared::default() });
        if !compared.is_success() {
            return Err(not_as_listed(py, &output, compared)?);
        }
        // Only when nothing can stop it any more.
        let totals = py.detach(|| made.draft.appear()).map_err(failed)?;
        let own = make!(
            py,
            Made {
                total_files: totals.files,
                total_bytes: totals.bytes,
                list_digest: PyBytes::new(py, totals.list.as_bytes()),
                digest: PyBytes::new(py, totals.facts.as_bytes()),
                as_listed: if compared.algorithms.is_empty() { 0 } else { compared.ok },
                unlisted: compared.unlisted,
                outboards: made.outboards.files,
                outboards_failed: made.outboards.failed,
            }
        );
        Py::new(py, report(py, findings, &made.report)?.add_subclass(own))
    }
}

/// The error for files that are not as a list says.
fn not_as_listed(py: Python<'_>, list: &Path, compared: Compared) -> PyResult<PyErr> {
    let (total, absent) = (compared.total(), compared.ok == 0);
    let named = compared.differ.iter().take(NAMED).map(|it| shown(&it.path)).collect::<Vec<_>>();
    let more = if compared.differ.len() > NAMED { " and more" } else { "" };
    let hint = if absent { "; names in the list are relative to the directory" } else { "" };
    let error = ManifestError::new_err(format!(
        "{}: was not written, because it would record files that are not as listed: {}{more}; {total}{hint}",
        shown(list),
        named.join(", ")
    ));
    let differ = compared.differ.into_iter().map(|it| finding_of(py, it));
    let differ = PyTuple::new(py, differ.collect::<PyResult<Vec<_>>>()?)?;
    error.value(py).setattr("findings", differ)?;
    Ok(error)
}

/// The usual place of the manifest of a directory, where nothing is yet.
fn beside(py: Python<'_>, directory: &Path) -> PyResult<PathBuf> {
    let (name, problem) = (shown(directory), "has no name for a manifest: pass one, as in");
    let Some(last) = directory.file_name() else {
        return Err(PyValueError::new_err(format!(
            "{name:?} {problem} snapshot({name:?}, 'X.b3')"
        )));
    };
    let list = directory.with_file_name([last, ".b3".as_ref()].join("".as_ref()));
    if list.symlink_metadata().is_err() {
        return Ok(list);
    }
    let number = py.import("errno")?.getattr("EEXIST")?.unbind();
    let text = "there is one already: use update, or pass another name";
    Err(PyFileExistsError::new_err((number, text, list.into_os_string())))
}

#[doc = stub!("_manifest_snapshot")]
#[pyfunction]
#[pyo3(name = "snapshot", signature = (
    directory, list=None, /, *, exclude=Patterns::default(), hidden=true, follow=false, one_file_system=false, modes=false,
    xattrs=false, also=Vec::new(), against=Paths::default(), outboards=None, min=None, index=true,
    resume=true, sync=true, threads=1, progress=None
), text_signature = "(directory, list=None, /, *, exclude=(), hidden=True, follow=False, one_file_system=False, modes=False, xattrs=False, also=(), against=(), outboards=None, min=None, index=True, resume=True, sync=True, threads=1, progress=None)")]
#[allow(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "keywords of Python"
)]
pub(crate) fn snapshot(
    py: Python<'_>,
    directory: FilePath,
    list: Option<FilePath>,
    exclude: Patterns,
    hidden: bool,
    follow: bool,
    one_file_system: bool,
    modes: bool,
    xattrs: bool,
    also: Vec<String>,
    against: Paths,
    outboards: Option<FilePath>,
    min: Option<Size>,
    index: bool,
    resume: bool,
    sync: bool,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Made>> {
    let exclude = exclude.0;
    Globs::new(&exclude).map_err(|error| failed(py, error))?;
    let xattrs = if xattrs { Xattrs::readable() } else { Xattrs::None };
    let rules = Rules { exclude, hidden, follow, one_file_system, modes, xattrs };
    let update = Update::new().rules(rules);
    Making {
        old: None,
        output: list.map_or_else(|| beside(py, &directory.0), |it| Ok(it.0))?,
        directory,
        update,
        accept_damage: false,
        index,
        also,
        against: against.0,
        outboards: self::outboards(outboards, min),
        resume,
        sync,
    }
    .run(py, threads, progress)
}

/// An update of the manifest at `list`.
fn updated(
    update: Update,
    list: FilePath,
    directory: FilePath,
    (also, outboards): (Vec<String>, Option<Outboards>),
    (accept_damage, max_removed, forget): (bool, &str, Option<&str>),
    (resume, sync): (bool, bool),
) -> PyResult<Making> {
    let most = Limit::parse(max_removed).map_err(PyValueError::new_err)?;
    let update = update.accept_damage(accept_damage).most_removed(most);
    let forget = forget.map(Forget::parse).transpose().map_err(PyValueError::new_err)?;
    let update = forget.into_iter().fold(update, Update::forget);
    let output = list.0.clone();
    let (old, index, against) = (Some(list.0), true, Vec::new());
    Ok(Making {
        old,
        directory,
        output,
        update,
        accept_damage,
        index,
        also,
        against,
        outboards,
        resume,
        sync,
    })
}

#[doc = stub!("_manifest_update")]
#[pyfunction]
#[pyo3(name = "update", signature = (
    list, directory, /, *, full=false, accept_rot=Patterns::default(), also=Vec::new(), outboards=None, min=None,
    accept_damage=false, max_removed="50%", forget=None, resume=true, sync=true, threads=1, progress=None
), text_signature = "(list, directory, /, *, full=False, accept_rot=(), also=(), outboards=None, min=None, accept_damage=False, max_removed='50%', forget=None, resume=True, sync=True, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn update(
    py: Python<'_>,
    list: FilePath,
    directory: FilePath,
    full: bool,
    accept_rot: Patterns,
    also: Vec<String>,
    outboards: Option<FilePath>,
    min: Option<Size>,
    accept_damage: bool,
    max_removed: &str,
    forget: Option<&str>,
    resume: bool,
    sync: bool,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Made>> {
    let globs = Globs::new(&accept_rot.0).map_err(|error| failed(py, error))?;
    let (update, with) =
        (Update::new().full(full).accept_rot(globs), self::outboards(outboards, min));
    let accepted = (accept_damage, max_removed, forget);
    updated(update, list, directory, (also, with), accepted, (resume, sync))?
        .run(py, threads, progress)
}

#[doc = stub!("_manifest_scrub")]
#[pyfunction]
#[pyo3(name = "scrub", signature = (
    list, directory, /, *, budget="5%", also=Vec::new(), outboards=None, min=None, max_removed="50%", forget=None,
    resume=true, sync=true, threads=1, progress=None
), text_signature = "(list, directory, /, *, budget='5%', also=(), outboards=None, min=None, max_removed='50%', forget=None, resume=True, sync=True, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn scrub(
    py: Python<'_>,
    list: FilePath,
    directory: FilePath,
    budget: &str,
    also: Vec<String>,
    outboards: Option<FilePath>,
    min: Option<Size>,
    max_removed: &str,
    forget: Option<&str>,
    resume: bool,
    sync: bool,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Made>> {
    let update = Update::new().scrub(Budget::parse(budget).map_err(PyValueError::new_err)?);
    let (with, accepted) = (self::outboards(outboards, min), (false, max_removed, forget));
    updated(update, list, directory, (also, with), accepted, (resume, sync))?
        .run(py, threads, progress)
}

#[doc = stub!("_manifest_digests")]
#[pyfunction]
#[pyo3(name = "digests", signature = (list, /))]
pub(crate) fn digests(py: Python<'_>, list: FilePath) -> PyResult<Bound<'_, PyDict>> {
    let failed = |error| failed(py, error);
    let manifest = py.detach(|| open(&list.0)).map_err(failed)?;
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
