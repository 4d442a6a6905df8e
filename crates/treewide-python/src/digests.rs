//! `Digests`: what `hash_many` returns. All digests lie one after the other in one piece of memory, which NumPy reads in place.

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyString, PyTuple};

use crate::buffer::{self, Items};
use crate::oneshot::hex;

/// Digests of one length, one after the other.
#[pyclass(module = "treewide", frozen, immutable_type, sequence)]
pub(crate) struct Digests {
    bytes: Vec<u8>,
    /// The number of digests, and the bytes of each.
    shape: [isize; 2],
    /// From one digest, and from one byte, to the next.
    strides: [isize; 2],
}

impl Digests {
    /// # Errors
    /// If the bytes are not a number of digests.
    pub(crate) fn new(bytes: Vec<u8>, length: usize) -> PyResult<Self> {
        if length == 0 || !bytes.len().is_multiple_of(length) {
            return Err(PyValueError::new_err(format!(
                "{} bytes are not a number of digests of {length} bytes",
                bytes.len()
            )));
        }
        let (count, length) = ((bytes.len() / length) as isize, length as isize);
        Ok(Self { bytes, shape: [count, length], strides: [length, 1] })
    }

    fn length(&self) -> usize {
        self.shape[1] as usize
    }

    fn all(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.length())
    }

    /// The place of a digest that is the bytes of `value`, between `start` and `stop`.
    fn find(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> Option<usize> {
        let slice = PySlice::new(value.py(), start, stop, 1).indices(self.shape[0]).ok()?;
        let (start, count) = (slice.start as usize, slice.slicelength);
        let find = |value: &[u8]| Ok(self.all().skip(start).take(count).position(|it| it == value));
        // What has no bytes is not a digest.
        buffer::with(value, Items::Any, find).ok().flatten().map(|at| at + start)
    }
}

#[pymethods]
impl Digests {
    #[new]
    #[pyo3(signature = (data, /, length=32))]
    fn from_buffer(data: &Bound<'_, PyAny>, length: usize) -> PyResult<Self> {
        Self::new(buffer::with(data, Items::Any, |data| Ok(data.to_vec()))?, length)
    }

    /// The bytes of each digest.
    #[getter]
    fn digest_size(&self) -> usize {
        self.length()
    }

    fn __len__(&self) -> usize {
        self.shape[0] as usize
    }

    fn __getitem__<'py>(
        this: &Bound<'py, Self>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (own, py) = (this.get(), this.py());
        let (count, length) = (own.shape[0], own.length());
        if let Ok(slice) = at.cast::<PySlice>() {
            let slice = slice.indices(count)?;
            let mut bytes = Vec::with_capacity(slice.slicelength * length);
            for index in 0..slice.slicelength as isize {
                let at = (slice.start + index * slice.step) as usize * length;
                bytes.extend_from_slice(&own.bytes[at..at + length]);
            }
            return Ok(Bound::new(py, Self::new(bytes, length)?)?.into_any());
        }
        let at: isize = at.extract()?;
        let index = if at < 0 { at.saturating_add(count) } else { at };
        if !(0..count).contains(&index) {
            return Err(PyIndexError::new_err(format!(
                "there is no digest {at}: there are {count}"
            )));
        }
        let start = index as usize * length;
        Ok(PyBytes::new(py, &own.bytes[start..start + length]).into_any())
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        self.find(value, 0, isize::MAX).is_some()
    }

    /// Returns the place of the first digest that is `value`. Raises `ValueError` if there is none.
    #[pyo3(signature = (value, start=0, stop=isize::MAX, /))]
    fn index(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> PyResult<usize> {
        self.find(value, start, stop)
            .ok_or_else(|| PyValueError::new_err("this is not one of the digests"))
    }

    /// Returns how many of the digests are `value`.
    #[pyo3(signature = (value, /))]
    fn count(&self, value: &Bound<'_, PyAny>) -> usize {
        let count = |value: &[u8]| Ok(self.all().filter(|&it| it == value).count());
        buffer::with(value, Items::Any, count).unwrap_or(0)
    }

    /// Returns the digests as hexadecimal digits.
    fn hex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let digits: PyResult<Vec<Bound<'py, PyString>>> =
            self.all().map(|it| hex(py, it)).collect();
        PyList::new(py, digits?)
    }

    /// Returns the digests as a list of `bytes`.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.all().map(|it| PyBytes::new(py, it)))
    }

    /// Returns all bytes of all digests, one after the other.
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            (self.shape, &self.bytes) == (other.shape, &other.bytes)
        })
    }

    fn __repr__(&self) -> String {
        let [count, length] = self.shape;
        format!("<treewide.Digests: {count} of {length} bytes>")
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (own, py) = (this.get(), this.py());
        (this.get_type(), (own.tobytes(py), own.length())).into_pyobject(py)
    }

    /// The buffer protocol: `(n, length)` bytes that cannot be written to.
    ///
    /// # Safety
    /// `view` has room for a `Py_buffer`.
    unsafe fn __getbuffer__(
        this: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let own = this.get();
        let is = |flag| flags & flag == flag;
        let is_line = own.shape[0] <= 1 || own.shape[1] <= 1;
        let problem = if is(ffi::PyBUF_WRITABLE) {
            Some("digests cannot be written to: pass a copy, such as numpy.array(digests)")
        } else if is(ffi::PyBUF_F_CONTIGUOUS) && !is(ffi::PyBUF_C_CONTIGUOUS) && !is_line {
            Some("digests are in C order: pass numpy.asfortranarray(digests)")
        } else {
            None
        };
        // SAFETY: as our caller promises. The fields point into this object, which `obj` keeps alive and which never
        // changes.
        unsafe {
            (*view).obj = ptr::null_mut();
            if let Some(problem) = problem {
                return Err(PyBufferError::new_err(problem));
            }
            let has_shape = is(ffi::PyBUF_ND);
            (*view).buf = own.bytes.as_ptr().cast_mut().cast::<c_void>();
            (*view).len = own.bytes.len() as isize;
            (*view).readonly = 1;
            (*view).itemsize = 1;
            (*view).format =
                if is(ffi::PyBUF_FORMAT) { c"B".as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).ndim = if has_shape { 2 } else { 1 };
            (*view).shape = if has_shape { own.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).strides = if is(ffi::PyBUF_STRIDES) {
                own.strides.as_ptr().cast_mut()
            } else {
                ptr::null_mut()
            };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = this.into_ptr();
        }
        Ok(())
    }
}
