//! Values of all types of Arrow, one at a time, in the form of `docs/formats.md#rows-of-tables`.
//!
//! As in `column.rs`, a producer is trusted with the lengths of buffers, and what they refer to is checked.

use std::slice;

use super::abi::{ArrowArray, ArrowSchema};
use super::column::range;

/// What is wrong with a table.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not as the interface says.
    Broken(&'static str),
    /// It has a type without a form.
    Type(String),
}

type Result<T> = std::result::Result<T, Fault>;

/// The first byte of a value.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Tag {
    Null,
    False,
    True,
    Integer,
    Unsigned,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Instant,
    Duration,
    Interval,
    List,
    Struct,
    Map,
}

/// Appends the value of the bytes of a fixed width.
type Put = Box<dyn Fn(&[u8], &mut Vec<u8>) -> Result<()> + Send + Sync>;

/// Where the elements of a list are, in their array.
type Bounds<'a> = Box<dyn Fn(usize) -> Option<(usize, usize)> + Send + Sync + 'a>;

enum Kind<'a> {
    Null,
    Bool(&'a [u8]),
    Fixed(&'a [u8], usize, Put),
    /// Text or bytes.
    Bytes(Tag, Box<dyn Fn(usize) -> Option<&'a [u8]> + Send + Sync + 'a>),
    List(Tag, Bounds<'a>, Box<Cells<'a>>),
    Struct(Vec<Cells<'a>>),
    /// Numbers of columns, places in them or none, and the columns with their numbers.
    Union(&'a [u8], Option<&'a [u8]>, Vec<(u8, Cells<'a>)>),
    /// Indices, their width, and the number from which on they are negative.
    Dictionary(&'a [u8], usize, usize, Box<Cells<'a>>),
    RunEnds(&'a [u8], usize, Box<Cells<'a>>),
}

/// The values of an array.
pub(crate) struct Cells<'a> {
    kind: Kind<'a>,
    validity: Option<&'a [u8]>,
    from: usize,
    pub(crate) len: usize,
}

/// The buffers of an array, up to its last value.
struct Buffers<'a> {
    array: &'a ArrowArray,
    end: usize,
}

impl<'a> Buffers<'a> {
    /// Buffer `index`, which has `len` bytes.
    fn bytes(&self, index: usize, len: Option<usize>) -> Result<&'a [u8]> {
        let len = len.filter(|&len| len <= isize::MAX as usize);
        let len = len.ok_or(Fault::Broken("its values do not fit into memory"))?;
        match self.array.buffer(index) {
            _ if len == 0 || self.end == 0 => Ok(&[]),
            // SAFETY: the array is alive for `'a`, and its buffers with it; a producer is trusted with their lengths.
            Some(start) => Ok(unsafe { slice::from_raw_parts(start, len) }),
            None => Err(Fault::Broken("a buffer is missing")),
        }
    }

    /// Buffer `index`, which has `width` bytes for each value.
    fn fixed(&self, index: usize, width: usize) -> Result<&'a [u8]> {
        self.bytes(index, self.end.checked_mul(width))
    }

    /// One offset more than values.
    fn offsets(&self, width: usize) -> Result<Offsets<'a>> {
        Ok(Offsets { bytes: self.bytes(1, (self.end + 1).checked_mul(width))?, width })
    }

    fn views(&self) -> Result<impl Fn(usize) -> Option<&'a [u8]> + Send + Sync + 'a> {
        let views = self.fixed(1, 16)?;
        let buffers = usize::try_from(self.array.n_buffers).unwrap_or(0);
        let count = buffers.checked_sub(3).ok_or(Fault::Broken("views have at least 3 buffers"))?;
        let lengths = self.bytes(buffers - 1, count.checked_mul(8))?;
        let data = (0..count).map(|at| self.bytes(2 + at, integer(lengths, 8, at)));
        let data = data.collect::<Result<Vec<_>>>()?;
        Ok(move |at: usize| {
            let view = views.get(at * 16..)?.get(..16)?;
            let number = |at| integer(view, 4, at);
            let len = number(0)?;
            match len {
                0..=12 => Some(&view[4..][..len]),
                _ => data.get(number(2)?)?.get(number(3)?..)?.get(..len),
            }
        })
    }
}

