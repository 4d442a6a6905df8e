//! Names of files, as `open` of Python takes them: `str`, `bytes` and `os.PathLike`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::intern;
use pyo3::prelude::*;

/// The name of a file.
pub(crate) struct FilePath(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(path: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // The error of `os.fsdecode` names the type. Bytes that are not UTF-8 come back as they were.
        let os = path.py().import(intern!(path.py(), "os"))?;
        let text = os.call_method1(intern!(path.py(), "fsdecode"), (path,))?;
        Ok(Self(text.extract::<OsString>()?.into()))
    }
}
