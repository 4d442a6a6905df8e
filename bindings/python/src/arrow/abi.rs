//! The structures of Arrow's C data and stream interfaces, and how they move out of capsules of Python.
//!
//! The layout is that of <https://arrow.apache.org/docs/format/CDataInterface.html>. A structure whose `release` is null was
//! released, or moved to another owner.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ops::Deref;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// A type, and the name of a column.
#[repr(C)]
pub(super) struct ArrowSchema {
    pub(super) format: *const c_char,
    pub(super) name: *const c_char,
    pub(super) metadata: *const c_char,
    pub(super) flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut ArrowSchema,
    pub(super) dictionary: *mut ArrowSchema,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub(super) private_data: *mut c_void,
}

/// A part of a column.
#[repr(C)]
pub(super) struct ArrowArray {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut ArrowArray,
    pub(super) dictionary: *mut ArrowArray,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub(super) private_data: *mut c_void,
}

/// A source of parts of a column.
#[repr(C)]
pub(super) struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// One of the three structures.
///
/// # Safety
/// All bytes 0 are a value that was released. Another thread may use and release the structure: the interface asks its
/// producers for that.
pub(super) unsafe trait Structure {
    /// The name of its capsule.
    const NAME: &CStr;

    fn is_released(&self) -> bool;

    fn release(&mut self);
}

macro_rules! structures {
    ($($structure:ty: $name:literal;)*) => {$(
        // SAFETY: all fields are numbers and pointers, where 0 and null are values; `release` is null then.
        unsafe impl Structure for $structure {
            const NAME: &CStr = $name;

            fn is_released(&self) -> bool {
                self.release.is_none()
            }

            fn release(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it was not released before, and the producer's function takes its own structure.
                    unsafe { release(self) };
                }
            }
        }
    )*};
}
structures! {
    ArrowSchema: c"arrow_schema";
    ArrowArray: c"arrow_array";
    ArrowArrayStream: c"arrow_array_stream";
}

/// A structure that is released in the end.
pub(super) struct Owned<S: Structure>(S);

// SAFETY: `Structure` promises it.
unsafe impl<S: Structure> Send for Owned<S> {}

impl<S: Structure> Owned<S> {
    /// A structure that a producer will fill.
    fn empty() -> Self {
        // SAFETY: as `Structure` promises.
        Self(unsafe { mem::zeroed() })
    }

    fn place(&mut self) -> *mut S {
        &mut self.0
    }

    /// Moves the structure out of a capsule, as the interface asks of consumers.
    pub(super) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        // SAFETY: the object is alive; a null pointer comes with an exception.
        let place = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), S::NAME.as_ptr()) };
        if place.is_null() {
            return Err(PyErr::fetch(capsule.py()));
        }
        let mut taken = Self::empty();
        // SAFETY: a capsule of that name points to such a structure; this thread holds Python's lock, and the capsule.
        mem::swap(&mut taken.0, unsafe { &mut *place.cast::<S>() });
        if taken.is_released() {
            let problem = "this Arrow capsule was used before: export the column again";
            return Err(PyValueError::new_err(problem));
        }
        Ok(taken)
    }
}

impl<S: Structure> Drop for Owned<S> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<S: Structure> Deref for Owned<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

fn text<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: texts of a schema that are not null are C strings as long as it is not released.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

impl ArrowSchema {
    /// The type, such as `u` for text.
    pub(super) fn format(&self) -> &[u8] {
        text(self.format)
    }

    pub(super) fn name(&self) -> &[u8] {
        text(self.name)
    }
}

macro_rules! trees {
    ($($structure:ty)*) => {$(
        impl $structure {
            pub(super) fn children(&self) -> impl ExactSizeIterator<Item = &Self> {
                let count = if self.children.is_null() { 0 } else { self.n_children };
                // SAFETY: there are that many children, which live as long as this.
                (0..usize::try_from(count).unwrap_or(0)).map(|at| unsafe { &**self.children.add(at) })
            }

            /// The only column of a table; `None` if there is not one.
            pub(super) fn only_child(&self) -> Option<&Self> {
                self.children().next().filter(|_| self.n_children == 1)
            }

            pub(super) fn dictionary(&self) -> Option<&Self> {
                // SAFETY: it is null, or lives as long as this.
                unsafe { self.dictionary.as_ref() }
            }
        }
    )*};
}
trees! { ArrowSchema ArrowArray }

impl ArrowArray {
    /// The start of a buffer; `None` if there is not one.
    pub(super) fn buffer(&self, index: usize) -> Option<*const u8> {
        if self.buffers.is_null() || index >= usize::try_from(self.n_buffers).unwrap_or(0) {
            return None;
        }
        // SAFETY: there are `n_buffers` pointers.
        let start = unsafe { *self.buffers.add(index) };
        (!start.is_null()).then_some(start.cast())
    }
}

impl Owned<ArrowArrayStream> {
    pub(super) fn schema(&mut self, py: Python<'_>) -> PyResult<Owned<ArrowSchema>> {
        let mut schema = Owned::<ArrowSchema>::empty();
        let get = self.get_schema.ok_or_else(|| broken("the stream has no get_schema"))?;
        // SAFETY: the stream was not released, and there is room for a schema.
        match py.detach(|| unsafe { get(self.place(), schema.place()) }) {
            0 if !schema.is_released() => Ok(schema),
            0 => Err(broken("the stream has no schema")),
            code => Err(self.error(py, code)),
        }
    }

    /// The next part; `None` at the end.
    pub(super) fn next(&mut self, py: Python<'_>) -> PyResult<Option<Owned<ArrowArray>>> {
        let mut array = Owned::<ArrowArray>::empty();
        let get = self.get_next.ok_or_else(|| broken("the stream has no get_next"))?;
        // Producers may compute, or wait for other threads.
        // SAFETY: the stream was not released, and there is room for an array.
        match py.detach(|| unsafe { get(self.place(), array.place()) }) {
            0 => Ok((!array.is_released()).then_some(array)),
            code => Err(self.error(py, code)),
        }
    }

    fn error(&mut self, py: Python<'_>, code: c_int) -> PyErr {
        if let Some(error) = PyErr::take(py) {
            return error;
        }
        let text = self.get_last_error.and_then(|get| {
            // SAFETY: the stream was not released, and an operation failed. The text is a C string, or null.
            let text = unsafe { get(self.place()).as_ref()? };
            // SAFETY: as above.
            Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        });
        let text = text.unwrap_or_else(|| format!("error {code}"));
        PyValueError::new_err(format!("the Arrow stream cannot be read: {text}"))
    }
}

/// For structures that are not as the interface says.
#[cold]
pub(super) fn broken(problem: &str) -> PyErr {
    PyValueError::new_err(format!("this Arrow array is not valid: {problem}"))
}

/// The two objects of a tuple that `__arrow_c_array__` returned.
pub(super) fn pair<'py>(
    returned: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    returned
        .extract()
        .map_err(|_| PyTypeError::new_err("__arrow_c_array__ did not return two capsules"))
}
