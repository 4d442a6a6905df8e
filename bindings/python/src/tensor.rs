//! Tensors in place, through DLPack: those of the CPU for objects without the buffer protocol, such as those of PyTorch, and for
//! types that the protocol cannot name, such as `bfloat16`; and those of CUDA devices.
//!
//! The layout of the structures is that of <https://dmlc.github.io/dlpack/latest/c_api.html>.

use std::ffi::{CStr, c_void};
use std::slice;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The newest version that is known here. All with the same first number have the same layout.
const VERSION: (u32, u32) = (1, 1);

/// The memory of the CPU, and memory of the CPU that is pinned for CUDA and ROCm.
const ON_CPU: [i32; 3] = [1, 3, 11];

/// Memory of a CUDA device, and memory that CUDA moves between devices.
const ON_CUDA: [i32; 2] = [2, 13];

/// Items are addresses.
const OPAQUE: u8 = 3;

/// The flag of tensors that must not be written to.
const READ_ONLY: u64 = 1;

/// The flag of items of less than a byte that have a byte each.
const PADDED: u64 = 1 << 2;

#[repr(C)]
struct DlTensor {
    data: *const u8,
    device: Device,
    dimensions: i32,
    kind: Kind,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    device: i32,
    number: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Kind {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// A tensor of the versions before 1.
#[repr(C)]
struct Old {
    tensor: DlTensor,
    _context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Old)>,
}

#[repr(C)]
struct Versioned {
    version: (u32, u32),
    _context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// A tensor that its producer keeps until this is dropped.
enum Held {
    Old(*mut Old),
    Versioned(*mut Versioned),
}

impl Held {
    /// Takes the tensor of a capsule, whose name says then that it was taken.
    fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pointer = |name: &CStr, used: &CStr| {
            // SAFETY: the object is alive, and names live forever. A capsule with that name has a pointer.
            unsafe {
                if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                    return None;
                }
                let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
                ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr());
                Some(pointer)
            }
        };
        if let Some(tensor) = pointer(c"dltensor_versioned", c"used_dltensor_versioned") {
            return Ok(Self::Versioned(tensor.cast()));
        }
        if let Some(tensor) = pointer(c"dltensor", c"used_dltensor") {
            return Ok(Self::Old(tensor.cast()));
        }
        // SAFETY: the object is alive.
        let is_used = [c"used_dltensor_versioned", c"used_dltensor"]
            .iter()
            .any(|name| unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 0 });
        Err(if is_used {
            PyValueError::new_err("this DLPack capsule was used before: pass the tensor itself")
        } else {
            PyTypeError::new_err("__dlpack__ did not return a capsule of DLPack")
        })
    }

    /// # Errors
    /// `BufferError` for a layout that is not known.
    fn tensor(&self) -> PyResult<(&DlTensor, u64)> {
        match *self {
            // SAFETY: the producer keeps it until its deleter is called.
            Self::Old(old) => Ok((unsafe { &(*old).tensor }, 0)),
            Self::Versioned(versioned) => {
                // SAFETY: as above; the version comes first in all versions.
                let version = unsafe { (*versioned).version };
                if version.0 != VERSION.0 {
                    return Err(PyBufferError::new_err(format!(
                        "this tensor comes with DLPack {}.{}, and treewide reads {}.x: a newer version may read it",
                        version.0, version.1, VERSION.0
                    )));
                }
                // SAFETY: as above.
                unsafe { Ok((&(*versioned).tensor, (*versioned).flags)) }
            }
        }
    }
}

// SAFETY: a tensor may be given back by another thread than the one that took it. All are attached to the interpreter then.
unsafe impl Send for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken, and is not used any more.
        unsafe {
            match *self {
                Self::Old(old) => (*old).deleter.map(|delete| delete(old)),
                Self::Versioned(versioned) => (*versioned).deleter.map(|delete| delete(versioned)),
            }
        };
    }
}

/// Where a tensor must be.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Cpu,
    /// On a CUDA device. Work that writes it is done before later work of this stream.
    Cuda {
        stream: u64,
    },
}

