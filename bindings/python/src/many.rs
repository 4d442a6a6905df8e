//! `hash_many`: many inputs, hashed next to each other in vector registers.
//!
//! Buffers are collected while Python's lock is held, and hashed without it. The references and views that are held keep the
//! memory where it is, whatever other threads do to the list. Columns of Arrow are hashed in place.

use std::ops::Range;

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList, PyMapping, PySet, PyTuple};
use treewide::Batch;
use treewide::batch::{Blobs, OffsetError, Packed};

use crate::arrow::{Nulls, Source, Values};
use crate::buffer::{Input, Items, Rows, View, bytes_of, room};
use crate::digests::Digests;
use crate::mode::mode;
use crate::threads::Threads;
use crate::validity::Validity;

/// Batches of at least this many inputs or bytes let other Python threads run. A guess: hashing them takes many times as long
/// as letting go of the lock.
const DETACHED_INPUTS: usize = 128;
const DETACHED_BYTES: usize = 16 * 1024;

/// Inputs that are taken from an iterator, and held, at a time. A guess: enough for all threads of a large machine.
const WINDOW: usize = 16 * 1024;

/// The same in bytes. A guess.
const WINDOW_BYTES: usize = 64 << 20;

/// An object from an iterator that is longer is hashed at once, and not copied. A guess: copying takes a tenth as long as hashing.
const LONG: usize = 1 << 20;

/// How to hash, and where to.
struct Job<'a> {
    batch: Batch,
    length: usize,
    threads: Threads,
    out: Option<&'a mut View>,
}

/// What inputs are called in errors.
#[derive(Clone, Copy)]
enum Names<'a, 'py> {
    /// The first has this index.
    From(usize),
    Keys(&'a [Bound<'py, PyAny>]),
}

#[doc = stub!("hash_many")]
#[pyfunction]
#[pyo3(signature = (
    items, /, *, offsets=None, key=None, derive_key_context=None, length=32, threads=1, out=None, nulls="error"
), text_signature = "(items, /, *, offsets=None, key=None, derive_key_context=None, length=32, threads=1, out=None, nulls='error')")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    offsets: Option<&Bound<'py, PyAny>>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    threads: isize,
    out: Option<&Bound<'py, PyAny>>,
    nulls: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if length == 0 {
        return Err(PyValueError::new_err("length is 1 or more, and not 0"));
    }
    let nulls = Nulls::new(nulls)?;
    let batch = Batch::with_mode(mode(key, derive_key_context)?).output_len(length);
    let mut view = out.map(View::writable).transpose()?;
    let mut job = Job { batch, length, threads: Threads::new(threads)?, out: view.as_mut() };
    let (bytes, keys, validity) = match offsets {
        Some(offsets) => (packed(py, items, offsets, &mut job)?, None, Validity::default()),
        None => of_items(py, items, nulls, &mut job)?,
    };
    match (out, keys) {
        (Some(out), _) => Ok(out.clone()),
        (None, Some(keys)) => {
            let named = PyDict::new(py);
            for (key, digest) in keys.iter().zip(bytes.chunks_exact(length)) {
                named.set_item(key, PyBytes::new(py, digest))?;
            }
            Ok(named.into_any())
        }
        (None, None) => Ok(Bound::new(py, Digests::new(bytes, length, validity)?)?.into_any()),
    }
}

/// Digests, the keys of a mapping, and which digests there are.
type Hashed<'py> = (Vec<u8>, Option<Vec<Bound<'py, PyAny>>>, Validity);

fn of_items<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    nulls: Nulls,
    job: &mut Job<'_>,
) -> PyResult<Hashed<'py>> {
    let digests = |bytes| (bytes, None, Validity::default());
    if let Ok(tuple) = items.cast::<PyTuple>() {
        return list(py, tuple.iter_borrowed(), Names::From(0), job).map(digests);
    }
    if let Ok(items) = items.cast::<PyList>() {
        // References of our own: another thread may change the list.
        return list(py, items.to_tuple().iter_borrowed(), Names::From(0), job).map(digests);
    }
    if let Ok(items) = items.cast::<PyMapping>() {
        return mapping(py, items, job);
    }
    if let Some(source) = Source::of(items)? {
        return arrow(py, source, nulls, job);
    }
    // SAFETY: the object is alive.
    let has_buffer = unsafe { ffi::PyObject_CheckBuffer(items.as_ptr()) } != 0;
    if has_buffer || items.get_type().getattr_opt("__dlpack__")?.is_some() {
        return rows(py, items, job).map(digests);
    }
    check_order(items)?;
    if items.hasattr("collect")? && !items.hasattr("__next__")? {
        let problem = "this is a query, and not its result: pass a column of x.collect()";
        return Err(PyTypeError::new_err(problem));
    }
    let (mut windows, out) = (Windows::default(), job.out.take());
    for item in items.try_iter()? {
        windows.push(py, item?, &[], job)?;
    }
    windows.end(py, out, job).map(digests)
}

