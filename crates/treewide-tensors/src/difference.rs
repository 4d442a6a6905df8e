//! Rows and values that differ between two tensors: a second read, for tensors whose digests differ.

use crate::error::Error;
use crate::opening::open;
use crate::ranges::{TILE, fill};
use crate::tensor::Tensor;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// The difference of two tensors of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where they differ.
    pub rows: Rows,
    /// The values that differ, if `f64` has all numbers of their types.
    pub values: Option<Values>,
}

/// The values that differ. NaNs are equal, and infinitely far from numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    /// How many there are.
    pub all: u64,
    /// How many are equal.
    pub equal: u64,
    /// The largest difference of two.
    pub largest: f64,
    /// The norm of the differences, in norms of the old tensor.
    pub norm: f64,
}

/// The rows of a tensor that differ: the slices at each place of its first dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many there are.
    pub all: u64,
    /// How many differ.
    pub different: u64,
    /// The first ranges of rows that differ, at most [`Rows::MOST`].
    pub first: Vec<Range<u64>>,
    /// Ranges after them.
    pub more: u64,
    /// After the last row that differs.
    end: u64,
}

impl Rows {
    /// The most ranges that are kept.
    pub const MOST: usize = 100;

    fn add(&mut self, row: u64) {
        // A row may be in several tiles.
        if self.end > row {
            return;
        }
        let kept = self.first.len();
        match self.first.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            // The range at hand is not kept.
            _ if self.end == row && self.more > 0 => {}
            _ if kept < Self::MOST => self.first.push(row..row + 1),
            _ => self.more += 1,
        }
        self.end = row + 1;
        self.different += 1;
    }
}

/// The norm of numbers in units of the largest, so that no square is too large or too small for `f64`.
#[derive(Default)]
struct Norm {
    largest: f64,
    squares: f64,
}

impl Norm {
    fn add(&mut self, values: &[f64]) {
        let largest = values.iter().copied().fold(self.largest, f64::max);
        if largest > 0.0 && largest.is_finite() {
            self.squares *= (self.largest / largest).powi(2);
            self.squares += values.iter().map(|it| (it / largest).powi(2)).sum::<f64>();
        }
        self.largest = largest;
    }

    /// This norm in norms of `other`.
    fn relative_to(&self, other: &Self) -> f64 {
        match self.largest {
            0.0 => 0.0,
            f64::INFINITY => f64::INFINITY,
            largest => largest / other.largest * (self.squares / other.squares).sqrt(),
        }
    }
}

/// Turns bytes into values.
type Read = Box<dyn Fn(&[u8], &mut Vec<f64>)>;

fn each<const N: usize>(value: impl Fn([u8; N]) -> f64 + 'static) -> Option<(u64, Read)> {
    let read = move |bytes: &[u8], values: &mut Vec<f64>| {
        values.clear();
        values.extend(bytes.as_chunks().0.iter().map(|&it| value(it)));
    };
    Some((N as u64, Box::new(read)))
}

/// The bytes of a value of a type, and how they are read.
fn reader(dtype: &str) -> Option<(u64, Read)> {
    match dtype {
        "F64" => each(f64::from_le_bytes),
        "F32" => each(|it| f32::from_le_bytes(it).into()),
        "BF16" => each(|[low, high]| f32::from_le_bytes([0, 0, low, high]).into()),
        "F16" => each(|it| half(u16::from_le_bytes(it))),
        "F8_E5M2" => each(|[it]| half(u16::from(it) << 8)),
        "F8_E4M3" => each(|[it]| match it & 0x7f {
            0x7f => f64::NAN,
            rest => scaled(it >= 0x80, u32::from(rest) << 20, 120),
        }),
        "I32" => each(|it| i32::from_le_bytes(it).into()),
        "I16" => each(|it| i16::from_le_bytes(it).into()),
        "I8" => each(|it| i8::from_le_bytes(it).into()),
        "U32" => each(|it| u32::from_le_bytes(it).into()),
        "U16" => each(|it| u16::from_le_bytes(it).into()),
        "U8" | "BOOL" => each(|[it]| it.into()),
        _ => None,
    }
}

fn half(bits: u16) -> f64 {
    match bits & 0x7fff {
        0x7c00 => scaled(bits >= 0x8000, f32::INFINITY.to_bits(), 0),
        0x7c01.. => f64::NAN,
        rest => scaled(bits >= 0x8000, u32::from(rest) << 13, 112),
    }
}

