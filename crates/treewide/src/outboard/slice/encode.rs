//! Making slices: everything that is sent was verified.

use std::io::Write;
use std::ops::Range;

use super::error::EncodeError;
use super::group::LoadedGroup;
use super::place::Place;
use super::wanted::Wanted;
use crate::hash::Hash;
use crate::mode::Mode;
use crate::outboard::error::Error;
use crate::outboard::io::ReadAt;
use crate::outboard::layout::{Group, Layout, Node, PAIR_LEN};

/// An input with its outboard.
pub struct Source<'a, D: ?Sized, S: ?Sized> {
    /// The input.
    pub data: &'a D,
    /// The shape of the outboard.
    pub layout: Layout,
    /// The bytes of the outboard.
    pub outboard: &'a S,
    /// The digest of the input.
    pub root: Hash,
    /// The mode of the digest.
    pub mode: Mode,
}

/// Writes a slice of `ranges` to `out`, in groups of `group`.
///
/// Ranges may touch, overlap and be in any order; empty ones are left out. A range that reaches past the end stands
/// for the last chunk. The groups of the outboard may be other ones than those of the slice; an outboard with larger
/// groups costs reading all of a group where the slice has a part of it.
///
/// Up to one group is in memory at a time.
///
/// # Errors
/// If the data or the outboard cannot be read, or does not belong to the digest, or if `out` fails. Data that was
/// damaged is not sent: what was written ends before it.
pub fn encode<D: ReadAt + ?Sized, S: ReadAt + ?Sized>(
    source: &Source<'_, D, S>,
    group: Group,
    ranges: &[Range<u64>],
    out: impl Write,
) -> Result<(), EncodeError> {
    let wanted = Wanted::new(ranges, source.layout.len());
    let root = Place::root(source.layout.len(), source.root.as_bytes());
    let group_chunks = group.chunks();
    let mut encoder = Encoder { source, wanted, group_chunks, out, buffer: Vec::new() };
    let mut stack = vec![(root, source.layout.root())];
    while let Some((place, node)) = stack.pop() {
        if !encoder.wanted.touches(place.first, place.chunks) {
            continue;
        }
        if place.is_sent_whole(&encoder.wanted, group_chunks) {
            encoder.read(&place)?;
            encoder.out.write_all(&encoder.buffer).map_err(EncodeError::Write)?;
        } else if let Some(nodes) = source.layout.children(node) {
            let places = encoder.pair(&place, node)?;
            stack.extend(places.into_iter().zip(nodes).rev());
        } else {
            encoder.group(place)?;
        }
    }
    Ok(())
}

struct Encoder<'a, D: ?Sized, S: ?Sized, W> {
    source: &'a Source<'a, D, S>,
    wanted: Wanted,
    group_chunks: u64,
    out: W,
    /// Bytes of the input.
    buffer: Vec<u8>,
}

impl<D: ReadAt + ?Sized, S: ReadAt + ?Sized, W: Write> Encoder<'_, D, S, W> {
    fn range(&self, place: &Place) -> Range<u64> {
        place.range(self.source.layout.len())
    }

    /// Reads and verifies the bytes of a node.
    fn read(&mut self, place: &Place) -> Result<(), Error> {
        let range = self.range(place);
        self.buffer.resize((range.end - range.start) as usize, 0);
        self.source.data.read_exact_at(&mut self.buffer, range.start).map_err(Error::Data)?;
        match place.has_bytes(&self.buffer, &self.source.mode) {
            true => Ok(()),
            false => Err(Error::Bad(range)),
        }
    }

    /// Sends a pair of the outboard.
    fn pair(&mut self, place: &Place, node: Node) -> Result<[Place; 2], EncodeError> {
        let mut pair = [0; PAIR_LEN];
        let position = self.source.layout.position(node).expect("it is above a group");
        let at = position * PAIR_LEN as u64;
        self.source.outboard.read_exact_at(&mut pair, at).map_err(Error::Outboard)?;
        let places = place.children(&pair, &self.source.mode);
        let places = places.ok_or_else(|| Error::Unknown(self.range(place)))?;
        self.out.write_all(&pair).map_err(EncodeError::Write)?;
        Ok(places)
    }

    /// Sends what is wanted of a group.
    fn group(&mut self, group: Place) -> Result<(), EncodeError> {
        self.read(&group)?;
        let bytes = std::mem::take(&mut self.buffer);
        let loaded = LoadedGroup::new(&bytes, group.first, &self.source.mode);
        let mut stack = vec![group];
        while let Some(place) = stack.pop() {
            if !self.wanted.touches(place.first, place.chunks) {
                continue;
            }
            let sent = if place.is_sent_whole(&self.wanted, self.group_chunks) {
                self.out.write_all(loaded.bytes_of(self.range(&place)))
            } else {
                let halves = loaded.halves(&place);
                stack.extend(place.split(&halves).into_iter().rev());
                self.out.write_all(halves.as_flattened())
            };
            sent.map_err(EncodeError::Write)?;
        }
        self.buffer = bytes;
        Ok(())
    }
}
