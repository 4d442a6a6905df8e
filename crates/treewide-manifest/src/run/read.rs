//! The result of reading a file of a tree.

use crate::format::also::Also;
use crate::format::record::Facts;
use crate::format::xattrs::Xattr;
use treewide::OUT_LEN;
use treewide_files::Stamp;

/// The result of reading a file.
pub(crate) struct Read {
    pub(crate) digest: [u8; OUT_LEN],
    pub(crate) bytes: u64,
    /// What it was like before and after; `None` if it changed each time.
    pub(crate) stamp: Option<Stamp>,
    /// What is to be recorded of it, if a run before this one has read it.
    pub(crate) facts: Option<Facts>,
    pub(crate) xattrs: Vec<Xattr>,
    /// Its digests by other algorithms.
    pub(crate) also: Also,
    /// Whether it was read under another name, some time before.
    pub(crate) linked: bool,
}
