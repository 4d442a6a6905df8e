//! The mode that `key` and `derive_key_context` ask for.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treewide::{KEY_LEN, Mode};

use crate::buffer::{self, Items};

/// # Errors
/// `ValueError` for a key of another length and for a key with a context; `TypeError` for a key that is not a buffer.
#[inline]
pub(crate) fn mode(key: Option<&Bound<'_, PyAny>>, context: Option<&str>) -> PyResult<Mode> {
    match (key, context) {
        (None, None) => Ok(Mode::PLAIN),
        (Some(key), None) => buffer::with(key, Items::Bytes, |key| match key.try_into() {
            Ok(key) => Ok(Mode::keyed(key)),
            Err(_) => Err(PyValueError::new_err(format!(
                "a key has {KEY_LEN} bytes, and this one has {}",
                key.len()
            ))),
        }),
        (None, Some(context)) => Ok(Mode::derive_key(context)),
        (Some(_), Some(_)) => Err(PyValueError::new_err(
            "key and derive_key_context exclude each other: pass one of them",
        )),
    }
}
