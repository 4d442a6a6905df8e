//! Extended output (section 2.6): the root compression repeated with counters 0, 1, 2, ...

use core::fmt;

use crate::kernel::running;
use crate::spec::BLOCK_LEN;
use crate::spec::flags::ROOT;
use crate::stack::Stack;
use crate::tree::Node;

/// The most blocks that are made at once for an output that begins or ends within a block: room on the stack for few
/// (`results/zen5-2vcpu/limits.md#extended-output`).
const FEW: usize = 8;

/// The most blocks that are kept: one for each lane.
const KEPT: usize = 16;

/// Extended output: up to 2^64 - 1 bytes, read from any position.
///
/// The length of reads does not matter: from the second read in a row on, a reader computes a block for each lane of the kernel,
/// and keeps what was not read, at most 1 KiB.
///
/// ```
/// let mut output = treewide::Hasher::new().update(b"seed").finalize_xof();
/// let mut key = [0; 96];
/// output.set_position(1 << 40);
/// output.fill(&mut key);
/// assert_eq!(output.position(), (1 << 40) + 96);
/// ```
pub struct OutputReader {
    root: Node,
    position: u64,
    /// Blocks of output, and the place of their first byte.
    kept: Stack<[u8; BLOCK_LEN], KEPT>,
    kept_from: u64,
    /// Whether the last read ended at the position.
    goes_on: bool,
}

impl OutputReader {
    /// Inline, and without changing `root`, so that the root is made in place: a copy of words that were just stored in
    /// pieces waits until the pieces are in the cache (`results/gnr-2vcpu/limits.md#loads-and-stores-of-different-widths`).
    #[inline(always)]
    pub(crate) fn new(root: Node) -> Self {
        Self { root, position: 0, kept: Stack::new(), kept_from: 0, goes_on: false }
    }

    fn blocks(&self, counter: u64, out: &mut [[u8; BLOCK_LEN]]) {
        let Node { cv, block, block_len, flags, .. } = &self.root;
        running().xof(cv, block, *block_len, flags | ROOT, counter, out);
    }

    /// Fills `buf` with the next bytes of output, and moves the position past them.
    ///
    /// The specification defines 2^64 - 1 bytes of output. This method does not report their end: bytes
    /// that it writes beyond the end are not output of BLAKE3, and the position stays at 2^64 - 1, so the
    /// next call repeats them.
    #[inline]
    pub fn fill(&mut self, buf: &mut [u8]) {
        match self.kept().get(..buf.len()) {
            Some(kept) => {
                buf.copy_from_slice(kept);
                self.position = self.position.saturating_add(buf.len() as u64);
            }
            None => self.fill_any(buf),
        }
    }

    /// What is kept from the position on.
    #[inline(always)]
    fn kept(&self) -> &[u8] {
        let at = self.position.wrapping_sub(self.kept_from);
        usize::try_from(at).ok().and_then(|at| self.kept.as_flattened().get(at..)).unwrap_or(&[])
    }

    #[inline(never)]
    fn fill_any(&mut self, mut buf: &mut [u8]) {
        let is_far = self.position.checked_add((buf.len() + KEPT * BLOCK_LEN) as u64).is_some();
        while self.goes_on && is_far && !buf.is_empty() {
            let within = (self.position % BLOCK_LEN as u64) as usize;
            let kept = self.kept();
            let take = match kept.len() {
                // Much that begins with a block is written where it belongs.
                0 if within == 0 && buf.len() >= KEPT * BLOCK_LEN => {
                    let whole = buf.len() / BLOCK_LEN * BLOCK_LEN;
                    self.write(0, &mut buf[..whole]);
                    whole
                }
                0 => {
                    self.keep();
                    0
                }
                len => {
                    let take = len.min(buf.len());
                    buf[..take].copy_from_slice(&kept[..take]);
                    take
                }
            };
            self.advance(take);
            buf = &mut buf[take..];
        }
        self.write(0, buf);
        self.advance(buf.len());
    }

    /// Keeps a block for each lane, from the position on.
    fn keep(&mut self) {
        let counter = self.position / BLOCK_LEN as u64;
        self.kept_from = counter * BLOCK_LEN as u64;
        let kernel = running();
        let kept = self.kept.fill([0; BLOCK_LEN], kernel.degree().min(KEPT));
        let Node { cv, block, block_len, flags, .. } = &self.root;
        kernel.xof(cv, block, *block_len, flags | ROOT, counter, kept);
    }

    pub(crate) fn advance(&mut self, len: usize) {
        self.position = self.position.saturating_add(len as u64);
        self.goes_on = true;
    }

