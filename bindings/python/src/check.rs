//! `treewide.check` and `treewide.digests`: digests of other programs, and by other algorithms than BLAKE3.
//!
//! The library `treewide-digests` decides everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple};
use treewide_digests::check::{Check, Event, Finding, Results, Status, Total};
use treewide_digests::store::{KINDS, Kind};
use treewide_digests::{Algorithm, By, Reading};
use treewide_files::check::Malformed;
use treewide_files::list::MAX_LINE;
use treewide_files::name::shown;
use treewide_files::{Error, ErrorKind};

use crate::failure;
use crate::files::{Course, at_most, watched};
use crate::mode::mode;
use crate::paths::{FilePath, text};
use crate::record::{Record, make, record};
use crate::threads::Threads;

/// Malformed lines of one list that are kept. Of a file that is not a list, millions could be. A guess: no one reads more.
const MALFORMED: u64 = 1000;

record! {
    "treewide",
    CheckFinding: Record { path, status, digest, expected, algorithm, by, bytes, expected_bytes, error, store }
}
record! { "treewide", MalformedLine: Record { list, number, error } }
record! {
    "treewide",
    CheckReport: Record { findings, malformed, counts, malformed_count, messages, is_certain, differs }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.is_certain.is_truthy(py)? && !self.differs.is_truthy(py)?)
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyString::new(py, "\n").call_method1("join", (&self.messages,))
    }
}

/// One path, or several.
#[derive(Default)]
pub(crate) struct Paths(pub(crate) Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(paths: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let is_one = paths.is_instance_of::<PyString>()
            || paths.is_instance_of::<PyBytes>()
            || paths.is_instance_of::<PyInt>()
            || paths.hasattr("__fspath__")?
            || paths.hasattr("read")?;
        if is_one {
            return Ok(Self(vec![paths.extract::<FilePath>()?.0]));
        }
        let paths = paths.try_iter()?.map(|path| Ok(path?.extract::<FilePath>()?.0));
        paths.collect::<PyResult<_>>().map(Self)
    }
}

/// The algorithm with this name. An error that lists those which `takes` takes.
pub(crate) fn algorithm(name: &str, takes: impl Fn(&Algorithm) -> bool) -> PyResult<Algorithm> {
    Algorithm::named(name).filter(&takes).ok_or_else(|| {
        let names = Algorithm::ALL.iter().filter(|it| takes(it)).map(|it| it.name());
        unknown("algorithm", name, names)
    })
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    let known = known.collect::<Vec<_>>().join(", ");
    PyValueError::new_err(format!("there is no {what} {name:?}; there are {known}"))
}

/// What a run has found.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    malformed: Vec<(PathBuf, Malformed)>,
    messages: Vec<String>,
}

impl Found {
    /// Takes all results. `verbose`: also findings that are OK.
    fn take<R: Iterator<Item = treewide_digests::check::Ran>>(
        mut self,
        mut results: Results<R>,
        verbose: bool,
    ) -> Result<(Self, Total), Error> {
        let mut kept = 0;
        for event in &mut results {
            match event {
                Event::Finding(it) if it.status == Status::Ok && !verbose => {}
                Event::Finding(it) => self.findings.push(it),
                Event::Place(it) => {
                    let cause = it.cause.as_deref().unwrap_or_default();
                    self.messages.push(format!("{}: {cause}", shown(&it.path)));
                    self.findings.push(it);
                }
                Event::Malformed(list, line) => {
                    kept += 1;
                    if kept <= MALFORMED {
                        let cause = format!("line {}: {}", line.number, line.cause);
                        self.findings.push(of_list(&list, cause));
                        self.malformed.push((list, line));
                    }
                }
                Event::ListEnd(end) => {
                    kept = 0;
                    let list = shown(&end.list);
                    let nothing = end.nothing_verified().map(str::to_owned);
                    let finding = nothing.clone().map(|cause| of_list(&end.list, cause));
                    self.findings.extend(finding);
                    let messages = end.remark().into_iter().chain(nothing);
                    self.messages.extend(messages.map(|it| format!("{list}: {it}")));
                    end.end.map_err(|kind| Error::new(end.list, kind))?;
                }
                Event::StoreEnd(store) => {
                    self.messages.push(store.to_string());
                    self.messages.extend(store.advice());
                }
                Event::Store(_) | Event::Pause => {}
                Event::Cancelled => return Err(Error::new("", ErrorKind::Cancelled)),
            }
        }
        let total = results.total();
        if total.has_lists() {
            self.messages.push(total.to_string());
        }
        if total.is_nothing_known() {
            self.messages.push("nothing was verified: no object can be checked".into());
        }
        Ok((self, total.clone()))
    }
}

/// A finding about a list that makes the check fail, as in JSON of the command line.
fn of_list(list: &Path, cause: String) -> Finding {
    Finding::unread(list.to_owned(), Status::Unverified, cause, None)
}

