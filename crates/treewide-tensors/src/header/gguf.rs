//! GGUF, versions 2 and 3: counts, keys with values, tensors with type, shape and offset, and their bytes, each at a multiple of
//! the alignment.

use crate::error::{ErrorKind, fault, short};
use crate::header::{Header, check_cover, fill};
use crate::tensor::{Tensor, shape};
use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read, Seek, SeekFrom};

pub(super) const MAGIC: &[u8] = b"GGUF";

/// The longest name, as the specification of GGUF has it for keys. Those of tensors have at most 64 bytes today.
const LONGEST_NAME: u64 = 65_535;

/// The most dimensions of a tensor. ggml has 4 today.
const MOST_DIMENSIONS: u32 = 8;

/// How deep lists of lists may be.
const DEEPEST: u32 = 4;

/// Name, items of a block and bytes of a block.
fn dtype(number: u32) -> Option<(&'static str, u64, u64)> {
    Some(match number {
        0 => ("F32", 1, 4),
        1 => ("F16", 1, 2),
        2 => ("Q4_0", 32, 18),
        3 => ("Q4_1", 32, 20),
        6 => ("Q5_0", 32, 22),
        7 => ("Q5_1", 32, 24),
        8 => ("Q8_0", 32, 34),
        9 => ("Q8_1", 32, 36),
        10 => ("Q2_K", 256, 84),
        11 => ("Q3_K", 256, 110),
        12 => ("Q4_K", 256, 144),
        13 => ("Q5_K", 256, 176),
        14 => ("Q6_K", 256, 210),
        15 => ("Q8_K", 256, 292),
        16 => ("IQ2_XXS", 256, 66),
        17 => ("IQ2_XS", 256, 74),
        18 => ("IQ3_XXS", 256, 98),
        19 => ("IQ1_S", 256, 50),
        20 => ("IQ4_NL", 32, 18),
        21 => ("IQ3_S", 256, 110),
        22 => ("IQ2_S", 256, 82),
        23 => ("IQ4_XS", 256, 136),
        24 => ("I8", 1, 1),
        25 => ("I16", 1, 2),
        26 => ("I32", 1, 4),
        27 => ("I64", 1, 8),
        28 => ("F64", 1, 8),
        29 => ("IQ1_M", 256, 56),
        30 => ("BF16", 1, 2),
        34 => ("TQ1_0", 256, 54),
        35 => ("TQ2_0", 256, 66),
        39 => ("MXFP4", 32, 17),
        40 => ("NVFP4", 64, 36),
        41 => ("Q1_0", 128, 18),
        _ => return None,
    })
}

/// Which part of a model a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// The number of this part, from 0 on.
    pub(crate) no: u64,
    /// The number of parts.
    pub(crate) count: u64,
    /// Tensors in all parts, if the file says so.
    pub(crate) tensors: Option<u64>,
}

struct Reader<R> {
    from: BufReader<R>,
    at: u64,
    size: u64,
}

