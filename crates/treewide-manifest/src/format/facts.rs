//! One digest of all that a manifest says of a tree, except times and numbers: the same on every machine.
//!
//! It is BLAKE3 in derive-key mode over the rules and then the records in their order. Each part has its length before it,
//! so that no two lists of records give the same bytes.

use crate::format::record::{Record, What};
use crate::format::rules::Rules;
use crate::format::xattrs::{Value, Xattr};
use treewide::{Hash, Hasher};

/// The context of the derive-key mode.
pub const CONTEXT: &str = "treewide 2026-11 manifest facts";

/// The digest under way.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    hasher: Hasher,
    buffer: Vec<u8>,
    /// Whether the rules cover extended attributes.
    has_xattrs: bool,
}

/// Bytes that are gathered before they are hashed.
const STEP: usize = 32 << 10;

impl Facts {
    pub(crate) fn new(rules: &Rules) -> Self {
        let hasher = Hasher::new_derive_key(CONTEXT);
        let mut facts = Self { hasher, buffer: Vec::new(), has_xattrs: !rules.xattrs.is_none() };
        facts.part(rules.json().as_bytes());
        facts
    }

    fn part(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.buffer.extend_from_slice(bytes);
    }

    fn number(&mut self, number: u64) {
        self.buffer.extend_from_slice(&number.to_le_bytes());
    }

    /// Permission bits, or that there are none.
    fn mode(&mut self, mode: Option<u32>) {
        self.number(mode.map_or(0, |mode| 1 << 32 | u64::from(mode)));
    }

    fn xattrs(&mut self, xattrs: &[Xattr]) {
        self.number(xattrs.len() as u64);
        for xattr in xattrs {
            self.part(&xattr.name);
            match &xattr.value {
                Value::Bytes(bytes) => {
                    self.buffer.push(b'v');
                    self.part(bytes);
                }
                Value::Hash(len, hash) => {
                    self.buffer.push(b'h');
                    self.number(*len);
                    self.buffer.extend_from_slice(hash);
                }
            }
        }
    }

    pub(crate) fn add(&mut self, record: &Record) {
        let tag = match &record.what {
            What::File(_) => b'f',
            What::Link(_) => b'l',
            What::Directory(_) => b'd',
            What::Special(_) => b's',
            What::Unknown(..) => b'?',
        };
        self.buffer.push(tag);
        self.part(record.bare());
        match &record.what {
            What::File(file) => {
                let facts = file.facts.as_ref();
                self.number(facts.map_or(0, |it| it.bytes));
                self.buffer.extend_from_slice(&file.digest);
                self.mode(facts.and_then(|it| it.mode));
            }
            What::Link(target) => self.part(target),
            What::Directory(mode) => self.mode(*mode),
            What::Special(special) => self.part(special.word().as_bytes()),
            What::Unknown(..) => {}
        }
        if self.has_xattrs {
            self.xattrs(&record.xattrs);
        }
        if self.buffer.len() > STEP {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    pub(crate) fn finish(mut self) -> Hash {
        self.hasher.update(&self.buffer);
        self.hasher.finalize()
    }
}
