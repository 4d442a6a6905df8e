//! Data as a stream with a position, each byte verified before anyone sees it.

use core::fmt;
use core::ops::Range;
use std::io::{self, Read, Seek, SeekFrom};

use super::error::Error;
use super::find::Finder;
use super::io::ReadAt;
use super::layout::Node;
use super::stored::Outboard;
use super::tile::{hash_tile, pairs_of_tile};
use super::tile_at::in_memory;
use crate::spec::OUT_LEN;

/// Bytes that are verified at a time where reading continues from group to group: two passes of 32 lanes. A guess.
const AHEAD: u64 = 64 << 10;

impl<S: ReadAt> Outboard<S> {
    /// Reads `data` and verifies each group before a byte of it is returned.
    ///
    /// ```
    /// use std::io::{Read, Seek, SeekFrom};
    /// use treewide::Mode;
    /// use treewide::outboard::{self, Group, Layout, Outboard};
    ///
    /// let mut data = vec![7; 100_000];
    /// let (digest, pairs) = outboard::create(&data, Group::IROH, Mode::PLAIN);
    /// data[99_999] = 8;
    /// let layout = Layout::new(100_000, Group::IROH);
    /// let outboard = Outboard::new(&digest, layout, Mode::PLAIN, pairs);
    /// let mut reader = outboard.reader(&data);
    /// let mut buffer = [0; 10];
    /// reader.seek(SeekFrom::Start(50_000))?;
    /// reader.read_exact(&mut buffer)?;
    /// assert!(reader.seek(SeekFrom::End(0)).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn reader<'a, D: ReadAt + ?Sized>(&'a self, data: &'a D) -> VerifiedReader<'a, D, S> {
        VerifiedReader {
            finder: Finder::new(self),
            outboard: self,
            data,
            at: 0,
            held: 0..0,
            buffer: Vec::new(),
            pairs: Vec::new(),
            is_end_verified: false,
        }
    }
}

/// A reader that returns only verified bytes: [`Outboard::reader`].
///
/// Reading fails at the first byte of a group that is not verified: with an error of the kind `InvalidData` that holds an
/// [`Error`], or with the error of reading. It can continue after such a group after a seek.
///
/// The digest commits to the end of the data. So reading says that the data has ended, and [`SeekFrom::End`] and
/// [`len`](Self::len) say where, only after the last group is verified.
///
/// It keeps one group in memory, or 64 KiB if a group has less.
pub struct VerifiedReader<'a, D: ?Sized, S> {
    outboard: &'a Outboard<S>,
    data: &'a D,
    finder: Finder<'a, S>,
    at: u64,
    /// The bytes in the buffer, all verified.
    held: Range<u64>,
    buffer: Vec<u8>,
    /// Room for pairs that no one needs.
    pairs: Vec<u8>,
    is_end_verified: bool,
}

impl<D: ReadAt + ?Sized, S: ReadAt> VerifiedReader<'_, D, S> {
    /// Returns the number of bytes of the data. The first call verifies the last group.
    ///
    /// # Errors
    /// If that group is not verified, or if it cannot be read.
    // There is no more to know of an empty one.
    #[expect(clippy::len_without_is_empty, reason = "it may fail, and reads")]
    pub fn len(&mut self) -> Result<u64, Error> {
        let layout = self.outboard.layout;
        if !self.is_end_verified {
            self.load(layout.groups() - 1, 1)?;
        }
        Ok(layout.len())
    }

    /// Verifies the node of at most `most` groups that has `group`, or only this group if the others are bad.
    fn load(&mut self, group: u64, most: u64) -> Result<(), Error> {
        self.held = 0..0;
        let (mut node, mut hash) = self.finder.start(group);
        loop {
            if node.groups() <= most || node.is_group() {
                if self.holds(node, &hash)? {
                    self.held = self.outboard.layout.span(node);
                    self.is_end_verified |= self.held.end == self.outboard.layout.len();
                    return Ok(());
                }
                if node.is_group() {
                    return Err(Error::Bad(self.outboard.layout.span(node)));
                }
            }
            (node, hash) = self.finder.down(node, &hash, group)?;
        }
    }

    /// Reads the bytes of `node`, and says whether they have that hash.
    fn holds(&mut self, node: Node, expected: &[u8; OUT_LEN]) -> Result<bool, Error> {
        let Outboard { layout, mode, .. } = self.outboard;
        let span = layout.span(node);
        self.buffer.clear();
        match self.data.as_slice().map(|all| in_memory(all, &span)) {
            Some(Ok(part)) => self.buffer.extend_from_slice(part),
            Some(Err(_)) => return Ok(false),
            None => {
                self.buffer.resize((span.end - span.start) as usize, 0);
                match self.data.read_exact_at(&mut self.buffer, span.start) {
                    Ok(()) => {}
                    Err(error) if error.is_end() => return Ok(false),
                    Err(error) => return Err(Error::Data(error)),
                }
            }
        }
        self.pairs.resize(pairs_of_tile(node), 0);
        Ok(hash_tile(&self.buffer, layout, node, mode, &mut self.pairs) == *expected)
    }
}

impl<D: ReadAt + ?Sized, S: ReadAt> Read for VerifiedReader<'_, D, S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let layout = self.outboard.layout;
        if self.at >= layout.len() {
            self.len()?;
            return Ok(0);
        }
        if !self.held.contains(&self.at) {
            let group = self.at / layout.group().bytes();
            // In order, and from a place that was sought only if that much is asked for.
            let is_long = buf.len() as u64 >= AHEAD || self.held.end == self.at;
            let most = if is_long { AHEAD / layout.group().bytes() } else { 1 };
            self.load(group, most)?;
        }
        let from = (self.at - self.held.start) as usize;
        let len = buf.len().min(self.buffer.len() - from);
        buf[..len].copy_from_slice(&self.buffer[from..from + len]);
        self.at += len as u64;
        Ok(len)
    }
}

/// A position past the end is fine; there is nothing to read there.
impl<D: ReadAt + ?Sized, S: ReadAt> Seek for VerifiedReader<'_, D, S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.len()?.checked_add_signed(by),
        };
        let text = "there is no position before the first byte or behind 2^64 - 1";
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        Ok(self.at)
    }
}

/// Shows the position.
impl<D: ?Sized, S> fmt::Debug for VerifiedReader<'_, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedReader").field("at", &self.at).finish_non_exhaustive()
    }
}
