//! The slices of `bao`: the length of the input as 8 bytes, and then a slice of one range in groups of one chunk.

use std::io::{self, Read, Write};
use std::ops::Range;

use super::decode::{Decoded, decode};
use super::encode::{Source, encode};
use super::error::{DecodeError, EncodeError};
use crate::hash::Hash;
use crate::mode::Mode;
use crate::outboard::io::ReadAt;
use crate::outboard::layout::Group;

/// The bytes from `start` on, `len` of them; at least one, as `bao` has it, so that there is something to verify.
fn range(start: u64, len: u64) -> Range<u64> {
    // The last byte of all is never one of an input: 2^64 - 1 is past the end of each.
    let start = start.min(u64::MAX - 1);
    start..start.saturating_add(len.max(1))
}

/// Writes a slice as `bao slice` does: the bytes from `start` on, `len` of them. From 0 on, with at least the length of
/// the input, it is what `bao encode` writes.
///
/// # Errors
/// As [`encode`].
pub fn encode_bao<D: ReadAt + ?Sized, S: ReadAt + ?Sized>(
    source: &Source<'_, D, S>,
    start: u64,
    len: u64,
    mut out: impl Write,
) -> Result<(), EncodeError> {
    out.write_all(&source.layout.len().to_le_bytes()).map_err(EncodeError::Write)?;
    encode(source, Group::BAO, &[range(start, len)], out)
}

/// Reads a slice that `bao slice` or [`encode_bao`] made of the bytes from `start` on, `len` of them, and hands out these
/// bytes, as [`decode`] does. With 0 and [`u64::MAX`] it reads what `bao encode` writes.
///
/// The length of the input, which is in the slice, is returned only if it is proven: if the last chunk was in the slice.
///
/// # Errors
/// As [`decode`].
pub fn decode_bao(
    digest: &Hash,
    start: u64,
    len: u64,
    mode: Mode,
    mut input: impl Read,
    mut out: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<(Decoded, Option<u64>), DecodeError> {
    let mut header = [0; 8];
    super::decode::read_exact(&mut input, &mut header, &(start..start.saturating_add(len)))?;
    let total = u64::from_le_bytes(header);
    // Where no bytes are wanted, one is verified.
    let some = |place, bytes: &[u8]| if len == 0 { Ok(()) } else { out(place, bytes) };
    let mut decoded = decode(digest, total, Group::BAO, &[range(start, len)], mode, input, some)?;
    if len == 0 {
        decoded.bytes = 0;
    }
    Ok((decoded, decoded.len_is_proven.then_some(total)))
}
