//! An outboard of tiles that come from somewhere else: each is hashed on any thread, and their tops are put together in order.
//!
//! Where a group is longer than a tile, a tile is a part of a group, and has no pairs; the tops up to the group have none either.

use super::climb::Climb;
use super::error::IoError;
use super::layout::{Group, Layout};
use super::tile::{hash_tile, pairs_of_tile};
use super::tile_at::place_of;
use crate::mode::Mode;
use crate::spec::OUT_LEN;

pub(crate) struct Tops {
    layout: Layout,
    /// The layout of the tiles: of groups that are not longer than a tile.
    tiles: Layout,
    mode: Mode,
    climb: Climb,
    tile_len: u64,
    at: u64,
    digest: Option<[u8; OUT_LEN]>,
}

impl Tops {
    /// For tiles of `tile_len` bytes, a power of two of at least 1 KiB and at most 512 KiB.
    pub(crate) fn new(layout: &Layout, tile_len: u64, mode: &Mode) -> Self {
        let group = layout.group().min(Group::of_bytes(tile_len).expect("a power of two"));
        let tiles = Layout::new(layout.len(), group);
        let climb = Climb::new(&tiles, tile_len / group.bytes(), mode);
        Self { layout: *layout, tiles, mode: *mode, climb, tile_len, at: 0, digest: None }
    }

    /// Where the next tile starts.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn tile_len(&self) -> usize {
        self.tile_len as usize
    }

    /// Hashes the tile at byte `at`. Returns its hash, its pairs, and the byte of the outboard where they belong.
    pub(crate) fn tile(&self, at: u64, data: &[u8]) -> ([u8; OUT_LEN], Vec<u8>, u64) {
        let group = self.tiles.group().bytes();
        let groups = (data.len() as u64).div_ceil(group).max(1);
        let node = self.tiles.node(at / group, groups);
        let mut pairs = vec![0; pairs_of_tile(node)];
        let hash = hash_tile(data, &self.tiles, node, &self.mode, &mut pairs);
        (hash, pairs, place_of(node.pairs().start))
    }

    /// Takes the hash of the next tile, and writes the pairs that are complete.
    pub(crate) fn push(
        &mut self,
        hash: [u8; OUT_LEN],
        mut write: impl FnMut(&[u8], u64) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        self.at = self.at.saturating_add(self.tile_len).min(self.layout.len());
        let ratio = self.layout.group().chunks() / self.tiles.group().chunks();
        let layout = &self.layout;
        self.digest = self.climb.push(hash, |node, pair| {
            // The node over the same bytes in the outboard.
            let groups = node.groups().div_ceil(ratio);
            match layout.position(layout.node(node.first_group() / ratio, groups)) {
                Some(place) => write(pair, place_of(place)),
                None => Ok(()),
            }
        })?;
        Ok(())
    }

    /// The digest, after the last tile.
    pub(crate) fn digest(&self) -> Option<[u8; OUT_LEN]> {
        self.digest
    }
}
