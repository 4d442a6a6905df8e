//! Functions for `treewide.gpu`: tensors in the memory of CUDA devices, hashed where they lie.
//!
//! A device is opened for a stream of the caller, which loads the kernels, and stays open. All work of a call goes to this
//! stream, in order with the work that wrote the tensors.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyBufferError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyMapping};
use treewide::{Hash, OUT_LEN};
use treewide_gpu::{Backend, Buffer, Device, Error, ErrorKind, Pending, Slice, cuda, devices};

use crate::digests::Digests;
use crate::many::check_order;
use crate::mode::mode;
use crate::oneshot::check_length;
use crate::tensor::{Lent, Place};
use crate::threads::this_process;
use crate::validity::Validity;

/// Streams for which a device stays open. A guess: programs have one or two, and kernels are loaded for each.
const STREAMS: usize = 8;

/// A device for a stream. The last one was used last.
struct Opened {
    index: i32,
    stream: u64,
    device: Device,
}

/// The stream that work goes to: the number that DLPack has for it.
pub(crate) struct Stream(u64);

impl<'py> FromPyObject<'_, 'py> for Stream {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let stream = if given.hasattr("__cuda_stream__")? {
            given.call_method0("__cuda_stream__")?.get_item(1)?
        } else if let Some(number) = given.getattr_opt("cuda_stream")? {
            number
        } else {
            given.getattr_opt("ptr")?.unwrap_or_else(|| given.to_owned())
        };
        // Integers of other types, such as those of NumPy, are numbers too. A truth value is not meant as one.
        if stream.is_instance_of::<PyBool>() || !stream.hasattr("__index__")? {
            return Err(PyTypeError::new_err(format!(
                "stream is the number of a CUDA stream or an object of one, and not {}",
                given.get_type().name()?
            )));
        }
        let number = stream.extract::<u64>().map_err(|_| {
            PyValueError::new_err(format!(
                "stream is the number of a CUDA stream, and not {stream}"
            ))
        })?;
        Ok(Self(number))
    }
}

/// The number of a stream, by default that of the default stream: 0 in CUDA, and 1 in DLPack.
pub(crate) fn number(stream: Option<Stream>) -> u64 {
    stream.map_or(1, |it| it.0.max(1))
}

/// Open devices.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// The process that uses CUDA, or 0. Not under a lock, which another thread may hold when the process forks.
static OWNER: AtomicU64 = AtomicU64::new(0);

/// Work that no call waits for.
struct Unfinished {
    pending: Pending<()>,
    device: Device,
    /// What it reads and writes.
    _tensors: Vec<Lent>,
}

static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

fn lock<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn failed(error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::OutOfMemory => PyMemoryError::new_err(error.to_string()),
        ErrorKind::Invalid => PyValueError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// The device with this number, for a stream of it.
pub(crate) fn open(py: Python<'_>, index: i32, stream: u64) -> PyResult<Device> {
    let process = this_process();
    let owner = OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    if owner.is_err_and(|owner| owner != process) {
        return Err(PyRuntimeError::new_err(
            "CUDA does not work in a process that was forked from one that used it: start processes with \
             multiprocessing.get_context(\"spawn\")",
        ));
    }
    finish(py)?;
    py.detach(|| {
        let mut list = lock(&OPENED);
        let found = list.iter().position(|it| (it.index, it.stream) == (index, stream));
        let open = match found {
            Some(at) => list.remove(at),
            None => {
                let number = usize::try_from(index).unwrap_or(usize::MAX);
                // SAFETY: the caller of Python's function promises that the stream is one of this device. It is used by
                // calls that name it, and by no others.
                let device = unsafe { cuda::open_with_stream(number, stream as *mut c_void) };
                if device.is_err() && list.is_empty() {
                    // CUDA was not used, so that children may try.
                    OWNER.store(0, Ordering::Relaxed);
                }
                Opened { index, stream, device: device? }
            }
        };
        let device = open.device.clone();
        if list.len() == STREAMS {
            list.remove(0);
        }
        list.push(open);
        Ok(device)
    })
    .map_err(|error: Error| failed(&error))
}

/// Runs work that reads tensors, and waits for it. If it fails, it waits for the part that was started, so that the device
/// is done with the tensors.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    device: &Device,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let result = py.detach(|| work().inspect_err(|_| drop(device.finish())));
    result.map_err(|error| failed(&error))
}

/// Gives back the tensors of work that is done.
fn finish(py: Python<'_>) -> PyResult<()> {
    let mut done = Vec::new();
    {
        let mut unfinished = lock(&UNFINISHED);
        let mut at = 0;
        while at < unfinished.len() {
            match unfinished[at].pending.is_done() {
                true => done.push(unfinished.remove(at)),
                false => at += 1,
            }
        }
    }
    // Not under the lock: giving back a tensor may run code of Python.
    let mut result = Ok(());
    for Unfinished { pending, device, _tensors } in done {
        let failed = run(py, &device, || pending.wait());
        result = result.and(failed.map_err(|error| {
            PyRuntimeError::new_err(format!("hash_many_to failed: {}", error.value(py)))
        }));
    }
    result
}

