//! Safetensors: the length of the header in 8 bytes, the header as JSON, and the bytes of the tensors, without gaps and in
//! any order.

use crate::error::{ErrorKind, fault, short};
use crate::header::{Header, LONGEST, check_cover, fill, object};
use crate::tensor::{Tensor, is_dtype};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

/// The bits of the items of a type. The bytes of a type that came later can be hashed all the same.
fn bits(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ"
        | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

/// Whether a file begins with a length and an object, perhaps cut off: no text and no other format does.
pub(super) fn begins(start: &[u8]) -> bool {
    start.get(4..8) == Some(&[0; 4]) && start.get(8).is_none_or(|&it| it == b'{')
}

/// Reads the header, of the length that the first 8 bytes say.
pub(super) fn read(
    mut from: impl Read + Seek,
    length: [u8; 8],
    size: u64,
) -> Result<Header, ErrorKind> {
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        let text = format!(
            "this is not a safetensors file: its header would have {length} bytes, of at most {LONGEST}"
        );
        return Err(fault(text));
    }
    let start = 8 + length;
    if start > size {
        let text = format!(
            "the file is cut off, or no safetensors file: its header ends at byte {start}, and it has {size}"
        );
        return Err(fault(text));
    }
    from.seek(SeekFrom::Start(8))?;
    let mut text = vec![0; length as usize];
    fill(&mut from, &mut text, 8, size)?;
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1);
    if !text[..end].ends_with(b"}") {
        let text = "this is not a safetensors file: its header does not end with '}' and blanks";
        return Err(fault(text));
    }
    let (mut tensors, mut metadata) = (Vec::new(), Vec::new());
    for (name, info) in object(&text, "the header")? {
        if name == "__metadata__" {
            metadata = pairs(info)?;
        } else {
            tensors.push(tensor(name, &info, start)?);
        }
    }
    check_cover(&tensors, start, size, 1)?;
    // As `safetensors.torch.save_model` notes tied weights.
    let names: HashSet<&str> = tensors.iter().map(|it| &*it.name).collect();
    metadata.retain(|(name, of)| names.contains(&**of) && !names.contains(&**name));
    Ok(Header { tensors, aliases: metadata, split: None })
}

fn pairs(metadata: Value) -> Result<Vec<(String, String)>, ErrorKind> {
    let pair = |(key, value)| match value {
        Value::String(value) => Some((key, value)),
        _ => None,
    };
    let pairs = match metadata {
        Value::Null => Some(Vec::new()),
        Value::Object(pairs) => pairs.into_iter().map(pair).collect(),
        _ => None,
    };
    pairs.ok_or_else(|| fault("__metadata__ is not an object whose values are strings"))
}

/// Lengths and offsets of a list.
fn lengths(value: &Value) -> Option<Vec<u64>> {
    let length = |value: &Value| value.as_u64().filter(|&it| it < 1 << 63);
    value.as_array()?.iter().map(length).collect()
}

/// A tensor, whose entry is checked.
fn tensor(name: String, info: &Value, start: u64) -> Result<Tensor, ErrorKind> {
    let fault = |text: String| fault(format!("tensor '{}'{text}", short(&name)));
    let text = |value: &Value| short(&value.to_string());
    let (Some(dtype), Some(shape), Some(offsets)) =
        (info.get("dtype"), info.get("shape"), info.get("data_offsets"))
    else {
        return Err(fault(" has no dtype, shape or data_offsets".into()));
    };
    let Some(dtype) = dtype.as_str().filter(|it| is_dtype(it)) else {
        return Err(fault(format!(": dtype is {}, and not the name of a type", text(dtype))));
    };
    let Some(sizes) = lengths(shape) else {
        return Err(fault(format!(": shape is {}, and not a list of lengths", text(shape))));
    };
    let Some(Ok([first, last])) = lengths(offsets).map(<[u64; 2]>::try_from) else {
        return Err(fault(format!(": data_offsets is {}, and not two offsets", text(offsets))));
    };
    if first > last {
        return Err(fault(format!(" ends before it begins: data_offsets is {}", text(offsets))));
    }
    if let Some(bits) = bits(dtype) {
        // A zero makes the product zero, whatever the others are.
        let product =
            || sizes.iter().try_fold(u128::from(bits), |it, &size| it.checked_mul(size.into()));
        let found = if sizes.contains(&0) { Some(0) } else { product() };
        if found != Some(8 * u128::from(last - first)) {
            let bytes = last - first;
            return Err(fault(format!(
                ": shape {} of {dtype} does not have {bytes} bytes",
                text(shape)
            )));
        }
    }
    let range = start + first..start + last;
    Ok(Tensor { dtype: dtype.to_owned(), shape: sizes, range, name })
}
