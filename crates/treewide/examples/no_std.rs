//! A program without an operating system: no heap, no threads, no files.
//!
//! A library, because such a program brings its own start and panic handler. Its manifest has this line:
//!
//! ```toml
//! treewide = { version = "0.1", default-features = false }
//! ```

#![cfg_attr(not(test), no_std)]

use treewide::hazmat::{ChainingValue, HasherExt};
use treewide::{Batch, CHUNK_LEN, Hash, Hasher, keyed_hash};

/// A code for a message. Compare codes as [`Hash`]es: that takes constant time.
pub fn is_genuine(key: &[u8; 32], message: &[u8], code: &Hash) -> bool {
    keyed_hash(key, message) == *code
}

/// Bytes from a seed, as many as there is room for.
pub fn stretch(seed: &[u8], out: &mut [u8]) {
    Hasher::new().update(seed).finalize_xof().fill(out);
}

/// Digests of blobs to memory that the caller has.
pub fn digests<const N: usize>(blobs: &[&[u8]; N]) -> [Hash; N] {
    let mut out = [Hash::from_bytes([0; 32]); N];
    Batch::new().hash_into(blobs, &mut out);
    out
}

/// The chaining value of a page of flash, which is a chunk of a larger image.
pub fn page(number: u64, bytes: &[u8; CHUNK_LEN]) -> ChainingValue {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(number * CHUNK_LEN as u64);
    hasher.update(bytes).finalize_non_root()
}

#[test]
fn runs() {
    let code = keyed_hash(&[1; 32], b"message");
    assert!(is_genuine(&[1; 32], b"message", &code));
    assert!(!is_genuine(&[2; 32], b"message", &code));
    let mut out = [0; 100];
    stretch(b"seed", &mut out);
    assert_eq!(out[..32], *treewide::hash(b"seed").as_bytes());
    assert_eq!(digests(&[b"a", b"bc"]), [b"a".as_slice(), b"bc"].map(treewide::hash));
    let [left, right] = [page(0, &[7; CHUNK_LEN]), page(1, &[7; CHUNK_LEN])];
    let mode = treewide::hazmat::Mode::Hash;
    let root = treewide::hazmat::merge_subtrees_root(&left, &right, mode);
    assert_eq!(root, treewide::hash(&[7; 2 * CHUNK_LEN]));
}