#[derive(Clone, Copy)]
struct Offsets<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Offsets<'_> {
    /// The first and the number of the elements of value `at`.
    fn bounds(self, at: usize) -> Option<(usize, usize)> {
        let (start, end) =
            (integer(self.bytes, self.width, at)?, integer(self.bytes, self.width, at + 1)?);
        Some((start, end.checked_sub(start)?))
    }
}

/// Number `at` of those of `width` bytes, without a sign.
fn integer(bytes: &[u8], width: usize, at: usize) -> Option<usize> {
    let bytes = bytes.get(at.checked_mul(width)?..)?.get(..width)?;
    let number = match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    };
    usize::try_from(number).ok()
}

fn put(out: &mut Vec<u8>, tag: Tag, bytes: &[u8]) {
    out.push(tag as u8);
    out.extend_from_slice(bytes);
}

/// Seconds and nanoseconds of a number of `each` parts of a second.
fn moment(out: &mut Vec<u8>, tag: Tag, number: i64, each: i64) {
    put(out, tag, &number.div_euclid(each).to_le_bytes());
    let nanoseconds = number.rem_euclid(each) * (1_000_000_000 / each);
    out.extend_from_slice(&(nanoseconds as u32).to_le_bytes());
}

fn float(out: &mut Vec<u8>, number: f64) {
    let number = if number.is_nan() { f64::from_bits(0x7ff8 << 48) } else { number };
    put(out, Tag::Float, &number.to_bits().to_le_bytes());
}

/// A half in 64 bits, which have all values of halves.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let number = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -number } else { number }
}

/// A decimal of up to 32 bytes: its scale, and its digits without zeros at the end.
fn decimal(bytes: &[u8], mut scale: i32, out: &mut Vec<u8>) {
    let from_lowest = |at: usize| {
        if cfg!(target_endian = "big") { bytes[bytes.len() - 1 - at] } else { bytes[at] }
    };
    let is_negative = from_lowest(bytes.len() - 1) >= 0x80;
    let byte = |at| if at < bytes.len() { from_lowest(at) } else { 0xff * u8::from(is_negative) };
    let negated = |limbs: [u64; 4]| {
        let mut carry = is_negative;
        limbs.map(|it| {
            let (limb, overflows) =
                (it ^ 0_u64.wrapping_sub(is_negative.into())).overflowing_add(carry.into());
            carry = overflows;
            limb
        })
    };
    let limb =
        |at: usize| u64::from_le_bytes(std::array::from_fn(|byte_of| byte(8 * at + byte_of)));
    let mut limbs = negated(std::array::from_fn(limb));
    if limbs == [0; 4] {
        scale = 0;
    }
    while limbs != [0; 4] {
        let (mut tenth, mut rest) = (limbs, 0);
        for it in tenth.iter_mut().rev() {
            let number = u128::from(rest) << 64 | u128::from(*it);
            (*it, rest) = ((number / 10) as u64, (number % 10) as u64);
        }
        if rest != 0 {
            break;
        }
        (limbs, scale) = (tenth, scale - 1);
    }
    put(out, Tag::Decimal, &scale.to_le_bytes());
    negated(limbs).iter().for_each(|it| out.extend_from_slice(&it.to_le_bytes()));
}

