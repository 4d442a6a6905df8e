//! Functions for `treewide.outboard`: outboards of files, and ranges of files verified by them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treewide::file::{self, OutboardError};
use treewide::outboard::{Error, Flaw, FlawKind, Group, IoError, Layout, Outboard, ReadAt};
use treewide_files::Replacement;

use crate::failure;
use crate::files::{Course, update_from, watched};
use crate::manifest::Size;
use crate::merkle::trusted;
use crate::mode::mode;
use crate::paths::FilePath;
use crate::record::{Record, make, record};
use crate::threads::Threads;

/// The bytes of a group in the files of iroh.
const IROH: Size = Size(16384);

create_exception!(
    treewide.outboard,
    DamageError,
    PyValueError,
    "Bytes that are not verified: they are not those of the digest, or the outboard is broken."
);

record! { "treewide.outboard", Damage: Record { start, stop, state } }

/// Bytes that are not verified.
pub(crate) fn damage(py: Python<'_>, found: &Flaw) -> PyResult<Py<Damage>> {
    let state = match found.kind {
        FlawKind::Bad => "bad",
        FlawKind::Extra => "extra",
        _ => "unknown",
    };
    let (start, stop) = (found.range.start, found.range.end);
    Py::new(py, (make!(py, Damage { start: start, stop: stop, state: state }), Record))
}

pub(crate) fn group_of(bytes: u64) -> PyResult<Group> {
    Group::of_bytes(bytes).ok_or_else(|| {
        PyValueError::new_err(format!(
            "group is a power of two from {} to {} bytes, and not {bytes}",
            Group::LEAST.bytes(),
            Group::MOST.bytes()
        ))
    })
}

/// A file that is read until the run is cancelled.
struct Watched<'a> {
    file: File,
    course: &'a Course,
}

impl ReadAt for Watched<'_> {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        if self.course.cancel.is_cancelled() {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        self.file.read_exact_at(buf, at)?;
        self.course.bytes.fetch_add(buf.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        self.file.size()
    }
}

/// A file, and its outboard.
struct Files<'a> {
    path: &'a Path,
    outboard: &'a Path,
}

/// Why a run ended, on a thread that is not attached to Python.
enum Failure<'a> {
    Open(file::Error),
    NotRegular(&'a Path),
    Run(Error),
    Read(io::Error),
}

impl<'a> Files<'a> {
    /// Opens both for a run.
    fn open<'c>(
        &self,
        course: &'c Course,
        size: Option<u64>,
        group: Group,
    ) -> Result<(Watched<'c>, File, Layout), Failure<'a>> {
        let open = |path: &'a Path| {
            let file = file::open_at_once(path).map_err(Failure::Open)?;
            match file.metadata() {
                Ok(there) if there.is_file() => Ok((file, there.len())),
                _ => Err(Failure::NotRegular(path)),
            }
        };
        let ((file, len), (pairs, _)) = (open(self.path)?, open(self.outboard)?);
        let layout = Layout::new(size.unwrap_or(len), group);
        Ok((Watched { file, course }, pairs, layout))
    }

    fn failed(&self, py: Python<'_>, failure: Failure<'_>) -> PyErr {
        match failure {
            Failure::Open(error) => failure::of_file(py, error),
            Failure::NotRegular(path) => PyOSError::new_err(format!(
                "{}: is not a regular file, so no part of it can be read alone: copy it to a file",
                path.display()
            )),
            Failure::Run(error @ (Error::Bad(_) | Error::Extra(_))) => {
                DamageError::new_err(format!("{}: {error}", self.path.display()))
            }
            Failure::Run(error @ Error::Unknown(_)) => {
                DamageError::new_err(format!("{}: {error}", self.outboard.display()))
            }
            Failure::Run(Error::Outboard(error)) => {
                failure::of_system(py, self.outboard, &error.into())
            }
            Failure::Run(error) => failure::of_system(py, self.path, &error.into()),
            Failure::Read(error) => match error.get_ref().and_then(|it| it.downcast_ref()) {
                Some(damage @ Error::Unknown(_)) => {
                    DamageError::new_err(format!("{}: {damage}", self.outboard.display()))
                }
                Some(damage) => DamageError::new_err(format!("{}: {damage}", self.path.display())),
                None => failure::of_system(py, self.path, &error),
            },
        }
    }
}

