//! Memory of a device, and of both device and host.

use crate::driver::{Handle, Region, Shared};
use crate::error::Error;
use std::ops::{Bound, RangeBounds};

/// That kernels can write words there, or read them. Memory of a caller may begin anywhere; a word that lies across others
/// would end all work of the process on the device.
pub(crate) fn check_words(region: &Region, what: &str) -> Result<(), Error> {
    let (of, at) = match region.memory.address() {
        Some(start) => ("address", start.wrapping_add(region.at)),
        None => ("byte", region.at),
    };
    if at.is_multiple_of(4) {
        return Ok(());
    }
    Err(Error::invalid(format_args!("{what} starts at {of} {at}, which is not a multiple of 4")))
}

/// Memory of a device. Cheap to clone: clones are the same memory, which is freed with the last.
#[derive(Clone, Debug)]
pub struct Buffer {
    memory: Handle,
    len: u64,
}

impl Buffer {
    /// The first `len` bytes of memory that a backend made or borrowed.
    pub(crate) fn of_memory(memory: Handle, len: u64) -> Self {
        Self { memory, len }
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it, which may start at any byte.
    ///
    /// # Errors
    /// If the range is not within the buffer.
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Result<Slice, Error> {
        Slice::from(self).slice(range)
    }
}

/// A part of a buffer, which it keeps alive.
#[derive(Clone, Debug)]
pub struct Slice {
    pub(crate) region: Region,
}

impl Slice {
    /// Bytes.
    pub fn len(&self) -> u64 {
        self.region.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.region.len == 0
    }

    /// A part of it, which may start at any byte.
    ///
    /// # Errors
    /// If the range is not within the slice.
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Result<Self, Error> {
        let len = self.region.len;
        let start = match range.start_bound() {
            Bound::Included(start) => Some(*start),
            Bound::Excluded(start) => start.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match range.end_bound() {
            Bound::Included(end) => end.checked_add(1),
            Bound::Excluded(end) => Some(*end),
            Bound::Unbounded => Some(len),
        };
        match (start, end) {
            (Some(start), Some(end)) if start <= end && end <= len => {
                let memory = self.region.memory.clone();
                Ok(Self { region: Region { memory, at: self.region.at + start, len: end - start } })
            }
            _ => Err(Error::invalid(format_args!("a range that is not within {len} bytes"))),
        }
    }
}

impl From<&Buffer> for Slice {
    fn from(buffer: &Buffer) -> Self {
        Self { region: Region { memory: buffer.memory.clone(), at: 0, len: buffer.len } }
    }
}

impl From<&Slice> for Slice {
    fn from(slice: &Slice) -> Self {
        slice.clone()
    }
}

/// Memory that the host and the device use where it lies, without a copy: on devices with unified
/// memory.
#[derive(Debug)]
pub struct SharedBuffer {
    shared: Box<dyn Shared>,
    len: u64,
}

impl SharedBuffer {
    pub(crate) fn new(shared: Box<dyn Shared>, len: u64) -> Self {
        Self { shared, len }
    }

    /// The bytes, for the host; waits until the device is done with them. To be written: on some
    /// devices reading is slow.
    ///
    /// # Errors
    /// If the device failed.
    pub fn bytes(&mut self) -> Result<&mut [u8], Error> {
        Ok(&mut self.shared.bytes()?[..self.len as usize])
    }

    /// Lends the bytes to the device to hash. Work that is started with them must be done, by
    /// [`Pending::wait`](crate::pending::Pending::wait), before [`bytes`](Self::bytes) is called again.
    ///
    /// # Errors
    /// If the device failed.
    pub fn to_device(&mut self) -> Result<Slice, Error> {
        let memory = self.shared.memory()?;
        Ok(Slice { region: Region { memory, at: 0, len: self.len } })
    }
}
