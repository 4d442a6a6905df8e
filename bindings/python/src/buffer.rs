//! The bytes of Python objects, in place: through the buffer protocol, or else DLPack.
//!
//! Python code in another thread can write to a `bytearray` or an array while it is being hashed. The digest is then of a
//! mixture, as with `hashlib`.

use std::ffi::CStr;
use std::ptr;
use std::slice;

use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::tensor::Tensor;

/// Which buffers are accepted. All of them are contiguous and in C order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    /// Items of any type, in any number of dimensions: their bytes.
    Any,
    /// Items of one byte, as the package `blake3` has it.
    Bytes,
}

/// A contiguous buffer that is held until this is dropped, on a thread that is attached to the interpreter.
///
/// In a box, because its shape may point into itself.
pub(crate) struct View(Box<ffi::Py_buffer>);

impl View {
    /// A buffer in C order, with its shape and the type of its items.
    fn get(object: &Bound<'_, PyAny>, flags: i32) -> PyResult<Self> {
        let mut view = Box::<ffi::Py_buffer>::new_uninit();
        // SAFETY: the object is alive, and there is room for a `Py_buffer`.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the call succeeded, so it initialised the view.
        Ok(Self(unsafe { view.assume_init() }))
    }

    /// A buffer to read.
    ///
    /// # Errors
    /// `TypeError` for an object without a buffer and for items that are addresses of Python objects; `BufferError` for
    /// a buffer that is not contiguous, or has other `items`.
    pub(crate) fn new(object: &Bound<'_, PyAny>, items: Items) -> PyResult<Self> {
        let view = match Self::get(object, ffi::PyBUF_ND | ffi::PyBUF_FORMAT) {
            Ok(view) => view,
            // Types that the module `struct` cannot name, such as NumPy's dates and `bfloat16`, have bytes all the same.
            Err(error) => match Self::get(object, ffi::PyBUF_ND) {
                Ok(_) if items == Items::Bytes => return Err(not_one_byte("without a name")),
                Ok(_) if has_object_fields(object) => return Err(only_addresses()),
                Ok(view) => return Ok(view),
                Err(_) => return Err(explained(object, error)),
            },
        };
        match items {
            Items::Any if has_objects(view.format()) => Err(only_addresses()),
            Items::Bytes if !is_one_byte(view.format()) => {
                Err(not_one_byte(&String::from_utf8_lossy(view.format())))
            }
            Items::Bytes if view.0.ndim == 0 => Err(PyBufferError::new_err(
                "an array of 0 dimensions is not taken here: pass x.tobytes(), or use treewide.digest",
            )),
            _ => Ok(view),
        }
    }

    /// A buffer to read whose rows are contiguous, wherever each row is; `None` if there is none of two or more dimensions.
    fn of_rows(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Ok(view) = Self::get(object, ffi::PyBUF_STRIDED_RO | ffi::PyBUF_FORMAT) else {
            return Ok(None);
        };
        let shape = view.shape();
        if shape.len() < 2 || view.0.strides.is_null() {
            return Ok(None);
        }
        // SAFETY: strides that are not null have a number for each dimension while the view is held.
        let strides = unsafe { slice::from_raw_parts(view.0.strides, shape.len()) };
        let mut expected = view.0.itemsize;
        for (&len, &stride) in shape[1..].iter().zip(&strides[1..]).rev() {
            if len != 1 && stride != expected {
                return Ok(None);
            }
            expected *= len;
        }
        if has_objects(view.format()) {
            return Err(only_addresses());
        }
        Ok(Some(view))
    }

    /// From a row to the next, in bytes, and the bytes of each.
    fn row_step(&self) -> (isize, usize) {
        let len = self.shape()[1..].iter().product::<isize>() * self.0.itemsize;
        if self.0.strides.is_null() {
            return (len, len as usize);
        }
        // SAFETY: strides that are not null have a number for each dimension while the view is held.
        (unsafe { *self.0.strides }, len as usize)
    }

