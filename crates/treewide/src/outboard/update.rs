//! Brings an outboard up to date after known writes: only what was written is read and hashed again.
//!
//! The nodes above dirty groups are made anew, left to right. Their clean children keep their hashes, which come from the old
//! tree, each verified from the old digest down. What changes is written at the end.

use core::ops::Range;

use super::error::{Error, IoError};
use super::find::Finder;
use super::io::{ReadAt, WriteAt};
use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::hash_pair;
use super::ranges::joined;
use super::stored::Outboard;
use super::tile::groups_of_tile;
use super::tile_at::{TileReader, place_of};
use crate::hash::Hash;
use crate::mode::Mode;
use crate::spec::OUT_LEN;

impl<S: ReadAt + WriteAt> Outboard<S> {
    /// Brings the outboard up to date after the bytes in `dirty` were written, or the length became `new_len`. Returns the new
    /// digest, which is that of [`root`](Self::root) from then on.
    ///
    /// `data` has `new_len` bytes. The dirty groups are read, and the pairs on the paths to them. What is behind the shorter of
    /// the two lengths is dirty anyway. Ranges may overlap, be empty, be in any order, or go past the end. **What is not named
    /// is believed to be as it was**: bytes that were written and are not named are found by [`verify`](Self::verify), later.
    ///
    /// Everything is made and verified before the first byte is written. If the program or the machine stops between the first
    /// write and the last, the outboard is a mixture, which [`verify`](Self::verify) finds: make it again. Also store the
    /// new digest.
    ///
    /// A change of one group writes a pair for each level. In [`Order::Pre`](super::Order::Pre), pairs move where the tree gets
    /// another height: then up to the whole outboard is held in memory and written. In [`Order::Post`](super::Order::Post), pairs never move.
    ///
    /// ```
    /// use treewide::Mode;
    /// use treewide::outboard::{self, Group, Layout, Order, Outboard};
    ///
    /// let mut log = vec![7; 1_000_000];
    /// let (digest, pairs) = outboard::create(&log, Group::IROH, Order::Post, Mode::PLAIN);
    /// let layout = Layout::new(1_000_000, Group::IROH, Order::Post);
    /// let mut outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
    ///
    /// log.extend([8; 1000]);
    /// log[123_456] = 9;
    /// let digest = outboard.update(&log, &[123_456..123_457], 1_001_000)?;
    /// assert_eq!(digest, treewide::hash(&log));
    /// # Ok::<(), outboard::Error>(())
    /// ```
    ///
    /// # Errors
    /// If data or outboard cannot be read or written; [`Error::Unknown`] if the outboard is broken above a dirty group.
    pub fn update(
        &mut self,
        data: &(impl ReadAt + ?Sized),
        dirty: &[Range<u64>],
        new_len: u64,
    ) -> Result<Hash, Error> {
        let new = self.layout.with_len(new_len);
        let mut update = Update {
            data: TileReader::new(data, &new, &self.mode),
            old: Finder::new(self),
            new,
            mode: self.mode,
            dirty: dirty_groups(&self.layout, &new, dirty),
            changed: Vec::new(),
        };
        let hash = update.node(new.root())?;
        let changed = update.changed;
        self.write(&new, &changed).map_err(Error::Outboard)?;
        (self.root, self.layout) = (Hash::from_bytes(hash), new);
        Ok(self.root)
    }

    fn write(&mut self, new: &Layout, changed: &[Pairs]) -> Result<(), IoError> {
        self.store.set_size(new.bytes())?;
        for (place, pairs) in changed {
            self.store.write_all_at(pairs, place_of(*place))?;
        }
        self.store.sync()
    }
}

/// Neighbouring pairs, and the place of the first.
type Pairs = (u64, Vec<u8>);

/// The dirty groups of the new data, sorted and joined.
fn dirty_groups(old: &Layout, new: &Layout, dirty: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut groups: Vec<_> = dirty.iter().map(|range| new.groups_of(range)).collect();
    if old.len() != new.len() {
        // From the first group that has other bytes now, or other ones after it.
        let whole = old.len().min(new.len()) / old.group().bytes();
        groups.push(whole..new.groups());
    }
    if old.groups() == 1 || new.groups() == 1 {
        // The hash of a single group is the digest, not a chaining value.
        groups.push(0..1);
    }
    joined(groups)
}

struct Update<'a, D: ?Sized, S> {
    data: TileReader<'a, D>,
    old: Finder<'a, S>,
    new: Layout,
    mode: Mode,
    dirty: Vec<Range<u64>>,
    /// What is to be written.
    changed: Vec<Pairs>,
}

impl<D: ReadAt + ?Sized, S: ReadAt> Update<'_, D, S> {
    /// Whether `node` has a dirty group, and whether it has no other ones.
    fn dirt(&self, node: Node) -> (bool, bool) {
        let (first, end) = (node.first_group(), node.first_group() + node.groups());
        let next = self.dirty.partition_point(|range| range.end <= first);
        match self.dirty.get(next) {
            Some(range) if range.start < end => (true, range.start <= first && end <= range.end),
            _ => (false, false),
        }
    }

    /// Makes the pairs of `node` and below that change, and returns its hash as its parent holds it, or the digest.
    fn node(&mut self, node: Node) -> Result<[u8; OUT_LEN], Error> {
        let (is_dirty, all_dirty) = self.dirt(node);
        if !is_dirty && let Some(hash) = self.clean(node)? {
            return Ok(hash);
        }
        if node.is_group() || (all_dirty && node.groups() <= groups_of_tile(&self.new)) {
            let (hash, pairs) = self.data.hash(node)?;
            if !pairs.is_empty() {
                self.changed.push((node.pairs().start, pairs.to_vec()));
            }
            return Ok(hash);
        }
        let [left, right] = self.new.children(node).expect("it is above groups");
        let mut pair = [0; PAIR_LEN];
        pair[..OUT_LEN].copy_from_slice(&self.node(left)?);
        pair[OUT_LEN..].copy_from_slice(&self.node(right)?);
        let place = self.new.position(node).expect("it is above groups");
        self.changed.push((place, pair.to_vec()));
        Ok(hash_pair(&pair, &self.new, node, &self.mode))
    }

    /// The hash of a node without dirty groups, if the old tree has it. Its pairs move with it.
    fn clean(&mut self, node: Node) -> Result<Option<[u8; OUT_LEN]>, Error> {
        let found = match self.new.is_root(node) {
            // Its hash is the digest, if nothing has changed.
            true if self.new == *self.old.layout() => {
                self.old.find(node.first_group(), node.groups())?
            }
            true => None,
            false => self.old.chaining_value(node.first_group(), node.groups())?,
        };
        let Some((old, hash)) = found else { return Ok(None) };
        debug_assert_eq!(self.old.layout().span(old), self.new.span(node));
        let (from, at) = (old.pairs(), node.pairs().start);
        if from.start != at {
            let count =
                usize::try_from(from.end - from.start).expect("an outboard that fits into memory");
            let mut pairs = vec![0; PAIR_LEN * count];
            self.old.read(&mut pairs, place_of(from.start))?;
            self.changed.push((at, pairs));
        }
        Ok(Some(hash))
    }
}
