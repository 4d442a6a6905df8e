//! Errors of files as `OSError`, with number and name of the file, so that `FileNotFoundError` and its siblings appear.

use std::io;
use std::path::Path;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use treewide::file::{Error, ErrorKind};

/// The `OSError` for an error of the library.
pub(crate) fn of_file(py: Python<'_>, error: Error) -> PyErr {
    let path = error.path().to_owned();
    match error.kind() {
        ErrorKind::Open(cause) | ErrorKind::Read(cause) => of_system(py, &path, cause),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// The same for an error that does not know the path.
pub(crate) fn of_kind(py: Python<'_>, path: &Path, kind: &ErrorKind) -> PyErr {
    match kind {
        ErrorKind::Open(cause) | ErrorKind::Read(cause) => of_system(py, path, cause),
        _ => PyOSError::new_err(format!("{}: {kind}", path.display())),
    }
}

/// The `OSError` for an error of a run over many files.
pub(crate) fn of_files(py: Python<'_>, error: &treewide_files::Error) -> PyErr {
    match error.kind().io_error() {
        Some(cause) => of_system(py, error.path(), cause),
        None => PyOSError::new_err(error.to_string()),
    }
}

/// The `OSError` for an error of the system.
pub(crate) fn of_system(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    match error.raw_os_error() {
        // Python chooses the class by the number.
        Some(number) => {
            let text = py
                .import("os")
                .and_then(|os| os.call_method1("strerror", (number,)))
                .and_then(|text| text.extract::<String>())
                .unwrap_or_else(|_| error.to_string());
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}
