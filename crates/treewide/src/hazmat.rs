//! Low-level parts of the tree, for programs that hash parts of an input in different places and merge
//! them. *Hazardous material*: if it is used wrongly, a digest does not belong to any input, or two inputs
//! have the same digest.
//!
//! Each part is a subtree. It begins at a multiple of [`CHUNK_LEN`]. Unless it ends where the input ends, it
//! has exactly [`max_subtree_len`] bytes, or a smaller power of two of chunks. Its chaining value comes from
//! [`HasherExt::finalize_non_root`]. Merge neighbours bottom-up, and the last two with
//! [`merge_subtrees_root`].
//!
//! ```
//! use treewide::hazmat::{HasherExt, Mode, merge_subtrees_root};
//! use treewide::{CHUNK_LEN, Hasher};
//!
//! let input = [7; 3 * CHUNK_LEN];
//! let (left, right) = input.split_at(2 * CHUNK_LEN);
//! let left_cv = Hasher::new().update(left).finalize_non_root();
//! let right_cv = Hasher::new()
//!     .set_input_offset(left.len() as u64)
//!     .update(right)
//!     .finalize_non_root();
//! assert_eq!(merge_subtrees_root(&left_cv, &right_cv, Mode::Hash), treewide::hash(&input));
//! ```
//!
//! To share a long input out among threads or processes, cut it into parts of a fixed power of two of chunks, the last one
//! as short as it comes. [`groups`] hashes the parts, and [`Subtrees`] merges them:
//!
//! ```
//! use treewide::hazmat::Subtrees;
//! use treewide::hazmat::groups;
//! use treewide::{CHUNK_LEN, Mode};
//!
//! const CHUNKS: usize = 64;
//! const PART: usize = CHUNKS * CHUNK_LEN;
//! let input = [7; 3 * PART + 1000];
//! let mut cvs = [[0; 32]; 4];
//! for (number, (part, cv)) in input.chunks(PART).zip(&mut cvs).enumerate() {
//!     // In any order, in any place.
//!     groups::fill(part, (number * PART) as u64, CHUNKS, Mode::PLAIN, std::slice::from_mut(cv));
//! }
//! let mut whole = Subtrees::new(Mode::PLAIN);
//! whole.push(&cvs[..3], CHUNKS.ilog2());
//! whole.push_last(&cvs[3], 1);
//! assert_eq!(whole.finalize(), treewide::hash(&input));
//! ```
//!
//! A lone chunk is its own root: inputs of at most [`CHUNK_LEN`] bytes have nothing to merge, and their
//! digest comes from [`Hasher::finalize`] or [`hash`](crate::hash()). Section 2.1 of the paper describes the
//! shape of the tree, section 2.5 the reason for the root flag.

pub mod groups;

use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::mode;
pub use crate::mode::ContextKey;
use crate::oneshot::context_key;
use crate::spec::{CHUNK_LEN, KEY_LEN};
use crate::tree::{self, Node};
use crate::xof::OutputReader;

/// Constants for kernels in other crates, such as `treewide-gpu`.
#[doc(hidden)]
pub use crate::spec::{IV, flags};

pub use crate::subtrees::Subtrees;

/// The hash of a subtree that is not the root.
pub use crate::spec::ChainingValue;

/// The methods of [`Hasher`] for subtrees.
pub trait HasherExt {
    /// [`Hasher::new_derive_key`] with a context that is already hashed, which saves hashing it each time.
    ///
    /// Only [`hash_derive_key_context`] makes such keys; any other bytes break the security of the mode.
    fn new_from_context_key(context_key: &ContextKey) -> Self;

    /// Declares that the input that follows is the subtree that starts at byte `offset` of the whole input.
    ///
    /// Then only [`finalize_non_root`](Self::finalize_non_root) may be used, and [`Hasher::update`] panics
    /// beyond [`max_subtree_len`].
    ///
    /// # Panics
    /// If the hasher has accepted input already, or if `offset` is not a multiple of [`CHUNK_LEN`].
    fn set_input_offset(&mut self, offset: u64) -> &mut Self;

    /// Returns the chaining value of the subtree.
    ///
    /// # Panics
    /// If there was no input, because no subtree is empty.
    fn finalize_non_root(&self) -> ChainingValue;
}

impl HasherExt for Hasher {
    fn new_from_context_key(context_key: &ContextKey) -> Self {
        Self::with_mode(mode::Mode::from_context_key(context_key))
    }

