//! `treewide.scale.Parts`: one input hashed in parts, by threads, processes or machines.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use treewide::file::{ErrorKind, Options};
use treewide::hazmat::{ChainingValue, HasherExt};
use treewide::parts::{self, AbsorbError, Absorbed, MAX_OBJECT, Part};
use treewide::{CHUNK_LEN, Hasher, Mode};

use crate::block::{Indices, runs};
use crate::buffer::{self, Items};
use crate::files;
use crate::mode::mode;
use crate::oneshot::DETACHED;
use crate::outboard::group_of;
use crate::tensors::memory;

create_exception!(
    treewide.scale,
    Clash,
    PyValueError,
    "Two values for the same bytes: a broken machine, or a store that returned other bytes."
);

/// Where a range begins and ends.
pub(crate) type Ends = (u64, u64);

pub(crate) fn ends(range: Range<u64>) -> Ends {
    (range.start, range.end)
}

fn refused(py: Python<'_>, error: AbsorbError) -> PyErr {
    let text = error.to_string();
    let AbsorbError::Clash { here, there } = error else { return PyValueError::new_err(text) };
    let clash = Clash::new_err(text);
    let value = clash.value(py);
    let set = value.setattr("here", ends(here)).and(value.setattr("there", ends(there)));
    set.err().unwrap_or(clash)
}

/// Why a range of a file was not added.
enum Failure {
    Read(io::Error),
    Refused(AbsorbError),
}

impl From<AbsorbError> for Failure {
    fn from(error: AbsorbError) -> Self {
        Self::Refused(error)
    }
}

/// The value of a node, by the strategy that suits it; `None` if the file ends before the node does.
fn value(
    file: &File,
    node: &Range<u64>,
    total: u64,
    mode: Mode,
) -> io::Result<Option<ChainingValue>> {
    let mut hasher = Hasher::with_mode(mode);
    hasher.set_input_offset(node.start);
    // Other threads hash other ranges.
    let read = Options::new().threads(1).update_range(&mut hasher, file, "", node.clone());
    if let Err(error) = read {
        return match error.into_kind() {
            ErrorKind::Ended { .. } | ErrorKind::Shrank { .. } => Ok(None),
            ErrorKind::Read(error) => Err(error),
            other => Err(io::Error::other(other.to_string())),
        };
    }
    // The only chunk of an input is its root.
    let is_whole = total <= CHUNK_LEN as u64;
    Ok(Some(if is_whole { *hasher.finalize().as_bytes() } else { hasher.finalize_non_root() }))
}

/// Bytes that were new, and bytes that were there already.
fn counts(absorbed: Absorbed) -> (u64, u64) {
    (absorbed.new, absorbed.again)
}

#[doc = stub!("Parts")]
#[pyclass(module = "treewide.scale", frozen)]
pub(crate) struct Parts {
    /// The same as in `parts`, to hash without the lock.
    mode: Mode,
    total: u64,
    object: Vec<u8>,
    parts: Mutex<parts::Parts>,
}

impl Parts {
    fn of(parts: parts::Parts, mode: Mode) -> Self {
        let (total, object) = (parts.total(), parts.object().to_vec());
        Self { mode, total, object, parts: Mutex::new(parts) }
    }

    fn lock(&self) -> MutexGuard<'_, parts::Parts> {
        // A change of parts is whole or did not happen, so a panic leaves nothing half done.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock is taken while other Python threads may run, because its holder may wait for them.
    fn locked<R: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut parts::Parts) -> R + Send) -> R {
        py.detach(|| f(&mut self.lock()))
    }

    /// Bytes of the whole input.
    pub(crate) fn bytes(&self) -> u64 {
        self.total
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn check_same_mode(&self, other: &Self) -> PyResult<()> {
        let of = |parts: &Self| (parts.mode.key_words(), parts.mode.flags());
        if of(self) == of(other) {
            return Ok(());
        }
        Err(PyValueError::new_err(
            "these parts and the first ones have different keys or contexts: pass the parts of one key at a time",
        ))
    }

    /// Adds what was hashed elsewhere of this input, in its mode.
    pub(crate) fn add(
        &self,
        py: Python<'_>,
        found: Result<parts::Parts, AbsorbError>,
    ) -> PyResult<()> {
        let added = found.and_then(|found| {
            let found = found.of_object(&self.object);
            self.locked(py, |parts| parts.absorb(&found))
        });
        added.map(|_| ()).map_err(|error| refused(py, error))
    }

    fn copied(&self, py: Python<'_>) -> parts::Parts {
        self.locked(py, |parts| parts.clone())
    }
}

