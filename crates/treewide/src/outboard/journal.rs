//! What an update is going to write, kept until it is written.
//!
//! ```text
//! 0     magic "tw-ob-j1"
//! 8     old length, new length, little-endian
//! 24    logarithm of the chunks of a group, 0 for pre-order and 1 for post-order, 6 zeros
//! 32    old digest, new digest
//! 96    bytes of the entries, little-endian
//! 104   hash of the entries and of the 104 bytes above, in the mode of the outboard
//! 136   entries: place of the first pair, number of pairs, both in 8 bytes, little-endian, and the pairs
//! ```
//!
//! A journal that is cut off or torn has another hash. Then the outboard is as before, as it changes only after the whole
//! journal is on the disk. To write the entries of a whole journal twice does no harm.

use super::error::{Error, IoError};
use super::io::{ReadAt, WriteAt};
use super::layout::{Group, Layout, Order, PAIR_LEN};
use super::nodes::hash_pair;
use super::stored::Outboard;
use super::tile_at::place_of;
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::mode::Mode;

const MAGIC: [u8; 8] = *b"tw-ob-j1";
const HASHED: usize = 104;
const HEADER: usize = HASHED + 32;
const ENTRY: usize = 16;

/// Bytes that are kept before they are written, and pairs that are read at a time. A guess: few calls.
const BUFFER: usize = 64 << 10;

/// What an update makes of an outboard, as its journal has it.
///
/// A program that has a journal and no digest finds here which outboard it belongs to:
///
/// ```
/// use treewide::Mode;
/// use treewide::outboard::{self, Change, Group, Layout, Order, Outboard};
///
/// let mut data = vec![7; 100_000];
/// let (before, pairs) = outboard::create(&data, Group::IROH, Order::Pre, Mode::PLAIN);
/// let layout = Layout::new(100_000, Group::IROH, Order::Pre);
/// let mut outboard = Outboard::new(&before, layout, Mode::PLAIN, pairs);
/// data[50_000] = 8;
/// let mut journal = Vec::new();
/// let after = outboard.update(&data, &[50_000..50_001], 100_000, &mut journal)?;
/// let change = Change::read(&journal, Mode::PLAIN)?.expect("it is whole");
/// assert_eq!((change.before(), change.after()), ((before, layout), (after, layout)));
/// assert!(change.fits(&outboard.into_store(), Mode::PLAIN)?);
/// # Ok::<(), outboard::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Before, after.
    pub(super) root: [Hash; 2],
    pub(super) len: [u64; 2],
    pub(super) group: Group,
    pub(super) order: Order,
}

impl Change {
    /// Reads the beginning of a journal, and verifies that all of it is there. `None` if it is not whole: then the outboard has not changed
    /// yet.
    ///
    /// # Errors
    /// [`Error::Journal`] if it cannot be read.
    pub fn read(journal: &(impl ReadAt + ?Sized), mode: Mode) -> Result<Option<Self>, Error> {
        read(journal, &mode).map_err(Error::Journal)
    }

    /// Whether these bytes may be a journal, whole or cut off, and nothing else that an update would overwrite.
    ///
    /// # Errors
    /// [`Error::Journal`] if they cannot be read.
    pub fn may_begin(journal: &(impl ReadAt + ?Sized)) -> Result<bool, Error> {
        // The magic is written last.
        let (mut could_be_magic, mut is_zero) = (true, true);
        for (at, expected) in (0..).zip(MAGIC) {
            let mut byte = [0];
            if !read_or_end(journal, &mut byte, at).map_err(Error::Journal)? {
                break;
            }
            could_be_magic &= byte[0] == expected;
            is_zero &= byte[0] == 0;
        }
        Ok(could_be_magic || is_zero)
    }

    /// Whether these bytes are as many as a whole journal of them has. If [`read`](Self::read) finds none in such bytes, the journal is of
    /// another mode or key, or was damaged.
    ///
    /// # Errors
    /// [`Error::Journal`] if they cannot be read.
    pub fn may_be_whole(journal: &(impl ReadAt + ?Sized)) -> Result<bool, Error> {
        let mut header = [0; HEADER];
        if !read_or_end(journal, &mut header, 0).map_err(Error::Journal)? {
            return Ok(false);
        }
        let (hashed, hash) = header.split_first_chunk().expect("the header is longer");
        let Some((_, entries)) = Self::from_bytes(hashed) else { return Ok(false) };
        if hash == [0; 32] {
            // The header was cut off in the middle.
            return Ok(false);
        }
        let Some(end) = entries.checked_add(HEADER as u64) else { return Ok(false) };
        read_or_end(journal, &mut [0], end - 1).map_err(Error::Journal)
    }