impl Place {
    fn check(self, device: i32, number: i64) -> PyResult<()> {
        let (is_there, there) = match self {
            Self::Cpu => (ON_CPU.contains(&device), "in the memory of the CPU"),
            Self::Cuda { .. } => (ON_CUDA.contains(&device), "on a CUDA device"),
        };
        if is_there {
            return Ok(());
        }
        let is = match device {
            _ if ON_CPU.contains(&device) => "in the memory of the CPU".to_owned(),
            _ => format!("on {} device {number}", device_name(device)),
        };
        let what_to_do = match self {
            Self::Cpu if ON_CUDA.contains(&device) => "pass it to treewide.gpu, or x.cpu()",
            Self::Cpu => "pass x.cpu() or a copy on the CPU",
            Self::Cuda { .. } if ON_CPU.contains(&device) => {
                "pass it to treewide.digest, or x.cuda()"
            }
            Self::Cuda { .. } => "pass a copy on the CPU to treewide.digest",
        };
        Err(PyBufferError::new_err(format!("this tensor is not {there}, but {is}: {what_to_do}")))
    }
}

fn device_name(device: i32) -> &'static str {
    match device {
        2 | 13 => "CUDA",
        4 => "OpenCL",
        7 => "Vulkan",
        8 => "Metal",
        10 => "ROCm",
        14 => "oneAPI",
        _ => "other",
    }
}

/// A contiguous tensor that its producer lends until this is dropped, on a thread that is attached to the interpreter.
pub(crate) struct Lent {
    data: *const u8,
    len: usize,
    /// Of an item. It may be less than 8.
    bits: usize,
    shape: Vec<isize>,
    /// The number of the device.
    number: i32,
    is_read_only: bool,
    /// From a row to the next, in items.
    row_stride: i64,
    _held: Held,
}

// SAFETY: the address is used by devices, and by the thread that has the tensor.
unsafe impl Send for Lent {}

impl Lent {
    /// The tensor that `object` exports; `None` if it exports none.
    ///
    /// # Errors
    /// `BufferError` for a tensor that is in another place, is not contiguous, or requires a gradient; `TypeError` for
    /// one of addresses. Others of the producer.
    pub(crate) fn of(object: &Bound<'_, PyAny>, place: Place) -> PyResult<Option<Self>> {
        Self::taken(object, place, false)
    }

    /// As [`of`](Self::of). With `rows`, only each row is contiguous.
    fn taken(object: &Bound<'_, PyAny>, place: Place, rows: bool) -> PyResult<Option<Self>> {
        let class = object.get_type();
        if class.getattr_opt("__dlpack__")?.is_none() {
            return Ok(None);
        }
        let (device, number): (i32, i64) = object.call_method0("__dlpack_device__")?.extract()?;
        place.check(device, number)?;
        let held = Held::take(&export(object, place)?)?;
        let (tensor, flags) = held.tensor()?;
        place.check(tensor.device.device, number)?;
        if tensor.kind.code == OPAQUE {
            let problem =
                "this tensor has addresses of objects, not numbers: pass a tensor of numbers";
            return Err(PyTypeError::new_err(problem));
        }
        let shape = tensor.shape()?;
        let row_stride = tensor.row_stride(&shape).filter(|_| rows && shape.len() > 1);
        if row_stride.is_none() && !tensor.is_contiguous(&shape) {
            return Err(PyBufferError::new_err(
                "this tensor is not contiguous, so its bytes are not in one piece: pass x.contiguous() (PyTorch) or a copy",
            ));
        }
        let wrong = || PyBufferError::new_err("this tensor has more bytes than memory can have");
        let items = shape.iter().try_fold(1_usize, |items, &len| items.checked_mul(len as usize));
        let mut bits = usize::from(tensor.kind.bits);
        if bits < 8 && flags & PADDED != 0 {
            bits = 8;
        }
        bits *= usize::from(tensor.kind.lanes);
        let len = items
            .and_then(|items| items.checked_mul(bits))
            .map(|bits| bits.div_ceil(8))
            .filter(|&len| len <= isize::MAX as usize)
            .ok_or_else(wrong)?;
        let offset = usize::try_from(tensor.byte_offset).map_err(|_| wrong())?;
        if len > 0 && tensor.data.is_null() {
            return Err(PyBufferError::new_err(
                "this tensor has no memory: its producer is broken",
            ));
        }
        let (number, is_read_only) = (tensor.device.number, flags & READ_ONLY != 0);
        // A tensor without items may have no memory.
        let data = tensor.data.wrapping_add(offset);
        let row = shape.get(1..).unwrap_or_default().iter().product::<isize>() as i64;
        let row_stride = row_stride.unwrap_or(row);
        Ok(Some(Self { data, len, bits, shape, number, is_read_only, row_stride, _held: held }))
    }

    /// The number of its device.
    pub(crate) fn number(&self) -> i32 {
        self.number
    }