/// The bytes of a tensor, for a device.
pub(crate) fn borrow(device: &Device, tensor: &Lent) -> PyResult<Buffer> {
    // SAFETY: the producer keeps the bytes until the tensor is dropped, which is after the work with it. What wrote them
    // comes before, in the stream that was handed to the producer.
    unsafe { cuda::borrow(device, tensor.address(), tensor.len() as u64) }
        .map_err(|error| failed(&error))
}

pub(crate) fn lend(object: &Bound<'_, PyAny>, stream: u64) -> PyResult<Lent> {
    Lent::of(object, Place::Cuda { stream })?.ok_or_else(|| {
        let name = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "treewide.gpu takes tensors of CUDA devices with __dlpack__, and not {name}; treewide.digest takes what is in \
             the memory of the CPU"
        ))
    })
}

pub(crate) fn check_same_device(first: &Lent, tensor: &Lent) -> PyResult<()> {
    if first.number() == tensor.number() {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!(
        "this tensor is on CUDA device {}, and the first one on {}: pass the tensors of one device at a time",
        tensor.number(),
        first.number()
    )))
}

/// The error with a note that names the item.
pub(crate) fn noted(py: Python<'_>, error: PyErr, item: &str, function: &str) -> PyErr {
    let note = format!("this is about {item} in the argument of {function}");
    // A note that cannot be added does not hide the error.
    let _ = error.value(py).call_method1("add_note", (note,));
    error
}

/// Tensors of one device, and the inputs that they are.
struct Inputs<'py> {
    keys: Option<Vec<Bound<'py, PyAny>>>,
    tensors: Vec<Lent>,
    /// The one tensor has many inputs: its rows.
    rows: Option<usize>,
}

impl<'py> Inputs<'py> {
    fn of(items: &Bound<'py, PyAny>, stream: u64) -> PyResult<Self> {
        let mut inputs = Self { keys: None, tensors: Vec::new(), rows: None };
        if items.get_type().getattr_opt("__dlpack__")?.is_some() {
            let tensor = lend(items, stream)?;
            let &[rows, _, ..] = tensor.shape() else {
                return Err(PyTypeError::new_err(
                    "hash_many takes many tensors, and this is one: pass [x], or a tensor of two dimensions, whose rows \
                     are the inputs; treewide.gpu.digest takes one tensor",
                ));
            };
            inputs.rows = Some(rows as usize);
            inputs.tensors.push(tensor);
        } else if let Ok(items) = items.cast::<PyMapping>() {
            let mut keys = Vec::new();
            for item in items.items()?.iter() {
                let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
                inputs.push(&value, stream, || format!("the value of {}", text(&key)))?;
                keys.push(key);
            }
            inputs.keys = Some(keys);
        } else {
            check_order(items)?;
            for (index, item) in items.try_iter()?.enumerate() {
                inputs.push(&item?, stream, || format!("item {index}"))?;
            }
        }
        Ok(inputs)
    }

    fn push(
        &mut self,
        item: &Bound<'py, PyAny>,
        stream: u64,
        name: impl Fn() -> String,
    ) -> PyResult<()> {
        let lent = lend(item, stream).and_then(|lent| {
            self.tensors.first().map_or(Ok(()), |first| check_same_device(first, &lent))?;
            Ok(lent)
        });
        let lent = lent.map_err(|error| noted(item.py(), error, &name(), "hash_many"))?;
        self.tensors.push(lent);
        Ok(())
    }

    fn count(&self) -> usize {
        self.rows.unwrap_or(self.tensors.len())
    }

    /// Each input on the device.
    fn slices(&self, device: &Device) -> PyResult<Vec<Slice>> {
        let Some(rows) = self.rows else {
            return self.tensors.iter().map(|it| Ok(Slice::from(&borrow(device, it)?))).collect();
        };
        let buffer = borrow(device, &self.tensors[0])?;
        let row = self.tensors[0].row_len()? as u64;
        // Rows without bytes may be more than memory has room for.
        let mut slices = Vec::new();
        slices.try_reserve_exact(rows).map_err(|_| {
            PyMemoryError::new_err(format!("there is no memory for a list of {rows} inputs"))
        })?;
        for at in (0..rows as u64).map(|at| at * row) {
            slices.push(buffer.slice(at..at + row).map_err(|error| failed(&error))?);
        }
        Ok(slices)
    }
}

fn text(key: &Bound<'_, PyAny>) -> String {
    key.repr().map_or_else(|_| "a key".into(), |key| key.to_string())
}

