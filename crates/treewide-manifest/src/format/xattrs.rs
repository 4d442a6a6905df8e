//! Extended attributes: values that a file system keeps under names for a path. Access lists are among them.
//!
//! Their names and values, as an index has them, and what differs between two sets of them.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use treewide::OUT_LEN;
use treewide_files::digest::hex;
use treewide_files::name::shown_text;

/// Which extended attributes a manifest covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Xattrs {
    /// None.
    #[default]
    None,
    /// All but `trusted.*`, which Linux shows only to the administrator of the whole machine.
    WithoutTrusted,
    /// All.
    All,
}

impl Xattrs {
    /// Whether there are any. Rules without them are written as before there were any.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Whether an attribute of this name is covered.
    pub(crate) fn has(self, name: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::WithoutTrusted => !name.starts_with(TRUSTED),
            Self::All => true,
        }
    }
}

const TRUSTED: &[u8] = b"trusted.";

/// A value with more bytes is recorded by its hash.
pub const LONGEST: usize = 1024;
/// The most bytes that the values of a path have together; beyond it, all are recorded by their hashes, so that no line of an index is too long
/// to be read.
pub const MOST: usize = 64 << 10;

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xattr {
    /// The bytes of its name, such as `user.note`.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Value,
}

impl Xattr {
    /// Its name and all of its value as one line for people: text as it is, else hexadecimal digits.
    pub fn shown(&self) -> String {
        let name = shown_text(&String::from_utf8_lossy(&self.name));
        match &self.value {
            Value::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) => format!("{name}: \"{}\"", shown_text(text)),
                Err(_) => format!("{name}: 0x{}", hex(bytes)),
            },
            hash @ Value::Hash(..) => format!("{name}: {hash}"),
        }
    }
}

/// The value of an extended attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The bytes themselves, of a value of at most [`LONGEST`].
    Bytes(Vec<u8>),
    /// The length, and the BLAKE3 hash of the bytes, of a longer one.
    Hash(u64, [u8; OUT_LEN]),
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        match bytes.len() {
            ..=LONGEST => Self::Bytes(bytes),
            len => Self::Hash(len as u64, treewide::hash(&bytes).into()),
        }
    }
}

impl Value {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Hash(len, _) => *len,
        }
    }

    fn hash(&self) -> [u8; OUT_LEN] {
        match self {
            Self::Bytes(bytes) => treewide::hash(bytes).into(),
            Self::Hash(_, hash) => *hash,
        }
    }

    /// Whether the values are equal, also if only one is recorded by its hash.
    fn is(&self, other: &Self) -> bool {
        self == other || self.len() == other.len() && self.hash() == other.hash()
    }
}

/// Sorts what was read, and makes it short enough.
#[cfg(any(test, all(unix, feature = "xattrs")))]
pub(crate) fn recorded(mut found: Vec<Xattr>) -> Vec<Xattr> {
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let held = |it: &Xattr| if let Value::Bytes(bytes) = &it.value { bytes.len() } else { 0 };
    if found.iter().map(held).sum::<usize>() > MOST {
        for Xattr { value, .. } in &mut found {
            *value = Value::Hash(value.len(), value.hash());
        }
    }
    found
}

/// Characters of a value that are shown, at most.
const SHOWN: usize = 32;

/// Such as `"text"`, `0x00ff`, or the length of a long value.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => match str::from_utf8(bytes) {
                Ok(text) if text.chars().count() <= SHOWN => write!(f, "\"{}\"", shown_text(text)),
                Ok(text) => {
                    let begin: String = text.chars().take(SHOWN).collect();
                    write!(f, "\"{}\".. ({} bytes)", shown_text(&begin), bytes.len())
                }
                Err(_) if bytes.len() <= SHOWN => write!(f, "0x{}", hex(bytes)),
                Err(_) => write!(f, "0x{}.. ({} bytes)", hex(&bytes[..SHOWN]), bytes.len()),
            },
            Self::Hash(len, hash) => write!(f, "{len} bytes with the hash {}", hex(hash)),
        }
    }
}

/// An attribute that is not as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XattrChange {
    /// The bytes of its name.
    pub name: Vec<u8>,
    /// Old value; `None` if it is new.
    pub was: Option<Value>,
    /// New value; `None` if it is gone.
    pub is: Option<Value>,
}

