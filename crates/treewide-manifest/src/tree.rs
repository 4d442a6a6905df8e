//! Reads a tree: the walk below a root, and metadata of files and of file systems.

pub(crate) mod beneath;
pub(crate) mod clock;
pub(crate) mod mounts;
pub(crate) mod scan;
pub(crate) mod xattrs;
