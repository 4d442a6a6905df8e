//! The list `NAME.tensors.b3` of the tensors of a model: a line for each, in the order of the bytes after the digest.
//!
//! ```text
//! DIGEST  name<TAB>dtype<TAB>[shape]
//! ```
//!
//! The BLAKE3 digest of this file is the fingerprint of the model, so `b3sum` computes it.

use crate::error::{Error, ErrorKind, short};
use crate::opening::open;
pub use crate::tensor::is_dtype;
use crate::tensor::{TensorDigest, Tensors, shape};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use treewide::{Hash, hash};

/// How the name of a list ends.
pub const ENDING: &str = ".tensors.b3";

/// The bytes before the name: the digest and two blanks.
const BEFORE_NAME: usize = 66;

/// The longest line that is read. A guess: names have some 100 bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// The longest first line by which a list is known. A guess.
const LONGEST_FIRST: u64 = 64 << 10;

/// The list of these tensors.
///
/// # Panics
/// If a type is not made of letters, digits and `_`.
pub fn text(tensors: &Tensors) -> String {
    let mut lines: Vec<String> = tensors.iter().map(|(name, it)| line(name, it)).collect();
    lines.sort_unstable_by(|one, other| {
        one.as_bytes()[BEFORE_NAME..].cmp(&other.as_bytes()[BEFORE_NAME..])
    });
    lines.concat()
}

/// The fingerprint of a model: the digest of its list.
///
/// # Panics
/// As [`text`].
pub fn fingerprint(tensors: &Tensors) -> Hash {
    hash(text(tensors).as_bytes())
}

fn line(name: &str, tensor: &TensorDigest) -> String {
    assert!(is_dtype(&tensor.dtype), "a type is made of letters, digits and _: {:?}", tensor.dtype);
    let (digest, shape) = (tensor.hash().to_hex(), shape(&tensor.shape));
    format!("{digest}  {}\t{}\t{shape}\n", escape(name), tensor.dtype)
}

/// A name as lists have it: `\`, TAB, LF and CR are `\\`, `\t`, `\n` and `\r`.
pub fn escape(name: &str) -> String {
    name.replace('\\', r"\\").replace('\t', r"\t").replace('\n', r"\n").replace('\r', r"\r")
}

fn unescape(name: &str) -> Option<String> {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            '\r' => return None,
            c => c,
        });
    }
    Some(plain)
}

/// Reads a list.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is not as [`text`] writes it: lines that are not in order, other line ends, names that are there twice.
pub fn read(path: impl AsRef<Path>) -> Result<Tensors, Error> {
    let path = path.as_ref();
    let (file, ..) = open(path)?;
    parse(BufReader::new(file)).map_err(|kind| Error::new(path, kind))
}

/// Reads a list from any reader.
///
/// # Errors
/// As [`read`], without a name.
pub fn parse(mut from: impl BufRead) -> Result<Tensors, ErrorKind> {
    let (mut tensors, mut line, mut before) = (Tensors::default(), Vec::new(), Vec::new());
    for number in 1.. {
        line.clear();
        from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(ErrorKind::from)?;
        if line.is_empty() {
            break;
        }
        let fault = |cause: String| ErrorKind::Invalid { line: Some(number), cause };
        let (name, tensor) = entry(&line).map_err(|cause| fault(cause.into()))?;
        let rest = &line[BEFORE_NAME..];
        if number > 1 && rest <= &before[..] && !tensors.contains_key(&name) {
            let text =
                "is before the line above it; sort the lines: LC_ALL=C sort -t $'\\1' -k1.67";
            return Err(fault(text.into()));
        }
        before = rest.to_vec();
        let shown = short(&name);
        if tensors.insert(name, tensor).is_some() {
            return Err(fault(format!("the tensor '{shown}' is there twice")));
        }
    }
    Ok(tensors)
}

/// The name and the tensor of a line.
fn entry(line: &[u8]) -> Result<(String, TensorDigest), &'static str> {
    const WANTED: &str = "is not 64 lower-case hexadecimal digits, two blanks, and name, type and [shape] with TABs between them";
    if line.ends_with(b"\r\n") {
        return Err("ends in CR LF; lists have LF alone, on every system");
    }
    let line = line.strip_suffix(b"\n").ok_or("is cut off: it has no end")?;
    let line = str::from_utf8(line).map_err(|_| "is not UTF-8")?;
    let (digest, rest) = line.split_at_checked(BEFORE_NAME).ok_or(WANTED)?;
    let digest = digest.strip_suffix("  ").ok_or(WANTED)?;
    let is_lower = digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let digest = Hash::from_hex(digest).ok().filter(|_| is_lower).ok_or(WANTED)?;
    let mut parts = rest.split('\t');
    let (Some(name), Some(dtype), Some(shape), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(WANTED);
    };
    let name = unescape(name)
        .ok_or(r"has a name with CR, or with \ before another letter than \, t, n or r")?;
    let sizes = shape.strip_prefix('[').and_then(|it| it.strip_suffix(']')).ok_or(WANTED)?;
    let sizes =
        sizes.split(',').filter(|_| !sizes.is_empty()).map(number).collect::<Option<Vec<u64>>>();
    let shape = sizes.ok_or(WANTED)?;
    if !is_dtype(dtype) {
        return Err(WANTED);
    }
    Ok((name, TensorDigest { dtype: dtype.to_owned(), shape, digest: digest.into() }))
}

/// A number without zeros before it.
fn number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

/// Whether a file is a list: its name says so, or its first line.
pub fn is_list(path: &Path) -> bool {
    let begins_as_one = || {
        let mut line = Vec::new();
        let file = BufReader::new(open(path).ok()?.0);
        file.take(LONGEST_FIRST).read_until(b'\n', &mut line).ok()?;
        entry(&line).ok()
    };
    path.as_os_str().as_encoded_bytes().ends_with(ENDING.as_bytes()) || begins_as_one().is_some()
}