/// How values of a fixed width are written, and their width; `None` for other types.
fn fixed(format: &str) -> Option<(usize, Put)> {
    macro_rules! number {
        ($number:ty, |$out:ident, $value:ident| $write:expr) => {
            (
                size_of::<$number>(),
                Box::new(move |bytes: &[u8], $out: &mut Vec<u8>| {
                    let $value =
                        <$number>::from_ne_bytes(bytes.try_into().expect("as wide as asked for"));
                    $write;
                    Ok(())
                }) as Put,
            )
        };
    }
    macro_rules! integers {
        ($number:ty) => {
            number!($number, |out, value| put(out, Tag::Integer, &i64::from(value).to_le_bytes()))
        };
    }
    // How many there are in a second.
    let unit = |unit: u8| Some(1000_i64.pow(b"smun".iter().position(|it| *it == unit)? as u32));
    Some(match format.as_bytes() {
        b"c" => integers!(i8),
        b"C" => integers!(u8),
        b"s" => integers!(i16),
        b"S" => integers!(u16),
        b"i" => integers!(i32),
        b"I" => integers!(u32),
        b"l" => integers!(i64),
        b"L" => number!(u64, |out, value| {
            let tag = if i64::try_from(value).is_ok() { Tag::Integer } else { Tag::Unsigned };
            put(out, tag, &value.to_le_bytes())
        }),
        b"e" => number!(u16, |out, value| float(out, half(value))),
        b"f" => number!(f32, |out, value| float(out, value.into())),
        b"g" => number!(f64, |out, value| float(out, value)),
        b"tdD" => number!(i32, |out, value| put(out, Tag::Date, &i64::from(value).to_le_bytes())),
        b"tdm" => (
            8,
            Box::new(|bytes, out| {
                let value = i64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
                if value % 86_400_000 != 0 {
                    return Err(Fault::Broken("a date is not a whole number of days"));
                }
                put(out, Tag::Date, &(value / 86_400_000).to_le_bytes());
                Ok(())
            }),
        ),
        [b't', b't', it @ (b's' | b'm')] => {
            let each = 1_000_000_000 / unit(*it)?;
            number!(i32, |out, value| put(out, Tag::Time, &(i64::from(value) * each).to_le_bytes()))
        }
        [b't', b't', it] => {
            let each = 1_000_000_000 / unit(*it)?;
            number!(i64, |out, value| put(out, Tag::Time, &value.wrapping_mul(each).to_le_bytes()))
        }
        [b't', b's', it, b':', zone @ ..] => {
            let (each, tag) =
                (unit(*it)?, if zone.is_empty() { Tag::Timestamp } else { Tag::Instant });
            number!(i64, |out, value| moment(out, tag, value, each))
        }
        [b't', b'D', it] => {
            let each = unit(*it)?;
            number!(i64, |out, value| moment(out, Tag::Duration, value, each))
        }
        b"tiM" => number!(i32, |out, months| interval(out, months, 0, 0)),
        b"tiD" => (
            8,
            Box::new(|bytes, out| {
                let number =
                    |at| i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
                interval(out, 0, number(0), i64::from(number(4)) * 1_000_000);
                Ok(())
            }),
        ),
        b"tin" => (
            16,
            Box::new(|bytes, out| {
                let number =
                    |at| i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
                let nanoseconds = i64::from_ne_bytes(bytes[8..].try_into().expect("8 bytes"));
                interval(out, number(0), number(4), nanoseconds);
                Ok(())
            }),
        ),
        [b'd', b':', ..] => {
            let numbers: Vec<i32> =
                format[2..].split(',').map(|it| it.parse().ok()).collect::<Option<_>>()?;
            let (scale, bits) = match numbers[..] {
                [_, scale] => (scale, 128),
                [_, scale, bits @ (32 | 64 | 128 | 256)] => (scale, bits),
                _ => return None,
            };
            let write = move |bytes: &[u8], out: &mut Vec<u8>| {
                decimal(bytes, scale, out);
                Ok(())
            };
            (bits as usize / 8, Box::new(write))
        }
        _ => return None,
    })
}

fn interval(out: &mut Vec<u8>, months: i32, days: i32, nanoseconds: i64) {
    put(out, Tag::Interval, &months.to_le_bytes());
    out.extend_from_slice(&days.to_le_bytes());
    out.extend_from_slice(&nanoseconds.to_le_bytes());
}