    /// Returns the digest and the layout before the update.
    pub const fn before(&self) -> (Hash, Layout) {
        (self.root[0], self.layout(0))
    }

    /// Returns the digest and the layout after the update.
    pub const fn after(&self) -> (Hash, Layout) {
        (self.root[1], self.layout(1))
    }

    /// Whether `store` is what this update leaves behind, finished or interrupted anywhere. It is not if the outboard was made again since
    /// then, or is that of other data: [`Outboard::recover`] would damage it.
    ///
    /// # Errors
    /// [`Error::Outboard`] if the outboard cannot be read.
    pub fn fits(&self, store: &(impl ReadAt + ?Sized), mode: Mode) -> Result<bool, Error> {
        self.has_left(store, &mode).map_err(Error::Outboard)
    }

    fn has_left(&self, store: &(impl ReadAt + ?Sized), mode: &Mode) -> Result<bool, IoError> {
        let size = store.size()?;
        for which in [0, 1] {
            let layout = self.layout(which);
            let Some(place) = layout.position(layout.root()) else {
                if size == Some(0) {
                    return Ok(true);
                }
                continue;
            };
            let mut pair = [0; PAIR_LEN];
            if !read_or_end(store, &mut pair, place_of(place))? {
                continue;
            }
            let hash = hash_pair(&pair, &layout, layout.root(), mode);
            // An outboard that became longer has zeros where the pair of the root goes, which is the last one to be written.
            let is_new = which == 1 && size == Some(layout.bytes()) && pair == [0; PAIR_LEN];
            if Hash::from_bytes(hash) == self.root[which] || is_new {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn to_bytes(self, entries: u64) -> [u8; HASHED] {
        let mut bytes = [0; HASHED];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.len[0].to_le_bytes());
        bytes[16..24].copy_from_slice(&self.len[1].to_le_bytes());
        bytes[24] = self.group.log2();
        bytes[25] = u8::from(self.order == Order::Post);
        bytes[32..64].copy_from_slice(self.root[0].as_bytes());
        bytes[64..96].copy_from_slice(self.root[1].as_bytes());
        bytes[96..].copy_from_slice(&entries.to_le_bytes());
        bytes
    }

    /// The change, and the bytes of its entries.
    fn from_bytes(bytes: &[u8; HASHED]) -> Option<(Self, u64)> {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let root = |at: usize| Hash::from_slice(&bytes[at..at + 32]).expect("32 bytes");
        let order = if bytes[25] == 0 { Order::Pre } else { Order::Post };
        let change = Self {
            root: [root(32), root(64)],
            len: [number(8), number(16)],
            group: Group::new(bytes[24])?,
            order,
        };
        let entries = number(96);
        (change.to_bytes(entries) == *bytes).then_some((change, entries))
    }

    const fn layout(&self, which: usize) -> Layout {
        Layout::new(self.len[which], self.group, self.order)
    }
}

/// A journal that is being written.
pub(super) struct Writer<'a, J: ?Sized> {
    journal: &'a mut J,
    hasher: Hasher,
    buffer: Vec<u8>,
    /// Where the buffer goes.
    at: u64,
}

impl<'a, J: WriteAt + ?Sized> Writer<'a, J> {
    pub(super) fn begin(journal: &'a mut J, mode: &Mode) -> Result<Self, Error> {
        journal.set_size(0).map_err(Error::Journal)?;
        let hasher = Hasher::with_mode(*mode);
        Ok(Self { journal, hasher, buffer: Vec::new(), at: HEADER as u64 })
    }

