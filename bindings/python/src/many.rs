//! `hash_many`: many inputs, hashed next to each other in vector registers.
//!
//! Buffers are collected while Python's lock is held, and hashed without it. The references and views that are held keep the
//! memory where it is, whatever other threads do to the list. Columns of Arrow are hashed in place.

use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyTuple};
use treewide::Batch;
use treewide::batch::{Blobs, OffsetError, Packed};

use crate::arrow::{Nulls, Source, Values};
use crate::buffer::{Input, Items, View, bytes_of, room};
use crate::digests::{Digests, Validity};
use crate::mode::mode;
use crate::threads::Threads;

/// Batches of at least this many inputs or bytes let other Python threads run. A guess: hashing them takes many times as long
/// as letting go of the lock.
const DETACHED_INPUTS: usize = 128;
const DETACHED_BYTES: usize = 16 * 1024;

/// Inputs that are taken from an iterator, and held, at a time. A guess: enough for all threads of a large machine.
const WINDOW: usize = 16 * 1024;

/// The same in bytes. A guess.
const WINDOW_BYTES: usize = 64 << 20;

/// What an object that is not `bytes` counts as: its length is not known yet. A guess.
const ANY_OBJECT: usize = 64 << 10;

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

/// The BLAKE3 digests of many inputs, in order.
#[pyfunction]
#[pyo3(signature = (
    items, /, *, offsets=None, key=None, derive_key_context=None, length=32, max_threads=-1, out=None, nulls="error"
), text_signature = "(items, /, *, offsets=None, key=None, derive_key_context=None, length=32, max_threads=-1, out=None, nulls='error')")]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyAny>,
    offsets: Option<&Bound<'py, PyAny>>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    max_threads: isize,
    out: Option<&Bound<'py, PyAny>>,
    nulls: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if length == 0 {
        return Err(PyValueError::new_err("length is 1 or more, and not 0"));
    }
    let nulls = Nulls::new(nulls)?;
    let batch = Batch::with_mode(mode(key, derive_key_context)?).output_len(length);
    let mut view = out.map(View::writable).transpose()?;
    let mut job = Job { batch, length, threads: Threads::new(max_threads)?, out: view.as_mut() };
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
    if job.out.is_some() {
        let all = items.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        return list(py, borrowed(&all), Names::From(0), job).map(digests);
    }
    iterable(py, items, job).map(digests)
}

/// Hashes the values of a mapping.
fn mapping<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyMapping>,
    job: &mut Job<'_>,
) -> PyResult<Hashed<'py>> {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for item in items.items()?.iter() {
        let (key, value) = item.extract()?;
        keys.push(key);
        values.push(value);
    }
    let bytes = list(py, borrowed(&values), Names::Keys(&keys), job)?;
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

/// Takes windows from an iterator, so that not all inputs are held at a time.
fn iterable(py: Python<'_>, items: &Bound<'_, PyAny>, job: &mut Job<'_>) -> PyResult<Vec<u8>> {
    let (mut all, mut first) = (Vec::new(), 0);
    let (mut window, mut bytes) = (Vec::new(), 0_usize);
    for item in items.try_iter()? {
        let item = item?;
        bytes += item.cast::<PyBytes>().map_or(ANY_OBJECT, |item| item.as_bytes().len());
        window.push(item);
        if window.len() == WINDOW || bytes >= WINDOW_BYTES {
            all.extend(list(py, borrowed(&window), Names::From(first), job)?);
            first += window.len();
            bytes = 0;
            window.clear();
        }
    }
    all.extend(list(py, borrowed(&window), Names::From(first), job)?);
    Ok(all)
}

/// The objects of a list of ours.
fn borrowed<'a, 'py>(
    items: &'a [Bound<'py, PyAny>],
) -> impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>> {
    items.iter().map(|item| item.as_borrowed())
}

/// Hashes objects that somebody else holds.
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
            format!("this is about item {} of what was passed to hash_many", first + index)
        }
        Names::Keys(keys) => {
            let key = keys[index].repr().map_or_else(|_| "a key".into(), |key| key.to_string());
            format!("this is about the value of {key} in what was passed to hash_many")
        }
    };
    // A note that cannot be added does not hide the error.
    let _ = error.value(py).call_method1("add_note", (note,));
    error
}

/// Hashes each row of an array.
fn rows(py: Python<'_>, array: &Bound<'_, PyAny>, job: &mut Job<'_>) -> PyResult<Vec<u8>> {
    let view = Input::new(array)?;
    let &[rows, _, ..] = view.shape() else {
        return Err(PyTypeError::new_err(format!(
            "hash_many takes many inputs, and this {} is one: pass a list of buffers or an array of two dimensions, \
             whose rows are the inputs; treewide.digest takes one input",
            array.get_type().name()?
        )));
    };
    let (rows, bytes) = (rows as usize, view.bytes());
    let per_row = view.row_len()?;
    // Rows without bytes may be more than memory has room for.
    let mut inputs = room(rows)?;
    inputs.extend((0..rows).map(|row| &bytes[row * per_row..][..per_row]));
    job.hash(py, &inputs[..], bytes.len(), [bytes])
}

/// Hashes the bytes between offsets.
fn packed(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    job: &mut Job<'_>,
) -> PyResult<Vec<u8>> {
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
        _ => Err(PyTypeError::new_err(
            "offsets is an array of one dimension, of integers of 32 or 64 bits: pass numpy.asarray(offsets, 'int64')",
        )),
    }
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
                    return Err(PyValueError::new_err(format!(
                        "out has {} bytes, and {count} digests of {} bytes have {len}",
                        place.len(),
                        self.length
                    )));
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
