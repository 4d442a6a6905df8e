//! Digests as an Arrow array of the type `fixed_size_binary`, without a copy.

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::abi::{ArrowArray, ArrowSchema, Structure};

/// The flag of a schema whose values may be null.
const NULLABLE: i64 = 2;

/// What an exported array keeps alive. No Python objects, so that any thread may release it.
struct Kept {
    buffers: [*const c_void; 2],
    _bytes: Arc<Vec<u8>>,
    _validity: Option<Arc<Vec<u8>>>,
}

/// The capsules of an array of `count` values of `width` bytes.
pub(crate) fn fixed<'py>(
    py: Python<'py>,
    bytes: &Arc<Vec<u8>>,
    width: usize,
    count: usize,
    validity: Option<(&Arc<Vec<u8>>, usize)>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    if i32::try_from(width).is_err() {
        return Err(PyOverflowError::new_err("a value of Arrow has fewer than 2**31 bytes"));
    }
    let format = CString::new(format!("w:{width}")).expect("no byte of it is 0");
    let schema = ArrowSchema {
        format: format.into_raw(),
        name: c"".as_ptr(),
        metadata: ptr::null(),
        flags: NULLABLE,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: ptr::null_mut(),
    };
    let bits = validity.map_or(ptr::null(), |(bits, _)| bits.as_ptr());
    let kept = Box::into_raw(Box::new(Kept {
        buffers: [bits.cast(), bytes.as_ptr().cast()],
        _bytes: Arc::clone(bytes),
        _validity: validity.map(|(bits, _)| Arc::clone(bits)),
    }));
    let array = ArrowArray {
        length: count as i64,
        null_count: validity.map_or(0, |(_, nulls)| nulls as i64),
        offset: 0,
        n_buffers: 2,
        n_children: 0,
        // SAFETY: it was just allocated, and `release_array` frees it.
        buffers: unsafe { (&raw mut (*kept).buffers).cast() },
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: kept.cast(),
    };
    Ok((capsule(py, schema)?, capsule(py, array)?))
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: a consumer passes a schema of ours that was not released; its format is a `CString`.
    unsafe {
        drop(CString::from_raw((*schema).format.cast_mut()));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: a consumer passes an array of ours that was not released; `private_data` is a box.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Kept>()));
        (*array).release = None;
    }
}

/// A capsule that has the structure until a consumer moves it out.
fn capsule<S: Structure>(py: Python<'_>, structure: S) -> PyResult<Bound<'_, PyAny>> {
    unsafe extern "C" fn destroy<S: Structure>(capsule: *mut ffi::PyObject) {
        // SAFETY: the capsule is ours, so it has a box with such a structure.
        unsafe {
            let place = ffi::PyCapsule_GetPointer(capsule, S::NAME.as_ptr()).cast::<S>();
            Box::from_raw(place).release();
        }
    }

    let place = Box::into_raw(Box::new(structure));
    let name: &CStr = S::NAME;
    // SAFETY: the pointer is not null, the name lives forever, and the destructor fits the pointer.
    let capsule = unsafe { ffi::PyCapsule_New(place.cast(), name.as_ptr(), Some(destroy::<S>)) };
    if capsule.is_null() {
        // SAFETY: the box has no other owner.
        unsafe { Box::from_raw(place) }.release();
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference to an object.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}
