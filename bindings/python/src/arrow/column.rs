//! The values of one Arrow array, in place.
//!
//! ```text
//! binary, utf8        validity, offsets (n + 1), data
//! fixed_size_binary   validity, data
//! views               validity, views (16 bytes each), data 0, .., data k - 1, lengths of the data (k)
//! ```
//!
//! The interface does not state how long offsets, views and validity are: that follows from the number of values, and a
//! producer must be trusted with it. What they refer to is checked.

use std::slice;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use treewide::batch::{Blobs, Offset, Packed};

use super::abi::{ArrowArray, ArrowSchema, broken};
use crate::buffer::room;

/// The types whose values are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Offsets of 32 bits.
    Small,
    /// Offsets of 64 bits.
    Large,
    View,
    Fixed(usize),
}

/// The type of a column, and whether it is the only column of a table.
#[derive(Clone, Copy)]
pub(super) struct Type {
    kind: Kind,
    in_table: bool,
}

impl Type {
    /// # Errors
    /// `TypeError` for types whose values are not bytes.
    pub(super) fn of(schema: &ArrowSchema) -> PyResult<Self> {
        let in_table = schema.format() == b"+s";
        let column = if in_table {
            schema.only_child().ok_or_else(|| {
                PyTypeError::new_err(format!(
                    "this table has {} columns, and hash_many takes one: pass a column, such as table['name']",
                    schema.n_children
                ))
            })?
        } else {
            schema
        };
        if !column.dictionary.is_null() {
            return Err(PyTypeError::new_err(
                "this Arrow column is dictionary-encoded (categorical), so it has numbers instead of values: cast it \
                 to binary or string, or pass its dictionary",
            ));
        }
        let kind = match column.format() {
            b"z" | b"u" => Kind::Small,
            b"Z" | b"U" => Kind::Large,
            b"vz" | b"vu" => Kind::View,
            [b'w', b':', width @ ..] => {
                let width = str::from_utf8(width).ok().and_then(|width| width.parse::<u32>().ok());
                Kind::Fixed(width.ok_or_else(|| broken("its width is not a number"))? as usize)
            }
            other => {
                return Err(PyTypeError::new_err(format!(
                    "hash_many takes Arrow columns of bytes or text, and this one has the format {:?}: cast it to \
                     binary or string, or pass its numbers as an array of two dimensions",
                    String::from_utf8_lossy(other)
                )));
            }
        };
        Ok(Self { kind, in_table })
    }
}

/// A range of the values of an array that does what the interface says, as far as that can be found out.
pub(super) struct Column<'a> {
    array: &'a ArrowArray,
    kind: Kind,
    /// The index of the first value in the buffers.
    from: usize,
    len: usize,
}

/// The values themselves.
pub(crate) enum Values<'a> {
    Small(&'a [u8], Packed<'a, i32>),
    Large(&'a [u8], Packed<'a, i64>),
    Slices(Vec<&'a [u8]>),
}

/// The first value and the number of values of an array.
pub(super) fn range(array: &ArrowArray) -> Result<(usize, usize), &'static str> {
    let number = |number: i64| usize::try_from(number).ok();
    let (from, len) =
        number(array.offset).zip(number(array.length)).ok_or("its length or offset is negative")?;
    // So that no size of offsets or views overflows.
    if from.checked_add(len).is_none_or(|end| end >= isize::MAX as usize / 16) {
        return Err("its length and offset do not fit into memory");
    }
    Ok((from, len))
}

