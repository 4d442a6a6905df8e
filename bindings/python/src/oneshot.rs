//! `digest` and `hexdigest`: a complete input in one call.

use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use treewide::{Hasher, Mode, OUT_LEN};

use crate::buffer::{self, Items};
use crate::mode::mode;
use crate::threads::Threads;

/// Inputs of at least this many bytes let other Python threads run. A guess: hashing them takes many times as long as letting
/// go of the lock.
pub(crate) const DETACHED: usize = 16 * 1024;

/// Output of at least this many bytes lets other Python threads run. A guess: as for input.
const DETACHED_OUTPUT: usize = 16 * 1024;

#[doc = stub!("digest")]
#[pyfunction]
#[pyo3(signature = (data, /, *, key=None, derive_key_context=None, length=32, threads=1))]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (mode, threads) = (special(key, derive_key_context)?, Threads::new(threads)?);
    if length == OUT_LEN {
        let hash = buffer::with(data, Items::Any, |data| Ok(root(py, mode, threads, data)))?;
        return Ok(PyBytes::new(py, &hash));
    }
    output(py, data, mode, threads, length)
}

#[doc = stub!("hexdigest")]
#[pyfunction]
#[pyo3(signature = (data, /, *, key=None, derive_key_context=None, length=32, threads=1))]
pub(crate) fn hexdigest<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
) -> PyResult<Bound<'py, PyString>> {
    let (mode, threads) = (special(key, derive_key_context)?, Threads::new(threads)?);
    if length == OUT_LEN {
        let hash = buffer::with(data, Items::Any, |data| Ok(root(py, mode, threads, data)))?;
        return hex(py, &hash);
    }
    check_length(length.saturating_mul(2))?;
    long_hex(&output(py, data, mode, threads, length)?)
}

/// The mode, unless it is the plain one: that has a function of its own.
fn special(key: Option<&Bound<'_, PyAny>>, context: Option<&str>) -> PyResult<Option<Mode>> {
    if key.is_none() && context.is_none() { Ok(None) } else { mode(key, context).map(Some) }
}

fn root(py: Python<'_>, mode: Option<Mode>, threads: Threads, data: &[u8]) -> [u8; OUT_LEN] {
    let hash = || match (mode, threads.for_bytes(data.len())) {
        (None, Threads::One) => *treewide::hash(data).as_bytes(),
        (None, threads) => *threads
            .run(|is_together| match is_together {
                true => treewide::hash_parallel(data),
                false => treewide::hash(data),
            })
            .as_bytes(),
        (Some(mode), threads) => {
            let mut hasher = Hasher::with_mode(mode);
            threads.update(&mut hasher, data);
            *hasher.finalize().as_bytes()
        }
    };
    if data.len() < DETACHED { hash() } else { py.detach(hash) }
}

fn output<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    mode: Option<Mode>,
    threads: Threads,
    length: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut hasher = Hasher::with_mode(mode.unwrap_or_default());
    buffer::with(data, Items::Any, |data| {
        let mut update = || threads.update(&mut hasher, data);
        if data.len() < DETACHED {
            update()
        } else {
            py.detach(update)
        }
        Ok(())
    })?;
    extended(py, &hasher, length, 0)
}

/// `length` bytes of output from `seek` on.
pub(crate) fn extended<'py>(
    py: Python<'py>,
    hasher: &Hasher,
    length: usize,
    seek: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    check_length(length)?;
    PyBytes::new_with(py, length, |bytes| {
        fill(py, hasher, bytes, seek);
        Ok(())
    })
}

/// Writes output from `seek` on to all of `bytes`.
pub(crate) fn fill(py: Python<'_>, hasher: &Hasher, bytes: &mut [u8], seek: u64) {
    let mut reader = hasher.finalize_xof();
    reader.set_position(seek);
    if bytes.len() < DETACHED_OUTPUT {
        reader.fill(bytes)
    } else {
        py.detach(|| reader.fill(bytes))
    }
}

/// `OverflowError` for more bytes or digits than an object can have.
pub(crate) fn check_length(length: usize) -> PyResult<()> {
    if length > isize::MAX as usize {
        return Err(PyOverflowError::new_err("length is more than an object of Python can have"));
    }
    Ok(())
}

/// Hexadecimal digits.
pub(crate) fn hex<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let two = |byte: u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    if let Ok(bytes) = <&[u8; OUT_LEN]>::try_from(bytes) {
        let digits = bytes.map(two);
        return PyString::from_bytes(py, digits.as_flattened());
    }
    // Python finds the memory for it, or raises `MemoryError`.
    long_hex(&PyBytes::new(py, bytes))
}

/// Hexadecimal digits of any number of bytes.
pub(crate) fn long_hex<'py>(bytes: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyString>> {
    Ok(bytes.call_method0(intern!(bytes.py(), "hex"))?.cast_into()?)
}