    /// Where its bytes begin.
    pub(crate) fn address(&self) -> u64 {
        self.data as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of each row, if the first dimension counts them.
    ///
    /// # Errors
    /// `BufferError` if rows begin or end inside of a byte.
    pub(crate) fn row_len(&self) -> PyResult<usize> {
        // There are no more bits than `len` bytes have, unless there are no items.
        let of_rows = self.shape.get(1..).unwrap_or_default();
        let bits = of_rows.iter().fold(self.bits, |bits, &len| bits.wrapping_mul(len as usize));
        let rows = self.shape.first().map_or(0, |&rows| rows as usize);
        if rows > 1 && !bits.is_multiple_of(8) {
            return Err(PyBufferError::new_err(format!(
                "a row of this tensor has {bits} bits, and not whole bytes: pass a list of rows that are copies"
            )));
        }
        Ok(self.len.checked_div(rows).unwrap_or(0))
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        &self.shape
    }
}

/// A tensor in the memory of the CPU.
pub(crate) struct Tensor(Lent);

impl Tensor {
    /// As [`Lent::of`].
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(Lent::of(object, Place::Cpu)?.map(Self))
    }

    /// As [`of`](Self::of), but only each row is contiguous: for [`row_step`](Self::row_step) alone.
    pub(crate) fn of_rows(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(Lent::taken(object, Place::Cpu, true)?.map(Self))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: a contiguous tensor has that many bytes, which its producer keeps.
        unsafe { slice::from_raw_parts(self.0.data, self.0.len) }
    }

    /// The number of items in each dimension.
    pub(crate) fn shape(&self) -> &[isize] {
        self.0.shape()
    }

    /// Where rows begin, from a row to the next in bytes, and the bytes of each.
    ///
    /// # Errors
    /// `BufferError` if rows begin or end inside of a byte.
    pub(crate) fn row_step(&self) -> PyResult<(*const u8, isize, usize)> {
        let step = self.0.row_stride as isize * self.0.bits as isize / 8;
        Ok((self.0.data, step, self.0.row_len()?))
    }

    /// The bytes of an item; 0 if it has less than one.
    pub(crate) fn item_len(&self) -> usize {
        self.0.bits / 8
    }
}

impl DlTensor {
    fn numbers(&self, start: *const i64) -> &[i64] {
        let dimensions = usize::try_from(self.dimensions).unwrap_or(0);
        if start.is_null() || dimensions == 0 {
            return &[];
        }
        // SAFETY: shape and strides have a number for each dimension.
        unsafe { slice::from_raw_parts(start, dimensions) }
    }

    fn shape(&self) -> PyResult<Vec<isize>> {
        let shape = self.numbers(self.shape);
        let lens = shape.iter().map(|&len| isize::try_from(len).ok().filter(|&len| len >= 0));
        lens.collect::<Option<_>>().ok_or_else(|| {
            PyBufferError::new_err("this tensor has a negative length: its producer is broken")
        })
    }

    /// Whether the items are in C order, one after the other.
    fn is_contiguous(&self, shape: &[isize]) -> bool {
        let strides = self.numbers(self.strides);
        strides.is_empty() || shape.contains(&0) || are_contiguous(shape, strides)
    }

    /// From a row to the next, in items, if each row is in C order.
    fn row_stride(&self, shape: &[isize]) -> Option<i64> {
        let (&first, of_row) = self.numbers(self.strides).split_first()?;
        are_contiguous(shape.get(1..)?, of_row).then_some(first)
    }
}

fn are_contiguous(shape: &[isize], strides: &[i64]) -> bool {
    let mut expected = 1_i64;
    for (&len, &stride) in shape.iter().zip(strides).rev() {
        if len != 1 && stride != expected {
            return false;
        }
        expected = expected.wrapping_mul(len as i64);
    }
    true
}

/// Asks a producer for a capsule.
fn export<'py>(object: &Bound<'py, PyAny>, place: Place) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let options = PyDict::new(py);
    if let Place::Cuda { stream } = place {
        options.set_item("stream", stream)?;
    }
    options.set_item("max_version", VERSION)?;
    let returned = match object.call_method("__dlpack__", (), Some(&options)) {
        // Producers of the versions before 1 do not know the option.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            options.del_item("max_version")?;
            object.call_method("__dlpack__", (), Some(&options))
        }
        returned => returned,
    };
    returned.map_err(|error| {
        let needs_gradient = object.getattr("requires_grad").and_then(|it| it.is_truthy());
        if !needs_gradient.unwrap_or(false) {
            return error;
        }
        let explained = PyBufferError::new_err(
            "this tensor requires a gradient, so it is not lent: pass x.detach()",
        );
        explained.set_cause(py, Some(error));
        explained
    })
}
