//! The three modes of BLAKE3 (section 2.3 of the paper): the key and the flag that all nodes of a tree share.

use core::fmt;

use crate::spec::flags::{DERIVE_KEY_MATERIAL, KEYED_HASH};
use crate::spec::{IV, KEY_LEN, Words, words};

/// Key that [`hash_derive_key_context`](crate::hazmat::hash_derive_key_context) returns, and nothing else.
pub type ContextKey = [u8; KEY_LEN];

/// The mode to hash in: plain, keyed or derive-key.
///
/// Everything that hashes takes a mode: [`Hasher::with_mode`](crate::Hasher::with_mode),
/// [`Batch::with_mode`](crate::Batch::with_mode), `file::Options::mode`, [`hazmat::groups`](crate::hazmat::groups).
///
/// ```
/// use treewide::{Batch, Mode, keyed_hash};
///
/// let mode = Mode::keyed(&[42; 32]);
/// let mut codes = [0; 64];
/// Batch::with_mode(mode).fill(&["one", "two"], &mut codes);
/// assert_eq!(keyed_hash(&[42; 32], b"two"), codes[32..]);
/// ```
///
/// A mode holds the key. `Debug` names the mode and shows no key. With the feature `zeroize` a mode can
/// be wiped.
// Of one layout for every compiler: C programs hand a mode from one library to another (`bindings/c`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Mode {
    pub(crate) key: Words,
    pub(crate) flags: u8,
}

impl Mode {
    /// The plain mode, [`hash`](crate::hash()).
    pub const PLAIN: Self = Self { key: IV, flags: 0 };

    /// The keyed mode, [`keyed_hash`](crate::keyed_hash()).
    pub fn keyed(key: &[u8; KEY_LEN]) -> Self {
        Self { key: words(key), flags: KEYED_HASH }
    }

    /// The derive-key mode with a context that is already hashed, which saves hashing it each time.
    ///
    /// Only [`hash_derive_key_context`](crate::hazmat::hash_derive_key_context) makes such keys; any
    /// other bytes break the security of the mode.
    pub fn from_context_key(key: &ContextKey) -> Self {
        Self { key: words(key), flags: DERIVE_KEY_MATERIAL }
    }

    /// The key as the words that compressions read, for kernels outside of this crate.
    #[doc(hidden)]
    pub fn key_words(&self) -> [u32; 8] {
        self.key
    }

    /// The flag of the mode, for kernels outside of this crate.
    #[doc(hidden)]
    pub fn flags(&self) -> u8 {
        self.flags
    }
}

/// The plain mode.
impl Default for Mode {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// Shows which mode it is, and no key.
impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.flags {
            KEYED_HASH => "Mode::keyed(..)",
            DERIVE_KEY_MATERIAL => "Mode::derive_key(..)",
            _ => "Mode::PLAIN",
        })
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for Mode {
    fn zeroize(&mut self) {
        self.key.zeroize();
        self.flags.zeroize();
    }
}
