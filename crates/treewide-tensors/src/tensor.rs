//! A tensor in a file, and the digest of one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
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

impl Tensor {
    /// Its name, and what is known of it with its digest.
    pub(crate) fn with(&self, digest: Hash) -> (String, TensorDigest) {
        let (dtype, shape) = (self.dtype.clone(), self.shape.clone());
        (self.name.clone(), TensorDigest { dtype, shape, digest: digest.into() })
    }
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

/// The tensors of a model by their names, and other names of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensors {
    pub(crate) named: BTreeMap<String, TensorDigest>,
    /// Other names of tensors, with the names that they have here: of tied weights. Lists and fingerprints leave them out.
    pub aliases: BTreeMap<String, String>,
}

impl Tensors {
    /// All names, also those of tied weights, with their tensors.
    pub(crate) fn names(&self) -> BTreeMap<&str, &TensorDigest> {
        let tied = self.aliases.iter().filter_map(|(name, of)| Some((name, self.named.get(of)?)));
        self.named.iter().chain(tied).map(|(name, tensor)| (&**name, tensor)).collect()
    }

    /// Whether any tensor has bytes. A comparison without any says nothing.
    pub fn have_bytes(&self) -> bool {
        self.named.values().any(|it| !it.shape.contains(&0))
    }
}

impl Deref for Tensors {
    type Target = BTreeMap<String, TensorDigest>;

    fn deref(&self) -> &Self::Target {
        &self.named
    }
}

impl DerefMut for Tensors {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.named
    }
}

impl FromIterator<(String, TensorDigest)> for Tensors {
    fn from_iter<I: IntoIterator<Item = (String, TensorDigest)>>(from: I) -> Self {
        Self { named: from.into_iter().collect(), aliases: BTreeMap::new() }
    }
}

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
