//! The class `blake3`: that of the package `blake3`, and more.
//!
//! A hasher is locked while it works, so threads that share one never see an error. A thread waits for the lock without
//! holding up other Python threads.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::exceptions::{
    PyBlockingIOError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString, PyTuple, PyType};
use treewide::{BLOCK_LEN, Hasher, KEY_LEN, OUT_LEN};

use crate::buffer::{self, Items, View};
use crate::files::update_from;
use crate::mode::mode;
use crate::oneshot::{DETACHED, check_length, extended, fill, hex, long_hex};
use crate::paths::FilePath;
use crate::threads::{self, Threads};

/// Bytes that `update_reader` asks for at a time. A guess: they stay in the second-level cache.
const READ: usize = 256 * 1024;

#[doc = stub!("blake3")]
#[pyclass(name = "blake3", module = "treewide", frozen)]
pub(crate) struct Blake3 {
    hasher: Mutex<Hasher>,
    threads: Threads,
}

impl Blake3 {
    fn lock(&self) -> MutexGuard<'_, Hasher> {
        // Nothing panics while the lock is held: the length is checked before.
        self.hasher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the hasher, and does not hold up other threads if another one has it.
    fn locked<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Hasher) -> R + Send) -> R {
        match self.hasher.try_lock() {
            Ok(mut hasher) => f(&mut hasher),
            Err(TryLockError::Poisoned(hasher)) => f(&mut hasher.into_inner()),
            Err(TryLockError::WouldBlock) => py.detach(|| f(&mut self.lock())),
        }
    }

    fn snapshot(&self, py: Python<'_>) -> Hasher {
        self.locked(py, |hasher| hasher.clone())
    }

    fn append(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let append = |hasher: &mut Hasher| append(hasher, data, self.threads);
        if data.len() < DETACHED {
            self.locked(py, append)
        } else {
            // The lock is taken by this thread, never by one of the pool.
            py.detach(|| append(&mut self.lock()))
        }
    }
}

fn append(hasher: &mut Hasher, data: &[u8], threads: Threads) -> PyResult<()> {
    // Only a saved state comes close to that.
    if hasher.count().checked_add(data.len() as u64).is_none() {
        return Err(PyOverflowError::new_err("an input of BLAKE3 has fewer than 2**64 bytes"));
    }
    threads.update(hasher, data);
    Ok(())
}

#[pymethods]
impl Blake3 {
    /// The name of the algorithm, `"blake3"`.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const name: &'static str = "blake3";

    /// The number of bytes of a digest, 32.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const digest_size: usize = OUT_LEN;

    /// The number of bytes of a block, 64.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const block_size: usize = BLOCK_LEN;

    /// The number of bytes of a key, 32.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const key_size: usize = KEY_LEN;

    /// The value of `max_threads` for as many threads as the input is worth.
    #[classattr]
    const AUTO: isize = threads::AUTO;

    #[new]
    #[pyo3(signature = (data=None, /, *, key=None, derive_key_context=None, max_threads=1, usedforsecurity=true))]
    fn new(
        py: Python<'_>,
        data: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        derive_key_context: Option<&str>,
        max_threads: isize,
        usedforsecurity: bool,
    ) -> PyResult<Self> {
        let _ = usedforsecurity;
        let mode = mode(key, derive_key_context)?;
        let threads = Threads::new(max_threads)?;
        let mut hasher = Hasher::with_mode(mode);
        if let Some(data) = data {
            buffer::with(data, Items::Bytes, |data| {
                let mut update = || threads.update(&mut hasher, data);
                if data.len() < DETACHED {
                    update()
                } else {
                    py.detach(update)
                }
                Ok(())
            })?;
        }
        Ok(Self { hasher: Mutex::new(hasher), threads })
    }

