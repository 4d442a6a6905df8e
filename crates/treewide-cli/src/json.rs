//! JSON lines: one object a line, always with the same keys in the same order.
//!
//! `path` is the file's name as text, `null` never; where the name is not valid UTF-8, U+FFFD
//! stands in it for the bytes that are not, and `path_hex` follows with all of its bytes in hex.
//! A value that there is none of is `null`.

use crate::digest;
use std::fmt::Write;
use std::path::Path;

/// One object, built key by key.
pub(crate) struct Object(String);

impl Object {
    /// An object about `path`.
    pub(crate) fn about(path: &Path) -> Self {
        let mut object = Self(String::from("{"));
        object.string("path", &path.to_string_lossy());
        if path.to_str().is_none() {
            object.string("path_hex", &digest::hex(path.as_os_str().as_encoded_bytes()));
        }
        object
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) -> &mut Self {
        let value = serde_json::Value::from(value);
        self.raw(key, value)
    }

    pub(crate) fn number(&mut self, key: &str, value: u64) -> &mut Self {
        self.raw(key, value)
    }

    pub(crate) fn null(&mut self, key: &str) -> &mut Self {
        self.raw(key, "null")
    }

    /// What a file has grown to, for those who asked.
    pub(crate) fn growth(&mut self, grown_to: Option<u64>) -> &mut Self {
        match grown_to {
            Some(len) => self.number("grown_to", len),
            None => self.null("grown_to"),
        }
    }

    /// The text up to the inside of a string value, for one that is too long to hold in memory.
    pub(crate) fn open_string(&mut self, key: &str) -> String {
        self.raw(key, "\"");
        std::mem::take(&mut self.0)
    }

    /// Take up after the inside of such a value was written.
    pub(crate) fn close_string() -> Self {
        Self(String::from("\""))
    }

    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.0) + "}\n"
    }

    fn raw(&mut self, key: &str, value: impl std::fmt::Display) -> &mut Self {
        let comma = if self.0 == "{" { "" } else { "," };
        let _ = write!(self.0, "{comma}\"{key}\":{value}"); // writing to memory cannot fail
        self
    }
}
