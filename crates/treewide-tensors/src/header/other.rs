//! Files without weights: remains of downloads, and formats that are not read.

use crate::error::short;

/// The first bytes that say what a file is. A pointer of Git LFS has no more.
pub(crate) const LOOKED_AT: u64 = 1024;

/// Formats by their first bytes.
const FORMATS: [(&[u8], &str); 4] = [
    (b"PK\x03\x04", "a zip, perhaps a pickle of PyTorch (.bin, .pt), which is not read"),
    (b"\x80", "perhaps a pickle of Python (.bin, .pt), which is not read"),
    (b"\x1f\x8b", "a file of gzip: unpack it"),
    (b"\x89HDF", "a file of HDF5, which is not read"),
];

/// What the first bytes of a file say, if it is neither safetensors nor GGUF.
pub(crate) fn what(start: &[u8]) -> String {
    if start.is_empty() {
        return "an empty file, and no safetensors file".to_owned();
    }
    if start.iter().all(|&it| it == 0) {
        return "no safetensors file: it begins with zeros, as a download that was cut off"
            .to_owned();
    }
    if let Some(text) = text(start) {
        return pointer(text).unwrap_or_else(|| {
            let begin: String = text.trim_start().chars().take(60).collect();
            format!("text, not weights: {}", short(&begin))
        });
    }
    let format = FORMATS.iter().find(|it| start.starts_with(it.0)).map(|it| it.1);
    let other =
        "no safetensors file: its header does not begin with '{', 8 bytes from the beginning";
    format.unwrap_or(other).to_owned()
}

/// The bytes as text, if they are some, perhaps without the last letter.
fn text(start: &[u8]) -> Option<&str> {
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&start[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    text.chars().all(|it| !it.is_control() || it.is_whitespace()).then_some(text)
}

/// What a pointer of Git LFS points to.
fn pointer(text: &str) -> Option<String> {
    let mut lines = text.lines();
    lines.next()?.strip_prefix("version https://git-lfs.github.com/spec/")?;
    let value = |key: &str| {
        let value = text.lines().find_map(|it| it.strip_prefix(key)).unwrap_or("unknown");
        short(value.trim())
    };
    let (digest, size) = (value("oid sha256:"), value("size "));
    Some(format!(
        "a Git LFS pointer: the weights ({size} bytes, sha256 {digest}) were not downloaded; run git lfs pull, or download the file"
    ))
}
