//! Constants and the functions that hash at once.

use super::blake3;
use crate::{Log, pattern};
use blake3::{BLOCK_LEN, CHUNK_LEN, Hash, KEY_LEN, OUT_LEN};

pub(super) fn run(log: &mut Log) {
    // As lengths of arrays they must be constants of type usize.
    let lengths: (usize, usize) = ([0u8; BLOCK_LEN].len(), [0u8; CHUNK_LEN].len());
    log.see("const BLOCK_LEN", lengths.0);
    log.see("const CHUNK_LEN", lengths.1);
    log.see("const KEY_LEN", [0u8; KEY_LEN]);
    log.see("const OUT_LEN", [0u8; OUT_LEN]);

    let hash: fn(&[u8]) -> Hash = blake3::hash;
    let keyed_hash: fn(&[u8; KEY_LEN], &[u8]) -> Hash = blake3::keyed_hash;
    let derive_key: fn(&str, &[u8]) -> [u8; OUT_LEN] = blake3::derive_key;
    for len in [0, 1, 64, 65, 1024, 1025, 5000, 16 * 1024 + 1, 100_000] {
        let input = pattern(len);
        log.see("fn hash", hash(&input));
        log.see("fn keyed_hash", keyed_hash(&[7; KEY_LEN], &input));
        log.see("fn derive_key", derive_key("compat 2026-11-21", &input));
    }
}
