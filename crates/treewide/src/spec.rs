//! The BLAKE3 paper as code: constants, flags and the message schedule, nothing that runs.
//!
//! Section numbers refer to the [BLAKE3 paper]. Words are little-endian everywhere.
//!
//! [BLAKE3 paper]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

/// Bytes in a block, the input of one compression (section 2.2).
pub const BLOCK_LEN: usize = 64;

/// Bytes in a chunk, the leaf of the tree (section 2.1). Only the last chunk may be shorter.
pub const CHUNK_LEN: usize = 1024;

/// Bytes in a key (section 2.3).
pub const KEY_LEN: usize = 32;

/// Bytes in a digest of the default length, and in a chaining value.
pub const OUT_LEN: usize = 32;

/// Eight words: a key, or the chaining value that goes into a compression.
pub(crate) type Words = [u32; 8];

/// The hash of a subtree that is not the root. Two of them are the block of their parent.
pub type ChainingValue = [u8; OUT_LEN];

/// The initialisation vector, table 1: the key of the plain mode.
pub const IV: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The domain flags, table 3.
pub mod flags {
    /// The first block of a chunk.
    pub const CHUNK_START: u8 = 1 << 0;
    /// The last block of a chunk.
    pub const CHUNK_END: u8 = 1 << 1;
    /// A parent: the block is two chaining values.
    pub const PARENT: u8 = 1 << 2;
    /// The root, at its last block.
    pub const ROOT: u8 = 1 << 3;
    /// All nodes in the keyed mode.
    pub const KEYED_HASH: u8 = 1 << 4;
    /// All nodes of the context in the derive-key mode.
    pub const DERIVE_KEY_CONTEXT: u8 = 1 << 5;
    /// All nodes of the key material in the derive-key mode.
    pub const DERIVE_KEY_MATERIAL: u8 = 1 << 6;
}

/// The permutation of the message words between two rounds, table 2.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// Which message word each of the seven rounds uses at each of its sixteen places.
pub(crate) const SCHEDULE: [[usize; 16]; 7] = {
    let mut schedule = [[0; 16]; 7];
    let mut i = 0;
    while i < 16 {
        schedule[0][i] = i;
        i += 1;
    }
    let mut round = 1;
    while round < 7 {
        let mut i = 0;
        while i < 16 {
            schedule[round][i] = schedule[round - 1][PERMUTATION[i]];
            i += 1;
        }
        round += 1;
    }
    schedule
};

/// The levels of the tallest tree: 2^64 bytes are 2^54 chunks.
pub(crate) const MAX_HEIGHT: usize = 54;

/// A key, or a chaining value, as words.
#[inline(always)]
pub(crate) fn words(bytes: &[u8; 32]) -> Words {
    // SAFETY: words may have any bytes.
    let words: Words = unsafe { core::mem::transmute(*bytes) };
    #[cfg(target_endian = "big")]
    let words = words.map(u32::swap_bytes);
    words
}

/// The inverse of [`words`].
#[inline(always)]
pub(crate) fn bytes(words: &Words) -> [u8; 32] {
    #[cfg(target_endian = "big")]
    let words = &words.map(u32::swap_bytes);
    // SAFETY: bytes may have any value.
    unsafe { core::mem::transmute(*words) }
}
