//! `treewide.safetensors`, `treewide.gguf` and the lists of `treewide.tensors`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treewide_tensors::{
    Comparison, Error, ErrorKind, Model, Options, TensorDigest, Tensors, Verdict, compare, list,
};

use crate::failure;
use crate::files::{Course, SHORT, watched};
use crate::mode::mode;
use crate::oneshot::check_length;
use crate::paths::FilePath;
use crate::threads::Threads;

/// Name, type, shape and output of a tensor.
type Row<'py> = (String, String, Vec<u64>, Bound<'py, PyBytes>);

fn failed(py: Python<'_>, error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::File(kind) => failure::of_kind(py, error.path(), kind),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The tensors of a model.
#[pyfunction]
#[pyo3(signature = (path, /, *, key, derive_key_context, length, threads, progress))]
pub(crate) fn _tensors<'py>(
    py: Python<'py>,
    path: FilePath,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Row<'py>>> {
    let (mode, threads) = (mode(key, derive_key_context)?, Threads::new(threads)?);
    check_length(length)?;
    let model = py.detach(|| Model::open(&path.0)).map_err(|error| failed(py, &error))?;
    check_length(length.saturating_mul(model.tensors().count()))?;
    let course = Arc::new(Course::default());
    let hash = || {
        let counted = Arc::clone(&course);
        let count = move |_, bytes| {
            counted.bytes.fetch_add(bytes, Ordering::Relaxed);
        };
        let options = Options::new().mode(mode).output_len(length).cancel(&course.cancel);
        let options = options.progress(Arc::new(count));
        threads.run_at_most(|most| model.hash(&options.threads(most)))
    };
    let hashed = if progress.is_none() && model.bytes() < SHORT {
        py.detach(hash)
    } else {
        let report = |_: Python<'_>| match progress {
            Some(progress) => progress.call1((course.bytes.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        };
        watched(py, &course, hash, report)?
    };
    let outputs = hashed.map_err(|error| failed(py, &error))?;
    let output = |index: usize| PyBytes::new(py, &outputs[index * length..][..length]);
    let row = |(index, it): (usize, &treewide_tensors::Tensor)| {
        (it.name.clone(), it.dtype.clone(), it.shape.clone(), output(index))
    };
    Ok(model.tensors().enumerate().map(row).collect())
}

/// Tensors that Python has.
fn tensors(given: Vec<(String, String, Vec<u64>, Vec<u8>)>) -> PyResult<Tensors> {
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
    given.into_iter().map(tensor).collect()
}

/// The text of a list.
#[pyfunction]
#[pyo3(signature = (given, /))]
pub(crate) fn _tensor_list(given: Vec<(String, String, Vec<u64>, Vec<u8>)>) -> PyResult<String> {
    Ok(list::text(&tensors(given)?))
}

/// The tensors of a list.
#[pyfunction]
#[pyo3(signature = (path, /))]
pub(crate) fn _tensor_list_read<'py>(py: Python<'py>, path: FilePath) -> PyResult<Vec<Row<'py>>> {
    let found = py.detach(|| list::read(&path.0)).map_err(|error| failed(py, &error))?;
    let row = |(name, it): (String, TensorDigest)| {
        (name, it.dtype, it.shape, PyBytes::new(py, &it.digest))
    };
    Ok(found.into_iter().map(row).collect())
}

/// Name, verdict, other name and detail of a tensor that differs.
type Found = (String, &'static str, Option<String>, String);

/// The tensors that differ, the number of each verdict, and the prefix that only one model has.
type Compared = (Vec<Found>, Vec<(&'static str, u64)>, Option<&'static str>);

/// Compares two models.
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(crate) fn _tensor_compare(
    py: Python<'_>,
    old: Vec<(String, String, Vec<u64>, Vec<u8>)>,
    new: Vec<(String, String, Vec<u64>, Vec<u8>)>,
) -> PyResult<Compared> {
    let (old, new) = (tensors(old)?, tensors(new)?);
    let compared: Comparison = py.detach(|| compare(&old, &new));
    let mut counts = vec![("same", compared.same)];
    counts.extend(Verdict::ALL.map(|it| (it.word(), compared.count(it))));
    let found = compared.findings.into_iter().map(|it| {
        let detail = it.detail(list::escape);
        (it.name, it.verdict.word(), it.other, detail)
    });
    Ok((found.collect(), counts, compared.prefix))
}
