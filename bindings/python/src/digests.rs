//! `Digests`: what `hash_many` returns. All digests lie one after the other in one piece of memory, which NumPy and libraries
//! of Arrow read in place.
//!
//! A null of an Arrow column has no digest. Its place has bytes 0, and a bit says that it is a null.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PySlice, PyString, PyTuple, PyType};

use crate::arrow;
use crate::buffer::{self, Items, bytes_of};
use crate::oneshot::hex;
use crate::validity::Validity;

#[doc = stub!("Digests")]
#[pyclass(module = "treewide", frozen, sequence)]
pub(crate) struct Digests {
    bytes: Arc<Vec<u8>>,
    validity: Validity,
    /// The number of digests, and the bytes of each.
    shape: [isize; 2],
    /// From one digest, and from one byte, to the next.
    strides: [isize; 2],
}

impl Digests {
    /// # Errors
    /// If the bytes are not a number of digests.
    pub(crate) fn new(mut bytes: Vec<u8>, length: usize, mut validity: Validity) -> PyResult<Self> {
        if length == 0 || !bytes.len().is_multiple_of(length) {
            return Err(PyValueError::new_err(format!(
                "{} bytes are not a number of digests of {length} bytes",
                bytes.len()
            )));
        }
        validity.grow_to(bytes.len() / length);
        validity.clear_nulls(&mut bytes, length);
        let (count, length) = ((bytes.len() / length) as isize, length as isize);
        Ok(Self { bytes: Arc::new(bytes), validity, shape: [count, length], strides: [length, 1] })
    }

    pub(crate) fn has_nulls(&self) -> bool {
        self.validity.nulls > 0
    }

    fn length(&self) -> usize {
        self.shape[1] as usize
    }

    /// The digests; `None` for a null.
    fn all(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        let all = self.bytes.chunks_exact(self.length()).enumerate();
        all.map(|(at, digest)| self.validity.has(at).then_some(digest))
    }

    /// The place of a digest that is the bytes of `value`, between `start` and `stop`.
    fn find(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> Option<usize> {
        let slice = PySlice::new(value.py(), start, stop, 1).indices(self.shape[0]).ok()?;
        let (start, count) = (slice.start as usize, slice.slicelength);
        let mut part = self.all().skip(start).take(count);
        if value.is_none() {
            return part.position(|it| it.is_none()).map(|at| at + start);
        }
        let find = |value: &[u8]| Ok(part.position(|it| it == Some(value)));
        // What has no bytes is not a digest.
        buffer::with(value, Items::Any, find).ok().flatten().map(|at| at + start)
    }
}

#[pymethods]
impl Digests {
    #[new]
    #[pyo3(signature = (data, /, length=32, validity=None))]
    fn from_buffer(
        data: &Bound<'_, PyAny>,
        length: usize,
        validity: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let bytes = buffer::with(data, Items::Any, |data| Ok(data.to_vec()))?;
        let count = bytes.len().checked_div(length).unwrap_or(0);
        let mut known = Validity::default();
        if let Some(bits) = validity {
            let bits = buffer::with(bits, Items::Any, |bits| Ok(bits.to_vec()))?;
            if bits.len() != count.div_ceil(8) {
                return Err(PyValueError::new_err(format!(
                    "validity has {} bytes, and a bit for each of {count} digests has {}",
                    bits.len(),
                    count.div_ceil(8)
                )));
            }
            (0..count)
                .filter(|at| bits[at / 8] >> (at % 8) & 1 == 0)
                .for_each(|at| known.set_null(at));
        }
        Self::new(bytes, length, known)
    }

    #[doc = stub!("Digests.digest_size")]
    #[getter]
    fn digest_size(&self) -> usize {
        self.length()
    }

