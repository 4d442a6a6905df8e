//! The twin of `kernels/shared/compress.wgsl` and `compress.cuh`.

use treewide::hazmat::flags::PARENT;

pub(super) use treewide::hazmat::IV;

/// The permutation of the message words between two rounds.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

pub(super) type Cv = [u32; 8];
pub(super) type Block = [u32; 16];

/// What one compression takes.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) cv: Cv,
    pub(super) block: Block,
    pub(super) counter: u64,
    pub(super) len: u32,
    pub(super) flags: u32,
}

impl Node {
    /// All 16 words of output.
    pub(super) fn output(&self) -> Block {
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.cv);
        v[8..12].copy_from_slice(&IV[..4]);
        v[12] = self.counter as u32;
        v[13] = (self.counter >> 32) as u32;
        v[14] = self.len;
        v[15] = self.flags;
        let mut m = self.block;
        for round in 0..7 {
            if round > 0 {
                m = PERMUTATION.map(|from| m[from]);
            }
            for column in 0..4 {
                let (x, y) = (m[2 * column], m[2 * column + 1]);
                g(&mut v, [column, 4 + column, 8 + column, 12 + column], x, y);
            }
            for diagonal in 0..4 {
                let at = |row: usize| 4 * row + (diagonal + row) % 4;
                let (x, y) = (m[8 + 2 * diagonal], m[9 + 2 * diagonal]);
                g(&mut v, [at(0), at(1), at(2), at(3)], x, y);
            }
        }
        for i in 0..8 {
            v[i] ^= v[i + 8];
            v[i + 8] ^= self.cv[i];
        }
        v
    }

    /// The chaining value, or the digest if the flags say ROOT.
    pub(super) fn cv(&self) -> Cv {
        let output = self.output();
        std::array::from_fn(|i| output[i])
    }

    /// The parent of two nodes.
    pub(super) fn parent(left: &Cv, right: &Cv, key: &Cv, flags: u32) -> Self {
        let block = std::array::from_fn(|i| if i < 8 { left[i] } else { right[i - 8] });
        Self { cv: *key, block, counter: 0, len: 64, flags: flags | u32::from(PARENT) }
    }

    /// As the stages `tiles` and `parents` write it, and `xof` reads it.
    pub(super) fn words(&self) -> [u32; 32] {
        let mut words = [0; 32];
        words[..8].copy_from_slice(&self.cv);
        words[8..24].copy_from_slice(&self.block);
        words[24] = self.len;
        words[25] = self.flags;
        words
    }

    pub(super) fn from_words(words: &[u32]) -> Self {
        Self {
            cv: std::array::from_fn(|i| words[i]),
            block: std::array::from_fn(|i| words[8 + i]),
            counter: 0,
            len: words[24],
            flags: words[25],
        }
    }
}

fn g(v: &mut Block, [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}
