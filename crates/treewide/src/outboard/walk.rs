//! From the digest down to the groups of a range: what is verified and what is not.
//!
//! A node that has all its groups in the range is taken at once as soon as it is not larger than a tile: the data is hashed in the
//! lanes of the kernel, and the pairs that come of it are compared with those of the outboard. Only where they differ is each
//! pair looked at.

use core::ops::Range;

use super::nodes::{halves, hash_pair};
use super::verify::{Found, Outboard, State};
use super::{Error, Layout, Node, PAIR_LEN, ReadAt};
use crate::mode::Mode;
use crate::spec::{MAX_HEIGHT, OUT_LEN};
#[cfg(feature = "std")]
use std::collections::VecDeque;

/// A node, and the hash that it must have.
type Expected = (Node, [u8; OUT_LEN]);

/// What a walk compares.
pub(super) struct Compared<'a, D: ?Sized, S> {
    pub(super) data: &'a D,
    pub(super) store: &'a S,
    pub(super) layout: Layout,
    pub(super) mode: Mode,
}

impl<D: ?Sized, S> Clone for Compared<'_, D, S> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

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
    tiles: super::compare::Tiles,
    /// What was found and not yielded yet.
    #[cfg(feature = "std")]
    found: VecDeque<Result<Found, Error>>,
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
            tiles: super::compare::Tiles::new(),
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
    fn step(&mut self, (node, expected): Expected) -> Result<Option<Found>, Error> {
        let layout = self.compared.layout;
        #[cfg(feature = "std")]
        if overlap(node, &self.groups) == node.groups() {
            if !self.is_alone && self.compared.spread(node, expected, &mut self.found)? {
                return Ok(None);
            }
            if node.groups() <= super::tile::groups_of_tile(&layout)
                && self.tiles.compare(&self.compared, (node, expected), &mut self.found)?
            {
                return Ok(None);
            }
        }
        let Some(children) = layout.children(node) else {
            let is_verified = self.compared.hash_group(node)? == Some(expected);
            return Ok(
                (!is_verified).then(|| Found { range: layout.span(node), state: State::Bad })
            );
        };
        let Some(pair) = self.compared.pair(node, &expected)? else {
            let first = node.first_group().max(self.groups.start);
            let end = (node.first_group() + node.groups()).min(self.groups.end);
            let range = layout.group_range(first).start..layout.group_range(end - 1).end;
            return Ok(Some(Found { range, state: State::Unknown }));
        };
        let (left, right) = halves(&pair);
        self.push(children[1], *right);
        self.push(children[0], *left);
        Ok(None)
    }
}

impl<D: ReadAt + ?Sized, S: ReadAt> Iterator for Walk<'_, D, S> {
    type Item = Result<Found, Error>;

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

impl<D: ReadAt + ?Sized, S: ReadAt> Compared<'_, D, S> {
    /// The pair of `node`, if the hash of the node is the expected one.
    pub(super) fn pair(
        &self,
        node: Node,
        expected: &[u8; OUT_LEN],
    ) -> Result<Option<[u8; PAIR_LEN]>, Error> {
        let mut pair = [0; PAIR_LEN];
        let at = self.layout.position(node).expect("it is above groups") * PAIR_LEN as u64;
        match self.store.read_exact_at(&mut pair, at) {
            Ok(()) => {}
            Err(error) if error.is_end() => return Ok(None),
            Err(error) => return Err(Error::Outboard(error)),
        }
        Ok((hash_pair(&pair, &self.layout, node, &self.mode) == *expected).then_some(pair))
    }

    /// The hash of the group `node`; `None` if the data ends before it does.
    pub(super) fn hash_group(&self, node: Node) -> Result<Option<[u8; OUT_LEN]>, Error> {
        use crate::hazmat::HasherExt;
        let span = self.layout.span(node);
        let mut hasher = crate::hasher::Hasher::with_mode(self.mode);
        hasher.set_input_offset(span.start);
        if let Some(all) = self.data.as_slice() {
            let (start, end) = (usize::try_from(span.start), usize::try_from(span.end));
            let part = start.ok().zip(end.ok()).and_then(|(start, end)| all.get(start..end));
            let Some(part) = part else { return Ok(None) };
            hasher.update(part);
        } else {
            // Without an allocator a few chunks at a time.
            #[cfg(feature = "std")]
            let mut buffer = vec![0; (span.end - span.start).min(super::tile::TILE) as usize];
            #[cfg(not(feature = "std"))]
            let mut buffer = [0; 4 * crate::spec::CHUNK_LEN];
            let mut at = span.start;
            while at < span.end {
                let len = (span.end - at).min(buffer.len() as u64) as usize;
                match self.data.read_exact_at(&mut buffer[..len], at) {
                    Ok(()) => hasher.update(&buffer[..len]),
                    Err(error) if error.is_end() => return Ok(None),
                    Err(error) => return Err(Error::Data(error)),
                };
                at += len as u64;
            }
        }
        Ok(Some(match self.layout.is_root(node) {
            true => *hasher.finalize().as_bytes(),
            false => hasher.finalize_non_root(),
        }))
    }
}