impl<'a> Cells<'a> {
    /// The values of `array`, of the type that `schema` is.
    pub(super) fn new(schema: &ArrowSchema, array: &'a ArrowArray) -> Result<Self> {
        let (from, len) = range(array).map_err(Fault::Broken)?;
        let buffers = Buffers { array, end: from + len };
        let format = str::from_utf8(schema.format()).unwrap_or("");
        let children = || -> Result<Vec<Self>> {
            let children = schema.children().zip(array.children());
            if schema.children().len() != array.children().len() {
                return Err(Fault::Broken("it has other columns than its type"));
            }
            children.map(|(schema, array)| Self::new(schema, array)).collect()
        };
        let child = |at: usize| {
            let child = children()?.into_iter().nth(at);
            child.map(Box::new).ok_or(Fault::Broken("it has no column of values"))
        };
        let list = |tag, width: usize| {
            let offsets = buffers.offsets(width)?;
            Ok(Kind::List(tag, Box::new(move |at| offsets.bounds(at)), child(0)?))
        };
        let list_view = |width: usize| {
            let (offsets, sizes) = (buffers.fixed(1, width)?, buffers.fixed(2, width)?);
            let bounds = move |at| Some((integer(offsets, width, at)?, integer(sizes, width, at)?));
            Ok(Kind::List(Tag::List, Box::new(bounds), child(0)?))
        };
        let packed = |tag, width: usize| {
            let offsets = buffers.offsets(width)?;
            let end =
                if buffers.end == 0 { Some(0) } else { integer(offsets.bytes, width, buffers.end) };
            let data = buffers.bytes(2, end)?;
            let get = move |at| {
                let (start, len) = offsets.bounds(at)?;
                data.get(start..)?.get(..len)
            };
            Ok(Kind::Bytes(tag, Box::new(get)))
        };
        let mut has_validity = true;
        let kind = if schema.dictionary().is_some() {
            let values = schema.dictionary().zip(array.dictionary());
            let (schema, array) = values.ok_or(Fault::Broken("it has no dictionary"))?;
            let width = fixed(format).ok_or(Fault::Broken("its indices are not numbers"))?.0;
            let end = if format > "Z" { 1 << (8 * width - 1) } else { usize::MAX };
            let values = Box::new(Self::new(schema, array)?);
            Kind::Dictionary(buffers.fixed(1, width)?, width, end, values)
        } else if let Some((width, put)) = fixed(format) {
            Kind::Fixed(buffers.fixed(1, width)?, width, put)
        } else {
            match format.as_bytes() {
                b"n" => Kind::Null,
                b"b" => Kind::Bool(buffers.bytes(1, Some(buffers.end.div_ceil(8)))?),
                b"u" => packed(Tag::Text, 4)?,
                b"U" => packed(Tag::Text, 8)?,
                b"z" => packed(Tag::Bytes, 4)?,
                b"Z" => packed(Tag::Bytes, 8)?,
                b"vu" => Kind::Bytes(Tag::Text, Box::new(buffers.views()?)),
                b"vz" => Kind::Bytes(Tag::Bytes, Box::new(buffers.views()?)),
                [b'w', b':', ..] => {
                    let width = width(format, 2)?;
                    let data = buffers.fixed(1, width)?;
                    let get = move |at: usize| data.get(at * width..)?.get(..width);
                    Kind::Bytes(Tag::Bytes, Box::new(get))
                }
                b"+l" => list(Tag::List, 4)?,
                b"+L" => list(Tag::List, 8)?,
                b"+m" => list(Tag::Map, 4)?,
                b"+vl" => list_view(4)?,
                b"+vL" => list_view(8)?,
                [b'+', b'w', b':', ..] => {
                    let width = width(format, 3)?;
                    Kind::List(
                        Tag::List,
                        Box::new(move |at| Some((at.checked_mul(width)?, width))),
                        child(0)?,
                    )
                }
                b"+s" => Kind::Struct(children()?),
                [b'+', b'u', kind @ (b's' | b'd'), b':', ..] => {
                    has_validity = false;
                    let numbers = format[4..].split(',').filter(|it| !it.is_empty());
                    let numbers = numbers.map(|it| {
                        it.parse().map_err(|_| Fault::Broken("a column of its union has no number"))
                    });
                    let columns = numbers.zip(children()?).map(|(number, it)| Ok((number?, it)));
                    let places = (*kind == b'd').then(|| buffers.fixed(1, 4)).transpose()?;
                    Kind::Union(buffers.fixed(0, 1)?, places, columns.collect::<Result<_>>()?)
                }
                b"+r" => {
                    has_validity = false;
                    let (ends, of) = array
                        .children()
                        .next()
                        .zip(schema.children().next())
                        .ok_or(Fault::Broken("it has no ends of runs"))?;
                    let width = fixed(str::from_utf8(of.format()).unwrap_or(""))
                        .ok_or(Fault::Broken("its ends of runs are not numbers"))?
                        .0;
                    let (first, runs) = range(ends).map_err(Fault::Broken)?;
                    let buffers = Buffers { array: ends, end: first + runs };
                    let ends = buffers.fixed(1, width)?.get(first * width..).unwrap_or(&[]);
                    Kind::RunEnds(ends, width, child(1)?)
                }
                _ => return Err(Fault::Type(format.to_owned())),
            }
        };
        let has_nulls = has_validity && array.null_count != 0 && array.buffer(0).is_some();
        let validity =
            has_nulls.then(|| buffers.bytes(0, Some(buffers.end.div_ceil(8)))).transpose()?;
        Ok(Self { kind, validity, from, len })
    }

