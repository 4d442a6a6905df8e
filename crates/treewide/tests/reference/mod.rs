//! BLAKE3 straight from the paper, as the oracle of record.
//!
//! Written from "BLAKE3: one function, fast everywhere" alone; section numbers (§) are the paper's,
//! and so are the names `h`, `m`, `t`, `b`, `d`, `v`, `k`. It is meant to be read next to the paper:
//! the tree is the paper's recursive definition, every node is compressed by itself, and nothing
//! is done for speed. Whatever the library does in another way must come out the same as this.
//!
//! ```text
//!   Mode (key words k, base flags)          §2.3
//!     subtree  -> chunk | parent            §2.1, §2.4, §2.5
//!       Node (inputs of its last compression)
//!         chaining_value()                  not the root
//!         output(seek, len)                 the root, §2.6
//! ```
#![allow(dead_code)] // Each test file that includes this module uses a part of it.

/// Bytes of input that one compression takes (§2.4).
pub(crate) const BLOCK: usize = 64;
/// Bytes of input in every chunk but the last (§2.1).
pub(crate) const CHUNK: usize = 1024;

/// The constants IV of BLAKE2s (§2.2).
const IV: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// What happens to the message words between two rounds (§2.2).
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

// The flags that make up `d` (§2.2).
const CHUNK_START: u32 = 1 << 0;
const CHUNK_END: u32 = 1 << 1;
const PARENT: u32 = 1 << 2;
const ROOT: u32 = 1 << 3;
const KEYED_HASH: u32 = 1 << 4;
const DERIVE_KEY_CONTEXT: u32 = 1 << 5;
const DERIVE_KEY_MATERIAL: u32 = 1 << 6;

/// The mixing function G on four words of the state and two message words (§2.2).
fn g(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], mx: u32, my: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(mx);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(my);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

/// One round: G on the four columns, then on the four diagonals (§2.2).
fn round(v: &mut [u32; 16], m: &[u32; 16]) {
    g(v, [0, 4, 8, 12], m[0], m[1]);
    g(v, [1, 5, 9, 13], m[2], m[3]);
    g(v, [2, 6, 10, 14], m[4], m[5]);
    g(v, [3, 7, 11, 15], m[6], m[7]);

    g(v, [0, 5, 10, 15], m[8], m[9]);
    g(v, [1, 6, 11, 12], m[10], m[11]);
    g(v, [2, 7, 8, 13], m[12], m[13]);
    g(v, [3, 4, 9, 14], m[14], m[15]);
}

/// The compression function, all sixteen words of it (§2.2).
pub(crate) fn compress(h: &[u32; 8], m: &[u32; 16], t: u64, b: u32, d: u32) -> [u32; 16] {
    let (t0, t1) = (t as u32, (t >> 32) as u32);
    let mut v = [
        h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], //
        IV[0], IV[1], IV[2], IV[3], t0, t1, b, d,
    ];
    let mut m = *m;
    for _ in 0..7 {
        round(&mut v, &m);
        m = PERMUTATION.map(|i| m[i]);
    }
    let mut out = [0; 16];
    for i in 0..8 {
        out[i] = v[i] ^ v[i + 8];
        out[i + 8] = v[i + 8] ^ h[i];
    }
    out
}

/// Bytes to words, little-endian whatever the machine is (§2.2).
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    assert_eq!(bytes.len(), 4 * N);
    std::array::from_fn(|i| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap()))
}

/// Words to bytes, little-endian (§2.2).
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The first eight words: what "truncated compression function" means in §2.2.
fn truncate(out: [u32; 16]) -> [u32; 8] {
    out[..8].try_into().unwrap()
}

/// A mode: its key words and the flags it sets in every compression (§2.3).
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    k: [u32; 8],
    flags: u32,
}

impl Mode {
    /// `hash`.
    pub(crate) fn hash() -> Mode {
        Mode { k: IV, flags: 0 }
    }

    /// `keyed_hash`.
    pub(crate) fn keyed_hash(key: &[u8; 32]) -> Mode {
        Mode { k: words(key), flags: KEYED_HASH }
    }

    /// `derive_key`: its second stage, keyed with the output of the first.
    pub(crate) fn derive_key(context: &str) -> Mode {
        Mode { k: words(&context_key(context)), flags: DERIVE_KEY_MATERIAL }
    }