impl<R: Read + Seek> Reader<R> {
    /// Checks that the file has `length` bytes more, and counts them as read.
    fn take(&mut self, length: u64) -> Result<(), ErrorKind> {
        if length > self.size - self.at {
            let (at, size) = (self.at, self.size);
            return Err(fault(format!(
                "the file is cut off, or its header is damaged: {length} more bytes should follow byte {at}, and it has {size}"
            )));
        }
        self.at += length;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ErrorKind> {
        let (mut bytes, at) = ([0; N], self.at);
        self.take(N as u64)?;
        fill(&mut self.from, &mut bytes, at, self.size)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ErrorKind> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ErrorKind> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn skip(&mut self, length: u64) -> Result<(), ErrorKind> {
        self.take(length)?;
        // The length of a file fits.
        Ok(self.from.seek_relative(length as i64)?)
    }

    /// The name of a key or tensor.
    fn name(&mut self, of: &str) -> Result<String, ErrorKind> {
        let length = self.u64()?;
        if length > LONGEST_NAME {
            let text =
                format!("the name of a {of} would have {length} bytes, of at most {LONGEST_NAME}");
            return Err(fault(text));
        }
        let at = self.at;
        self.take(length)?;
        let mut bytes = vec![0; length as usize];
        fill(&mut self.from, &mut bytes, at, self.size)?;
        String::from_utf8(bytes).map_err(|error| {
            let name = short(&String::from_utf8_lossy(error.as_bytes()));
            fault(format!("the name '{name}' of a {of} is not UTF-8"))
        })
    }

    /// Passes a value. Returns it if it is an integer.
    fn value(&mut self, kind: u32, depth: u32) -> Result<Option<u64>, ErrorKind> {
        match kind {
            0 | 1 | 7 => self.bytes::<1>().map(|[byte]| Some(byte.into())),
            2 | 3 => self.bytes().map(|it| Some(u16::from_le_bytes(it).into())),
            4 | 5 => self.u32().map(|it| Some(it.into())),
            10 | 11 => self.u64().map(Some),
            6 => self.skip(4).map(|()| None),
            12 => self.skip(8).map(|()| None),
            8 => {
                let length = self.u64()?;
                self.skip(length).map(|()| None)
            }
            9 if depth < DEEPEST => {
                let (kind, count) = (self.u32()?, self.u64()?);
                let item = match kind {
                    0 | 1 | 7 => 1,
                    2 | 3 => 2,
                    4..=6 => 4,
                    10..=12 => 8,
                    _ => 0,
                };
                if item > 0 {
                    self.skip(count.saturating_mul(item))?;
                    return Ok(None);
                }
                // Each takes 8 bytes or more, so the end of the file ends it.
                for _ in 0..count {
                    self.value(kind, depth + 1)?;
                }
                Ok(None)
            }
            9 => Err(fault(format!("lists are more than {DEEPEST} deep"))),
            _ => Err(fault(format!("a value has the type {kind}, which GGUF does not have"))),
        }
    }

    /// The integers among the values of keys, by the names that matter here.
    fn keys(&mut self, count: u64) -> Result<HashMap<String, u64>, ErrorKind> {
        let (mut found, mut names) = (HashMap::new(), HashSet::new());
        for _ in 0..count {
            let name = self.name("key")?;
            let kind = self.u32()?;
            let value = self.value(kind, 0)?;
            if name == "general.alignment" || name.starts_with("split.") {
                let Some(value) = value else {
                    return Err(fault(format!("the key {} is not a number", short(&name))));
                };
                found.insert(name.clone(), value);
            }
            if let Some(twice) = names.replace(name) {
                return Err(fault(format!("the key '{}' is there twice", short(&twice))));
            }
        }
        Ok(found)
    }

    /// The tensors, with offsets in place of places in the file.
    fn tensors(&mut self, count: u64, alignment: u64) -> Result<Vec<Tensor>, ErrorKind> {
        let (mut tensors, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let name = self.name("tensor")?;
            let dimensions = self.u32()?;
            let shown = short(&name);
            let fault = |text: String| fault(format!("tensor '{shown}'{text}"));
            if dimensions > MOST_DIMENSIONS {
                return Err(fault(format!(
                    " has {dimensions} dimensions, of at most {MOST_DIMENSIONS}"
                )));
            }
            let mut sizes = Vec::new();
            for _ in 0..dimensions {
                sizes.push(self.u64()?);
            }
            let (kind, offset) = (self.u32()?, self.u64()?);
            let Some((dtype, items, bytes)) = dtype(kind) else {
                return Err(fault(format!(
                    " has the type {kind}, which this version of treewide does not know"
                )));
            };
            // The dimension whose items are next to each other in memory comes first.
            if sizes.first().copied().unwrap_or(1) % items != 0 {
                let row = shape(&sizes);
                return Err(fault(format!(
                    ": rows of {row} are not whole blocks of {items} items of {dtype}"
                )));
            }
            if offset % alignment != 0 {
                let text = format!(
                    " begins at byte {offset} of the data, which is not a multiple of {alignment}"
                );
                return Err(fault(text));
            }
            let product =
                || sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
            let all = if sizes.contains(&0) { Some(0) } else { product() };
            let length = all.and_then(|it| (it / items).checked_mul(bytes));
            let Some(end) = length.and_then(|it| it.checked_add(offset)).filter(|&it| it < 1 << 62)
            else {
                let text = format!(": {} of {dtype} does not fit into a file", shape(&sizes));
                return Err(fault(text));
            };
            if !names.insert(name.clone()) {
                return Err(fault(" is there twice".into()));
            }
            sizes.reverse();
            tensors.push(Tensor { name, dtype: dtype.into(), shape: sizes, range: offset..end });
        }
        Ok(tensors)
    }
}

/// Reads a header.
pub(super) fn read<R: Read + Seek>(mut from: R, size: u64) -> Result<Header, ErrorKind> {
    let at = MAGIC.len() as u64;
    from.seek(SeekFrom::Start(at))?;
    let mut reader = Reader { from: BufReader::new(from), at, size };
    let version = reader.u32()?;
    if !matches!(version, 2 | 3) {
        let order = if matches!(version.swap_bytes(), 2 | 3) {
            " with the bytes of numbers in the other order (big-endian)"
        } else {
            ""
        };
        let version = if order.is_empty() { version } else { version.swap_bytes() };
        let text = format!(
            "this is GGUF version {version}{order}; versions 2 and 3 in little-endian order can be read"
        );
        return Err(fault(text));
    }
    let (tensors, keys) = (reader.u64()?, reader.u64()?);
    // A tensor takes 24 bytes of the header or more, and a key 13.
    if tensors > size / 24 || keys > size / 13 {
        let text =
            format!("a file of {size} bytes has no room for {tensors} tensors and {keys} keys");
        return Err(fault(text));
    }
    let keys = reader.keys(keys)?;
    let alignment = keys.get("general.alignment").copied().unwrap_or(32);
    if !alignment.is_power_of_two() || alignment > 1 << 30 {
        let text = format!("general.alignment is {alignment}, and not a power of two up to 2^30");
        return Err(fault(text));
    }
    let mut tensors = reader.tensors(tensors, alignment)?;
    let start = reader.at.next_multiple_of(alignment);
    // A file without tensors may end before the padding.
    if !tensors.is_empty() && start > size {
        return Err(fault(format!(
            "the file is cut off: its data begins at byte {start}, and it has {size}"
        )));
    }
    for tensor in &mut tensors {
        tensor.range = start + tensor.range.start..start + tensor.range.end;
    }
    check_cover(&tensors, start, size, alignment)?;
    let split = keys.get("split.count").map(|&count| Split {
        no: keys.get("split.no").copied().unwrap_or(0),
        count,
        tensors: keys.get("split.tensors.count").copied(),
    });
    Ok(Header { tensors, aliases: Vec::new(), split: split.filter(|it| it.count > 1) })
}
