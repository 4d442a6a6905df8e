//! Names of files, as `open` of Python takes them: `str`, `bytes` and `os.PathLike`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;

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
        // The error of `os.fsdecode` names the type. Bytes that are not UTF-8 come back as they were.
        let os = path.py().import(intern!(path.py(), "os"))?;
        let text = os.call_method1(intern!(path.py(), "fsdecode"), (path,))?;
        Ok(Self(text.extract::<OsString>()?.into()))
    }
}