#[pymethods]
impl Parts {
    #[new]
    #[pyo3(signature = (total, /, *, object=None, key=None, derive_key_context=None))]
    fn new(
        total: u64,
        object: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        derive_key_context: Option<&str>,
    ) -> PyResult<Self> {
        let mode = mode(key, derive_key_context)?;
        let mut parts = parts::Parts::new(total, mode);
        if let Some(object) = object {
            let object = buffer::with(object, Items::Bytes, |object| Ok(object.to_vec()))?;
            if object.len() > MAX_OBJECT {
                return Err(PyValueError::new_err(format!(
                    "object has {} bytes, and names an object by at most {MAX_OBJECT}: pass its digest",
                    object.len()
                )));
            }
            parts = parts.of_object(&object);
        }
        Ok(Self::of(parts, mode))
    }

    #[doc = stub!("Parts.total")]
    #[getter]
    fn total(&self) -> u64 {
        self.total
    }

    #[doc = stub!("Parts.object")]
    #[getter]
    fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.object)
    }

    #[doc = stub!("Parts.parts")]
    fn parts<'py>(&self, py: Python<'py>) -> Vec<(u64, u64, Bound<'py, PyBytes>)> {
        let all: Vec<Part> = self.locked(py, |parts| parts.iter().collect());
        let all = all.into_iter();
        all.map(|it| (it.range.start, it.range.end, PyBytes::new(py, &it.cv))).collect()
    }

    #[doc = stub!("Parts.hash")]
    #[pyo3(signature = (data, at, /))]
    fn hash(&self, py: Python<'_>, data: &Bound<'_, PyAny>, at: u64) -> PyResult<(u64, u64)> {
        let added = buffer::with(data, Items::Any, |data| {
            let add = || {
                // Without the lock, which others need only for a moment.
                let mut mine = parts::Parts::new(self.total, self.mode).of_object(&self.object);
                mine.hash(data, at)?;
                self.lock().absorb(&mine)
            };
            Ok(py.detach(add))
        })?;
        added.map(counts).map_err(|error| refused(py, error))
    }

    /// Hashes a block of the tensor that the input is: `data` has its items in order, of `item` bytes each. `shape` is that
    /// of the tensor; `indices` has the indices of each dimension, as pairs of a start and a count. For a tensor of PyTorch,
    /// `data` is the address and the length of its memory, as DLPack takes longer than hashing 8 KiB.
    #[pyo3(signature = (data, item, shape, indices, /))]
    fn _hash_block(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        item: u64,
        shape: Vec<u64>,
        indices: Vec<Indices>,
    ) -> PyResult<(u64, u64)> {
        let hash = |data: &[u8]| {
            py.detach(|| {
                let runs = runs(item, &shape, &indices)?;
                let expected: u64 = runs.iter().map(|run| run.end - run.start).sum();
                if expected != data.len() as u64 {
                    return Err(format!("{} bytes are here, and {expected} should be", data.len()));
                }
                // Under the lock: no one else knows of these parts yet.
                Ok(self.lock().hash_runs(data, runs))
            })
            .map_err(PyValueError::new_err)
        };
        let added = match data.cast::<PyTuple>() {
            Ok(place) => hash(memory(place.extract()?)),
            Err(_) => buffer::with(data, Items::Any, hash),
        }?;
        added.map(counts).map_err(|error| refused(py, error))
    }

    /// Hashes a range of an open file, for `treewide.scale`. Returns whether the file has all of it; only then it is added.
    ///
    /// Reading in Rust, because a tile that stays in the cache is small: Python takes as long for each as hashing does. A
    /// file that the page cache holds in large pieces is mapped.
    #[pyo3(signature = (handle, start, stop, /))]
    fn _hash_file(&self, py: Python<'_>, handle: i64, start: u64, stop: u64) -> PyResult<bool> {
        let hash = || {
            let mut mine = parts::Parts::new(self.total, self.mode).of_object(&self.object);
            let file = files::open(handle).map_err(Failure::Read)?;
            for node in parts::subtrees(start..stop, self.total).map_err(AbsorbError::from)? {
                match value(&file, &node, self.total, self.mode).map_err(Failure::Read)? {
                    Some(cv) => mine.push(Part { range: node, cv })?,
                    None => return Ok(false),
                };
            }
            self.lock().absorb(&mine)?;
            Ok(true)
        };
        py.detach(hash).map_err(|failure| match failure {
            Failure::Read(error) => error.into(),
            Failure::Refused(error) => refused(py, error),
        })
    }

    #[doc = stub!("Parts.push")]
    #[pyo3(signature = (start, stop, value, /))]
    fn push(&self, py: Python<'_>, start: u64, stop: u64, value: [u8; 32]) -> PyResult<(u64, u64)> {
        let part = Part { range: start..stop, cv: value };
        self.locked(py, |parts| parts.push(part)).map(counts).map_err(|error| refused(py, error))
    }

    #[doc = stub!("Parts.absorb")]
    #[pyo3(signature = (other, /))]
    fn absorb(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<(u64, u64)> {
        // Copied, so that two threads that absorb each other's parts do not wait for each other.
        let other = other.get().copied(py);
        let added = self.locked(py, |parts| parts.absorb(&other));
        added.map(counts).map_err(|error| refused(py, error))
    }

    #[doc = stub!("Parts.missing")]
    fn missing(&self, py: Python<'_>) -> Vec<Ends> {
        self.locked(py, |parts| parts.missing()).into_iter().map(ends).collect()
    }

    #[doc = stub!("Parts.unchecked")]
    fn unchecked(&self, py: Python<'_>) -> Vec<Ends> {
        self.locked(py, |parts| parts.unchecked()).into_iter().map(ends).collect()
    }

    #[doc = stub!("Parts.compact")]
    fn compact(&self, py: Python<'_>) {
        self.locked(py, |parts| parts.compact());
    }

    #[doc = stub!("Parts.finish")]
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self.locked(py, |parts| parts.finish()) {
            Ok(digest) => Ok(PyBytes::new(py, digest.as_bytes())),
            Err(missing) => Err(PyValueError::new_err(missing.to_string())),
        }
    }

    #[doc = stub!("Parts.outboard")]
    #[pyo3(signature = (group=16384))]
    fn outboard<'py>(&self, py: Python<'py>, group: u64) -> PyResult<Bound<'py, PyBytes>> {
        let group = group_of(group)?;
        match self.locked(py, |parts| parts.outboard(group)) {
            Ok(pairs) => Ok(PyBytes::new(py, &pairs)),
            Err(none) => Err(PyValueError::new_err(none.to_string())),
        }
    }

    #[doc = stub!("Parts.to_bytes")]
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.locked(py, |parts| parts.to_bytes()))
    }

    #[doc = stub!("Parts.from_bytes")]
    #[classmethod]
    #[pyo3(signature = (data, /, *, key=None, derive_key_context=None))]
    fn from_bytes(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        derive_key_context: Option<&str>,
    ) -> PyResult<Self> {
        let mode = mode(key, derive_key_context)?;
        let parts = buffer::with(data, Items::Bytes, |data| {
            let read = || parts::Parts::from_bytes(data, mode);
            let read = if data.len() < DETACHED { read() } else { py.detach(read) };
            read.map_err(|error| PyValueError::new_err(error.to_string()))
        })?;
        Ok(Self::of(parts, mode))
    }

    /// Keeps the bytes of chunks that were cut, so that pieces of copies can be compared in any order.
    #[pyo3(signature = ())]
    fn _keep_cut_chunks(&self, py: Python<'_>) {
        self.locked(py, |parts| *parts = parts.clone().keeping_cut_chunks());
    }

    /// The parts of many inputs of the plain mode as one message.
    #[staticmethod]
    #[pyo3(signature = (parts, /))]
    fn _pack<'py>(py: Python<'py>, parts: Vec<PyRef<'py, Self>>) -> Bound<'py, PyBytes> {
        let parts: Vec<_> = parts.iter().map(|parts| parts.copied(py)).collect();
        PyBytes::new(py, &py.detach(|| parts::Parts::pack(Mode::PLAIN, &parts)))
    }

    /// What `_pack` saved.
    #[staticmethod]
    #[pyo3(signature = (data, /))]
    fn _unpack(py: Python<'_>, data: &[u8]) -> PyResult<Vec<Self>> {
        let read = py.detach(|| parts::Parts::unpack(data, Mode::PLAIN));
        let read = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(read.into_iter().map(|parts| Self::of(parts, Mode::PLAIN)).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let missing = self.locked(py, |parts| parts.missing());
        let missing: u64 = missing.iter().map(|gap| gap.end - gap.start).sum();
        format!("<treewide.scale.Parts of {} bytes, {missing} of them missing>", self.total)
    }
}

#[doc = stub!("subtrees")]
#[pyfunction]
#[pyo3(signature = (start, stop, total, /))]
pub(crate) fn subtrees(start: u64, stop: u64, total: u64) -> PyResult<Vec<Ends>> {
    let nodes = parts::subtrees(start..stop, total);
    Ok(nodes.map_err(|error| PyValueError::new_err(error.to_string()))?.map(ends).collect())
}