#[doc = stub!("check")]
#[pyfunction]
#[pyo3(signature = (
    paths, /, *, algorithm=None, strong=false, strict=false, ignore_missing=false, store=None, recursive=false, verbose=false,
    key=None, derive_key_context=None, length=None, threads=1, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn check(
    py: Python<'_>,
    paths: Paths,
    algorithm: Option<&str>,
    strong: bool,
    strict: bool,
    ignore_missing: bool,
    store: Option<&str>,
    recursive: bool,
    verbose: bool,
    key: Option<&Bound<'_, PyAny>>,
    derive_key_context: Option<&str>,
    length: Option<u64>,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<CheckReport>> {
    let (Paths(paths), threads) = (paths, Threads::new(threads)?);
    let blake3_alone = key.is_some() || derive_key_context.is_some();
    let mode = mode(key, derive_key_context)?;
    // What the command line takes.
    let of_lines = |it: &Algorithm| *it != Algorithm::CRC32;
    let algorithm = algorithm.map(|name| self::algorithm(name, of_lines)).transpose()?;
    let find = |name| {
        let names = KINDS.iter().map(|it| it.name);
        Kind::named(name).ok_or_else(|| unknown("kind of store", name, names))
    };
    let kind = store.map(find).transpose()?;
    let refuse = |text: String| Err(PyValueError::new_err(text));
    if length.is_some_and(|it| !(1..MAX_LINE / 2).contains(&it)) {
        return refuse(format!("length is from 1 to {} bytes", MAX_LINE / 2 - 1));
    }
    if algorithm.is_some() && (blake3_alone || length.is_some()) {
        return refuse(
            "key, derive_key_context and length are for BLAKE3; leave out algorithm".into(),
        );
    }
    if paths.is_empty() {
        return refuse("check needs at least one list or directory".into());
    }
    let is_of_lists = blake3_alone || length.is_some() || algorithm.is_some();
    for path in &paths {
        let found = py.detach(|| path.metadata());
        let found = found.map_err(|error| failure::of_system(py, path, &error))?;
        if is_of_lists && found.is_dir() {
            return refuse(format!(
                "key, derive_key_context, length and algorithm are about lists, and {} is a directory; check it without them",
                shown(path)
            ));
        }
    }
    let reading = Reading { algorithm, strong, digest_len: length, blake3_alone, b3sum: None };
    let check = Check { reading, ignore_missing, strict, kind, recursive };
    let course = Arc::new(Course::default());
    let options = course.options().mode(mode);
    let work = || {
        threads.run_at_most(|most| {
            let options = at_most(options, most);
            Found::default().take(check.run(paths, &options), verbose)
        })
    };
    let ended = watched(py, &course, work, |_| course.tell(progress))?;
    let (found, total) = ended.map_err(|error| failure::of_files(py, &error))?;
    let findings = found.findings.into_iter().map(|it| finding_of(py, it));
    let findings = findings.collect::<PyResult<Vec<_>>>()?;
    let malformed = found.malformed.into_iter().map(|(list, line)| {
        let (number, error) = (line.number, line.cause);
        let list = text(py, &list)?;
        Py::new(py, (make!(py, MalformedLine { list: list, number: number, error: error }), Record))
    });
    let (counts, all) = (PyDict::new(py), total.counts());
    for status in Status::ALL {
        counts.set_item(status.word(), all.of(status))?;
    }
    let report = make!(
        py,
        CheckReport {
            findings: PyTuple::new(py, findings)?,
            malformed: PyTuple::new(py, malformed.collect::<PyResult<Vec<_>>>()?)?,
            counts: counts,
            malformed_count: total.lines.malformed,
            messages: PyTuple::new(py, found.messages)?,
            is_certain: total.is_certain(),
            differs: total.differs(),
        }
    );
    Py::new(py, (report, Record))
}

pub(crate) fn finding_of(py: Python<'_>, finding: Finding) -> PyResult<Py<CheckFinding>> {
    let bytes = |bytes: Option<Vec<u8>>| bytes.map(|it| PyBytes::new(py, &it));
    let found = make!(
        py,
        CheckFinding {
            path: text(py, &finding.path)?,
            status: finding.status.word(),
            digest: bytes(finding.digest),
            expected: bytes(finding.expected),
            algorithm: finding.algorithm.map(Algorithm::name),
            by: finding.by.map(By::name),
            bytes: finding.bytes,
            expected_bytes: finding.expected_bytes,
            error: finding.cause.filter(|_| finding.status != Status::Ok),
            store: finding.store.map(|it| it.name),
        }
    );
    Py::new(py, (found, Record))
}

#[doc = stub!("digests")]
#[pyfunction]
#[pyo3(signature = (path, algorithms, /, *, threads=1, progress=None), text_signature = "(path, algorithms, /, *, threads=1, progress=None)")]
pub(crate) fn digests<'py>(
    py: Python<'py>,
    path: FilePath,
    algorithms: &Bound<'py, PyAny>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let threads = Threads::new(threads)?;
    if let Ok(name) = algorithms.cast::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "this is one name, and a list of them is wanted: pass [{}]",
            name.repr()?
        )));
    }
    let names = algorithms.try_iter()?.map(|name| self::algorithm(name?.extract()?, |_| true));
    let algorithms: Vec<Algorithm> = names.collect::<PyResult<_>>()?;
    let (path, course): (&Path, _) = (&path.0, Arc::new(Course::default()));
    let options = course.options();
    let work = || {
        threads.run_at_most(|most| {
            treewide_digests::digests(path, &algorithms, &at_most(options, most))
        })
    };
    let found = watched(py, &course, work, |_| course.tell_bytes(progress))?;
    let found = found.map_err(|error| failure::of_files(py, &error))?;
    let all = PyDict::new(py);
    for (algorithm, digest) in algorithms.iter().zip(found) {
        all.set_item(algorithm.name(), PyBytes::new(py, &digest))?;
    }
    Ok(all)
}
