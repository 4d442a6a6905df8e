//! Whole tiles, compared in one go.

use std::collections::VecDeque;

use super::compared::Compared;
use super::error::Error;
use super::flaw::{Flaw, FlawKind};
use super::io::ReadAt;
use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::{halves, hash_pair};
use super::tile::{TILE, hash_tile, pairs_of_tile};
use super::tile_at::{in_memory, place_of};
use crate::mode::Mode;
use crate::spec::OUT_LEN;

/// Room for comparing tiles.
pub(super) struct Tiles {
    data: Vec<u8>,
    /// The pairs that come of the data, and those of the outboard.
    made: Vec<u8>,
    stored: Vec<u8>,
}

impl Tiles {
    pub(super) fn new() -> Self {
        Self { data: Vec::new(), made: Vec::new(), stored: Vec::new() }
    }

    /// Compares the tile `node`. Returns false if data or outboard end before it does, or if it is a group longer than a tile.
    pub(super) fn compare<D: ReadAt + ?Sized, S: ReadAt>(
        &mut self,
        compared: &Compared<'_, D, S>,
        (node, expected): (Node, [u8; OUT_LEN]),
        found: &mut VecDeque<Result<Flaw, Error>>,
    ) -> Result<bool, Error> {
        let Compared { data, store, layout, mode } = compared;
        let (span, pairs) = (layout.span(node), pairs_of_tile(node));
        let len = span.end - span.start;
        let data = match data.as_slice().map(|all| in_memory(all, &span)) {
            Some(Ok(part)) => part,
            Some(Err(_)) => return Ok(false),
            None if len > TILE => return Ok(false),
            None => {
                self.data.resize(len as usize, 0);
                match data.read_exact_at(&mut self.data, span.start) {
                    Ok(()) => &self.data,
                    Err(error) if error.is_end() => return Ok(false),
                    Err(error) => return Err(Error::Data(error)),
                }
            }
        };
        self.stored.resize(pairs, 0);
        if pairs > 0 {
            match store.read_exact_at(&mut self.stored, place_of(node.pairs().start)) {
                Ok(()) => {}
                Err(error) if error.is_end() => return Ok(false),
                Err(error) => return Err(Error::Outboard(error)),
            }
        }
        self.made.resize(pairs, 0);
        let actual = hash_tile(data, layout, node, mode, &mut self.made);
        let tile =
            Tile { layout, mode, base: node.pairs().start, made: &self.made, stored: &self.stored };
        tile.compare(node, &expected, &actual, &mut |range, kind| {
            found.push_back(Ok(Flaw { range, kind }))
        });
        Ok(true)
    }
}

struct Tile<'a> {
    layout: &'a Layout,
    mode: &'a Mode,
    /// The place of the first pair.
    base: u64,
    made: &'a [u8],
    stored: &'a [u8],
}

impl Tile<'_> {
    fn pair<'p>(&self, pairs: &'p [u8], at: u64) -> &'p [u8; PAIR_LEN] {
        &pairs.as_chunks().0[(at - self.base) as usize]
    }

    /// Compares the expected value of a node with the value of the data.
    fn compare(
        &self,
        node: Node,
        expected: &[u8; OUT_LEN],
        actual: &[u8; OUT_LEN],
        found: &mut impl FnMut(core::ops::Range<u64>, FlawKind),
    ) {
        let pairs = node.pairs();
        let bytes = (pairs.start - self.base) as usize * PAIR_LEN
            ..(pairs.end - self.base) as usize * PAIR_LEN;
        if expected == actual && self.made[bytes.clone()] == self.stored[bytes] {
            return;
        }
        let (Some(at), Some([left, right])) =
            (self.layout.position(node), self.layout.children(node))
        else {
            return found(self.layout.span(node), FlawKind::Bad);
        };
        let stored = self.pair(self.stored, at);
        if hash_pair(stored, self.layout, node, self.mode) != *expected {
            return found(self.layout.span(node), FlawKind::Unknown);
        }
        let (stored, made) = (halves(stored), halves(self.pair(self.made, at)));
        self.compare(left, stored.0, made.0, found);
        self.compare(right, stored.1, made.1, found);
    }
}
