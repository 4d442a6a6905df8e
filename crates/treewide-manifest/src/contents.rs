//! Which contents are where: lists, manifests and directories as streams of files, sorted by their digests.
//!
//! ```text
//! lists, directories > records by name > digests of folders > records by digest > groups > by reclaimable bytes
//! ```

pub(crate) mod dupes;
mod entry;
mod facts;
mod folders;
pub(crate) mod group;
pub(crate) mod missing;
mod numbers;
pub(crate) mod root;
mod roots;
mod similar;
mod stages;
mod tree;