/// Such as `user.note "a" -> "b"`.
impl fmt::Display for XattrChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = shown_text(&String::from_utf8_lossy(&self.name));
        match (&self.was, &self.is) {
            (Some(was), Some(is)) => {
                // What is shown of both may be the same.
                let (was, is) = (was.to_string(), is.to_string());
                let also = if was == is { ", which differ further on" } else { "" };
                write!(f, "{name} {was} -> {is}{also}")
            }
            (Some(was), None) => write!(f, "{name} {was} is gone"),
            (None, Some(is)) => write!(f, "{name} {is} is new"),
            (None, None) => f.write_str(&name),
        }
    }
}

/// What differs between two sorted lists of attributes, as far as they are covered.
pub(crate) fn changes(was: &[Xattr], is: &[Xattr], covered: Xattrs) -> Vec<XattrChange> {
    let mut changes = Vec::new();
    let (mut was, mut is) = (was, is);
    loop {
        let order = match (was.first(), is.first()) {
            (None, None) => return changes,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(was), Some(is)) => was.name.cmp(&is.name),
        };
        let old = if order.is_le() { was.split_off_first() } else { None };
        let new = if order.is_ge() { is.split_off_first() } else { None };
        let Some(Xattr { name, .. }) = old.or(new) else { continue };
        let is_same = old.zip(new).is_some_and(|(old, new)| old.value.is(&new.value));
        if covered.has(name) && !is_same {
            let value = |it: Option<&Xattr>| it.map(|it| it.value.clone());
            changes.push(XattrChange { name: name.clone(), was: value(old), is: value(new) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattr(name: &str, value: &[u8]) -> Xattr {
        Xattr { name: name.into(), value: Value::from(value.to_vec()) }
    }

    fn said(was: &[Xattr], is: &[Xattr], covered: Xattrs) -> Vec<String> {
        changes(was, is, covered).iter().map(XattrChange::to_string).collect()
    }

    #[test]
    fn changes_name_what_is_new_gone_and_other() {
        let (a, b) = ([xattr("user.a", b"1")], [xattr("user.b", b"\n\0")]);
        let binary = xattr("user.b", b"\xff\0");
        let [one, other] = [a[0].clone(), b[0].clone()];
        let (both, with_binary) = ([one.clone(), other], [one.clone(), binary]);
        let with_trusted = [xattr("trusted.t", b""), one];
        let all = Xattrs::All;
        assert_eq!(said(&[], &[], all), [""; 0]);
        assert_eq!(said(&a, &a, all), [""; 0]);
        assert_eq!(said(&a, &b, all), ["user.a \"1\" is gone", "user.b \"\\n\\u{0}\" is new"]);
        assert_eq!(said(&both, &with_binary, all), ["user.b \"\\n\\u{0}\" -> 0xff00"]);
        assert_eq!(said(&with_trusted, &a, all).len(), 1);
        assert_eq!(said(&with_trusted, &a, Xattrs::WithoutTrusted).len(), 0);
        assert_eq!(said(&with_trusted, &b, Xattrs::None).len(), 0);
    }

    #[test]
    fn long_values_differ_also_where_they_look_alike() {
        let value = |last: u8, len: usize| {
            let mut value = vec![b'x'; len];
            value[len - 1] = last;
            [xattr("user.a", &value)]
        };
        for len in [LONGEST, LONGEST + 1, 100] {
            let said = said(&value(1, len), &value(2, len), Xattrs::All);
            assert_eq!(said.len(), 1, "{len}");
            assert_eq!(said[0].contains("differ further on"), len <= LONGEST, "{said:?}");
        }
        assert!(matches!(Value::from(vec![0; LONGEST]), Value::Bytes(_)));
        assert!(matches!(Value::from(vec![0; LONGEST + 1]), Value::Hash(1025, _)));
    }

    #[test]
    fn many_values_are_recorded_by_their_hashes() {
        let many = |count: usize| -> Vec<Xattr> {
            (0..count).map(|at| xattr(&format!("user.{at:02}"), &[0; LONGEST])).collect()
        };
        let is_hash = |it: &Xattr| matches!(it.value, Value::Hash(..));
        let (few, more) = (recorded(many(64)), recorded(many(65)));
        assert!(!few.iter().any(is_hash) && more.iter().all(is_hash));
        // One more does not make all others differ.
        assert_eq!(said(&few, &more, Xattrs::All).len(), 1);
    }
}
