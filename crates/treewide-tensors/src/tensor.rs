//! A tensor in a file, and the digest of one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use treewide::Hash;

/// A tensor as the header of a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name, as in the state dict.
    pub name: String,
    /// Its type: as safetensors names it, or for GGUF as ggml does.
    pub dtype: String,
    /// Its shape in row-major order, as PyTorch has it.
    pub shape: Vec<u64>,
    /// Its bytes in the file.
    pub range: Range<u64>,
}

/// Type, shape and digest of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TensorDigest {
    /// Its type: as safetensors names it, or for GGUF as ggml does.
    pub dtype: String,
    /// Its shape in row-major order, as PyTorch has it.
    pub shape: Vec<u64>,
    /// BLAKE3 of its bytes in row-major order, little-endian.
    pub digest: [u8; 32],
}

/// The tensors of a model by their names.
pub type Tensors = BTreeMap<String, TensorDigest>;

impl TensorDigest {
    /// Its digest as a [`Hash`](struct@Hash).
    pub fn hash(&self) -> Hash {
        Hash::from_bytes(self.digest)
    }
}

/// Type and shape: `F32[2,3]`.
impl fmt::Display for TensorDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, shape(&self.shape))
    }
}

/// A shape as lists and messages have it: `[2,3]`, and `[]` of a scalar.
pub(crate) fn shape(shape: &[u64]) -> String {
    format!("[{}]", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
}

/// Whether lists can have it as a type: letters, digits and `_`.
pub fn is_dtype(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
