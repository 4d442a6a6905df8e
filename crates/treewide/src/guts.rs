//! Single chunks and parents, as `blake3` 1.8 still has them: deprecated in favor of [`hazmat`](crate::hazmat).
//!
//! Only for crates that were written for it, such as `bao` 0.12. It knows the plain mode only.

use core::fmt;

use crate::hash::Hash;
use crate::hasher::chunk::PartialChunk;
use crate::hazmat;
use crate::kernel::running;
use crate::mode::Mode;
use crate::tree::Node;

pub use crate::spec::{BLOCK_LEN, CHUNK_LEN};

/// A chunk whose bytes arrive in pieces.
#[derive(Clone)]
pub struct ChunkState {
    chunk: PartialChunk,
    counter: u64,
}

impl ChunkState {
    /// The chunk with that number in its input.
    pub fn new(chunk_counter: u64) -> Self {
        Self { chunk: PartialChunk::new(&Mode::PLAIN), counter: chunk_counter }
    }

    /// Bytes so far.
    #[allow(clippy::len_without_is_empty, reason = "as `blake3` has it")]
    pub fn len(&self) -> usize {
        self.chunk.len()
    }

    /// Appends `input`.
    ///
    /// # Panics
    /// If the chunk would have more than [`CHUNK_LEN`] bytes.
    pub fn update(&mut self, input: &[u8]) -> &mut Self {
        assert!(input.len() <= CHUNK_LEN - self.len(), "a chunk has at most {CHUNK_LEN} bytes");
        self.chunk.fill(running(), input, self.counter, &Mode::PLAIN);
        self
    }

    /// The digest of an input that is this chunk alone, or the chaining value of the chunk.
    pub fn finalize(&self, is_root: bool) -> Hash {
        debug_assert!(!is_root || self.counter == 0, "a root is the first chunk");
        let node = self.chunk.node(self.counter, &Mode::PLAIN);
        let finalize = if is_root { Node::root_hash } else { Node::chaining_value };
        Hash::from_bytes(finalize(&node, running()))
    }
}

/// Shows the length, and no input.
impl fmt::Debug for ChunkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkState").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The digest of an input that has these two subtrees below its root, or the chaining value of their parent.
pub fn parent_cv(left_child: &Hash, right_child: &Hash, is_root: bool) -> Hash {
    let (left, right) = (left_child.as_bytes(), right_child.as_bytes());
    match is_root {
        true => hazmat::merge_subtrees_root(left, right, hazmat::Mode::Hash),
        false => Hash::from_bytes(hazmat::merge_subtrees_non_root(left, right, hazmat::Mode::Hash)),
    }
}