    /// A buffer to write to.
    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::get(object, ffi::PyBUF_WRITABLE).map_err(|error| {
            if Self::get(object, ffi::PyBUF_SIMPLE).is_err() {
                return explained(object, error);
            }
            let problem = "the output buffer is read-only: pass a bytearray or a writable array";
            PyBufferError::new_err(problem)
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: a contiguous buffer has `len` bytes at `buf` while the view is held.
        unsafe { slice::from_raw_parts(self.0.buf.cast(), self.0.len as usize) }
    }

    /// The bytes of a [`writable`](Self::writable) buffer.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert_eq!(self.0.readonly, 0, "a writable buffer");
        if self.0.len == 0 {
            return &mut [];
        }
        // SAFETY: a contiguous buffer that is not read-only has `len` bytes at `buf` while the view is held.
        unsafe { slice::from_raw_parts_mut(self.0.buf.cast(), self.0.len as usize) }
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        if self.0.shape.is_null() {
            return &[];
        }
        // SAFETY: a shape that is not null has `ndim` numbers while the view is held.
        unsafe { slice::from_raw_parts(self.0.shape, self.0.ndim as usize) }
    }

    /// The type of the items, as in the module `struct`.
    pub(crate) fn format(&self) -> &[u8] {
        if self.0.format.is_null() {
            return b"B";
        }
        // SAFETY: a format that is not null is a C string while the view is held.
        unsafe { CStr::from_ptr(self.0.format) }.to_bytes()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the view was initialised, and this thread is attached, as the type demands.
        unsafe { ffi::PyBuffer_Release(&mut *self.0) };
    }
}

/// The bytes of an object that lends them in one of two ways, on a thread that is attached to the interpreter.
pub(crate) enum Input {
    Buffer(View),
    Tensor(Tensor),
}

impl Input {
    /// # Errors
    /// Those of [`View::new`] with items of any type, and of [`Tensor::of`].
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let error = match View::new(object, Items::Any) {
            Ok(view) => return Ok(Self::Buffer(view)),
            Err(error) => error,
        };
        // What has a buffer of some layout is explained already.
        if View::get(object, ffi::PyBUF_STRIDED_RO).is_ok() {
            return Err(error);
        }
        Tensor::of(object)?.map(Self::Tensor).ok_or(error)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Buffer(view) => view.bytes(),
            Self::Tensor(tensor) => tensor.bytes(),
        }
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        match self {
            Self::Buffer(view) => view.shape(),
            Self::Tensor(tensor) => tensor.shape(),
        }
    }

    /// The bytes of an item.
    pub(crate) fn item_len(&self) -> usize {
        match self {
            Self::Buffer(view) => view.0.itemsize as usize,
            Self::Tensor(tensor) => tensor.item_len(),
        }
    }
}

/// An array whose rows are inputs. Each row is contiguous; all of them need not be.
pub(crate) struct Rows(Input);

impl Rows {
    /// # Errors
    /// Those of [`Input::new`].
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let error = match Input::new(object) {
            Ok(input) => return Ok(Self(input)),
            Err(error) => error,
        };
        if let Some(view) = View::of_rows(object)? {
            return Ok(Self(Input::Buffer(view)));
        }
        match Tensor::of_rows(object) {
            Ok(Some(tensor)) => Ok(Self(Input::Tensor(tensor))),
            _ => Err(error),
        }
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        self.0.shape()
    }

    /// The bytes of each row of an array of two or more dimensions.
    ///
    /// # Errors
    /// `BufferError` if rows begin or end inside of a byte.
    pub(crate) fn each(&self) -> PyResult<impl Iterator<Item = &[u8]>> {
        let (start, step, len): (*const u8, isize, usize) = match &self.0 {
            Input::Buffer(view) => {
                let (step, len) = view.row_step();
                (view.0.buf.cast_const().cast(), step, len)
            }
            Input::Tensor(tensor) => tensor.row_step()?,
        };
        Ok((0..self.shape()[0]).map(move |row| {
            if len == 0 {
                return &[][..];
            }
            // SAFETY: the object lends each row, which has `len` bytes one after the other, while this lives.
            unsafe { slice::from_raw_parts(start.offset(row * step), len) }
        }))
    }
}

/// Calls `f` with the bytes of `object`.
#[inline]
pub(crate) fn with<R>(
    object: &Bound<'_, PyAny>,
    items: Items,
    f: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    match bytes_of(object.as_borrowed()) {
        Some(bytes) => f(bytes),
        None if items == Items::Any => f(Input::new(object)?.bytes()),
        None => f(View::new(object, items)?.bytes()),
    }
}

