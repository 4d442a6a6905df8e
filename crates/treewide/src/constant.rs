//! Hashing while a program is compiled. Constant functions call no methods of traits, so the rounds are here once more.

use crate::hash::Hash;
use crate::spec::flags::{CHUNK_END, CHUNK_START, PARENT, ROOT};
use crate::spec::{BLOCK_LEN, CHUNK_LEN, IV, SCHEDULE, Words};
use crate::tree::left_len;

/// Hashes a short input while the program is compiled: a tag, the name of a storage slot.
///
/// It is as slow as the compiler's interpreter; where it runs in a program, [`hash`](crate::hash()) is many times as fast.
///
/// ```
/// const SLOT: treewide::Hash = treewide::const_hash(b"example.com/slots/owner");
/// assert_eq!(SLOT, treewide::hash(b"example.com/slots/owner"));
/// ```
pub const fn const_hash(input: &[u8]) -> Hash {
    let (words, mut bytes, mut i) = (subtree(input, 0, ROOT), [0; 32], 0);
    while i < bytes.len() {
        bytes[i] = words[i / 4].to_le_bytes()[i % 4];
        i += 1;
    }
    Hash::from_bytes(bytes)
}

/// The top node of a subtree whose first chunk has the number `counter`.
const fn subtree(input: &[u8], counter: u64, root: u8) -> Words {
    if input.len() > CHUNK_LEN {
        let (left, right) = input.split_at(left_len(input.len() as u64) as usize);
        let right_counter = counter + (left.len() / CHUNK_LEN) as u64;
        let (left, right) = (subtree(left, counter, 0), subtree(right, right_counter, 0));
        let (mut message, mut i) = ([0; 16], 0);
        while i < 8 {
            (message[i], message[i + 8]) = (left[i], right[i]);
            i += 1;
        }
        return compress(&IV, &message, BLOCK_LEN, 0, PARENT | root);
    }
    let (mut cv, mut rest, mut flags) = (IV, input, CHUNK_START);
    while rest.len() > BLOCK_LEN {
        let (block, more) = rest.split_at(BLOCK_LEN);
        cv = compress(&cv, &message(block), BLOCK_LEN, counter, flags);
        (rest, flags) = (more, 0);
    }
    compress(&cv, &message(rest), rest.len(), counter, flags | CHUNK_END | root)
}

/// The words of a block, zeros after its end.
const fn message(block: &[u8]) -> [u32; 16] {
    let (mut words, mut i) = ([0; 16], 0);
    while i < block.len() {
        words[i / 4] |= (block[i] as u32) << (8 * (i % 4));
        i += 1;
    }
    words
}

const fn compress(cv: &Words, m: &[u32; 16], len: usize, counter: u64, flags: u8) -> Words {
    let (low, high) = (counter as u32, (counter >> 32) as u32);
    let [a, b, c, d, e, f, g, h] = *cv;
    #[rustfmt::skip]
    let mut v = [
        a, b, c, d, e, f, g, h, IV[0], IV[1], IV[2], IV[3], low, high, len as u32, flags as u32,
    ];
    let mut round = 0;
    while round < 7 {
        let mut i = 0;
        while i < 8 {
            // Four columns, then four diagonals.
            let (turn, at) = (i / 4, i % 4);
            let b = 4 + (at + turn) % 4;
            let (c, d) = (8 + (at + 2 * turn) % 4, 12 + (at + 3 * turn) % 4);
            let (x, y) = (m[SCHEDULE[round][2 * i]], m[SCHEDULE[round][2 * i + 1]]);
            v[at] = v[at].wrapping_add(v[b]).wrapping_add(x);
            v[d] = (v[d] ^ v[at]).rotate_right(16);
            v[c] = v[c].wrapping_add(v[d]);
            v[b] = (v[b] ^ v[c]).rotate_right(12);
            v[at] = v[at].wrapping_add(v[b]).wrapping_add(y);
            v[d] = (v[d] ^ v[at]).rotate_right(8);
            v[c] = v[c].wrapping_add(v[d]);
            v[b] = (v[b] ^ v[c]).rotate_right(7);
            i += 1;
        }
        round += 1;
    }
    let (mut out, mut i) = ([0; 8], 0);
    while i < 8 {
        out[i] = v[i] ^ v[i + 8];
        i += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_TWO_CHUNKS: Hash = const_hash(&[7; CHUNK_LEN + 1]);

    #[test]
    fn const_hash_is_hash() {
        assert_eq!(OF_TWO_CHUNKS, crate::hash(&[7; CHUNK_LEN + 1]));
        let input: [u8; 5 * CHUNK_LEN + 1] = core::array::from_fn(|i| (i % 251) as u8);
        let lens = [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 3000, 4096, 4097, input.len()];
        for len in lens.into_iter().filter(|len| !cfg!(miri) || *len < 70) {
            assert_eq!(const_hash(&input[..len]), crate::hash(&input[..len]), "{len}");
        }
    }
}
