//! `hash_file`, `hash_files` and `hash_tree`.
//!
//! Files that may take long are hashed by another thread, while the calling thread looks for signals, such as Ctrl-C, and
//! reports progress. So Python code runs only on the thread that called.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use treewide::Hasher;
use treewide::file;
use treewide_files::digest::{Digest, Extent};
use treewide_files::walk::Walk;
use treewide_files::{Cancel, Error, Hashed, Options};

use crate::failure;
use crate::many::check_order;
use crate::mode::mode;
use crate::oneshot::{check_length, extended};
use crate::paths::FilePath;
use crate::threads::Threads;

/// Regular files below this many bytes are hashed by the calling thread. A guess: starting a thread takes no time compared
/// with them, and reading them takes less than a second also from a slow disk.
pub(crate) const SHORT: u64 = 8 << 20;

/// The time between two looks for signals, and two reports of progress. A guess: a twentieth of a second is a short wait.
const LOOK: Duration = Duration::from_millis(50);

/// How much was hashed, and whether to continue.
#[derive(Default)]
pub(crate) struct Course {
    files: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) cancel: Cancel,
}

impl Course {
    /// Options that count here, and stop when this is cancelled.
    pub(crate) fn options(self: &Arc<Self>) -> Options {
        let counted = Arc::clone(self);
        Options::new().cancel(&self.cancel).progress(Arc::new(move |files, bytes| {
            counted.files.fetch_add(files, Ordering::Relaxed);
            counted.bytes.fetch_add(bytes, Ordering::Relaxed);
        }))
    }

    /// Calls `progress` with bytes.
    pub(crate) fn tell_bytes(&self, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else { return Ok(()) };
        progress.call1((self.bytes.load(Ordering::Relaxed),)).map(|_| ())
    }

    /// Calls `progress` with files and bytes.
    pub(crate) fn tell(&self, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(progress) = progress else { return Ok(()) };
        let (files, bytes) = (&self.files, &self.bytes);
        progress.call1((files.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))).map(|_| ())
    }
}

/// Runs `work` on another thread. Until it ends, calls `report` again and again; if that fails, or a signal came, stops the
/// work. Where the system gives no thread, the calling thread works, and reports in the end.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    course: &Course,
    work: impl FnOnce() -> R + Send,
    report: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<R> {
    let work = Mutex::new(Some(work));
    let take = || work.lock().ok().and_then(|mut work| work.take());
    thread::scope(|scope| {
        let (done, wait) = mpsc::sync_channel::<()>(1);
        let spawned =
            thread::Builder::new().name("treewide".into()).spawn_scoped(scope, move || {
                // Dropped at the end, also when the work panics, which wakes the calling thread.
                let _done = done;
                take().map(|work| work())
            });
        let Ok(worker) = spawned else {
            let result = py.detach(|| take().map(|work| work()));
            py.check_signals().and_then(|()| report(py))?;
            return result.ok_or_else(panicked);
        };
        let mut failure = None;
        // A receiver is not shared; it moves in and out.
        let mut wait = Some(wait);
        while let Some(waiting) = wait.take() {
            let (waiting, is_running) = py.detach(move || {
                let is_running = waiting.recv_timeout(LOOK) == Err(mpsc::RecvTimeoutError::Timeout);
                (waiting, is_running)
            });
            if failure.is_none()
                && let Err(error) = py.check_signals().and_then(|()| report(py))
            {
                course.cancel.cancel();
                failure = Some(error);
            }
            wait = is_running.then_some(waiting);
        }
        let result = py.detach(|| worker.join());
        match (failure, result) {
            (Some(error), _) => Err(error),
            (None, Ok(Some(result))) => Ok(result),
            (None, _) => Err(panicked()),
        }
    })
}

#[cold]
fn panicked() -> PyErr {
    PyRuntimeError::new_err("hashing files failed: a thread of treewide panicked")
}