/// # Errors
/// `TypeError` for a set: its order differs from process to process.
pub(crate) fn check_order(items: &Bound<'_, PyAny>) -> PyResult<()> {
    if items.is_instance_of::<PySet>() || items.is_instance_of::<PyFrozenSet>() {
        let problem = "a set has no order that the results could have: pass sorted(x), or a list";
        return Err(PyTypeError::new_err(problem));
    }
    Ok(())
}

/// Hashes the values of a mapping.
fn mapping<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyMapping>,
    job: &mut Job<'_>,
) -> PyResult<Hashed<'py>> {
    let mut keys = Vec::new();
    let bytes = if items.is_exact_instance_of::<PyDict>() {
        let mut values = Vec::new();
        for item in items.items()?.iter() {
            let (key, value) = item.extract()?;
            keys.push(key);
            values.push(value);
        }
        list(py, borrowed(&values), Names::Keys(&keys), job)?
    } else {
        // It may make each value when it is asked for, in the memory of the one before.
        let (mut windows, out) = (Windows::default(), job.out.take());
        for key in items.as_any().try_iter()? {
            keys.push(key?);
            windows.push(py, items.get_item(&keys[keys.len() - 1])?, &keys, job)?;
        }
        windows.end(py, out, job)?
    };
    Ok((bytes, Some(keys), Validity::default()))
}

/// Hashes the values of a column.
fn arrow<'py>(
    py: Python<'py>,
    mut source: Source,
    nulls: Nulls,
    job: &mut Job<'_>,
) -> PyResult<Hashed<'py>> {
    let (mut all, mut count, mut validity) = (Vec::new(), 0, Validity::default());
    while let Some(window) = source.window(py, job.out.is_some())? {
        window.look_for_nulls(nulls, count, &mut validity)?;
        let values = window.values()?;
        let (bytes, inputs) = match &values[..] {
            [Values::Small(data, packed)] => {
                (job.hash(py, packed, data.len(), [*data])?, packed.count())
            }
            [Values::Large(data, packed)] => {
                (job.hash(py, packed, data.len(), [*data])?, packed.count())
            }
            [Values::Slices(inputs)] => (job.hash_slices(py, inputs)?, inputs.len()),
            parts => {
                let mut inputs = Vec::new();
                parts.iter().for_each(|part| part.append_to(&mut inputs));
                (job.hash_slices(py, &inputs)?, inputs.len())
            }
        };
        count += inputs;
        if all.is_empty() {
            all = bytes
        } else {
            all.extend(bytes)
        }
        py.check_signals()?;
    }
    if let Some(out) = &mut job.out {
        if count == 0 {
            job.hash_slices(py, &[])?;
        } else {
            validity.clear_nulls(out.bytes_mut(), job.length);
        }
    }
    Ok((all, None, validity))
}

/// Inputs that come one by one, from code that may change one when it makes the next. So `bytes` are held, anything else is
/// copied, or hashed at once if it is long. Not all inputs are held at a time.
#[derive(Default)]
struct Windows<'py> {
    held: Vec<Held<'py>>,
    copies: Vec<u8>,
    bytes: usize,
    count: usize,
    digests: Vec<u8>,
}

enum Held<'py> {
    Bytes(Bound<'py, PyBytes>),
    /// A part of the copies.
    Copied(Range<usize>),
}

