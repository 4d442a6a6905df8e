//! The commands, and what they have in common.

pub(crate) mod check;
pub(crate) mod comparing;
pub(crate) mod contents;
pub(crate) mod docs;
pub(crate) mod dupes;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod manifest;
pub(crate) mod missing;
pub(crate) mod outboard;
pub(crate) mod sum;
pub(crate) mod tensors;