    #[doc = stub!("blake3.update")]
    #[pyo3(signature = (data, /))]
    fn update<'py>(this: Bound<'py, Self>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        buffer::with(data, Items::Bytes, |data| this.get().append(this.py(), data))?;
        Ok(this)
    }

    #[doc = stub!("blake3.update_mmap")]
    #[pyo3(signature = (path))]
    fn update_mmap(this: Bound<'_, Self>, path: FilePath) -> PyResult<Bound<'_, Self>> {
        let own = this.get();
        update_from(this.py(), &path.0, own.threads, None, |options| {
            let mut current = own.lock();
            let mut hasher = current.clone();
            options.update(&mut hasher, &path.0)?;
            *current = hasher;
            Ok(())
        })?;
        Ok(this)
    }

    #[doc = stub!("blake3.update_reader")]
    #[pyo3(signature = (file, /))]
    fn update_reader<'py>(
        this: Bound<'py, Self>,
        file: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let (own, py) = (this.get(), this.py());
        let before = own.snapshot(py);
        // Without the lock, because the file may be Python code that looks at this hasher.
        let mut hasher = before.clone();
        read_all(file, |data| {
            // A reader in C does not look for Ctrl-C.
            py.check_signals()?;
            if data.len() < DETACHED {
                append(&mut hasher, data, own.threads)
            } else {
                py.detach(|| append(&mut hasher, data, own.threads))
            }
        })?;
        own.locked(py, |current| {
            if current.count() != before.count() {
                return Err(PyRuntimeError::new_err(
                    "this hasher got other input while the file was read, and nothing of the file: use a hasher for each",
                ));
            }
            *current = hasher;
            Ok(())
        })?;
        Ok(this)
    }

    #[doc = stub!("blake3.copy")]
    fn copy(&self, py: Python<'_>) -> Self {
        Self { hasher: Mutex::new(self.snapshot(py)), threads: self.threads }
    }

    #[doc = stub!("blake3.reset")]
    fn reset(&self, py: Python<'_>) {
        self.locked(py, |hasher| {
            hasher.reset();
        });
    }

    #[doc = stub!("blake3.digest")]
    #[pyo3(signature = (length=32, *, seek=0))]
    fn digest<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        seek: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if length == OUT_LEN && seek == 0 {
            let hash = self.locked(py, |hasher| hasher.finalize());
            return Ok(PyBytes::new(py, hash.as_bytes()));
        }
        check_length(length)?;
        extended(py, &self.snapshot(py), length, seek)
    }

    #[doc = stub!("blake3.hexdigest")]
    #[pyo3(signature = (length=32, *, seek=0))]
    fn hexdigest<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        seek: u64,
    ) -> PyResult<Bound<'py, PyString>> {
        if length == OUT_LEN && seek == 0 {
            return hex(py, self.locked(py, |hasher| hasher.finalize()).as_bytes());
        }
        check_length(length.saturating_mul(2))?;
        long_hex(&extended(py, &self.snapshot(py), length, seek)?)
    }

    #[doc = stub!("blake3.digest_into")]
    #[pyo3(signature = (out, /, *, seek=0))]
    fn digest_into(&self, py: Python<'_>, out: &Bound<'_, PyAny>, seek: u64) -> PyResult<()> {
        let mut out = View::writable(out)?;
        fill(py, &self.snapshot(py), out.bytes_mut(), seek);
        Ok(())
    }

    #[doc = stub!("blake3.count")]
    #[getter]
    fn count(&self, py: Python<'_>) -> u64 {
        self.locked(py, |hasher| hasher.count())
    }

    #[doc = stub!("blake3.to_state")]
    fn to_state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.snapshot(py).to_state().as_bytes())
    }

    #[doc = stub!("blake3.from_state")]
    #[classmethod]
    #[pyo3(signature = (state, /, max_threads=1))]
    fn from_state(
        _class: &Bound<'_, PyType>,
        state: &Bound<'_, PyAny>,
        max_threads: isize,
    ) -> PyResult<Self> {
        let threads = Threads::new(max_threads)?;
        let hasher = buffer::with(state, Items::Bytes, |state| {
            let hasher = Hasher::from_state(state)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            // A subtree of the Rust library's module `hazmat` has no digest.
            if state[42..50] != [0; 8] {
                let problem = "this is the state of a subtree that does not begin at byte 0: only Rust can use it";
                return Err(PyValueError::new_err(problem));
            }
            Ok(hasher)
        })?;
        Ok(Self { hasher: Mutex::new(hasher), threads })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<treewide.blake3 of {} bytes>", self.locked(py, |hasher| hasher.count()))
    }

    /// For `pickle` and `copy`. The bytes contain the key.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (own, py) = (this.get(), this.py());
        let state = (own.to_state(py), own.threads.number());
        (this.get_type().getattr("from_state")?, state).into_pyobject(py)
    }
}

