//! The way from the digest down to the groups of a range: what is verified and what is not.
//!
//! A node that has all its groups in the range is taken at once as soon as it is not larger than a tile: the data is hashed in the
//! lanes of the kernel, and the pairs that come of it are compared with those of the outboard. Only where they differ is each
//! pair looked at.

use core::ops::Range;

#[cfg(feature = "std")]
use super::compare::Tiles;
use super::compared::{Compared, Expected};
use super::error::Error;
use super::flaw::{Flaw, FlawKind};
use super::io::ReadAt;
use super::layout::Node;
use super::nodes::halves;
use super::stored::Outboard;
#[cfg(feature = "std")]
use super::tile::groups_of_tile;
#[cfg(feature = "std")]
use super::tile_at::{WINDOW, map, threads as threads_for};
use crate::spec::{MAX_HEIGHT, OUT_LEN};
#[cfg(feature = "std")]
use std::collections::VecDeque;

/// Yields what is not verified of some groups.
pub(super) struct Walk<'a, D: ?Sized, S> {
    compared: Compared<'a, D, S>,
    groups: Range<u64>,
    /// What is still to be looked at, the next one last: at most one node for each level, and a sibling.
    stack: [Expected; MAX_HEIGHT + 2],
    count: usize,
    failed: Option<Error>,
    /// Whether other threads may not help.
    #[cfg(feature = "std")]
    is_alone: bool,
    #[cfg(feature = "std")]
    tiles: Tiles,
    /// What was found and not yielded yet.
    #[cfg(feature = "std")]
    found: VecDeque<Result<Flaw, Error>>,
}

impl<'a, D: ReadAt + ?Sized, S: ReadAt> Walk<'a, D, S> {
    pub(super) fn new(outboard: &'a Outboard<S>, data: &'a D, groups: Range<u64>) -> Self {
        let Outboard { root, layout, mode, store } = outboard;
        let compared = Compared { data, store, layout: *layout, mode: *mode };
        Self::below(compared, (layout.root(), *root.as_bytes()), groups)
    }

    /// The same below a node.
    pub(super) fn below(compared: Compared<'a, D, S>, top: Expected, groups: Range<u64>) -> Self {
        Self {
            #[cfg(feature = "std")]
            is_alone: false,
            #[cfg(feature = "std")]
            tiles: Tiles::new(),
            #[cfg(feature = "std")]
            found: VecDeque::new(),
            compared,
            count: usize::from(!groups.is_empty()),
            groups,
            stack: [top; MAX_HEIGHT + 2],
            failed: None,
        }
    }

    /// On the calling thread.
    #[cfg(feature = "std")]
    pub(super) fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    pub(super) fn len(&self) -> u64 {
        self.compared.layout.len()
    }

    /// Ends the walk.
    pub(super) fn stop(&mut self) {
        self.count = 0;
        #[cfg(feature = "std")]
        self.found.clear();
    }

    /// Makes `error` the last item.
    pub(super) fn fail(&mut self, error: Error) {
        self.failed = Some(error);
    }

    fn push(&mut self, node: Node, hash: [u8; OUT_LEN]) {
        if overlap(node, &self.groups) > 0 {
            self.stack[self.count] = (node, hash);
            self.count += 1;
        }
    }

    /// Looks at one node.
    fn step(&mut self, (node, expected): Expected) -> Result<Option<Flaw>, Error> {
        let layout = self.compared.layout;
        #[cfg(feature = "std")]
        if overlap(node, &self.groups) == node.groups() {
            if !self.is_alone && self.compared.spread(node, expected, &mut self.found)? {
                return Ok(None);
            }
            if node.groups() <= groups_of_tile(&layout)
                && self.tiles.compare(&self.compared, (node, expected), &mut self.found)?
            {
                return Ok(None);
            }
        }
        let Some(children) = layout.children(node) else {
            let is_verified = self.compared.hash_group(node)? == Some(expected);
            return Ok(
                (!is_verified).then(|| Flaw { range: layout.span(node), kind: FlawKind::Bad })
            );
        };
        let Some(pair) = self.compared.pair(node, &expected)? else {
            let first = node.first_group().max(self.groups.start);
            let end = (node.first_group() + node.groups()).min(self.groups.end);
            let range = layout.group_range(first).start..layout.group_range(end - 1).end;
            return Ok(Some(Flaw { range, kind: FlawKind::Unknown }));
        };
        let (left, right) = halves(&pair);
        self.push(children[1], *right);
        self.push(children[0], *left);
        Ok(None)
    }
}

