//! Makes outboards of any bytes that can be read at places.

use std::sync::{Mutex, PoisonError};

use super::climb::{Climb, Tiles};
use super::error::Error;
use super::io::{ReadAt, WriteAt};
use super::layout::{Layout, Node, PAIR_LEN};
use super::tile::groups_of_tile;
use super::tile_at::{TileReader, WINDOW, map, place_of, threads};
use crate::hash::Hash;
use crate::mode::Mode;

/// Makes the outboard of `data`, and returns the digest of the data.
///
/// The first [`Layout::len`] bytes of `data` are read, and `out` gets exactly [`Layout::bytes`] bytes. It takes 512 KiB of memory
/// for each thread, and 32 KiB for the pairs above. The threads are those of the current rayon pool with the feature `rayon`, and
/// otherwise the calling one alone.
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, Group, Layout};
///
/// let data = vec![7; 5_000_000];
/// let layout = Layout::new(data.len() as u64, Group::IROH);
/// let mut outboard = Vec::new();
/// let digest = outboard::create_at(&data, &layout, Mode::PLAIN, &mut outboard)?;
/// assert_eq!(digest, treewide::hash(&data));
/// assert_eq!(outboard.len() as u64, layout.bytes());
/// # Ok::<(), outboard::Error>(())
/// ```
///
/// # Errors
/// If the data has fewer bytes or cannot be read, or if the outboard cannot be written.
pub fn create_at(
    data: &(impl ReadAt + ?Sized),
    layout: &Layout,
    mode: Mode,
    out: &mut (impl WriteAt + Send + ?Sized),
) -> Result<Hash, Error> {
    out.set_size(layout.bytes()).map_err(Error::Outboard)?;
    let most = groups_of_tile(layout);
    let mut climb = Climb::new(layout, most, &mode);
    let mut tiles = Tiles::new(layout, most);
    let most_threads = threads(layout.len());
    let mut digest = None;
    loop {
        let window: Vec<_> = tiles.by_ref().take(WINDOW).collect();
        if window.is_empty() {
            break;
        }
        let shared = Mutex::new(&mut *out);
        let write = |pairs: &[u8], tile: Node| {
            let mut out = shared.lock().unwrap_or_else(PoisonError::into_inner);
            out.write_all_at(pairs, place_of(tile.pairs().start)).map_err(Error::Outboard)
        };
        let scratch = || TileReader::new(data, layout, &mode);
        let hashes = map(most_threads, &window, scratch, |reader, &tile| {
            let (hash, pairs) = reader.hash(tile)?;
            if !pairs.is_empty() {
                write(pairs, tile)?;
            }
            Ok(hash)
        })?;
        for hash in hashes {
            let emit = |node, pair: &[u8; PAIR_LEN]| {
                let place = layout.position(node).expect("it is above tiles");
                out.write_all_at(pair, place_of(place))
            };
            digest = climb.push(hash, emit).map_err(Error::Outboard)?;
        }
    }
    Ok(Hash::from_bytes(digest.expect("the last tile is the last below the root")))
}