/// The devices of CUDA: number, name, bytes of memory, and why it cannot be used.
#[pyfunction]
pub(crate) fn _gpu_devices(py: Python<'_>) -> Vec<(usize, String, Option<u64>, Option<String>)> {
    let found = py.detach(devices).into_iter().filter(|it| it.backend == Backend::Cuda);
    found.map(|it| (it.index, it.name, it.memory, it.problem.map(|it| it.to_string()))).collect()
}

#[doc = stub!("_gpu_digest")]
#[pyfunction]
#[pyo3(name = "digest", signature = (tensor, /, *, key=None, derive_key_context=None, length=32, stream=None))]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    tensor: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    length: usize,
    stream: Option<Stream>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (mode, stream) = (mode(key, derive_key_context)?, number(stream));
    check_length(length)?;
    let tensor = lend(tensor, stream)?;
    let device = open(py, tensor.number(), stream)?;
    let input = borrow(&device, &tensor)?;
    let digest = run(py, &device, || match length {
        OUT_LEN => device.hash(&mode, &input).wait().map(|hash| hash.as_bytes().to_vec()),
        _ => device.xof(&mode, &input, 0, length).wait(),
    });
    digest.map(|digest| PyBytes::new(py, &digest))
}

#[doc = stub!("_gpu_hash_many")]
#[pyfunction]
#[pyo3(name = "hash_many", signature = (tensors, /, *, key=None, derive_key_context=None, stream=None))]
pub(crate) fn hash_many<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    stream: Option<Stream>,
) -> PyResult<Bound<'py, PyAny>> {
    let (mode, stream) = (mode(key, derive_key_context)?, number(stream));
    let inputs = Inputs::of(tensors, stream)?;
    let mut hashes = Vec::new();
    if let Some(first) = inputs.tensors.first() {
        let device = open(py, first.number(), stream)?;
        let slices = inputs.slices(&device)?;
        hashes = run(py, &device, || device.list(&mode, &slices).wait())?;
    }
    let Some(keys) = inputs.keys else {
        let bytes = hashes.iter().flat_map(Hash::as_bytes).copied().collect();
        return Ok(Bound::new(py, Digests::new(bytes, OUT_LEN, Validity::default())?)?.into_any());
    };
    let named = PyDict::new(py);
    for (key, hash) in keys.iter().zip(&hashes) {
        named.set_item(key, PyBytes::new(py, hash.as_bytes()))?;
    }
    Ok(named.into_any())
}

#[doc = stub!("_gpu_hash_many_to")]
#[pyfunction]
#[pyo3(name = "hash_many_to", signature = (tensors, out, /, *, key=None, derive_key_context=None, stream=None))]
pub(crate) fn hash_many_to<'py>(
    py: Python<'py>,
    tensors: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    derive_key_context: Option<&str>,
    stream: Option<Stream>,
) -> PyResult<()> {
    let (mode, stream) = (mode(key, derive_key_context)?, number(stream));
    let inputs = Inputs::of(tensors, stream)?;
    let place = lend(out, stream)?;
    let device = open(py, place.number(), stream)?;
    check_place(&inputs, &place)?;
    let slices = inputs.slices(&device)?;
    let to = Slice::from(&borrow(&device, &place)?);
    let pending = py.detach(|| device.list_to(&mode, &slices, &to));
    let mut tensors = inputs.tensors;
    tensors.push(place);
    lock(&UNFINISHED).push(Unfinished { pending, device, _tensors: tensors });
    // A start that failed is raised now.
    finish(py)
}

/// Checks the tensor that digests of `inputs` are written to.
fn check_place(inputs: &Inputs<'_>, place: &Lent) -> PyResult<()> {
    let (count, len) = (inputs.count(), place.len());
    if place.is_read_only() {
        return Err(PyBufferError::new_err(
            "out is read-only: pass a tensor that may be written to",
        ));
    }
    if count.checked_mul(OUT_LEN) != Some(len) {
        return Err(PyValueError::new_err(format!(
            "out has {len} bytes, and {count} digests have {OUT_LEN} each"
        )));
    }
    if !place.address().is_multiple_of(4) {
        return Err(PyValueError::new_err(
            "out does not start at a multiple of 4 bytes: pass a tensor of its own, and not a part of another one",
        ));
    }
    if let Some(first) = inputs.tensors.first()
        && first.number() != place.number()
    {
        return Err(PyBufferError::new_err(format!(
            "out is on CUDA device {}, and the tensors on {}",
            place.number(),
            first.number()
        )));
    }
    let (start, end) = (place.address(), place.address() + len as u64);
    let overlaps = |it: &Lent| it.address() < end && start < it.address() + it.len() as u64;
    if inputs.tensors.iter().any(overlaps) {
        let problem = "out and an input are the same memory: pass another tensor for one of them";
        return Err(PyValueError::new_err(problem));
    }
    Ok(())
}