    #[doc = stub!("Digests.null_count")]
    #[getter]
    fn null_count(&self) -> usize {
        self.validity.nulls
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
            let mut validity = Validity::default();
            for index in 0..slice.slicelength as isize {
                let at = (slice.start + index * slice.step) as usize;
                bytes.extend_from_slice(&own.bytes[at * length..][..length]);
                if !own.validity.has(at) {
                    validity.set_null(index as usize);
                }
            }
            return Ok(Bound::new(py, Self::new(bytes, length, validity)?)?.into_any());
        }
        let at: isize = at.extract()?;
        let index = if at < 0 { at.saturating_add(count) } else { at };
        if !(0..count).contains(&index) {
            return Err(PyIndexError::new_err(format!(
                "there is no digest {at}: there are {count}"
            )));
        }
        if !own.validity.has(index as usize) {
            return Ok(py.None().into_bound(py));
        }
        let start = index as usize * length;
        Ok(PyBytes::new(py, &own.bytes[start..start + length]).into_any())
    }

    /// Without it, pandas takes all digests for one value, and puts it into each row.
    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the object is a sequence and alive; what is returned is a new reference, or null with an error.
        unsafe { Bound::from_owned_ptr_or_err(this.py(), ffi::PySeqIter_New(this.as_ptr())) }
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        self.find(value, 0, isize::MAX).is_some()
    }

    #[doc = stub!("Digests.index")]
    #[pyo3(signature = (value, start=0, stop=isize::MAX, /))]
    fn index(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> PyResult<usize> {
        self.find(value, start, stop)
            .ok_or_else(|| PyValueError::new_err("this is not one of the digests"))
    }

    #[doc = stub!("Digests.count")]
    #[pyo3(signature = (value, /))]
    fn count(&self, value: &Bound<'_, PyAny>) -> usize {
        if value.is_none() {
            return self.validity.nulls;
        }
        let count = |value: &[u8]| Ok(self.all().filter(|&it| it == Some(value)).count());
        buffer::with(value, Items::Any, count).unwrap_or(0)
    }

    #[doc = stub!("Digests.hex")]
    fn hex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let digits: PyResult<Vec<Option<Bound<'py, PyString>>>> =
            self.all().map(|it| it.map(|it| hex(py, it)).transpose()).collect();
        PyList::new(py, digits?)
    }

    #[doc = stub!("Digests.tolist")]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.all().map(|it| it.map(|it| PyBytes::new(py, it))))
    }

    #[doc = stub!("Digests.tobytes")]
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __eq__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let is_equal = if let Ok(other) = other.cast::<Self>() {
            let other = other.get();
            (self.shape, &self.validity) == (other.shape, &other.validity)
                && self.bytes == other.bytes
        } else if let Ok(list) = other.cast::<PyList>() {
            list.len() == self.all().len()
                && list.iter().zip(self.all()).all(|(it, own)| match own {
                    Some(own) => bytes_of(it.as_borrowed()) == Some(own),
                    None => it.is_none(),
                })
        } else {
            // Other objects are asked themselves.
            return Ok(py.NotImplemented().into_bound(py));
        };
        Ok(PyBool::new(py, is_equal).to_owned().into_any())
    }

    fn __repr__(&self) -> String {
        let [count, length] = self.shape;
        match self.validity.nulls {
            0 => format!("<treewide.Digests: {count} of {length} bytes>"),
            nulls => format!("<treewide.Digests: {count} of {length} bytes, {nulls} null>"),
        }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (own, py) = (this.get(), this.py());
        let bits = (own.validity.nulls > 0).then(|| PyBytes::new(py, &own.validity.bits));
        (this.get_type(), (own.tobytes(py), own.length(), bits)).into_pyobject(py)
    }

    /// For annotations, such as `Digests[bytes | None]`.
    #[classmethod]
    #[pyo3(signature = (item, /))]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.getattr("GenericAlias")?.call1((class, item))
    }

    #[doc = stub!("Digests.__arrow_c_array__")]
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let _ = requested_schema;
        let nulls = self.validity.nulls;
        let validity = (nulls > 0).then_some((&self.validity.bits, nulls));
        arrow::fixed(py, &self.bytes, self.length(), self.shape[0] as usize, validity)
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