    /// The node at the top of `input`, which starts at chunk number `first` of the whole input.
    ///
    /// For `first == 0` and the whole input this is the root. A subtree that starts elsewhere is
    /// one of the tree's own subtrees only if it obeys the rules of §2.1; that is the caller's care.
    pub(crate) fn subtree(&self, input: &[u8], first: u64) -> Node {
        if input.len() <= CHUNK {
            return self.chunk(input, first);
        }
        let (left, right) = input.split_at(left_len(input.len()));
        let left_chunks = (left.len() / CHUNK) as u64;
        self.parent(
            &self.subtree(left, first).chaining_value(),
            &self.subtree(right, first + left_chunks).chaining_value(),
        )
    }

    /// A chunk, its blocks compressed one after another up to the last (§2.4).
    fn chunk(&self, input: &[u8], t: u64) -> Node {
        assert!(input.len() <= CHUNK);
        // An empty input has one block, and that block is empty.
        let blocks = input.len().div_ceil(BLOCK).max(1);
        let mut h = self.k;
        for i in 0.. {
            let block = &input[i * BLOCK..input.len().min((i + 1) * BLOCK)];
            let mut padded = [0; BLOCK];
            padded[..block.len()].copy_from_slice(block);
            let mut d = self.flags;
            if i == 0 {
                d |= CHUNK_START;
            }
            if i == blocks - 1 {
                d |= CHUNK_END;
            }
            let node = Node { h, m: words(&padded), t, b: block.len() as u32, d };
            if i == blocks - 1 {
                return node;
            }
            h = truncate(node.compress());
        }
        unreachable!("a chunk has at least one block")
    }

    /// The parent of two nodes that have these chaining values (§2.5).
    pub(crate) fn parent(&self, left: &[u8; 32], right: &[u8; 32]) -> Node {
        let m = words(&[*left, *right].concat());
        Node { h: self.k, m, t: 0, b: BLOCK as u32, d: self.flags | PARENT }
    }

    /// `len` bytes of the extended output for `input`, from byte `seek` of that output on.
    pub(crate) fn xof(&self, input: &[u8], seek: u64, len: usize) -> Vec<u8> {
        self.subtree(input, 0).output(seek, len)
    }

    /// The output of the default length.
    pub(crate) fn digest(&self, input: &[u8]) -> [u8; 32] {
        self.xof(input, 0, 32).try_into().unwrap()
    }
}

/// The first stage of `derive_key`: the context string becomes a key (§2.3).
pub(crate) fn context_key(context: &str) -> [u8; 32] {
    Mode { k: IV, flags: DERIVE_KEY_CONTEXT }.digest(context.as_bytes())
}

/// Bytes in the left subtree of `n > 1024` bytes: the largest power of two of chunks that leaves
/// at least one byte to the right, 2^(10 + floor(log2(floor((n - 1) / 1024)))) as §2.1 has it.
pub(crate) fn left_len(n: usize) -> usize {
    assert!(n > CHUNK);
    1 << (10 + ((n - 1) / CHUNK).ilog2())
}

/// A node before it is known whether it is the root: the inputs of its last compression.
pub(crate) struct Node {
    h: [u32; 8],
    m: [u32; 16],
    t: u64,
    b: u32,
    d: u32,
}

impl Node {
    fn compress(&self) -> [u32; 16] {
        compress(&self.h, &self.m, self.t, self.b, self.d)
    }

    /// What a parent takes from a node that is not the root (§2.4, §2.5).
    pub(crate) fn chaining_value(&self) -> [u8; 32] {
        bytes(&truncate(self.compress())).try_into().unwrap()
    }

    /// `len` bytes from byte `seek` of the output on, this node being the root: its compression is
    /// repeated with the number of the output block as the counter (§2.6).
    pub(crate) fn output(&self, seek: u64, len: usize) -> Vec<u8> {
        let mut output = Vec::new();
        let mut t = seek / BLOCK as u64;
        let skip = (seek % BLOCK as u64) as usize;
        while output.len() < skip + len {
            let block = compress(&self.h, &self.m, t, self.b, self.d | ROOT);
            output.extend(bytes(&block));
            t += 1;
        }
        output[skip..skip + len].to_vec()
    }
}
