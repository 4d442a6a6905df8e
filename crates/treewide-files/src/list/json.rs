//! JSON lines: one object a line, with the same keys in the same order on every line.
//!
//! `path` is the file's name as text and never `null`. Where the name is not valid UTF-8, `path` has
//! U+FFFD in place of the bytes that are not, and `path_hex` follows with all bytes of the name in hex. A
//! value that does not exist is `null`.

use crate::digest::{Digest, hex};
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// Writes an object about a file that was hashed, and a line end: path, verdict, type, bytes, evidence, detail, digest.
///
/// # Errors
/// The errors of `to`.
pub fn write_digest(to: &mut dyn Write, path: &Path, digest: Digest, bytes: u64) -> io::Result<()> {
    // The digest may be too long to hold in memory.
    let mut object = Object::about(path);
    object.string("verdict", "hashed").string("type", "file").number("bytes", bytes);
    object.string("evidence", "read").null("detail");
    to.write_all(object.open_string("digest").as_bytes())?;
    digest.write_hex(to)?;
    to.write_all(b"\"}\n")
}

/// Writes the same of a file that could not be hashed: `bytes`, `evidence` and `digest` are null, and `detail` says why.
///
/// # Errors
/// The errors of `to`.
pub fn write_error(to: &mut dyn Write, path: &Path, cause: &str) -> io::Result<()> {
    let mut object = Object::about(path);
    object.string("verdict", "unreadable").string("type", "file").null("bytes").null("evidence");
    object.string("detail", cause).null("digest");
    to.write_all(object.finish().as_bytes())
}

/// Reads a document.
///
/// # Errors
/// If it is not JSON, or an object in it has a key twice, because one of the two would be lost.
pub fn document(text: &[u8]) -> Result<Value, String> {
    fn keys(value: &Value) -> usize {
        match value {
            Value::Array(values) => values.iter().map(keys).sum(),
            Value::Object(object) => object.len() + object.values().map(keys).sum::<usize>(),
            _ => 0,
        }
    }
    let document = serde_json::from_slice(text).map_err(|it| match it.is_eof() {
        true => format!("the JSON is cut off: {it}"),
        false => format!("not JSON: {it}"),
    })?;
    let (mut colons, mut is_text, mut is_escaped) = (0, false, false);
    for byte in text {
        is_text ^= *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        colons += usize::from(*byte == b':' && !is_text);
    }
    match colons == keys(&document) {
        true => Ok(document),
        false => Err("JSON with a key that is there twice, so that one of the two is lost".into()),
    }
}

/// A string as JSON has it, with its quotes.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// One line, built key by key.
#[derive(Clone, Debug)]
pub struct Object(String);

impl Default for Object {
    fn default() -> Self {
        Self(String::from("{"))
    }
}

impl Object {
    /// An object without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// An object about `path`.
    pub fn about(path: &Path) -> Self {
        let mut object = Self::new();
        object.path("path", path);
        object
    }

    /// Adds a path: as text, and if it is not UTF-8, all its bytes under the key with `_hex` after it.
    pub fn path(&mut self, key: &str, path: &Path) -> &mut Self {
        self.string(key, &path.to_string_lossy());
        if path.to_str().is_none() {
            self.string(&format!("{key}_hex"), &hex(path.as_os_str().as_encoded_bytes()));
        }
        self
    }

    /// Adds a list of values, which are JSON already.
    pub fn list(&mut self, key: &str, values: &[String]) -> &mut Self {
        self.raw(key, format!("[{}]", values.join(",")))
    }

    /// Adds a list of strings.
    pub fn strings(&mut self, key: &str, values: &[String]) -> &mut Self {
        self.raw(key, serde_json::Value::from(values))
    }

    /// Adds a string, escaped as JSON wants it.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        let value = serde_json::Value::from(value);
        self.raw(key, value)
    }

    /// Adds a number.
    pub fn number(&mut self, key: &str, value: u64) -> &mut Self {
        self.raw(key, value)
    }

    /// Adds a string, or `null`.
    pub fn string_or_null(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.string(key, value),
            None => self.null(key),
        }
    }

    /// Adds a number, or `null`.
    pub fn number_or_null(&mut self, key: &str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.number(key, value),
            None => self.null(key),
        }
    }

    /// Adds a value that does not exist.
    pub fn null(&mut self, key: &str) -> &mut Self {
        self.raw(key, "null")
    }

    /// The text up to the inside of a string value.
    fn open_string(&mut self, key: &str) -> String {
        self.raw(key, "\"");
        std::mem::take(&mut self.0)
    }

    /// The whole line with its end.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.0) + "}\n"
    }

    /// Adds a value that is JSON already.
    pub fn raw(&mut self, key: &str, value: impl fmt::Display) -> &mut Self {
        let comma = if self.0 == "{" { "" } else { "," };
        self.0 += &format!("{comma}\"{key}\":{value}");
        self
    }
}