/// Calls `update` with the options for the file at `path`. If that may take long, or there is `progress`, signals and errors of
/// `progress` end it.
pub(crate) fn update_from<R: Send>(
    py: Python<'_>,
    path: &Path,
    threads: Threads,
    progress: Option<&Bound<'_, PyAny>>,
    update: impl FnOnce(file::Options<'_>) -> Result<R, file::Error> + Send,
) -> PyResult<R> {
    let short = || {
        let file = path.metadata().ok()?;
        (file.is_file() && file.len() < SHORT).then_some(file.len() as usize)
    };
    let short = if progress.is_none() { py.detach(short) } else { None };
    let updated = if let Some(bytes) = short {
        py.detach(|| {
            threads.for_bytes(bytes).run_at_most(|most| update(file::Options::new().threads(most)))
        })
    } else {
        let course = Course::default();
        let watch = |bytes| {
            course.bytes.fetch_add(bytes, Ordering::Relaxed);
            if course.cancel.is_cancelled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let work =
            || threads.run_at_most(|most| update(file::Options::new().threads(most).watch(watch)));
        watched(py, &course, work, |_| course.tell_bytes(progress))?
    };
    updated.map_err(|error| failure::of_file(py, error))
}

#[doc = stub!("hash_file")]
#[pyfunction]
#[pyo3(signature = (path, /, *, key=None, derive_key_context=None, length=32, threads=1, progress=None), text_signature = "(path, /, *, key=None, derive_key_context=None, length=32, threads=1, progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn hash_file<'py>(
    py: Python<'py>,
    path: FilePath,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    check_length(length)?;
    let hasher = update_from(py, &path.0, threads, progress, |options| {
        let mut hasher = Hasher::with_mode(mode);
        options.update(&mut hasher, &path.0).map(|_| hasher)
    })?;
    extended(py, &hasher, length, 0)
}

/// Whether the first error of a file ends a run.
fn raises(errors: &str) -> PyResult<bool> {
    match errors {
        "raise" => Ok(true),
        "return" => Ok(false),
        _ => Err(PyValueError::new_err(format!(
            "errors is \"raise\" or \"return\", and not {errors:?}"
        ))),
    }
}

#[doc = stub!("hash_files")]
#[pyfunction]
#[pyo3(signature = (
    paths, /, *, key=None, derive_key_context=None, length=32, threads=1, errors="raise", progress=None
), text_signature = "(paths, /, *, key=None, derive_key_context=None, length=32, threads=1, errors='raise', progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn hash_files<'py>(
    py: Python<'py>,
    paths: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    errors: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    let (extent, raises) = (extent(length)?, raises(errors)?);
    if paths.is_instance_of::<PyString>()
        || paths.is_instance_of::<PyBytes>()
        || paths.hasattr("__fspath__")?
    {
        return Err(PyTypeError::new_err(
            "hash_files takes many paths: pass [path], or use hash_file",
        ));
    }
    check_order(paths)?;
    let paths: Vec<PathBuf> = paths
        .try_iter()?
        .map(|path| path?.extract().map(|FilePath(path)| path))
        .collect::<PyResult<_>>()?;
    let course = Arc::new(Course::default());
    let options = course.options().mode(mode).extent(extent);
    let digests = digests(py, &course, threads, raises, progress, |most| {
        at_most(options, most).hash_files(paths)
    })?;
    let all = PyList::empty(py);
    for digest in digests {
        match digest {
            Ok((_, digest)) => all.append(raw(py, digest, length)?)?,
            Err(error) => all.append(failure::of_files(py, &error).into_value(py))?,
        }
    }
    Ok(all)
}

#[doc = stub!("hash_tree")]
#[pyfunction]
#[pyo3(signature = (
    directory, /, *, hidden=true, follow=false, key=None, derive_key_context=None, length=32, threads=1, errors="raise",
    progress=None
), text_signature = "(directory, /, *, hidden=True, follow=False, key=None, derive_key_context=None, length=32, threads=1, errors='raise', progress=None)")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn hash_tree<'py>(
    py: Python<'py>,
    directory: FilePath,
    hidden: bool,
    follow: bool,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    errors: &str,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    let (extent, raises) = (extent(length)?, raises(errors)?);
    let course = Arc::new(Course::default());
    let options = course.options().mode(mode).extent(extent);
    let root = &directory.0;
    py.detach(|| root.read_dir().map(|_| ()))
        .map_err(|error| failure::of_system(py, root, &error))?;
    let walk = Walk::new(root).hidden(hidden).follow_links(follow);
    let digests = digests(py, &course, threads, raises, progress, |most| {
        at_most(options, most).hash_tree(walk)
    })?;
    let all = PyDict::new(py);
    for digest in digests {
        match digest {
            Ok((path, digest)) => all.set_item(below(root, &path), raw(py, digest, length)?)?,
            Err(error) => {
                let name = below(root, error.path());
                all.set_item(name, failure::of_files(py, &error).into_value(py))?;
            }
        }
    }
    Ok(all)
}

/// The path of a file below `root`, with `/` on every system.
fn below(root: &Path, path: &Path) -> OsString {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|part| part.as_os_str()).collect::<Vec<_>>().join(OsStr::new("/"))
}

/// The file behind a handle of the system, which stays open for the caller.
pub(crate) fn open(handle: i64) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::BorrowedFd;

        let number = i32::try_from(handle).ok().filter(|&number| number >= 0);
        let number = number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: the caller holds the file open during this call; a number that is not open is an error of the system.
        Ok(unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()?.into())
    }
    #[cfg(windows)]
    {
        use std::os::windows::io::BorrowedHandle;

        // SAFETY: as above.
        let borrowed = unsafe { BorrowedHandle::borrow_raw(handle as usize as *mut _) };
        Ok(borrowed.try_clone_to_owned()?.into())
    }
}

fn extent(length: usize) -> PyResult<Extent> {
    check_length(length)?;
    Extent::new(0, length as u64).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn at_most(options: Options, most: usize) -> Options {
    if most == usize::MAX { options } else { options.threads(most) }
}

fn raw<'py>(py: Python<'py>, digest: Digest, length: usize) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, length, |mut bytes| Ok(digest.write_raw(&mut bytes)?))
}

/// The results of a run that `start` starts with the most threads that it may use. The first error is raised if `raises`.
fn digests<I: Iterator<Item = Result<(PathBuf, Hashed), Error>>>(
    py: Python<'_>,
    course: &Course,
    threads: Threads,
    raises: bool,
    progress: Option<&Bound<'_, PyAny>>,
    start: impl FnOnce(usize) -> I + Send,
) -> PyResult<Vec<Result<(PathBuf, Digest), Error>>> {
    let work = || {
        threads.run_at_most(|most| {
            let mut results = Vec::new();
            for result in start(most) {
                match result {
                    Err(error) if raises => return Err(error),
                    result => results.push(result.map(|(path, hashed)| (path, hashed.digest))),
                }
            }
            Ok(results)
        })
    };
    watched(py, course, work, |_| course.tell(progress))?
        .map_err(|error| failure::of_files(py, &error))
}
