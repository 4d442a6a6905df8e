//! One input that is all there, on the calling thread.

use crate::hash::Hash;
use crate::kernel::running;
use crate::mode::Mode;
use crate::spec::{KEY_LEN, OUT_LEN};
use crate::tree;

/// The digest of `input`, on the calling thread.
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
    Hash::from_bytes(tree::hash(running(), input, &Mode::PLAIN))
}

/// The keyed digest of `input`: a message authentication code or a pseudorandom function.
///
/// The key must have the full strength of 32 random bytes; for passwords use a password hash. To
/// compare codes, compare [`Hash`](struct@Hash)es: that takes constant time.
#[inline]
pub fn keyed_hash(key: &[u8; KEY_LEN], input: &[u8]) -> Hash {
    Hash::from_bytes(tree::hash(running(), input, &Mode::keyed(key)))
}

/// A key of 32 bytes derived from `key_material` for the purpose that `context` names.
///
/// The context should be hard-coded, globally unique and specific to the application, such as
/// `"example.com 2026-11-21 session tokens v1"`, and must not contain input or anything variable:
/// it separates the uses of the same material. The material may be of any length but not of low
/// entropy, as passwords are.
///
/// ```
/// let key = treewide::derive_key("example.com 2026-11-21 session tokens v1", b"key material");
/// ```
#[inline]
pub fn derive_key(context: &str, key_material: &[u8]) -> [u8; OUT_LEN] {
    tree::hash(running(), key_material, &Mode::derive_key(context))
}
