//! The values of the parts of one input, merged in their order up to the root.

use crate::host::place::Tree;
use crate::mode::Mode;
use treewide::hazmat::{self, HasherExt};
use treewide::{CHUNK_LEN, Hash, Hasher, OutputReader};

pub(crate) const CHUNK: u64 = CHUNK_LEN as u64;

/// The value of a subtree.
pub(crate) type Value = [u8; 32];

/// Parts of one length, a power of two; the last may be shorter.
#[derive(Debug)]
pub(crate) struct Parts {
    mode: Mode,
    merged: u64,
    /// Values of subtrees, larger ones first, and of the last part, which may be the root's child.
    stack: Vec<Value>,
    last: Option<Value>,
}

impl Parts {
    pub(crate) fn new(mode: &Mode) -> Self {
        Self { mode: *mode, merged: 0, stack: Vec::new(), last: None }
    }

    /// Adds the value of the next part.
    pub(crate) fn add(&mut self, value: Value) {
        if let Some(mut node) = self.last.replace(value) {
            // It was not the last part, so its parents that are complete are not roots either.
            self.merged += 1;
            for _ in 0..self.merged.trailing_zeros() {
                let left = self.stack.pop().expect("one for each bit");
                node = hazmat::merge_subtrees_non_root(&left, &node, self.mode.hazmat());
            }
            self.stack.push(node);
        }
    }

    /// The root above all of them, which are at least two.
    pub(crate) fn root(&mut self) -> Root {
        let mode = self.mode;
        let mut right = self.last.take().expect("at least two parts");
        loop {
            let left = self.stack.pop().expect("at least two parts");
            if self.stack.is_empty() {
                return Root::Parent(left, right, mode);
            }
            right = hazmat::merge_subtrees_non_root(&left, &right, mode.hazmat());
        }
    }
}

/// Left and right of the root, which is the host's, of an input of more than a chunk that is one part.
pub(crate) fn halves(len: u64) -> [Tree; 2] {
    let left = hazmat::left_subtree_len(len);
    [
        Tree { at: 0, len: left, counter: 0 },
        Tree { at: left, len: len - left, counter: left / CHUNK },
    ]
}

/// The value of a part, by the CPU.
pub(crate) fn subtree(mode: &Mode, bytes: &[u8], counter: u64) -> Value {
    hasher_at(mode, counter).update_rayon(bytes).finalize_non_root()
}

/// A hasher for a part, by its first chunk.
pub(crate) fn hasher_at(mode: &Mode, counter: u64) -> Hasher {
    let mut hasher = mode.hasher();
    hasher.set_input_offset(counter * CHUNK);
    hasher
}

/// The last compression, not yet done.
pub(crate) enum Root {
    Parent(Value, Value, Mode),
    Hasher(Box<Hasher>),
}

impl Root {
    pub(crate) fn hash(&self) -> Hash {
        match self {
            Self::Parent(left, right, mode) => {
                hazmat::merge_subtrees_root(left, right, mode.hazmat())
            }
            Self::Hasher(hasher) => hasher.finalize(),
        }
    }

    pub(crate) fn output(&self) -> OutputReader {
        match self {
            Self::Parent(left, right, mode) => {
                hazmat::merge_subtrees_root_xof(left, right, mode.hazmat())
            }
            Self::Hasher(hasher) => hasher.finalize_xof(),
        }
    }
}
