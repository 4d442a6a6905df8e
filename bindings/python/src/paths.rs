//! Names of files, as `open` of Python takes them: `str`, `bytes` and `os.PathLike`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use treewide_files::name::os_path;

/// The bytes of a name, as Python has names: with `os.fsdecode` for names that are not UTF-8.
pub(crate) fn text_of<'py>(py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match str::from_utf8(name) {
        Ok(name) => Ok(PyString::new(py, name)),
        Err(_) => {
            let path = os_path(name).map_err(PyValueError::new_err)?;
            Ok(path.into_os_string().into_pyobject(py)?)
        }
    }
}

/// A path as text.
pub(crate) fn text<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyString>> {
    text_of(py, path.as_os_str().as_encoded_bytes())
}

/// The name of a file.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(path: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if path.hasattr(intern!(path.py(), "read"))?
            && !path.hasattr(intern!(path.py(), "__fspath__"))?
        {
            return Err(PyTypeError::new_err(
                "this is an open file: pass its name, or use treewide.blake3().update_reader(file)",
            ));
        }
        if path.is_instance_of::<PyInt>() {
            return Err(PyTypeError::new_err(
                "this is a number: pass the name of a file, or for a descriptor use \
                 treewide.blake3().update_reader(open(number, 'rb', closefd=False))",
            ));
        }
        // The error of `os.fsdecode` names the type. Bytes that are not UTF-8 come back as they were.
        let os = path.py().import(intern!(path.py(), "os"))?;
        let text = os.call_method1(intern!(path.py(), "fsdecode"), (path,))?;
        Ok(Self(text.extract::<OsString>()?.into()))
    }
}