    /// Adds pairs from place `place` on.
    pub(super) fn add(&mut self, place: u64, pairs: &[u8]) -> Result<(), Error> {
        self.buffer.extend_from_slice(&place.to_le_bytes());
        self.buffer.extend_from_slice(&((pairs.len() / PAIR_LEN) as u64).to_le_bytes());
        self.buffer.extend_from_slice(pairs);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.hasher.update(&self.buffer);
        self.journal.write_all_at(&self.buffer, self.at).map_err(Error::Journal)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the journal whole, and waits until it is on the disk.
    pub(super) fn end(mut self, change: &Change) -> Result<(), Error> {
        self.flush()?;
        let header = change.to_bytes(self.at - HEADER as u64);
        let hash = self.hasher.update(&header).finalize();
        self.journal
            .write_all_at(&[&header[..], hash.as_bytes()].concat(), 0)
            .map_err(Error::Journal)?;
        self.journal.sync().map_err(Error::Journal)
    }
}

/// What a journal says, if it is whole.
fn read(journal: &(impl ReadAt + ?Sized), mode: &Mode) -> Result<Option<Change>, IoError> {
    let mut header = [0; HEADER];
    if !read_or_end(journal, &mut header, 0)? {
        return Ok(None);
    }
    let (hashed, hash) = header.split_first_chunk().expect("the header is longer");
    let Some((change, entries)) = Change::from_bytes(hashed) else { return Ok(None) };
    let Some(end) = entries.checked_add(HEADER as u64) else { return Ok(None) };
    let mut hasher = Hasher::with_mode(*mode);
    let mut buffer = vec![0; entries.min(BUFFER as u64) as usize];
    let mut at = HEADER as u64;
    while at < end {
        let part = &mut buffer[..(end - at).min(BUFFER as u64) as usize];
        if !read_or_end(journal, part, at)? {
            return Ok(None);
        }
        hasher.update(part);
        at += part.len() as u64;
    }
    // In constant time, as every comparison of digests.
    let is_whole = hasher.update(hashed).finalize() == *hash;
    Ok(is_whole.then_some(change))
}

fn read_or_end(journal: &(impl ReadAt + ?Sized), buf: &mut [u8], at: u64) -> Result<bool, IoError> {
    match journal.read_exact_at(buf, at) {
        Ok(()) => Ok(true),
        Err(error) if error.is_end() => Ok(false),
        Err(error) => Err(error),
    }
}

impl<S: ReadAt + WriteAt> Outboard<S> {
    /// Finishes an [`update`](Self::update) that was interrupted, or does nothing if it had not begun to change the outboard. Returns
    /// whether the journal is whole; then [`root`](Self::root) is the digest that the update was to return, and
    /// [`layout`](Self::layout) has the new length.
    ///
    /// Call it before anything else if there may have been an interruption, with the digest and the length that the program stored last, from
    /// before the update or after it. A journal is believed as the digest is: in the plain mode anyone who can write it can make
    /// one. In a keyed mode its hash needs the key.
    ///
    /// # Errors
    /// If the journal cannot be read or the outboard cannot be written, or if the journal is that of another outboard.
    pub fn recover(&mut self, journal: &(impl ReadAt + ?Sized)) -> Result<bool, Error> {
        let Some(change) = Change::read(journal, self.mode)? else {
            return Ok(false);
        };
        let is_ours =
            |which: usize| self.layout == change.layout(which) && self.root == change.root[which];
        if !is_ours(0) && !is_ours(1) {
            return Err(Error::Journal(IoError::new(
                "the journal is of an outboard with another digest or length; give the ones that were stored last",
            )));
        }
        self.apply(&change, journal)?;
        Ok(true)
    }

    /// Writes what a whole journal has.
    pub(super) fn apply(
        &mut self,
        change: &Change,
        journal: &(impl ReadAt + ?Sized),
    ) -> Result<Hash, Error> {
        self.write_entries(change, journal)?;
        self.root = change.root[1];
        self.layout = change.layout(1);
        Ok(self.root)
    }

    fn write_entries(
        &mut self,
        change: &Change,
        journal: &(impl ReadAt + ?Sized),
    ) -> Result<(), Error> {
        let read = |buf: &mut [u8], at| journal.read_exact_at(buf, at).map_err(Error::Journal);
        let mut number = [0; 8];
        read(&mut number, 96)?;
        let end = HEADER as u64 + u64::from_le_bytes(number);
        let size = change.layout(1).bytes();
        let is_shorter = size < change.layout(0).bytes();
        if !is_shorter {
            self.store.set_size(size).map_err(Error::Outboard)?;
        }
        let mut buffer = Vec::new();
        let mut at = HEADER as u64;
        while at < end {
            let mut entry = [0; ENTRY];
            read(&mut entry, at)?;
            at += ENTRY as u64;
            let (place, count) = entry.split_first_chunk().expect("16 bytes");
            let [place, count] =
                [*place, count.try_into().expect("8 bytes")].map(u64::from_le_bytes);
            if place.checked_add(count).is_none_or(|end| end > size / PAIR_LEN as u64) {
                let text = "the journal has pairs behind the end of the outboard";
                return Err(Error::Journal(IoError::new(text)));
            }
            let (mut to, mut left) = (place_of(place), place_of(count));
            while left > 0 {
                buffer.resize(left.min(BUFFER as u64) as usize, 0);
                read(&mut buffer, at)?;
                self.store.write_all_at(&buffer, to).map_err(Error::Outboard)?;
                let len = buffer.len() as u64;
                (at, to, left) = (at + len, to + len, left - len);
            }
        }
        if is_shorter {
            // As long as the new pairs are not all there, the pair of the old root is.
            self.store.set_size(size).map_err(Error::Outboard)?;
        }
        self.store.sync().map_err(Error::Outboard)
    }
}
