//! Which of BLAKE3's three modes to hash in.

use std::fmt;
use treewide::KEY_LEN;
use treewide::hazmat::{self, ContextKey, IV, flags};

/// Plain, keyed or derive-key: what all nodes of a tree share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    key: [u8; KEY_LEN],
    /// The key as the kernels take it.
    pub(crate) words: [u32; 8],
    /// The flag of the mode.
    pub(crate) flags: u8,
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
    pub fn hasher(&self) -> treewide::Hasher {
        use hazmat::HasherExt;
        match self.flags {
            flags::KEYED_HASH => treewide::Hasher::new_keyed(&self.key),
            flags::DERIVE_KEY_MATERIAL => treewide::Hasher::new_from_context_key(&self.key),
            _ => treewide::Hasher::new(),
        }
    }
}

impl From<treewide::Mode> for Mode {
    fn from(mode: treewide::Mode) -> Self {
        let (words, flags) = (mode.key_words(), mode.flags());
        let mut key = [0; KEY_LEN];
        for (bytes, word) in key.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        Self { key, words, flags }
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
