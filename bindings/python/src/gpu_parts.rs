//! `treewide.gpu.hash_parts`: ranges of tensors of a CUDA device, hashed as parts of longer inputs.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treewide_gpu::Runs;

use crate::block::{Indices, runs};
use crate::gpu::{Stream, borrow, check_same_device, failed, lend, noted, number, open, run};
use crate::parts::Parts;
use crate::tensor::Lent;

/// What Python passes: the parts of an input, a tensor, and what is in the tensor.
type Given<'py, T> = (Bound<'py, Parts>, Bound<'py, PyAny>, T);

/// A block: the bytes of an item, the shape of the tensor, and the indices of each dimension.
type Block = (u64, Vec<u64>, Vec<Indices>);

/// Runs of bytes by their first byte in the input, and their range in the tensor.
type InTensor = Vec<(u64, Range<u64>)>;

#[doc = stub!("_gpu_hash_parts")]
#[pyfunction]
#[pyo3(name = "hash_parts", signature = (pieces, /, *, stream=None))]
pub(crate) fn hash_parts(
    py: Python<'_>,
    pieces: Vec<Given<'_, Vec<(u64, u64, u64)>>>,
    stream: Option<Stream>,
) -> PyResult<()> {
    hash(py, pieces, number(stream), |ranges, len, total| {
        let run = |(at, start, stop): (u64, u64, u64)| {
            let fits = start <= stop && stop <= len && total.checked_sub(at) >= Some(stop - start);
            fits.then_some((at, start..stop)).ok_or_else(|| {
                format!(
                    "bytes {start}..{stop} of a tensor of {len} bytes do not fit at byte {at} of {total}: check the range"
                )
            })
        };
        ranges.into_iter().map(run).collect()
    })
}

/// Hashes blocks of tensors, as `Parts._hash_block` does one in the memory of the CPU.
#[pyfunction]
#[pyo3(signature = (pieces, /, *, stream=None))]
pub(crate) fn _gpu_hash_blocks(
    py: Python<'_>,
    pieces: Vec<Given<'_, Block>>,
    stream: Option<Stream>,
) -> PyResult<()> {
    hash(py, pieces, number(stream), |(item, shape, indices), len, _| {
        let mut expected = 0;
        let run = |run: Range<u64>| {
            let start = expected;
            expected += run.end - run.start;
            (run.start, start..expected)
        };
        let found = runs(item, &shape, &indices)?.into_iter().map(run).collect();
        if expected == len {
            return Ok(found);
        }
        Err(format!("{len} bytes are here, and {expected} should be"))
    })
}

/// Hashes tensors. `find` gets a description of Python, the bytes of the tensor and those of the whole input.
fn hash<T>(
    py: Python<'_>,
    given: Vec<Given<'_, T>>,
    stream: u64,
    find: impl Fn(T, u64, u64) -> Result<InTensor, String>,
) -> PyResult<()> {
    let mut pieces: Vec<(Bound<'_, Parts>, Lent, InTensor)> = Vec::new();
    for (number, (parts, tensor, what)) in given.into_iter().enumerate() {
        let piece = || {
            let tensor = lend(&tensor, stream)?;
            if let Some((first, of_first, _)) = pieces.first() {
                check_same_device(of_first, &tensor)?;
                parts.get().check_same_mode(first.get())?;
            }
            let runs = find(what, tensor.len() as u64, parts.get().bytes());
            Ok((parts, tensor, runs.map_err(PyValueError::new_err)?))
        };
        let named = |error| noted(py, error, &format!("item {number}"), "hash_parts");
        pieces.push(piece().map_err(named)?);
    }
    let Some((first, tensor, _)) = pieces.first() else { return Ok(()) };
    let (mode, device) = (first.get().mode(), open(py, tensor.number(), stream)?);
    let mut inputs = Vec::new();
    for (parts, tensor, runs) in &pieces {
        let buffer = borrow(&device, tensor)?;
        let run = |(at, range): &(u64, Range<u64>)| Ok((buffer.slice(range.clone())?, *at));
        let runs = runs.iter().map(run).collect::<Result<_, _>>().map_err(|it| failed(&it))?;
        inputs.push(Runs { total: parts.get().bytes(), runs });
    }
    let found = run(py, &device, || device.hash_parts(&mode, &inputs).wait())?;
    pieces.iter().zip(found).try_for_each(|((parts, ..), found)| parts.get().add(py, found))
}
