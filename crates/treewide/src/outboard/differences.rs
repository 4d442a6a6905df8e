//! Where two inputs differ, by their outboards alone.

use core::fmt;
use core::ops::Range;

use super::compared::Compared;
use super::error::Error;
use super::find::Finder;
use super::io::ReadAt;
use super::layout::Node;
use super::nodes::halves;
use super::stored::Outboard;
use crate::spec::OUT_LEN;

impl<S: ReadAt> Outboard<S> {
    /// Finds the groups whose bytes differ between the data of this outboard and that of `other`, without reading data. Of the
    /// outboards it reads the pairs above what differs. Neighbouring groups are one range.
    ///
    /// The two may have different orders, but not different groups or modes. The ranges go up to the longer end. Where the
    /// lengths differ, groups are found to be equal if both trees have their hash: all full groups, except if one input has a
    /// single group, which has only a digest; that group counts as different.
    ///
    /// ```
    /// use treewide::Mode;
    /// use treewide::outboard::{self, Group, Layout, Order, Outboard};
    ///
    /// let layout = Layout::new(1_000_000, Group::IROH, Order::Pre);
    /// let old = vec![7; 1_000_000];
    /// let mut new = old.clone();
    /// new[500_000] = 8;
    /// let outboard = |data: &[u8]| {
    ///     let (digest, pairs) = outboard::create(data, Group::IROH, Order::Pre, Mode::PLAIN);
    ///     Outboard::new(&digest, layout, Mode::PLAIN, pairs)
    /// };
    /// let (old, new) = (outboard(&old), outboard(&new));
    /// let differences: Result<Vec<_>, _> = new.differences(&old).collect();
    /// assert_eq!(differences?, [491_520..507_904]);
    /// # Ok::<(), outboard::Error>(())
    /// ```
    ///
    /// # Errors
    /// An item is an error if an outboard is broken or cannot be read, and is the last item then.
    ///
    /// # Panics
    /// If the groups differ.
    pub fn differences<'a, T: ReadAt>(&'a self, other: &'a Outboard<T>) -> Differences<'a, S, T> {
        assert_eq!(self.layout.group(), other.layout.group(), "outboards of groups of one size");
        let ours =
            Compared { data: &[][..], store: &self.store, layout: self.layout, mode: self.mode };
        let theirs = Finder::new(other);
        let mut stack = Vec::new();
        if self.layout.len() != other.layout.len() || self.root != other.root {
            stack.push((self.layout.root(), *self.root.as_bytes()));
        }
        let longer = self.layout.len()..other.layout.len();
        Differences { ours, theirs, stack, longer, pending: None, is_done: false }
    }
}

/// Where two inputs differ: [`Outboard::differences`].
pub struct Differences<'a, S, T> {
    ours: Compared<'a, [u8], S>,
    theirs: Finder<'a, T>,
    /// What is still to be compared, the next one last.
    stack: Vec<(Node, [u8; OUT_LEN])>,
    /// What the other one has in addition.
    longer: Range<u64>,
    pending: Option<Range<u64>>,
    is_done: bool,
}

impl<S: ReadAt, T: ReadAt> Differences<'_, S, T> {
    /// The next range, not joined with its neighbours.
    fn next_part(&mut self) -> Result<Option<Range<u64>>, Error> {
        let (ours, theirs) = (self.ours.layout, *self.theirs.layout());
        while let Some((node, hash)) = self.stack.pop() {
            let span = ours.span(node);
            if node.first_group() >= theirs.groups() {
                return Ok(Some(span));
            }
            // The digest is the hash of no other node.
            let is_equal = !ours.is_root(node)
                && self.theirs.chaining_value(node.first_group(), node.groups())?.is_some_and(
                    |(other, theirs_hash)| hash == theirs_hash && theirs.span(other) == span,
                );
            if is_equal {
                continue;
            }
            let Some([left, right]) = ours.children(node) else { return Ok(Some(span)) };
            let pair = self.ours.pair(node, &hash)?.ok_or(Error::Unknown(span))?;
            let hashes = halves(&pair);
            self.stack.extend([(right, *hashes.1), (left, *hashes.0)]);
        }
        let more = core::mem::replace(&mut self.longer, 0..0);
        Ok((!more.is_empty()).then_some(more))
    }
}

impl<S: ReadAt, T: ReadAt> Iterator for Differences<'_, S, T> {
    type Item = Result<Range<u64>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done {
            match (self.next_part(), &mut self.pending) {
                (Ok(Some(next)), Some(pending)) if next.start <= pending.end => {
                    pending.end = next.end
                }
                (Ok(Some(next)), _) => {
                    if let Some(found) = self.pending.replace(next) {
                        return Some(Ok(found));
                    }
                }
                (Ok(None), _) => self.is_done = true,
                (Err(error), _) => {
                    self.is_done = true;
                    self.pending = None;
                    return Some(Err(error));
                }
            }
        }
        self.pending.take().map(Ok)
    }
}

/// Shows what is waiting.
impl<S, T> fmt::Debug for Differences<'_, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Differences").field("pending", &self.pending).finish_non_exhaustive()
    }
}
