//! The tensors that the header of a file names, each checked before anything is hashed.

pub(crate) mod gguf;
pub(crate) mod other;
mod safetensors;

use crate::error::{ErrorKind, fault, short};
use crate::tensor::Tensor;
use serde_json::{Map, Value};
use std::io::{ErrorKind as Io, Read, Seek};
use treewide::file;
use treewide_files::list::json;

/// The header of a file.
#[derive(Debug)]
pub struct Header {
    /// The tensors.
    pub tensors: Vec<Tensor>,
    /// Other names of these tensors, which `__metadata__` has for tied weights.
    pub aliases: Vec<(String, String)>,
    /// The parts of a model that GGUF files are, if this is one of several.
    pub(crate) split: Option<gguf::Split>,
}

/// Reads the header of a safetensors or GGUF file of `size` bytes, from its beginning.
///
/// # Errors
/// If it cannot be read, or is not valid: names that are there twice, tensors that overlap, leave gaps or end outside of the file,
/// types and shapes that do not fit, counts that are larger than the file.
pub fn read<R: Read + Seek>(mut from: R, size: u64) -> Result<Header, ErrorKind> {
    let mut start = vec![0; size.min(other::LOOKED_AT) as usize];
    fill(&mut from, &mut start, 0, size)?;
    if start.starts_with(gguf::MAGIC) {
        return gguf::read(from, size);
    }
    match start.first_chunk() {
        Some(&length) if safetensors::begins(&start) => safetensors::read(from, length, size),
        _ => Err(fault(format!("this is {}", other::what(&start)))),
    }
}

/// The longest header that the package safetensors loads, and the longest index that is read here.
pub(crate) const LONGEST: u64 = 100_000_000;

/// An object of JSON, in which no key is there twice: readers that take the first and readers that take the last would load
/// different tensors. `what` names the text in messages.
pub(crate) fn object(text: &[u8], what: &str) -> Result<Map<String, Value>, ErrorKind> {
    match json::document(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(fault(format!("{what} is not an object of JSON"))),
        Err(cause) => Err(fault(format!("{what}: {cause}"))),
    }
}

/// Fills `bytes`, which the file had at byte `at` when it had `size` bytes.
fn fill(from: &mut impl Read, bytes: &mut [u8], at: u64, size: u64) -> Result<(), ErrorKind> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        Io::UnexpectedEof => file::ErrorKind::Shrank { read: at, len: size }.into(),
        _ => error.into(),
    })
}

/// Checks that tensors cover `size` bytes from `start` on, each byte once, apart from the padding with which each begins at
/// a multiple of `alignment`.
fn check_cover(tensors: &[Tensor], start: u64, size: u64, alignment: u64) -> Result<(), ErrorKind> {
    let mut order: Vec<&Tensor> = tensors.iter().collect();
    order.sort_by_key(|it| (it.range.start, it.range.end));
    let (mut at, mut before) = (0, "");
    let data = size.saturating_sub(start);
    for tensor in order {
        let (name, first, last) =
            (&*tensor.name, tensor.range.start - start, tensor.range.end - start);
        let shown = short(name);
        if first < at {
            let before = short(before);
            return Err(fault(format!(
                "tensors '{before}' and '{shown}' overlap, at byte {first} of the data"
            )));
        }
        if first - at >= alignment {
            return Err(fault(format!(
                "bytes {at} to {first} of the data, before tensor '{shown}', do not belong to a tensor"
            )));
        }
        if last > data {
            return Err(fault(format!(
                "the file is cut off: tensor '{shown}' ends at byte {last} of the data, which has {data}"
            )));
        }
        (at, before) = (last, name);
    }
    if data - at >= alignment {
        return Err(fault(format!(
            "the last {} bytes of the file do not belong to a tensor",
            data - at
        )));
    }
    Ok(())
}
