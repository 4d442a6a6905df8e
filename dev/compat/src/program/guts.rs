//! Single chunks and parents: the hidden module `guts`, which is deprecated, but which `bao` 0.12 needs.
#![allow(deprecated)]

use super::blake3;
use super::ordinary;
use crate::{Log, pattern};
use blake3::Hash;
use blake3::guts::{self, ChunkState};

pub(super) fn run(log: &mut Log) {
    // `pub use crate::{..}`, as the list has it.
    log.see("use guts::crate", (guts::BLOCK_LEN, guts::CHUNK_LEN));
    log.see("struct guts::ChunkState", ordinary::<ChunkState>());
    chunks(log);
    parents(log);
}

fn chunks(log: &mut Log) {
    let input = pattern(guts::CHUNK_LEN);
    let new: fn(u64) -> ChunkState = ChunkState::new;
    let finalize: fn(&ChunkState, bool) -> Hash = ChunkState::finalize;
    let len: fn(&ChunkState) -> usize = ChunkState::len;
    let update: for<'a> fn(&'a mut ChunkState, &[u8]) -> &'a mut ChunkState = ChunkState::update;
    // Every length around the edge of a block, and every second place to cut it in two there.
    let near = |edge: usize| edge.saturating_sub(1)..=(edge + 1).min(input.len());
    let lengths = (0..=input.len()).step_by(guts::BLOCK_LEN).flat_map(near);
    for len_of in lengths {
        let input = &input[..len_of];
        for cut in (0..=len_of).step_by(guts::BLOCK_LEN).flat_map(near).filter(|&cut| cut <= len_of)
        {
            let mut chunk = new(0);
            update(&mut chunk, &input[..cut]);
            chunk.update(&[]).update(&input[cut..]);
            log.see("fn guts::ChunkState::len", len(&chunk));
            log.see("fn guts::ChunkState::update", finalize(&chunk, true));
            log.see("impl Clone for guts::ChunkState", finalize(&chunk.clone(), false));
        }
        for counter in [0, 1, 0xFFFF_FFFF, 1 << 32, (1 << 54) - 1, u64::MAX] {
            let mut chunk = new(counter);
            log.see("fn guts::ChunkState::new", len(&chunk));
            chunk.update(input);
            log.see("fn guts::ChunkState::finalize", finalize(&chunk, false));
        }
    }
    // What the text is, neither promises.
    log.see("impl Debug for guts::ChunkState", format!("{:?}", new(0)).starts_with("ChunkState"));
}

fn parents(log: &mut Log) {
    let parent: fn(&Hash, &Hash, bool) -> Hash = guts::parent_cv;
    let [left, right] = [[1; 32], [2; 32]].map(Hash::from_bytes);
    for is_root in [false, true] {
        log.see("fn guts::parent_cv", parent(&left, &right, is_root));
        log.see("fn guts::parent_cv", parent(&right, &left, is_root));
    }
}