/// A number of a narrow type from its bits in the places of those of `f32`, whose exponents count from `bias` more.
fn scaled(is_negative: bool, bits: u32, bias: u32) -> f64 {
    let value = f64::from(f32::from_bits(bits) * f32::from_bits((127 + bias) << 23));
    if is_negative { -value } else { value }
}

/// The difference of two tensors, each with its file: see [`Model::places`](crate::Model::places). `None` if they have no bytes
/// or other shapes, or types that cannot be compared.
///
/// # Errors
/// If a file cannot be read.
pub fn difference(
    (old, is): (&Path, &Tensor),
    (new, now): (&Path, &Tensor),
) -> Result<Option<Difference>, Error> {
    let numbers = reader(&is.dtype).zip(reader(&now.dtype));
    let are_numbers = numbers.is_some();
    // Of one type, bytes can be compared.
    let bytes = || reader("U8").zip(reader("U8")).filter(|_| is.dtype == now.dtype);
    let Some(((size, read), (new_size, new_read))) = numbers.or_else(bytes) else {
        return Ok(None);
    };
    let items = (is.range.end - is.range.start) / size;
    let rows = is.shape.first().copied().unwrap_or(1);
    let is_alike = is.shape == now.shape && (now.range.end - now.range.start) / new_size == items;
    if !is_alike || items == 0 || items % rows != 0 {
        return Ok(None);
    }
    let (row, mut rows) = (items / rows, Rows { all: rows, ..Rows::default() });
    let mut values = Values { all: items, ..Values::default() };
    let (mut apart, mut before, mut buffer) = (Norm::default(), Norm::default(), vec![0; TILE]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (one, other) = (open(old)?.0, open(new)?.0);
    for at in (0..items).step_by(TILE / 8) {
        let count = (items - at).min(TILE as u64 / 8);
        let mut take =
            |file: &File, path: &Path, start: u64, size: u64, read: &Read, to: &mut _| {
                let bytes = &mut buffer[..(count * size) as usize];
                fill(file, bytes, start + at * size).map_err(|kind| Error::new(path, kind))?;
                read(bytes, to);
                Ok::<_, Error>(())
            };
        take(&one, old, is.range.start, size, &read, &mut ours)?;
        take(&other, new, now.range.start, new_size, &new_read, &mut theirs)?;
        let mut from = 0;
        while from < count {
            let index = (at + from) / row;
            let end = ((index + 1) * row - at).min(count);
            let place = from as usize..end as usize;
            let equal = values.equal;
            for (was, is) in ours[place.clone()].iter_mut().zip(&mut theirs[place]) {
                let is_equal = was == is || (was.is_nan() && is.is_nan());
                // The difference of infinities is not a number.
                *is = if is_equal { 0.0 } else { (*was - *is).abs() };
                *is = if is.is_nan() { f64::INFINITY } else { *is };
                *was = if was.is_finite() { was.abs() } else { 0.0 };
                values.equal += u64::from(is_equal);
            }
            if values.equal - equal < end - from {
                rows.add(index);
            }
            from = end;
        }
        apart.add(&theirs);
        before.add(&ours);
    }
    (values.largest, values.norm) = (apart.largest, apart.relative_to(&before));
    Ok(Some(Difference { rows, values: Some(values).filter(|_| are_numbers) }))
}

/// Such as `12 of 64 rows: 17, 20..30 and 2 more; 6132 of 6144 values equal, largest difference 5.0e-1, relative norm 1.2e-3`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most ranges of rows that are named.
        const NAMED: usize = 3;
        let Rows { all, different, first, more, .. } = &self.rows;
        if self.values.is_some_and(|it| it.all == it.equal) {
            return f.write_str("the same values");
        }
        write!(f, "{different} of {all} row{}: ", if *all == 1 { "" } else { "s" })?;
        let ranges = first.iter().take(NAMED).map(|it| match it.end - it.start {
            1 => it.start.to_string(),
            _ => format!("{}..{}", it.start, it.end),
        });
        f.write_str(&ranges.collect::<Vec<_>>().join(", "))?;
        match first.len().saturating_sub(NAMED) as u64 + more {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        let Some(Values { all, equal, largest, norm }) = self.values else { return Ok(()) };
        write!(
            f,
            "; {equal} of {all} values equal, largest difference {largest:.1e}, relative norm {norm:.1e}"
        )
    }
}