impl<'py> Windows<'py> {
    /// Takes an input. In a mapping, it is that of the last of the `keys`.
    fn push(
        &mut self,
        py: Python<'py>,
        item: Bound<'py, PyAny>,
        keys: &[Bound<'py, PyAny>],
        job: &mut Job<'_>,
    ) -> PyResult<()> {
        if let Ok(bytes) = item.cast_exact::<PyBytes>() {
            self.bytes += bytes.as_bytes().len();
            self.held.push(Held::Bytes(bytes.clone()));
        } else {
            let view = Input::new(&item).map_err(|error| {
                let names = if keys.is_empty() { Names::From(0) } else { Names::Keys(keys) };
                named(error, names, self.count, py)
            })?;
            if view.bytes().len() > LONG {
                self.hash(py, job)?;
                self.digests.extend(job.hash_slices(py, &[view.bytes()])?);
            } else {
                let start = self.copies.len();
                self.copies.extend_from_slice(view.bytes());
                self.bytes += view.bytes().len();
                self.held.push(Held::Copied(start..self.copies.len()));
            }
        }
        self.count += 1;
        if self.held.len() == WINDOW || self.bytes >= WINDOW_BYTES {
            self.hash(py, job)?;
        }
        Ok(())
    }

    fn hash(&mut self, py: Python<'py>, job: &mut Job<'_>) -> PyResult<()> {
        let inputs = self.held.iter().map(|it| match it {
            Held::Bytes(bytes) => bytes.as_bytes(),
            Held::Copied(range) => &self.copies[range.clone()],
        });
        let digests = job.hash_slices(py, &inputs.collect::<Vec<_>>())?;
        self.digests.extend(digests);
        self.held.clear();
        self.copies.clear();
        self.bytes = 0;
        py.check_signals()
    }

    /// The digests of all inputs. What is written to `out` is not returned.
    fn end(
        mut self,
        py: Python<'py>,
        out: Option<&mut View>,
        job: &mut Job<'_>,
    ) -> PyResult<Vec<u8>> {
        self.hash(py, job)?;
        let Some(out) = out else { return Ok(self.digests) };
        let place = out.bytes_mut();
        if place.len() != self.digests.len() {
            return Err(wrong_room(place.len(), self.count, job.length, self.digests.len()));
        }
        place.copy_from_slice(&self.digests);
        Ok(Vec::new())
    }
}

/// The objects of a list of ours.
fn borrowed<'a, 'py>(
    items: &'a [Bound<'py, PyAny>],
) -> impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>> {
    items.iter().map(|item| item.as_borrowed())
}

/// Hashes objects that the caller holds.
fn list<'a, 'py: 'a>(
    py: Python<'py>,
    items: impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>>,
    names: Names<'_, 'py>,
    job: &mut Job<'_>,
) -> PyResult<Vec<u8>> {
    // One look at each item: its memory is somewhere else than that of the one before.
    let mut views = Vec::new();
    let mut inputs = Vec::with_capacity(items.len());
    for (index, item) in items.enumerate() {
        let bytes = bytes_of(item);
        inputs.push(bytes.unwrap_or_default());
        if bytes.is_none() {
            let view = Input::new(&item);
            views.push((index, view.map_err(|error| named(error, names, index, py))?));
        }
    }
    for (index, view) in &views {
        inputs[*index] = view.bytes();
    }
    job.hash_slices(py, &inputs)
}

/// Says which input could not be taken.
fn named(error: PyErr, names: Names<'_, '_>, index: usize, py: Python<'_>) -> PyErr {
    let note = match names {
        Names::From(first) => {
            format!("this is about item {} in the argument of hash_many", first + index)
        }
        Names::Keys(keys) => {
            let key = keys[index].repr().map_or_else(|_| "a key".into(), |key| key.to_string());
            format!("this is about the value of {key} in the argument of hash_many")
        }
    };
    // A note that cannot be added does not hide the error.
    let _ = error.value(py).call_method1("add_note", (note,));
    error
}

/// Hashes each row of an array.
fn rows(py: Python<'_>, array: &Bound<'_, PyAny>, job: &mut Job<'_>) -> PyResult<Vec<u8>> {
    let view = Rows::new(array)?;
    let &[rows, _, ..] = view.shape() else {
        return Err(PyTypeError::new_err(format!(
            "hash_many takes many inputs, and this {} is one: pass a list of buffers or an array of two dimensions, \
             whose rows are the inputs; treewide.digest takes one input",
            array.get_type().name()?
        )));
    };
    // Rows without bytes may be more than memory has room for.
    let mut inputs = room(rows as usize)?;
    inputs.extend(view.each()?);
    job.hash_slices(py, &inputs)
}