/// Calls `append` with all that is left of a binary file object, piece by piece.
fn read_all(
    file: &Bound<'_, PyAny>,
    mut append: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<()> {
    let py = file.py();
    if !file.hasattr("readinto")? {
        if !file.hasattr("read")? {
            return Err(not_a_file(file));
        }
        loop {
            let piece = file.call_method1("read", (READ,))?;
            check_not_blocked(&piece)?;
            if piece.is_instance_of::<PyString>() {
                return Err(text_file());
            }
            let is_end =
                buffer::with(&piece, Items::Bytes, |data| append(data).map(|()| data.is_empty()))?;
            if is_end {
                return Ok(());
            }
        }
    }
    let room = PyByteArray::new_with(py, READ, |_| Ok(()))?;
    // Held, so that its length does not change.
    let view = View::new(&room, Items::Bytes)?;
    loop {
        let read = file.call_method1("readinto", (&room,))?;
        check_not_blocked(&read)?;
        let len: usize = read.extract()?;
        let Some(data) = view.bytes().get(..len) else {
            let problem =
                format!("readinto returned {len}, and it was given room for {READ} bytes");
            return Err(PyValueError::new_err(problem));
        };
        append(data)?;
        if data.is_empty() {
            return Ok(());
        }
    }
}

#[cold]
fn not_a_file(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string());
    let has = |attribute| object.hasattr(attribute).unwrap_or(false);
    let advice = if object.is_instance_of::<PyString>() || has("__fspath__") {
        "pass open(path, 'rb'), or use update_mmap(path)"
    } else if has("makefile") {
        "pass x.makefile('rb')"
    } else {
        "pass an object with readinto or read; update takes bytes"
    };
    PyTypeError::new_err(format!("update_reader takes an open file, and not {name:?}: {advice}"))
}

fn check_not_blocked(result: &Bound<'_, PyAny>) -> PyResult<()> {
    if result.is_none() {
        return Err(PyBlockingIOError::new_err(
            "the file has nothing to read yet: make it blocking",
        ));
    }
    Ok(())
}

fn text_file() -> PyErr {
    PyTypeError::new_err("the file returns text: open it in binary mode, as in open(path, 'rb')")
}

#[doc = stub!("new")]
#[pyfunction]
#[pyo3(signature = (name, data=None, /, *, key=None, derive_key_context=None, threads=1, usedforsecurity=true))]
pub(crate) fn new(
    py: Python<'_>,
    name: &str,
    data: Option<&Bound<'_, PyAny>>,
    key: Option<&Bound<'_, PyAny>>,
    derive_key_context: Option<&str>,
    threads: isize,
    usedforsecurity: bool,
) -> PyResult<Blake3> {
    if !name.eq_ignore_ascii_case("blake3") {
        let problem = format!(
            "unsupported hash type {name:?}: this module has \"blake3\"; hashlib.new has others"
        );
        return Err(PyValueError::new_err(problem));
    }
    Blake3::new(py, data, key, derive_key_context, threads, usedforsecurity)
}
