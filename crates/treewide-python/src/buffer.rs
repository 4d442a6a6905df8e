//! The bytes of Python objects, in place.
//!
//! Python code in another thread can write to a `bytearray` or an array while it is being hashed. The digest is then of a
//! mixture, as with `hashlib`.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::slice;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Which buffers are accepted. All of them are contiguous and in C order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Items {
    /// Items of any type, in any number of dimensions: their bytes.
    Any,
    /// Items of one byte, as the package `blake3` has it.
    Bytes,
}

/// A buffer that is held until this is dropped, on a thread that is attached to the interpreter.
///
/// It may be moved, because it has no shape, which could point into itself.
pub(crate) struct View(ffi::Py_buffer);

impl View {
    fn get(object: &Bound<'_, PyAny>, flags: i32) -> PyResult<Self> {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the object is alive, and there is room for a `Py_buffer`.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the call succeeded, so it initialised the view.
        Ok(Self(unsafe { view.assume_init() }))
    }

    /// A buffer with any items.
    pub(crate) fn any(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::get(object, ffi::PyBUF_SIMPLE).map_err(|error| explained(object, error))
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
        // SAFETY: the view is held while the slice is borrowed.
        unsafe { bytes_of(&self.0) }
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
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the view was initialised, and this thread is attached, as the type demands.
        unsafe { ffi::PyBuffer_Release(&mut self.0) };
    }
}

/// # Safety
/// The view is held while the slice is used, and is contiguous.
unsafe fn bytes_of<'a>(view: &ffi::Py_buffer) -> &'a [u8] {
    if view.len == 0 {
        return &[];
    }
    // SAFETY: a contiguous buffer has `len` bytes at `buf`.
    unsafe { slice::from_raw_parts(view.buf.cast(), view.len as usize) }
}

/// Calls `f` with the bytes of `object`.
#[inline]
pub(crate) fn with<R>(
    object: &Bound<'_, PyAny>,
    items: Items,
    f: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    // `bytes` never change, and the caller holds a reference.
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return f(bytes.as_bytes());
    }
    match items {
        Items::Any => f(View::any(object)?.bytes()),
        Items::Bytes => with_items_of_one_byte(object, f),
    }
}

fn with_items_of_one_byte<R>(
    object: &Bound<'_, PyAny>,
    f: impl FnOnce(&[u8]) -> PyResult<R>,
) -> PyResult<R> {
    /// Stays in its place, because its shape may point into itself.
    struct InPlace<'a>(&'a mut ffi::Py_buffer);
    impl Drop for InPlace<'_> {
        fn drop(&mut self) {
            // SAFETY: the view was initialised, and this thread is attached.
            unsafe { ffi::PyBuffer_Release(self.0) };
        }
    }
    let mut view = MaybeUninit::uninit();
    let flags = ffi::PyBUF_ND | ffi::PyBUF_FORMAT;
    // SAFETY: the object is alive, and there is room for a `Py_buffer`.
    if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } != 0 {
        return Err(explained(object, PyErr::fetch(object.py())));
    }
    // SAFETY: the call succeeded, so it initialised the view.
    let view = InPlace(unsafe { view.assume_init_mut() });
    if !view.0.format.is_null() {
        // SAFETY: a format that is not null is a C string while the view is held.
        let format = unsafe { CStr::from_ptr(view.0.format) };
        if !is_one_byte(format.to_bytes()) {
            return Err(PyBufferError::new_err(format!(
                "blake3 takes items of one byte, and this buffer has items of type {:?}: pass \
                 memoryview(x).cast('B'), or use treewide.digest, which takes the bytes of any items",
                format.to_string_lossy()
            )));
        }
    }
    if view.0.ndim == 0 {
        return Err(PyBufferError::new_err(
            "blake3 takes no array of 0 dimensions: pass x.tobytes(), or use treewide.digest",
        ));
    }
    // SAFETY: the view is held until `f` has returned. `PyBUF_ND` without strides asks for a contiguous one.
    f(unsafe { bytes_of(view.0) })
}

/// Whether a format of the module `struct` is one of `B`, `b` and `c`.
fn is_one_byte(format: &[u8]) -> bool {
    let item = match format {
        [b'@' | b'=' | b'<' | b'>' | b'!', item @ ..] => item,
        item => item,
    };
    matches!(item, [b'B' | b'b' | b'c'])
}

/// What to do about an object that gives no buffer.
#[cold]
fn explained(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if object.is_instance_of::<PyString>() {
        return PyTypeError::new_err("strings must be encoded before hashing: pass text.encode()");
    }
    // SAFETY: the object is alive.
    if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
        let name = object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
        return PyTypeError::new_err(format!(
            "a bytes-like object is required, not {name:?}: pass bytes, or an object with the buffer protocol"
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
