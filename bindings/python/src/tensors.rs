//! The model files, lists and comparisons of `treewide.weights`, and the memory of one process.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treewide::Batch;
use treewide_tensors::{
    Error, ErrorKind, Model, Options, Tensor, TensorDigest, Tensors, compare, difference, list,
};

use crate::failure;
use crate::files::{Course, SHORT, watched};
use crate::paths::FilePath;
use crate::threads::Threads;

/// Name, type, shape and digest of a tensor.
type Row<'py> = (String, String, Vec<u64>, Bound<'py, PyBytes>);

/// What files say: rows, other names of tensors, and files that were not read.
type Read<'py> = (Vec<Row<'py>>, BTreeMap<String, String>, Vec<PathBuf>);

/// Rows as Python has them, and other names of their tensors.
type Given = (Vec<(String, String, Vec<u64>, Vec<u8>)>, BTreeMap<String, String>);

fn failed(py: Python<'_>, error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::File(kind) => failure::of_kind(py, error.path(), kind),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The tensors of a model or of a list, other names of them, and files with weights that were not read.
#[pyfunction]
#[pyo3(signature = (path, /, *, threads, progress))]
pub(crate) fn _tensors<'py>(
    py: Python<'py>,
    path: FilePath,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Read<'py>> {
    let threads = Threads::new(threads)?;
    let model = py.detach(|| Model::open(&path.0)).map_err(|error| failed(py, &error))?;
    let course = Arc::new(Course::default());
    let hash = || {
        let counted = Arc::clone(&course);
        let count = move |_, bytes| {
            counted.bytes.fetch_add(bytes, Ordering::Relaxed);
        };
        let (progress, cancel) = (Arc::new(count), course.cancel.clone());
        threads.run_at_most(|threads| model.digests(&Options { threads, progress, cancel }))
    };
    let hashed = if progress.is_none() && model.bytes() < SHORT {
        py.detach(hash)
    } else {
        watched(py, &course, hash, |_| course.tell_bytes(progress))?
    };
    let found = hashed.map_err(|error| failed(py, &error))?;
    let row = |(name, it): (&String, &TensorDigest)| {
        (name.clone(), it.dtype.clone(), it.shape.clone(), PyBytes::new(py, &it.digest))
    };
    Ok((found.iter().map(row).collect(), found.aliases.clone(), model.not_read().to_vec()))
}

/// Tensors that Python has.
fn tensors((rows, aliases): Given) -> PyResult<Tensors> {
    let tensor = |(name, dtype, shape, digest): (String, String, Vec<u64>, Vec<u8>)| {
        if !list::is_dtype(&dtype) {
            let text = format!("{name}: the type {dtype:?} is not made of letters, digits and _");
            return Err(PyValueError::new_err(text));
        }
        let wrong = |it: Vec<u8>| {
            PyValueError::new_err(format!(
                "{name}: a digest has 32 bytes, and this one has {}",
                it.len()
            ))
        };
        let digest = digest.try_into().map_err(wrong)?;
        Ok((name, TensorDigest { dtype, shape, digest }))
    };
    let mut found: Tensors = rows.into_iter().map(tensor).collect::<PyResult<_>>()?;
    if !found.have_bytes() {
        let text = "there are no weights: there is no tensor, or none has bytes";
        return Err(PyValueError::new_err(text));
    }
    found.aliases = aliases;
    Ok(found)
}

/// The text of a list.
#[pyfunction]
#[pyo3(signature = (given, /))]
pub(crate) fn _tensor_list(given: Given) -> PyResult<String> {
    Ok(list::text(&tensors(given)?))
}

/// Values, equal ones, their largest difference and its relative norm.
type Apart = (u64, u64, f64, f64);

/// Name, verdict, other name and detail of a tensor that differs, and by how much.
type Found = (String, &'static str, Option<String>, String, Option<Apart>);

/// What became of tensors, the number of each verdict, the parts of names that only one model has, and whether nothing differs.
type Compared = (Vec<Found>, Vec<(&'static str, u64)>, Vec<String>, bool);

/// The tensors of a model in files by their new names.
fn places<'a>(
    model: &'a Model,
    rename: Option<&Bound<'_, PyAny>>,
) -> PyResult<HashMap<String, (&'a Path, &'a Tensor)>> {
    let named = |place: (&'a Path, &'a Tensor)| match rename {
        Some(rename) => Ok((rename.call1((&place.1.name,))?.extract()?, place)),
        None => Ok((place.1.name.clone(), place)),
    };
    model.places().map(named).collect()
}

/// Compares two models; with the paths of their files, also the values.
#[pyfunction]
#[pyo3(signature = (old, new, /, *, paths, rename))]
pub(crate) fn _tensor_compare(
    py: Python<'_>,
    old: Given,
    new: Given,
    paths: Option<(FilePath, FilePath)>,
    rename: Option<&Bound<'_, PyAny>>,
) -> PyResult<Compared> {
    let (old, new) = (tensors(old)?, tensors(new)?);
    let mut compared = py.detach(|| compare(&old, &new));
    if let Some((old, new)) = paths {
        let open = |FilePath(path): &FilePath| {
            if list::is_list(path) {
                let text = format!("{}: is a list, which has no values", path.display());
                return Err(PyValueError::new_err(text));
            }
            Model::open(path).map_err(|error| failed(py, &error))
        };
        let (old, new) = (open(&old)?, open(&new)?);
        let (old, new) = (places(&old, rename)?, places(&new, rename)?);
        for it in &mut compared.findings {
            if let (Some(&old), Some(&new)) = (old.get(&it.name), new.get(&it.name)) {
                py.check_signals()?;
                let found = py.detach(|| difference(old, new));
                it.difference = found.map_err(|error| failed(py, &error))?;
            }
        }
    }
    let counts = compared.counts();
    let is_same = compared.is_same();
    let found = compared.findings.into_iter().map(|it| {
        let detail = it.detail(list::escape);
        let apart = it.difference.and_then(|it| it.values);
        let apart = apart.map(|it| (it.all, it.equal, it.largest, it.norm));
        (it.name, it.verdict.word(), it.other, detail, apart)
    });
    Ok((found.collect(), counts, compared.prefixes, is_same))
}

/// The memory of a contiguous tensor, by its address and length.
pub(crate) fn memory<'a>((address, len): (usize, usize)) -> &'a [u8] {
    match len {
        0 => &[],
        // SAFETY: only `_tensors/hashing.py` passes addresses, those of tensors that it holds.
        _ => unsafe { slice::from_raw_parts(address as *const u8, len) },
    }
}

/// The digests of tensors in the memory of the CPU, by their addresses and lengths.
#[pyfunction]
#[pyo3(signature = (places, threads, /))]
pub(crate) fn _hash_memory<'py>(
    py: Python<'py>,
    places: Vec<(usize, usize)>,
    threads: isize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let threads = Threads::new(threads)?;
    let blobs: Vec<&[u8]> = places.into_iter().map(memory).collect();
    let hash = || threads.run_at_most(|most| Batch::new().threads(most).hash(&blobs));
    Ok(py.detach(hash).iter().map(|it| PyBytes::new(py, it.as_bytes())).collect())
}