    /// The columns of a table; `None` if it is not one.
    pub(crate) fn columns(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Struct(columns) => Some(columns),
            _ => None,
        }
    }

    /// Appends the value of row `at` of a table to whose rows this column belongs.
    pub(crate) fn put_in(&self, table: &Self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        self.put(table.from + at, out)
    }

    pub(crate) fn is_null(&self, at: usize) -> bool {
        let at = self.from + at;
        self.validity.is_some_and(|bits| bits[at / 8] >> (at % 8) & 1 == 0)
    }

    /// Appends value `at`.
    pub(crate) fn put(&self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        if at >= self.len {
            return Err(Fault::Broken("a value lies outside of its column"));
        }
        if self.is_null(at) {
            out.push(Tag::Null as u8);
            return Ok(());
        }
        let at = self.from + at;
        let outside = Fault::Broken("an offset lies outside of its data");
        match &self.kind {
            Kind::Null => out.push(Tag::Null as u8),
            Kind::Bool(bits) => {
                out.push(
                    if bits[at / 8] >> (at % 8) & 1 == 0 { Tag::False } else { Tag::True } as u8
                )
            }
            Kind::Fixed(data, width, put) => put(&data[at * width..][..*width], out)?,
            Kind::Bytes(tag, get) => {
                let bytes = get(at).ok_or(outside)?;
                put(out, *tag, &(bytes.len() as u64).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Kind::List(tag, bounds, values) => {
                let (start, count) = bounds(at).ok_or(outside)?;
                put(out, *tag, &(count as u64).to_le_bytes());
                let end = start.checked_add(count).filter(|end| *end <= values.len);
                for at in start..end.ok_or(Fault::Broken("a list is longer than its values"))? {
                    match (tag, values.columns()) {
                        // A map: key and value, and no struct of them.
                        (Tag::Map, Some(pair)) => {
                            pair.iter().try_for_each(|it| it.put_in(values, at, out))?
                        }
                        _ => values.put(at, out)?,
                    }
                }
            }
            Kind::Struct(columns) => {
                put(out, Tag::Struct, &(columns.len() as u64).to_le_bytes());
                columns.iter().try_for_each(|it| it.put(at, out))?;
            }
            Kind::Union(numbers, places, columns) => {
                let place = places.map_or(Some(at), |it| integer(it, 4, at)).ok_or(outside)?;
                let column = columns.iter().find(|(number, _)| *number == numbers[at]);
                column
                    .ok_or(Fault::Broken("a union names a column that it does not have"))?
                    .1
                    .put(place, out)?;
            }
            Kind::Dictionary(indices, width, end, values) => {
                let index = integer(indices, *width, at).filter(|it| it < end);
                values.put(index.ok_or(outside)?, out)?;
            }
            Kind::RunEnds(ends, width, values) => {
                let count = ends.len() / width;
                let (mut low, mut high) = (0, count);
                while low < high {
                    let middle = (low + high) / 2;
                    match integer(ends, *width, middle) {
                        Some(end) if end <= at => low = middle + 1,
                        _ => high = middle,
                    }
                }
                values.put(low, out)?;
            }
        }
        Ok(())
    }
}

fn width(format: &str, from: usize) -> Result<usize> {
    format[from..]
        .parse::<u32>()
        .map(|it| it as usize)
        .map_err(|_| Fault::Broken("its width is not a number"))
}
