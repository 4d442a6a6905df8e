//! Hashing one complete input on the calling thread.

use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::kernel::running;
use crate::mode::{ContextKey, Mode};
use crate::spec::flags::DERIVE_KEY_CONTEXT;
use crate::spec::{CHUNK_LEN, IV, KEY_LEN, OUT_LEN};
use crate::tree::{self, SMALL};

#[inline(always)]
fn of(input: &[u8], mode: &Mode) -> [u8; OUT_LEN] {
    if SMALL && input.len() > CHUNK_LEN {
        return *Hasher::with_mode(*mode).update(input).finalize().as_bytes();
    }
    tree::hash(running(), input, mode)
}

/// Hashes `input` on the calling thread.
///
/// ```
/// let hash = treewide::hash(b"abc");
/// assert_eq!(
///     hash.to_hex().as_str(),
///     "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
/// );
/// ```
#[inline]
pub fn hash(input: &[u8]) -> Hash {
    Hash::from_bytes(of(input, &Mode::PLAIN))
}

/// Hashes `input` with a key: a message authentication code or a pseudorandom function.
///
/// The key must have the full strength of 32 random bytes; for passwords use a password hash. To
/// compare codes, compare values of type [`Hash`](struct@Hash): that takes constant time.
#[inline]
pub fn keyed_hash(key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
    Hash::from_bytes(of(input, &Mode::keyed(key)))
}

/// Derives a key of 32 bytes from `key_material` for the purpose that `context` names.
///
/// The context should be hard-coded, globally unique and specific to the application, such as
/// `"example.com 2026-11-21 session tokens v1"`. It must not contain input or anything variable,
/// because it separates the uses of the same material. The material may have any length, but not the
/// low entropy of passwords.
///
/// ```
/// let key = treewide::derive_key("example.com 2026-11-21 session tokens v1", b"key material");
/// ```
#[inline]
pub fn derive_key(context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
    of(key_material, &Mode::derive_key(context))
}

/// The key that a context string stands for: the first of the two hashes of the derive-key mode.
pub(crate) fn context_key(context: &[u8]) -> ContextKey {
    of(context, &Mode { key: IV, flags: DERIVE_KEY_CONTEXT })
}

impl Mode {
    /// The derive-key mode, [`derive_key`], whose documentation says what a context must be. This hashes the context.
    pub fn derive_key(context: &str) -> Self {
        Self::from_context_key(&context_key(context.as_bytes()))
    }

    /// Returns the digest of `input` in this mode, as [`hash`] does in the plain mode.
    ///
    /// ```
    /// let mode = treewide::Mode::keyed(&[42; 32]);
    /// assert_eq!(mode.hash(b"abc"), treewide::keyed_hash(&[42; 32], b"abc"));
    /// ```
    pub fn hash(&self, input: &[u8]) -> Hash {
        Hash::from_bytes(of(input, self))
    }
}
