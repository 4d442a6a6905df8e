//! Makes outboards of data in memory, and of any bytes that can be read at places.

use super::climb::{Climb, Tiles};
#[cfg(feature = "std")]
use super::layout::Group;
use super::layout::{Layout, PAIR_LEN};
use super::tile::{groups_of_tile, hash_tile, pairs_of_tile};
use crate::hash::Hash;
use crate::mode::Mode;
use core::convert::Infallible;

/// Writes the outboard of `input` to `out`, and returns the digest of `input`, on the calling thread. It needs no allocation.
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, Group, Layout};
///
/// let input = [7; 100_000];
/// let layout = Layout::new(100_000, Group::IROH);
/// let mut outboard = [0; 6 * 64];
/// assert_eq!(outboard::fill(&input, &layout, Mode::PLAIN, &mut outboard), treewide::hash(&input));
/// ```
///
/// # Panics
/// If `input` has another length than [`Layout::len`], or `out` than [`Layout::bytes`].
pub fn fill(input: &[u8], layout: &Layout, mode: Mode, out: &mut [u8]) -> Hash {
    assert_eq!(input.len() as u64, layout.len(), "the layout is that of the input");
    assert_eq!(out.len() as u64, layout.bytes(), "a place for each pair");
    let most = groups_of_tile(layout);
    let mut climb = Climb::new(layout, most, &mode);
    let mut digest = None;
    for tile in Tiles::new(layout, most) {
        let span = layout.span(tile);
        let at = tile.pairs().start as usize * PAIR_LEN;
        let pairs = &mut out[at..at + pairs_of_tile(tile)];
        let data = &input[span.start as usize..span.end as usize];
        let hash = hash_tile(data, layout, tile, &mode, pairs);
        let Ok(root) = climb.push(hash, |node, pair| {
            let at = layout.position(node).expect("it is above tiles") as usize * PAIR_LEN;
            out[at..at + PAIR_LEN].copy_from_slice(pair);
            Ok::<_, Infallible>(())
        });
        digest = root;
    }
    Hash::from_bytes(digest.expect("the last tile is the last below the root"))
}

/// Makes the outboard of `input`, on the calling thread. Returns the digest of `input` with it.
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, Group};
///
/// let input = vec![7; 100_000];
/// let (digest, outboard) = outboard::create(&input, Group::IROH, Mode::PLAIN);
/// assert_eq!(digest, treewide::hash(&input));
/// assert_eq!(outboard.len(), 6 * 64);
/// ```
#[cfg(feature = "std")]
pub fn create(input: &[u8], group: Group, mode: Mode) -> (Hash, Vec<u8>) {
    let layout = Layout::new(input.len() as u64, group);
    let mut out = vec![0; layout.bytes() as usize];
    let digest = fill(input, &layout, mode, &mut out);
    (digest, out)
}
