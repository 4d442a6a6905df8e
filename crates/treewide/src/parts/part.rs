//! A node of the tree with its value.

use core::ops::Range;

use crate::spec::ChainingValue;

/// A node of the tree by its range, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The bytes below the node.
    pub range: Range<u64>,
    /// The chaining value of the node. In an input of one chunk, the only part is the whole, and this is the digest.
    pub cv: ChainingValue,
}