    fn set_input_offset(&mut self, offset: u64) -> &mut Self {
        assert_eq!(self.count(), 0, "hasher has already accepted input");
        assert_eq!(
            offset % CHUNK_LEN as u64,
            0,
            "offset ({offset}) must be a chunk boundary (divisible by {CHUNK_LEN})",
        );
        self.parts().subtrees.first_chunk = offset / CHUNK_LEN as u64;
        self
    }

    fn finalize_non_root(&self) -> ChainingValue {
        assert_ne!(self.count(), 0, "empty subtrees are never valid");
        self.node().chaining_value(running())
    }
}

/// Returns the largest number of bytes that a subtree starting at byte `input_offset` may have, or `None` at
/// the start of the input, where there is no limit.
///
/// It is the largest power of two that divides the offset: a longer subtree would start further left.
///
/// # Panics
/// If `input_offset` is not a multiple of [`CHUNK_LEN`].
#[inline(always)]
pub fn max_subtree_len(input_offset: u64) -> Option<u64> {
    assert_eq!(input_offset % CHUNK_LEN as u64, 0, "offset must be a chunk boundary");
    tree::max_subtree_len(input_offset)
}

/// Returns the number of bytes in the left subtree of an input or subtree of `input_len` bytes, which must be
/// more than one chunk: the largest power of two of chunks that leaves at least one byte for the right subtree.
///
/// One chunk has no subtrees. For it, and for shorter inputs, builds with debug assertions panic; others return a power
/// of two below 1024 without a meaning, as `blake3` does.
#[inline(always)]
pub fn left_subtree_len(input_len: u64) -> u64 {
    debug_assert!(
        input_len > CHUNK_LEN as u64,
        "an input of {input_len} bytes is one chunk, which has no subtrees"
    );
    tree::left_len(input_len)
}

/// The mode of the nodes to merge. It must be the mode in which the subtrees were hashed.
#[derive(Copy, Clone)]
pub enum Mode<'a> {
    /// The plain mode, [`Hasher::new`].
    Hash,

    /// The keyed mode, [`Hasher::new_keyed`].
    KeyedHash(&'a [u8; KEY_LEN]),

    /// The derive-key mode, [`Hasher::new_derive_key`] or [`HasherExt::new_from_context_key`], with the key that
    /// [`hash_derive_key_context`] made from the context.
    DeriveKeyMaterial(&'a ContextKey),
}

impl From<Mode<'_>> for mode::Mode {
    fn from(mode: Mode<'_>) -> Self {
        match mode {
            Mode::Hash => Self::PLAIN,
            Mode::KeyedHash(key) => Self::keyed(key),
            Mode::DeriveKeyMaterial(key) => Self::from_context_key(key),
        }
    }
}

/// Shows which mode it is, and no key.
impl core::fmt::Debug for Mode<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Hash => "Hash",
            Self::KeyedHash(_) => "KeyedHash(..)",
            Self::DeriveKeyMaterial(_) => "DeriveKeyMaterial(..)",
        })
    }
}

fn parent(left: &ChainingValue, right: &ChainingValue, mode: Mode<'_>) -> Node {
    Node::parent(left, right, &mode.into())
}

/// Returns the chaining value of a parent that is not the root.
pub fn merge_subtrees_non_root(
    left_child: &ChainingValue,
    right_child: &ChainingValue,
    mode: Mode<'_>,
) -> ChainingValue {
    parent(left_child, right_child, mode).chaining_value(running())
}

/// Returns the digest of the whole input from the two subtrees below the root.
pub fn merge_subtrees_root(
    left_child: &ChainingValue,
    right_child: &ChainingValue,
    mode: Mode<'_>,
) -> Hash {
    Hash::from_bytes(parent(left_child, right_child, mode).root_hash(running()))
}

/// Merges as [`merge_subtrees_root`], for extended output.
pub fn merge_subtrees_root_xof(
    left_child: &ChainingValue,
    right_child: &ChainingValue,
    mode: Mode<'_>,
) -> OutputReader {
    OutputReader::new(parent(left_child, right_child, mode))
}

/// Hashes the context string of the derive-key mode, for [`HasherExt::new_from_context_key`] and
/// [`Mode::DeriveKeyMaterial`]. [`derive_key`](crate::derive_key()) says what a context must be.
pub fn hash_derive_key_context(context: &str) -> ContextKey {
    context_key(context.as_bytes())
}

/// [`hash_derive_key_context`] for a context of any bytes. Contexts of Rust programs are text; the C interface of BLAKE3
/// also accepts others.
pub fn hash_derive_key_context_bytes(context: &[u8]) -> ContextKey {
    context_key(context)
}