impl<'a> Column<'a> {
    pub(super) fn new(array: &'a ArrowArray, of: Type) -> PyResult<Self> {
        let (mut from, len) = range(array).map_err(broken)?;
        let mut column = array;
        if of.in_table {
            if array.null_count != 0 && array.buffer(0).is_some() {
                return Err(broken("rows of the table are null"));
            }
            column = array.only_child().ok_or_else(|| broken("the table has no column"))?;
            let (start, rows) = range(column).map_err(broken)?;
            if from + len > rows {
                return Err(broken("the column is shorter than the table"));
            }
            from += start;
        }
        Ok(Self { array: column, kind: of.kind, from, len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether each value is there, if one might not be.
    pub(super) fn validity(&self) -> Option<impl ExactSizeIterator<Item = bool>> {
        if self.array.null_count == 0 || self.len == 0 {
            return None;
        }
        let bits = self.array.buffer(0)?;
        // SAFETY: the bitmap of an array has a bit for each value up to its end.
        let bits = unsafe { slice::from_raw_parts(bits, (self.from + self.len).div_ceil(8)) };
        Some((self.from..self.from + self.len).map(|at| bits[at / 8] >> (at % 8) & 1 != 0))
    }

    pub(super) fn values(&self) -> PyResult<Values<'a>> {
        if self.len == 0 {
            // Some producers have no buffers then.
            return Ok(Values::Slices(Vec::new()));
        }
        let empty = || Values::Slices(vec![&[]; self.len]);
        match self.kind {
            Kind::Small => {
                Ok(self.packed()?.map_or_else(empty, |(data, it)| Values::Small(data, it)))
            }
            Kind::Large => {
                Ok(self.packed()?.map_or_else(empty, |(data, it)| Values::Large(data, it)))
            }
            Kind::View => self.views().map(Values::Slices),
            Kind::Fixed(width) => self.fixed(width).map(Values::Slices),
        }
    }

    /// A buffer of at least `len` bytes.
    ///
    /// # Safety
    /// The producer's buffer must have that length, if there is one.
    unsafe fn bytes(&self, buffer: usize, len: usize) -> PyResult<&'a [u8]> {
        match self.array.buffer(buffer) {
            _ if len == 0 => Ok(&[]),
            // SAFETY: the array is alive for `'a`, and its buffers with it; our caller knows the length.
            Some(start) => Ok(unsafe { slice::from_raw_parts(start, len) }),
            None => Err(broken("a buffer is missing")),
        }
    }

    /// The data, and the offsets of the values in it. `None` if all values are empty: there need be no data then.
    fn packed<O: Offset + Into<i64>>(&self) -> PyResult<Option<(&'a [u8], Packed<'a, O>)>> {
        let start = self.array.buffer(1).ok_or_else(|| broken("it has no offsets"))?.cast::<O>();
        if !start.is_aligned() {
            return Err(broken("its offsets are not aligned"));
        }
        // SAFETY: an array has one offset more than values, from the beginning of the buffer.
        let offsets = unsafe { slice::from_raw_parts(start.add(self.from), self.len + 1) };
        let (first, last) = (offsets[0].into(), offsets[self.len].into());
        let end = usize::try_from(last).ok().filter(|_| 0 <= first && first <= last);
        let end = end.ok_or_else(|| broken("its first or last offset is wrong"))?;
        if first == last && offsets.iter().all(|&offset| offset.into() == first) {
            return Ok(None);
        }
        // SAFETY: data reaches to the last offset.
        let data = unsafe { self.bytes(2, end)? };
        let packed = Packed::new(data, offsets).map_err(|error| broken(&error.to_string()))?;
        Ok(Some((data, packed)))
    }

    fn fixed(&self, width: usize) -> PyResult<Vec<&'a [u8]>> {
        let end =
            (self.from + self.len).checked_mul(width).filter(|&len| len <= isize::MAX as usize);
        let end = end.ok_or_else(|| broken("its values do not fit into memory"))?;
        // SAFETY: the data has `width` bytes for each value up to the end.
        let data = unsafe { self.bytes(1, end)? };
        let mut values = room(self.len)?;
        values.extend((self.from..self.from + self.len).map(|at| &data[at * width..][..width]));
        Ok(values)
    }

    fn views(&self) -> PyResult<Vec<&'a [u8]>> {
        const VIEW: usize = 16;
        // SAFETY: there are 16 bytes for each value up to the end.
        let views = unsafe { self.bytes(1, (self.from + self.len) * VIEW)? };
        let views = &views.as_chunks::<VIEW>().0[self.from..];
        let buffers = usize::try_from(self.array.n_buffers).unwrap_or(0);
        let count =
            buffers.checked_sub(3).ok_or_else(|| broken("views have at least 3 buffers"))?;
        // SAFETY: the last buffer has a length of 64 bits for each buffer of data.
        let lengths = unsafe { self.bytes(buffers - 1, count * 8)? }.as_chunks::<8>().0;
        let mut data: Vec<&'a [u8]> = Vec::with_capacity(count);
        for (index, length) in lengths.iter().enumerate() {
            let length = isize::try_from(i64::from_ne_bytes(*length)).ok().filter(|&len| len >= 0);
            let length = length.ok_or_else(|| broken("the length of a data buffer is wrong"))?;
            // SAFETY: that is what the lengths are.
            data.push(unsafe { self.bytes(2 + index, length as usize)? });
        }
        let data = &data[..];
        let mut validity = self.validity();
        let value = |view: &'a [u8; VIEW]| {
            let number =
                |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| view[at + byte])) as usize;
            let len = number(0);
            if len <= 12 {
                return Some(&view[4..][..len]);
            }
            data.get(number(8))?.get(number(12)..)?.get(..len)
        };
        let all = views.iter().map(|view| {
            // The view of a null may be anything.
            let is_valid = validity.as_mut().is_none_or(|validity| validity.next() == Some(true));
            if is_valid { value(view) } else { Some(&[][..]) }
        });
        all.collect::<Option<_>>().ok_or_else(|| broken("a view lies outside of its data"))
    }
}

impl Values<'_> {
    /// Appends the values to `slices`.
    pub(crate) fn append_to<'s>(&'s self, slices: &mut Vec<&'s [u8]>) {
        match self {
            Self::Small(_, packed) => slices.extend((0..packed.count()).map(|at| packed.get(at))),
            Self::Large(_, packed) => slices.extend((0..packed.count()).map(|at| packed.get(at))),
            Self::Slices(values) => slices.extend(values),
        }
    }
}