/// Hashes the bytes between offsets.
fn packed(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    job: &mut Job<'_>,
) -> PyResult<Vec<u8>> {
    if offsets.is_instance_of::<PyList>() || offsets.is_instance_of::<PyTuple>() {
        return Err(wrong_offsets());
    }
    let (data, offsets) = (Input::new(data)?, View::new(offsets, Items::Any)?);
    // Copied, because they were checked, and another thread may write to the array.
    macro_rules! packed {
        ($integer:ty) => {{
            const LEN: usize = size_of::<$integer>();
            let numbers = offsets.bytes().as_chunks::<LEN>().0.iter();
            let offsets: Vec<$integer> = numbers.map(|it| <$integer>::from_ne_bytes(*it)).collect();
            let packed = Packed::new(data.bytes(), &offsets).map_err(wrong_offset)?;
            job.hash(py, &packed, data.bytes().len(), [data.bytes()])
        }};
    }
    let item = match offsets.format() {
        [b'@' | b'=', item] | [item] => *item,
        [b'<', item] if cfg!(target_endian = "little") => *item,
        [b'>' | b'!', item] if cfg!(target_endian = "big") => *item,
        _ => b'?',
    };
    let count: isize = offsets.shape().iter().product();
    let size = offsets.bytes().len() / count.max(1) as usize;
    match (item, size, offsets.shape().len()) {
        (b'i' | b'l', 4, 1) => packed!(i32),
        (b'l' | b'q', 8, 1) => packed!(i64),
        (b'I' | b'L', 4, 1) => packed!(u32),
        (b'L' | b'Q', 8, 1) => packed!(u64),
        (_, 0, 1) => packed!(u64),
        _ => Err(wrong_offsets()),
    }
}

fn wrong_offsets() -> PyErr {
    PyTypeError::new_err(
        "offsets is an array of one dimension, of integers of 32 or 64 bits: pass numpy.asarray(offsets, 'int64'), or \
         array.array('q', offsets)",
    )
}

fn wrong_offset(error: OffsetError) -> PyErr {
    PyValueError::new_err(format!(
        "{error}: n inputs have n + 1 offsets, from 0 to the length of the data"
    ))
}

impl Job<'_> {
    fn hash_slices(&mut self, py: Python<'_>, inputs: &[&[u8]]) -> PyResult<Vec<u8>> {
        let bytes = inputs.iter().fold(0_usize, |sum, input| sum.saturating_add(input.len()));
        self.hash(py, inputs, bytes, inputs.iter().copied())
    }

    /// Hashes `blobs`, which lie in `memory` and have `bytes` bytes. What is written to `out` is not returned.
    fn hash<'b, B: Blobs + Sync + ?Sized>(
        &mut self,
        py: Python<'_>,
        blobs: &B,
        bytes: usize,
        memory: impl IntoIterator<Item = &'b [u8]>,
    ) -> PyResult<Vec<u8>> {
        let count = blobs.count();
        let len = count.checked_mul(self.length).filter(|&len| len <= isize::MAX as usize);
        let Some(len) = len else {
            let problem =
                format!("{count} digests of {} bytes do not fit into memory", self.length);
            return Err(PyOverflowError::new_err(problem));
        };
        let mut new = Vec::new();
        let place = match &mut self.out {
            Some(out) => {
                let place = out.bytes_mut();
                if place.len() != len {
                    return Err(wrong_room(place.len(), count, self.length, len));
                }
                let range = place.as_ptr_range();
                let overlaps = |input: &[u8]| {
                    let input = input.as_ptr_range();
                    input.start < range.end && range.start < input.end
                };
                if memory.into_iter().any(overlaps) {
                    let problem =
                        "out and an input are the same memory: pass another array for one of them";
                    return Err(PyValueError::new_err(problem));
                }
                place
            }
            None => {
                new = zeros(len)?;
                &mut new[..]
            }
        };
        let is_short = count < DETACHED_INPUTS && bytes.max(len) < DETACHED_BYTES;
        let (batch, threads) = (&self.batch, if is_short { Threads::One } else { self.threads });
        let mut hash = || {
            threads.run_at_most(|most| batch.clone().threads(most).fill(blobs, place));
        };
        if is_short {
            hash()
        } else {
            py.detach(hash)
        }
        Ok(new)
    }
}

fn wrong_room(room: usize, count: usize, length: usize, len: usize) -> PyErr {
    PyValueError::new_err(format!(
        "out has {room} bytes, and {count} digests of {length} bytes have {len}"
    ))
}

/// Memory from the system, which need not be written to be zero.
fn zeros(len: usize) -> PyResult<Vec<u8>> {
    let mut probe = Vec::<u8>::new();
    if len > 1 << 30 && probe.try_reserve_exact(len).is_err() {
        let problem = format!("there is no memory for {len} bytes of digests");
        return Err(PyMemoryError::new_err(problem));
    }
    drop(probe);
    Ok(vec![0; len])
}
