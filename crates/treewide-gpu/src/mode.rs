//! Which of BLAKE3's three modes to hash in.

use std::fmt;
use treewide::hazmat;
use treewide::{KEY_LEN, hazmat::ContextKey};

/// The initialisation vector: the key of the plain mode.
const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

pub(crate) mod flags {
    pub(crate) const CHUNK_START: u32 = 1 << 0;
    pub(crate) const CHUNK_END: u32 = 1 << 1;
    pub(crate) const PARENT: u32 = 1 << 2;
    pub(crate) const ROOT: u32 = 1 << 3;
    pub(crate) const KEYED_HASH: u32 = 1 << 4;
    pub(crate) const DERIVE_KEY_MATERIAL: u32 = 1 << 6;
}

/// Plain, keyed or derive-key: what all nodes of a tree share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    key: [u8; KEY_LEN],
    /// The key as the kernels take it.
    pub(crate) words: [u32; 8],
    /// The flag of the mode.
    pub(crate) flags: u32,
}

impl Mode {
    /// The plain mode, of [`treewide::hash`].
    pub const PLAIN: Self = Self { key: [0; KEY_LEN], words: IV, flags: 0 };

    /// The keyed mode, of [`treewide::keyed_hash`].
    pub fn keyed(key: &[u8; KEY_LEN]) -> Self {
        Self { key: *key, words: words(key), flags: flags::KEYED_HASH }
    }

    /// The derive-key mode, of [`treewide::derive_key`]. The context is hashed here, on the CPU.
    pub fn derive_key(context: &str) -> Self {
        let key: ContextKey = hazmat::hash_derive_key_context(context);
        Self { key, words: words(&key), flags: flags::DERIVE_KEY_MATERIAL }
    }

    /// The mode as the library `treewide` takes it, for nodes that the CPU merges.
    pub(crate) fn hazmat(&self) -> hazmat::Mode<'_> {
        match self.flags {
            flags::KEYED_HASH => hazmat::Mode::KeyedHash(&self.key),
            flags::DERIVE_KEY_MATERIAL => hazmat::Mode::DeriveKeyMaterial(&self.key),
            _ => hazmat::Mode::Hash,
        }
    }

    /// A hasher of the library `treewide` in this mode.
    pub(crate) fn hasher(&self) -> treewide::Hasher {
        use hazmat::HasherExt;
        match self.flags {
            flags::KEYED_HASH => treewide::Hasher::new_keyed(&self.key),
            flags::DERIVE_KEY_MATERIAL => treewide::Hasher::new_from_context_key(&self.key),
            _ => treewide::Hasher::new(),
        }
    }
}

/// The plain mode.
impl Default for Mode {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// Shows which mode, and no key.
impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hazmat().fmt(f)
    }
}

fn words(bytes: &[u8; 32]) -> [u32; 8] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|i| u32::from_le_bytes(words[i]))
}