impl<D: ReadAt + ?Sized, S: ReadAt> Iterator for Walk<'_, D, S> {
    type Item = Result<Flaw, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            #[cfg(feature = "std")]
            if let Some(found) = self.found.pop_front() {
                return Some(found);
            }
            let Some(count) = self.count.checked_sub(1) else { return self.failed.take().map(Err) };
            self.count = count;
            match self.step(self.stack[count]) {
                Ok(None) => {}
                Ok(Some(found)) => return Some(Ok(found)),
                Err(error) => {
                    self.stop();
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The number of groups that `node` has of `groups`.
fn overlap(node: Node, groups: &Range<u64>) -> u64 {
    let end = (node.first_group() + node.groups()).min(groups.end);
    end.saturating_sub(node.first_group().max(groups.start))
}

/// The most tiles of a part that one thread takes. A guess: at 32 MiB, the pairs above the parts are few.
#[cfg(feature = "std")]
const TILES_OF_PART: u64 = 64;

/// Parts that each thread should find, so that none waits long for another. A guess.
#[cfg(feature = "std")]
const PARTS_OF_THREAD: u64 = 8;

#[cfg(feature = "std")]
impl<D: ReadAt + ?Sized, S: ReadAt> Compared<'_, D, S> {
    /// Has the groups of `node`, if they are many, compared by several threads. Returns whether it did.
    fn spread(
        &self,
        node: Node,
        expected: [u8; OUT_LEN],
        found: &mut VecDeque<Result<Flaw, Error>>,
    ) -> Result<bool, Error> {
        let tile = groups_of_tile(&self.layout);
        if node.groups() <= tile {
            return Ok(false);
        }
        let span = self.layout.span(node);
        let threads = threads_for(span.end - span.start) as u64;
        // Above a window of the longest parts, the walk continues to the children.
        let most = TILES_OF_PART * tile;
        if threads < 2 || node.groups() / most >= WINDOW as u64 {
            return Ok(false);
        }
        let part = node.groups() / (threads * PARTS_OF_THREAD);
        let part = part.clamp(tile, most).next_power_of_two();
        let mut parts = Vec::new();
        self.descend((node, expected), part, &mut parts)?;
        let results = map(
            threads as usize,
            &parts,
            || (),
            |(), part| match part {
                Part::Below(node, expected) => {
                    let groups = node.first_group()..node.first_group() + node.groups();
                    Walk::below(self.clone(), (*node, *expected), groups).alone().collect()
                }
                Part::Flaw(found) => Ok(vec![found.clone()]),
            },
        )?;
        found.extend(results.into_iter().flatten().map(Ok));
        Ok(true)
    }

    fn descend(
        &self,
        top: (Node, [u8; OUT_LEN]),
        most: u64,
        parts: &mut Vec<Part>,
    ) -> Result<(), Error> {
        let (node, expected) = top;
        if node.groups() <= most {
            parts.push(Part::Below(node, expected));
            return Ok(());
        }
        let Some(pair) = self.pair(node, &expected)? else {
            parts.push(Part::Flaw(Flaw { range: self.layout.span(node), kind: FlawKind::Unknown }));
            return Ok(());
        };
        let [left, right] = self.layout.children(node).expect("it is above parts");
        let hashes = halves(&pair);
        self.descend((left, *hashes.0), most, parts)?;
        self.descend((right, *hashes.1), most, parts)
    }
}

/// What a thread takes.
#[cfg(feature = "std")]
enum Part {
    Below(Node, [u8; OUT_LEN]),
    Flaw(Flaw),
}