#[doc = stub!("_outboard_create")]
#[pyfunction]
#[pyo3(name = "create", signature = (
    path, outboard, /, *, group=IROH, key=None, derive_key_context=None, threads=1, progress=None
), text_signature = "(path, outboard, /, *, group=16384, key=None, derive_key_context=None, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn create<'py>(
    py: Python<'py>,
    path: FilePath,
    outboard: FilePath,
    group: Size,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    let group = group_of(group.0)?;
    let (path, outboard) = (&path.0, &outboard.0);
    let failed = |error: io::Error| failure::of_system(py, outboard, &error);
    if same_file::is_same_file(path, outboard).unwrap_or(false) {
        let problem = "is the file itself, which its outboard would replace: name another file";
        return Err(PyValueError::new_err(format!("{}: {problem}", outboard.display())));
    }
    let mut replacement = py.detach(|| Replacement::begin(outboard)).map_err(failed)?;
    let mut to = replacement.file().try_clone().map_err(failed)?;
    let made = update_from(py, path, threads, progress, |options| {
        match options.mode(mode).outboard(path, group, &mut to) {
            Ok(made) => Ok(Ok(made.digest)),
            Err(OutboardError::Data(error)) => Err(error),
            Err(OutboardError::Outboard(error)) => Ok(Err(io::Error::from(error))),
            Err(other) => Ok(Err(io::Error::other(other.to_string()))),
        }
    })?;
    let digest = made.map_err(failed)?;
    py.detach(|| replacement.complete()).map_err(failed)?;
    match py.detach(|| replacement.appear()).map_err(failed)? {
        None => Ok(PyBytes::new(py, digest.as_bytes())),
        Some((left, error)) => Err(PyOSError::new_err(format!(
            "{}: this temporary file cannot be removed: {error}; {} is complete",
            left.display(),
            outboard.display()
        ))),
    }
}

#[doc = stub!("_outboard_verify")]
#[pyfunction]
#[pyo3(name = "verify", signature = (
    outboard, path, /, *, expected, start=0, stop=None, size=None, group=IROH, key=None, derive_key_context=None, threads=1, progress=None
), text_signature = "(outboard, path, /, *, expected, start=0, stop=None, size=None, group=16384, key=None, derive_key_context=None, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    outboard: FilePath,
    path: FilePath,
    expected: &Bound<'py, PyAny>,
    start: u64,
    stop: Option<u64>,
    size: Option<u64>,
    group: Size,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Py<Damage>>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    let (group, expected) = (group_of(group.0)?, trusted(expected, "expected")?);
    let files = Files { path: &path.0, outboard: &outboard.0 };
    let course = Course::default();
    let work = || {
        let (data, pairs, layout) = files.open(&course, size, group)?;
        let outboard = Outboard::new(&expected, layout, mode, pairs);
        threads.run(|_| {
            let mut damage = outboard.damage(&data, start..stop.unwrap_or(u64::MAX));
            let found = damage.try_fold(Vec::new(), |mut all, found| match found {
                Ok(found) => {
                    all.push(found);
                    ControlFlow::Continue(all)
                }
                Err(error) => ControlFlow::Break(Failure::Run(error)),
            });
            match found {
                ControlFlow::Continue(all) => Ok(all),
                ControlFlow::Break(failure) => Err(failure),
            }
        })
    };
    let found = watched(py, &course, work, |_| course.tell_bytes(progress))?;
    let found = found.map_err(|failure| files.failed(py, failure))?;
    found.iter().map(|it| damage(py, it)).collect()
}

#[doc = stub!("_outboard_read")]
#[pyfunction]
#[pyo3(name = "read", signature = (
    outboard, path, start, stop, /, *, expected, size=None, group=IROH, key=None, derive_key_context=None
), text_signature = "(outboard, path, start, stop, /, *, expected, size=None, group=16384, key=None, derive_key_context=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn read<'py>(
    py: Python<'py>,
    outboard: FilePath,
    path: FilePath,
    start: u64,
    stop: u64,
    expected: &Bound<'py, PyAny>,
    size: Option<u64>,
    group: Size,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mode = mode(key, derive_key_context)?;
    let (group, expected) = (group_of(group.0)?, trusted(expected, "expected")?);
    let files = Files { path: &path.0, outboard: &outboard.0 };
    let course = Course::default();
    let work = || {
        let (data, pairs, layout) = files.open(&course, size, group)?;
        let outboard = Outboard::new(&expected, layout, mode, pairs);
        let mut reader = outboard.reader(&data);
        let mut bytes = Vec::new();
        reader.seek(SeekFrom::Start(start)).map_err(Failure::Read)?;
        let wanted = stop.saturating_sub(start);
        reader.take(wanted).read_to_end(&mut bytes).map_err(Failure::Read)?;
        Ok(bytes)
    };
    let bytes = watched(py, &course, work, |_| Ok(()))?;
    bytes.map(|bytes| PyBytes::new(py, &bytes)).map_err(|failure| files.failed(py, failure))
}
