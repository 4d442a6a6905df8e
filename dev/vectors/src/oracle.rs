//! The answers, from the `blake3` crate.

use crate::cases::{CONTEXT, KEY};
use blake3::Hasher;
use blake3::hazmat::{self, HasherExt};

/// The three modes, under the names that the files use.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Hash,
    KeyedHash,
    DeriveKey,
}

pub(crate) const MODES: [Mode; 3] = [Mode::Hash, Mode::KeyedHash, Mode::DeriveKey];

/// The input of the official test vectors: byte `i` is `i % 251`.
pub(crate) fn input(len: u64) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Hash => "hash",
            Mode::KeyedHash => "keyed_hash",
            Mode::DeriveKey => "derive_key",
        }
    }

    fn hasher(self) -> Hasher {
        match self {
            Mode::Hash => Hasher::new(),
            Mode::KeyedHash => Hasher::new_keyed(KEY),
            Mode::DeriveKey => Hasher::new_derive_key(CONTEXT),
        }
    }

    /// The first 32 bytes of output.
    pub(crate) fn digest(self, input: &[u8]) -> [u8; 32] {
        *self.hasher().update(input).finalize().as_bytes()
    }

    pub(crate) fn output(self, input: &[u8], seek: u64, len: usize) -> Vec<u8> {
        let mut reader = self.hasher().update(input).finalize_xof();
        reader.set_position(seek);
        let mut output = vec![0; len];
        reader.fill(&mut output);
        output
    }

    pub(crate) fn chaining_value(self, input: &[u8], offset: u64) -> [u8; 32] {
        self.hasher().set_input_offset(offset).update(input).finalize_non_root()
    }

    /// The chaining value of a parent, and `len` bytes of output in case it is the root.
    pub(crate) fn merge(
        self,
        left: &[u8; 32],
        right: &[u8; 32],
        len: usize,
    ) -> ([u8; 32], Vec<u8>) {
        let context_key = hazmat::hash_derive_key_context(CONTEXT);
        let mode = match self {
            Mode::Hash => hazmat::Mode::Hash,
            Mode::KeyedHash => hazmat::Mode::KeyedHash(KEY),
            Mode::DeriveKey => hazmat::Mode::DeriveKeyMaterial(&context_key),
        };
        let mut output = vec![0; len];
        hazmat::merge_subtrees_root_xof(left, right, mode).fill(&mut output);
        (hazmat::merge_subtrees_non_root(left, right, mode), output)
    }
}
