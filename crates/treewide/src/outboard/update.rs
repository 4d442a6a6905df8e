//! Brings an outboard up to date after known writes: only what was written is read and hashed again.
//!
//! The nodes above dirty groups are made anew, left to right. Their clean children keep their hashes, which come from the old
//! tree, each verified from the old digest down. What changes goes to a [journal](super::journal) first.

use core::ops::Range;

use super::error::Error;
use super::find::Finder;
use super::io::{ReadAt, WriteAt};
use super::journal::{Change, Writer};
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
    /// the two lengths is dirty anyway. Ranges may overlap, be empty, be in any order, or go behind the end. **What is not named
    /// is believed to be as it was**: bytes that were written and are not named are found by [`verify`](Self::verify), later.
    ///
    /// `journal` gets everything that is to be written before the outboard changes. It stays whole until the next update: store the new
    /// digest and the new length first, then it may go. If the program or the machine stops before they are stored,
    /// [`recover`](Self::recover) finishes the update from the journal, or finds that it had not begun to change the outboard. Where an
    /// outboard in memory is not kept, a `Vec` will do.
    ///
    /// A change of one group writes a pair for each level. In [`Order::Pre`](super::Order::Pre), pairs move where the tree gets
    /// another height: then up to the whole outboard is written. In [`Order::Post`](super::Order::Post), pairs never move.
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
    /// let mut journal = Vec::new();
    /// let digest = outboard.update(&log, &[123_456..123_457], 1_001_000, &mut journal)?;
    /// assert_eq!(digest, treewide::hash(&log));
    /// # Ok::<(), outboard::Error>(())
    /// ```
    ///
    /// # Errors
    /// If data, outboard or journal cannot be read or written; [`Error::Unknown`] if the outboard is broken above a dirty group.
    /// If the outboard could not be written completely, call [`recover`](Self::recover) with the journal.
    pub fn update(
        &mut self,
        data: &(impl ReadAt + ?Sized),
        dirty: &[Range<u64>],
        new_len: u64,
        journal: &mut (impl ReadAt + WriteAt + ?Sized),
    ) -> Result<Hash, Error> {
        self.update_if(data, dirty, new_len, journal, true)
    }

    /// As [`update`](Self::update), where nobody kept the old digest, so that [`root`](Self::root) is only what the outboard itself says.
    ///
    /// A byte of a pair that has changed on the disk would then change the root, and pass for right. So each hash that is taken over
    /// is compared with what is below it: the pair there, or the bytes of a group. That is one more pair to read for each level, and
    /// a group at each end of what is dirty. An outboard of other data, or one that somebody has made, is not noticed.
    ///
    /// # Errors
    /// As [`update`](Self::update); [`Error::Unknown`] also if the outboard does not agree with itself next to what is dirty.
    pub fn update_without_digest(
        &mut self,
        data: &(impl ReadAt + ?Sized),
        dirty: &[Range<u64>],
        new_len: u64,
        journal: &mut (impl ReadAt + WriteAt + ?Sized),
    ) -> Result<Hash, Error> {
        self.update_if(data, dirty, new_len, journal, false)
    }

    fn update_if(
        &mut self,
        data: &(impl ReadAt + ?Sized),
        dirty: &[Range<u64>],
        new_len: u64,
        journal: &mut (impl ReadAt + WriteAt + ?Sized),
        is_trusted: bool,
    ) -> Result<Hash, Error> {
        let new = self.layout.with_len(new_len);
        let mut update = Update {
            data: TileReader::new(data, &new, &self.mode),
            old: Finder::new(self),
            new,
            mode: self.mode,
            is_trusted,
            dirty: dirty_groups(&self.layout, &new, dirty),
            journal: Writer::begin(journal, &self.mode)?,
        };
        let hash = update.node(new.root())?;
        let change = Change {
            root: [self.root, Hash::from_bytes(hash)],
            len: [self.layout.len(), new_len],
            group: self.layout.group(),
            order: self.layout.order(),
        };
        update.journal.end(&change)?;
        self.apply(&change, journal)
    }
}

/// The dirty groups of the new data, sorted and joined.
fn dirty_groups(old: &Layout, new: &Layout, dirty: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut groups: Vec<_> = dirty.iter().map(|range| new.groups_of(range)).collect();
    if old.len() != new.len() {
        // From the first group that has other bytes now, or other ones behind it.
        let whole = old.len().min(new.len()) / old.group().bytes();
        groups.push(whole..new.groups());
    }
    if old.groups() == 1 || new.groups() == 1 {
        // The hash of a single group is the digest, not a chaining value.
        groups.push(0..1);
    }
    joined(groups)
}

struct Update<'a, D: ?Sized, S, J: ?Sized> {
    data: TileReader<'a, D>,
    old: Finder<'a, S>,
    new: Layout,
    mode: Mode,
    /// Whether the old digest comes from elsewhere.
    is_trusted: bool,
    dirty: Vec<Range<u64>>,
    journal: Writer<'a, J>,
}

impl<D: ReadAt + ?Sized, S: ReadAt, J: WriteAt + ?Sized> Update<'_, D, S, J> {
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
                self.journal.add(node.pairs().start, pairs)?;
            }
            return Ok(hash);
        }
        let [left, right] = self.new.children(node).expect("it is above groups");
        let mut pair = [0; PAIR_LEN];
        pair[..OUT_LEN].copy_from_slice(&self.node(left)?);
        pair[OUT_LEN..].copy_from_slice(&self.node(right)?);
        self.journal.add(self.new.position(node).expect("it is above groups"), &pair)?;
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
        if !self.is_trusted && !self.agrees(old, node, &hash)? {
            return Err(Error::Unknown(self.new.span(node)));
        }
        let (mut from, mut at) = (old.pairs(), node.pairs().start);
        if from.start != at {
            let mut buffer = vec![0; PAIR_LEN * (from.end - from.start).min(MOVED) as usize];
            while !from.is_empty() {
                let count = (from.end - from.start).min(MOVED);
                let part = &mut buffer[..count as usize * PAIR_LEN];
                self.old.read(part, place_of(from.start))?;
                self.journal.add(at, part)?;
                from.start += count;
                at += count;
            }
        }
        Ok(Some(hash))
    }

    /// Whether what is below a clean node, which was `old`, has this hash.
    fn agrees(&mut self, old: Node, node: Node, hash: &[u8; OUT_LEN]) -> Result<bool, Error> {
        match node.is_group() {
            true => Ok(self.data.hash(node)?.0 == *hash),
            false => self.old.agrees(old, hash),
        }
    }
}

/// Pairs that move at a time.
const MOVED: u64 = 1024;
