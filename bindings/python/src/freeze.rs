//! Classes that cannot be changed, as those of `hashlib` cannot.
//!
//! The stable interface of Python has a function for this from 3.14 on, `PyType_Freeze`, and one wheel serves older versions
//! too. So the function is looked for in the running Python. Before 3.14, a flag of the class is set, whose place is known
//! for these versions:
//!
//! ```text
//! struct of a class   | object | ob_size | 18 pointers and sizes | tp_flags | ...
//! ```

use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{PyTypeInfo, ffi};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The fields between the object at the beginning of a class and its flags.
const BEFORE_FLAGS: usize = 19;

/// `Py_TPFLAGS_IMMUTABLETYPE`.
const IMMUTABLE: usize = 1 << 8;

/// Makes setting an attribute of the class a `TypeError`. The class must be complete.
pub(crate) fn freeze<T: PyTypeInfo>(py: Python<'_>) -> PyResult<()> {
    let class = T::type_object(py);
    if py.version_info() < (3, 14) { by_flag(&class) } else { by_function(&class) }
}

fn by_flag(class: &Bound<'_, PyType>) -> PyResult<()> {
    // Builds without the global lock have longer objects.
    let object: usize = class.py().get_type::<PyAny>().getattr("__basicsize__")?.extract()?;
    let at = object + BEFORE_FLAGS * size_of::<usize>();
    let class = class.as_type_ptr();
    // SAFETY: the class is alive, and its struct is longer than that, in all versions of Python before 3.14.
    let flags = unsafe { &*class.cast::<u8>().add(at).cast::<AtomicUsize>() };
    // SAFETY: the class is alive.
    let expected = unsafe { ffi::PyType_GetFlags(class) } as usize;
    // Otherwise the struct is not as above, and the class can be changed: that does no harm.
    let frozen = flags.compare_exchange(
        expected,
        expected | IMMUTABLE,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
    if frozen.is_ok() {
        // SAFETY: the class is alive.
        unsafe { ffi::PyType_Modified(class) };
    }
    Ok(())
}

#[cfg(unix)]
fn by_function(class: &Bound<'_, PyType>) -> PyResult<()> {
    use std::ffi::{c_int, c_void};

    type Freeze = unsafe extern "C" fn(*mut ffi::PyTypeObject) -> c_int;
    // SAFETY: the name is a C string. Python's functions are found, because this extension uses others of them.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyType_Freeze".as_ptr()) };
    if found.is_null() {
        return Ok(());
    }
    // SAFETY: the stable interface promises this signature.
    let freeze = unsafe { std::mem::transmute::<*mut c_void, Freeze>(found) };
    // SAFETY: the class is alive.
    match unsafe { freeze(class.as_type_ptr()) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(class.py())),
    }
}

/// Looking for a function is not written for these systems; the class can be changed.
#[cfg(not(unix))]
fn by_function(_: &Bound<'_, PyType>) -> PyResult<()> {
    Ok(())
}
