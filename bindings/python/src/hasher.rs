//! The class `blake3`: that of the package `blake3`, and more.
//!
//! A hasher is locked while it works, so threads that share one never see an error. A thread waits for the lock without
//! holding up other Python threads.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::exceptions::{PyBlockingIOError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString, PyTuple, PyType};
use treewide::file::Strategy;
use treewide::{BLOCK_LEN, Hasher, KEY_LEN, OUT_LEN};

use crate::buffer::{self, Items, View};
use crate::files::update_from;
use crate::mode::mode;
use crate::oneshot::{DETACHED, check_length, extended, fill, hex, long_hex};
use crate::paths::FilePath;
use crate::threads::{self, Threads};

/// Bytes that `update_reader` asks for at a time. A guess: they stay in the second-level cache.
const READ: usize = 256 * 1024;

/// A BLAKE3 hasher: input in pieces, output of any length.
///
/// `data` is the first piece, if there is one. `key` is 32 bytes. `derive_key_context` names the purpose of a derived
/// key; it excludes `key`. `max_threads` is the most threads that work on one input: 1, more, or `blake3.AUTO`. `usedforsecurity`
/// changes nothing.
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

    fn append_file<'py>(
        this: Bound<'py, Self>,
        path: &FilePath,
        strategy: Strategy,
    ) -> PyResult<Bound<'py, Self>> {
        let (own, py) = (this.get(), this.py());
        update_from(py, &path.0, own.threads, None, |options| {
            let mut current = own.lock();
            let mut hasher = current.clone();
            options.strategy(strategy).update(&mut hasher, &path.0)?;
            *current = hasher;
            Ok(())
        })?;
        Ok(this)
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

    /// Appends bytes. Returns the hasher.
    #[pyo3(signature = (data, /))]
    fn update<'py>(this: Bound<'py, Self>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        buffer::with(data, Items::Bytes, |data| this.get().append(this.py(), data))?;
        Ok(this)
    }

    /// Appends a file. Returns the hasher.
    ///
    /// The file is mapped or read, by what is faster. One that becomes shorter while it is read raises `OSError`; the
    /// hasher is then as it was before.
    #[pyo3(signature = (path))]
    fn update_mmap(this: Bound<'_, Self>, path: FilePath) -> PyResult<Bound<'_, Self>> {
        Self::append_file(this, &path, Strategy::Auto)
    }

    /// Does what `update_mmap` does, by a strategy of one's own choice.
    #[pyo3(signature = (path, /, *, strategy="auto"))]
    fn update_file<'py>(
        this: Bound<'py, Self>,
        path: FilePath,
        strategy: &str,
    ) -> PyResult<Bound<'py, Self>> {
        let found = Strategy::ALL.into_iter().find(|it| it.name() == strategy);
        let strategy = found.ok_or_else(|| {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            PyValueError::new_err(format!("strategy is one of {names}, and not {strategy:?}"))
        })?;
        Self::append_file(this, &path, strategy)
    }

    /// Appends all that is left of a binary file object. Returns the hasher.
    ///
    /// The object has `readinto`, or `read` that takes a number of bytes. For a file with a name, `update_mmap` is faster.
    #[pyo3(signature = (file, /))]
    fn update_reader<'py>(
        this: Bound<'py, Self>,
        file: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let (own, py) = (this.get(), this.py());
        if !file.hasattr("readinto")? {
            loop {
                let piece = file.call_method1("read", (READ,))?;
                check_not_blocked(&piece)?;
                if piece.is_instance_of::<PyString>() {
                    return Err(text_file());
                }
                let len = buffer::with(&piece, Items::Bytes, |data| {
                    own.append(py, data).map(|()| data.len())
                })?;
                if len == 0 {
                    return Ok(this);
                }
            }
        }
        let room = PyByteArray::new_with(py, READ, |_| Ok(()))?;
        // Held, so that nobody changes its length.
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
            if data.is_empty() {
                return Ok(this);
            }
            own.append(py, data)?;
        }
    }

    /// Returns an independent hasher with the same input so far.
    fn copy(&self, py: Python<'_>) -> Self {
        Self { hasher: Mutex::new(self.snapshot(py)), threads: self.threads }
    }

    /// Forgets all input, also that of the constructor. The key or context stays.
    fn reset(&self, py: Python<'_>) {
        self.locked(py, |hasher| {
            hasher.reset();
        });
    }

    /// Returns `length` bytes of the digest, from byte `seek` on. More input may follow.
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

    /// Returns the same as `digest`, as hexadecimal digits. `length` and `seek` are in bytes.
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

    /// Writes the digest, from byte `seek` on, to all of a writable buffer. Nothing is allocated.
    #[pyo3(signature = (out, /, *, seek=0))]
    fn digest_into(&self, py: Python<'_>, out: &Bound<'_, PyAny>, seek: u64) -> PyResult<()> {
        let mut out = View::writable(out)?;
        fill(py, &self.snapshot(py), out.bytes_mut(), seek);
        Ok(())
    }

    /// The number of bytes so far.
    #[getter]
    fn count(&self, py: Python<'_>) -> u64 {
        self.locked(py, |hasher| hasher.count())
    }

    /// Returns the state, as 188 to 1,916 bytes that `from_state` continues from, also on another machine.
    ///
    /// Secret: the bytes contain the key, and up to 64 bytes of input. `pickle` stores these bytes too.
    fn to_state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.snapshot(py).to_state().as_bytes())
    }

    /// Returns the hasher that `to_state` saved.
    ///
    /// Raises `ValueError` for bytes that are not a state or were changed. This finds accidents, not attacks.
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

    /// For `pickle` and `copy`. The bytes contain the key.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (own, py) = (this.get(), this.py());
        let state = (own.to_state(py), own.threads.number());
        (this.get_type().getattr("from_state")?, state).into_pyobject(py)
    }
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

/// Returns `blake3(data, ...)`, with the shape of `hashlib.new`. Raises `ValueError` for another name.
#[pyfunction]
#[pyo3(signature = (name, data=None, /, *, key=None, derive_key_context=None, max_threads=1, usedforsecurity=true))]
pub(crate) fn new(
    py: Python<'_>,
    name: &str,
    data: Option<&Bound<'_, PyAny>>,
    key: Option<&Bound<'_, PyAny>>,
    derive_key_context: Option<&str>,
    max_threads: isize,
    usedforsecurity: bool,
) -> PyResult<Blake3> {
    if !name.eq_ignore_ascii_case("blake3") {
        let problem = format!(
            "unsupported hash type {name:?}: this module has \"blake3\"; hashlib.new has others"
        );
        return Err(PyValueError::new_err(problem));
    }
    Blake3::new(py, data, key, derive_key_context, max_threads, usedforsecurity)
}