    /// Fills `buf` with output that starts `blocks` blocks behind the position.
    pub(crate) fn write(&self, blocks: u64, buf: &mut [u8]) {
        let mut counter = self.position / BLOCK_LEN as u64 + blocks;
        let within = (self.position % BLOCK_LEN as u64) as usize;
        let end = within + buf.len();
        let is_few = (BLOCK_LEN + 1..=FEW * BLOCK_LEN).contains(&end);
        // A few blocks in one pass take hardly longer than one block. Whole blocks need no copy.
        if is_few && (within > 0 || !end.is_multiple_of(BLOCK_LEN)) {
            let mut few = [[0; BLOCK_LEN]; FEW];
            self.blocks(counter, &mut few[..end.div_ceil(BLOCK_LEN)]);
            buf.copy_from_slice(&few.as_flattened()[within..end]);
            return;
        }
        let mut rest = buf;
        if within > 0 && !rest.is_empty() {
            let mut block = [[0; BLOCK_LEN]];
            self.blocks(counter, &mut block);
            let take = rest.len().min(BLOCK_LEN - within);
            let (head, more) = rest.split_at_mut(take);
            head.copy_from_slice(&block[0][within..within + take]);
            counter += 1;
            rest = more;
        }
        let (whole, tail) = rest.as_chunks_mut::<BLOCK_LEN>();
        self.blocks(counter, whole);
        if !tail.is_empty() {
            let mut block = [[0; BLOCK_LEN]];
            self.blocks(counter + whole.len() as u64, &mut block);
            tail.copy_from_slice(&block[0][..tail.len()]);
        }
    }

    /// Returns the position of the next byte, counted from the start of the output.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Sets the position of the next byte. This takes the same time for every position.
    pub fn set_position(&mut self, position: u64) {
        self.goes_on &= position == self.position;
        self.position = position;
    }
}

/// The copy is a reader that was just placed. It has nothing kept, because that takes ten times as long to move as the rest.
impl Clone for OutputReader {
    #[inline]
    fn clone(&self) -> Self {
        Self { position: self.position, ..Self::new(self.root.clone()) }
    }
}

/// Shows the position, and nothing secret.
impl fmt::Debug for OutputReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputReader").field("position", &self.position).finish()
    }
}

#[cfg(feature = "std")]
mod io {
    use super::OutputReader;
    use std::io::{self, Read, Seek, SeekFrom};

    /// Always fills `buf`, even beyond the end of the output (see [`OutputReader::fill`]), and never fails.
    impl Read for OutputReader {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.fill(buf);
            Ok(buf.len())
        }
    }

    /// `SeekFrom::End` is an error, because there is no end to seek from, and so is a position before the
    /// start. A position beyond 2^64 - 1 becomes 2^64 - 1.
    impl Seek for OutputReader {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            let error = |text| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            let place = match to {
                SeekFrom::Start(place) => i128::from(place),
                SeekFrom::Current(offset) => i128::from(self.position) + i128::from(offset),
                SeekFrom::End(_) => return error("seek from end not supported"),
            };
            if place < 0 {
                return error("seek before start");
            }
            self.set_position(place.min(i128::from(u64::MAX)) as u64);
            Ok(self.position)
        }
    }
}

#[cfg(feature = "zeroize")]
impl zeroize::Zeroize for OutputReader {
    fn zeroize(&mut self) {
        self.root.cv.zeroize();
        self.root.block.zeroize();
        self.root.block_len.zeroize();
        self.root.counter.zeroize();
        self.root.flags.zeroize();
        self.position.zeroize();
        self.kept.zeroize();
        self.kept_from.zeroize();
        self.goes_on.zeroize();
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::hasher::Hasher;

    /// Small enough for Miri.
    #[test]
    fn output_reader_of_a_few_blocks() {
        let new = || Hasher::new().update(b"seed").finalize_xof();
        let mut all = [0; 3 * KEPT * BLOCK_LEN];
        new().fill(&mut all);
        for len in [8, 100, KEPT * BLOCK_LEN + 7] {
            let (mut reader, mut out) = (new(), [0; KEPT * BLOCK_LEN + 7]);
            for place in [0, 0, 130, 65, 2000, 66] {
                if place > 0 {
                    reader.set_position(place);
                }
                reader = reader.clone();
                for _ in 0..(500 / len).max(2) {
                    let at = reader.position() as usize;
                    let len = len.min(all.len() - at);
                    reader.fill(&mut out[..len]);
                    assert_eq!(out[..len], all[at..at + len], "{len} bytes from {at}");
                }
            }
        }
    }
}
