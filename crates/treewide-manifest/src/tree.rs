//! What a tree is now: the walk below a root, and what the system says of files and of file systems.

pub(crate) mod beneath;
pub(crate) mod clock;
pub(crate) mod scan;
pub(crate) mod xattrs;
