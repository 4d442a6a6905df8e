//! The root of an input whose parts are hashed as subtrees, and parts that the CPU hashes.

use treewide::hazmat::{self, ChainingValue, HasherExt, Subtrees};
use treewide::{CHUNK_LEN, Hash, Hasher, Mode, OutputReader};

pub(crate) const CHUNK: u64 = CHUNK_LEN as u64;

/// The last compression, not yet done.
pub(crate) enum Root {
    Subtrees(Box<Subtrees>),
    Hasher(Box<Hasher>),
}

impl Root {
    /// The root of an input of `len` bytes, more than a chunk, by the chaining values below it.
    pub(crate) fn of_halves(
        mode: &Mode,
        len: u64,
        left: ChainingValue,
        right: ChainingValue,
    ) -> Self {
        let chunks = hazmat::left_subtree_len(len) / CHUNK;
        let mut subtrees = Subtrees::new(*mode);
        subtrees.push(&[left], chunks.ilog2());
        subtrees.push_last(&right, len.div_ceil(CHUNK) - chunks);
        Self::Subtrees(Box::new(subtrees))
    }

    pub(crate) fn hash(&self) -> Hash {
        match self {
            Self::Subtrees(subtrees) => subtrees.finalize(),
            Self::Hasher(hasher) => hasher.finalize(),
        }
    }

    pub(crate) fn output(&self) -> OutputReader {
        match self {
            Self::Subtrees(subtrees) => subtrees.finalize_xof(),
            Self::Hasher(hasher) => hasher.finalize_xof(),
        }
    }
}

/// The chaining value of a part that starts with chunk `counter`, by the CPU.
pub(crate) fn subtree(mode: &Mode, bytes: &[u8], counter: u64) -> ChainingValue {
    let mut hasher = Hasher::with_mode(*mode);
    hasher.set_input_offset(counter * CHUNK).update_rayon(bytes).finalize_non_root()
}
