//! Tiles of bytes that are read at places.

use super::error::{Error, IoError};
use super::io::ReadAt;
use super::layout::{Layout, Node, PAIR_LEN};
use super::tile::{TILE, hash_tile, pairs_of_tile};
use crate::hasher::Hasher;
use crate::hazmat::HasherExt;
use crate::mode::Mode;
use crate::spec::OUT_LEN;

/// Reads and hashes tiles with buffers that it keeps.
pub(super) struct TileReader<'a, D: ?Sized> {
    data: &'a D,
    layout: Layout,
    mode: Mode,
    buffer: Vec<u8>,
    pairs: Vec<u8>,
}

impl<'a, D: ReadAt + ?Sized> TileReader<'a, D> {
    pub(super) fn new(data: &'a D, layout: &Layout, mode: &Mode) -> Self {
        Self { data, layout: *layout, mode: *mode, buffer: Vec::new(), pairs: Vec::new() }
    }

    /// The hash of `tile`, and its pairs in the order of the layout.
    pub(super) fn hash(&mut self, tile: Node) -> Result<([u8; OUT_LEN], &[u8]), Error> {
        let span = self.layout.span(tile);
        self.pairs.resize(pairs_of_tile(tile), 0);
        let len = span.end - span.start;
        let data = match self.data.as_slice() {
            Some(all) => in_memory(all, &span).map_err(Error::Data)?,
            None if len > TILE => return Ok((self.hash_long_group(tile)?, &[])),
            None => {
                self.buffer.resize(len as usize, 0);
                self.data.read_exact_at(&mut self.buffer, span.start).map_err(Error::Data)?;
                &self.buffer
            }
        };
        let hash = hash_tile(data, &self.layout, tile, &self.mode, &mut self.pairs);
        Ok((hash, &self.pairs))
    }

    /// The same for a group that is longer than a buffer.
    fn hash_long_group(&mut self, group: Node) -> Result<[u8; OUT_LEN], Error> {
        debug_assert!(group.is_group());
        let span = self.layout.span(group);
        let mut hasher = Hasher::with_mode(self.mode);
        hasher.set_input_offset(span.start);
        let mut at = span.start;
        while at < span.end {
            self.buffer.resize((span.end - at).min(TILE) as usize, 0);
            self.data.read_exact_at(&mut self.buffer, at).map_err(Error::Data)?;
            hasher.update(&self.buffer);
            at += self.buffer.len() as u64;
        }
        Ok(match self.layout.is_root(group) {
            true => *hasher.finalize().as_bytes(),
            false => hasher.finalize_non_root(),
        })
    }
}

/// The bytes of a span of `all`.
pub(super) fn in_memory<'a>(
    all: &'a [u8],
    span: &core::ops::Range<u64>,
) -> Result<&'a [u8], IoError> {
    let place = |at| usize::try_from(at).ok();
    let part = place(span.start).zip(place(span.end)).and_then(|(start, end)| all.get(start..end));
    part.ok_or(IoError::end(all.len() as u64))
}

/// The byte at which a pair starts.
pub(super) const fn place_of(pair: u64) -> u64 {
    pair * PAIR_LEN as u64
}

/// The most tiles whose results are kept at a time. A guess: threads wait for each other once in 512 MiB.
pub(super) const WINDOW: usize = 1024;

/// How many threads work on `bytes` bytes.
pub(super) fn threads(bytes: u64) -> usize {
    #[cfg(feature = "rayon")]
    return crate::parallel::policy::threads(usize::try_from(bytes).unwrap_or(usize::MAX));
    #[cfg(not(feature = "rayon"))]
    {
        let _ = bytes;
        1
    }
}

#[cfg(feature = "rayon")]
pub(super) use crate::parallel::leaves::map;

/// The results of `work` for all `items`, in order.
#[cfg(not(feature = "rayon"))]
pub(super) fn map<T, S, R, E>(
    _threads: usize,
    items: &[T],
    scratch: impl Fn() -> S,
    work: impl Fn(&mut S, &T) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut scratch = scratch();
    items.iter().map(|item| work(&mut scratch, item)).collect()
}