/// The bytes of `bytes`; `None` for anything else, also for an object of a subclass, which may have another buffer.
///
/// They never change. With the stable interface of Python, this is one call into it, where PyO3's conversion and methods are
/// four.
#[inline]
pub(crate) fn bytes_of<'a>(object: Borrowed<'a, '_, PyAny>) -> Option<&'a [u8]> {
    if !object.is_exact_instance_of::<PyBytes>() {
        return None;
    }
    let (mut data, mut len) = (ptr::null_mut(), 0);
    // SAFETY: the object is `bytes` and alive, so the call succeeds, and the bytes are there while it lives.
    unsafe {
        ffi::PyBytes_AsStringAndSize(object.as_ptr(), &mut data, &mut len);
        Some(slice::from_raw_parts(data.cast(), len as usize))
    }
}

/// A list with room for that many inputs.
pub(crate) fn room<'a>(count: usize) -> PyResult<Vec<&'a [u8]>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| {
        PyMemoryError::new_err(format!("there is no memory for a list of {count} inputs"))
    })?;
    Ok(list)
}

/// Whether a format of the module `struct`, with NumPy's additions, has a Python object somewhere.
fn has_objects(format: &[u8]) -> bool {
    // Names of fields are between colons.
    format.split(|&byte| byte == b':').step_by(2).any(|types| types.contains(&b'O'))
}

/// Whether a format of the module `struct` is one of `B`, `b` and `c`.
fn is_one_byte(format: &[u8]) -> bool {
    let item = match format {
        [b'@' | b'=' | b'<' | b'>' | b'!', item @ ..] => item,
        item => item,
    };
    matches!(item, [b'B' | b'b' | b'c'])
}

/// Whether NumPy says that an array has Python objects.
fn has_object_fields(array: &Bound<'_, PyAny>) -> bool {
    array
        .getattr("dtype")
        .and_then(|dtype| dtype.getattr("hasobject")?.is_truthy())
        .unwrap_or(false)
}

#[cold]
fn only_addresses() -> PyErr {
    PyTypeError::new_err(
        "this array has Python objects, and its bytes are only their addresses: pass an array of numbers or of \
         strings of a fixed size, or treewide.hash_many(x.tolist()) if the objects are bytes",
    )
}

#[cold]
fn not_one_byte(format: &str) -> PyErr {
    PyBufferError::new_err(format!(
        "items of one byte are wanted, and this buffer has items of type {format:?}: pass \
         memoryview(x).cast('B'), or use treewide.digest, which takes the bytes of any items"
    ))
}

/// What to do about an object that gives no buffer.
#[cold]
fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if object.is_instance_of::<PyString>() {
        return PyTypeError::new_err(
            "strings must be encoded before hashing: pass text.encode(), or bytes.fromhex(text) for a digest",
        );
    }
    // SAFETY: the object is alive.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        let name = object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
        let has = |attribute| object.hasattr(attribute).unwrap_or(false);
        let advice = if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            "treewide.hash_many takes many inputs"
        } else if object.is_none() {
            "leave it out, or pass a column of Arrow with nulls=\"keep\" to treewide.hash_many"
        } else if has("__arrow_c_stream__") || has("__arrow_c_array__") {
            "treewide.hash_many takes the values of a column, one digest each"
        } else if has("__array__") {
            "pass numpy.asarray(x)"
        } else if has("read") {
            "treewide.hash_file takes the name of a file, and treewide.blake3().update_reader an open one"
        } else {
            "pass bytes, or an object with the buffer protocol"
        };
        return PyTypeError::new_err(format!(
            "a bytes-like object is required, not {name:?}: {advice}"
        ));
    }
    let is_about_layout =
        error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyValueError>(py);
    // Whatever its strides are.
    if is_about_layout && View::get(object, ffi::PyBUF_STRIDED_RO).is_ok() {
        let explained = PyBufferError::new_err(
            "this buffer is not C-contiguous, so its bytes are not in one piece: pass \
             numpy.ascontiguousarray(x) or bytes(x)",
        );
        explained.set_cause(py, Some(error));
        return explained;
    }
    error
}
