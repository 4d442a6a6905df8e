//! Lists for `treewide.scale`, read and replaced as the command line does it.

use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use treewide::OUT_LEN;
use treewide_files::Replacement;
use treewide_files::list::parse;

use crate::failure;
use crate::paths::{FilePath, text_of};

/// Returns the name and the digest of each line of a list. Raises `ValueError` that says which line is not as `b3sum`
/// writes it.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(crate) fn _list_entries<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<Vec<(Bound<'py, PyString>, Bound<'py, PyBytes>)>> {
    let mut entries = Vec::new();
    for (at, line) in data.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else {
            let problem = format!("line {} is cut off: it has no end", at + 1);
            return Err(PyValueError::new_err(problem));
        };
        let entry = parse(line, Some(OUT_LEN as u64)).ok().flatten();
        let Some(entry) = entry.filter(|_| is_plain(line)) else {
            let problem = format!("line {} is not a digest, two spaces and a name", at + 1);
            return Err(PyValueError::new_err(problem));
        };
        entries.push((text_of(py, &entry.name)?, PyBytes::new(py, &entry.digest)));
    }
    Ok(entries)
}

/// Whether a line begins as `b3sum` writes it, and not in one of the other forms that a parser of lists understands.
fn is_plain(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\\").unwrap_or(line);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    line.split_at_checked(2 * OUT_LEN)
        .is_some_and(|(digits, rest)| digits.iter().all(is_digit) && rest.starts_with(b"  "))
}

/// Writes a file that appears when it is complete. Raises `OSError` that names it.
#[pyfunction]
#[pyo3(signature = (path, data, /))]
pub(crate) fn _replace_file(py: Python<'_>, path: FilePath, data: &[u8]) -> PyResult<()> {
    let path = &path.0;
    let replaced = py.detach(|| {
        let mut file = Replacement::begin(path)?;
        file.write_all(data)?;
        file.complete()?;
        file.appear()
    });
    match replaced.map_err(|error| failure::of_system(py, path, &error))? {
        None => Ok(()),
        Some((left, error)) => Err(failure::of_system(py, &left, &error)),
    }
}
