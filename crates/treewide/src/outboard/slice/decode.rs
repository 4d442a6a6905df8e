//! Reading slices: nothing is handed out before it is verified, and nothing is allocated before it arrived.

use std::io::{self, Read};
use std::ops::Range;

use super::error::DecodeError;
use super::place::Place;
use super::wanted::Wanted;
use crate::hash::Hash;
use crate::mode::Mode;
use crate::outboard::layout::{Group, PAIR_LEN};

/// Facts that are known after a slice was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// Bytes that were handed out.
    pub bytes: u64,
    /// Whether the last chunk was in the slice. If so, the length is the one of the digest's input. If not, the bytes
    /// that were handed out are right, but a liar may have given another length.
    pub len_is_proven: bool,
}

/// Reads a slice of an input of `len` bytes from `input`, and hands its bytes to `out`.
///
/// `group` and `ranges` are those with which the slice was made; see [`encode`](super::encode). `out` gets a place in
/// the input and the bytes there, in order. They are bytes of the ranges only, and verified. After its last byte, `input`
/// is not read further.
///
/// Up to one group is in memory at a time.
///
/// # Errors
/// If the slice cannot be read, ends early or does not belong to the digest; or if `out` fails. What `out` was given
/// before is right.
pub fn decode(
    digest: &Hash,
    len: u64,
    group: Group,
    ranges: &[Range<u64>],
    mode: Mode,
    mut input: impl Read,
    mut out: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> Result<Decoded, DecodeError> {
    let wanted = Wanted::new(ranges, len);
    let mut decoded = Decoded { bytes: 0, len_is_proven: false };
    let mut stack = vec![Place::root(len, digest.as_bytes())];
    let mut buffer = Vec::new();
    while let Some(place) = stack.pop() {
        if !wanted.touches(place.first, place.chunks) {
            continue;
        }
        let range = place.range(len);
        if !place.is_sent_whole(&wanted, group.chunks()) {
            let mut pair = [0; PAIR_LEN];
            read_exact(&mut input, &mut pair, &range)?;
            let children = place.children(&pair, &mode).ok_or(DecodeError::Wrong(range))?;
            stack.extend(children.into_iter().rev());
            continue;
        }
        // It becomes longer as the bytes arrive.
        buffer.clear();
        let bytes = range.end - range.start;
        input.by_ref().take(bytes).read_to_end(&mut buffer).map_err(DecodeError::Read)?;
        if (buffer.len() as u64) < bytes {
            return Err(DecodeError::Ended(range));
        }
        if !place.has_bytes(&buffer, &mode) {
            return Err(DecodeError::Wrong(range));
        }
        for part in wanted.parts_of(range.clone()) {
            let bytes = (part.start - range.start) as usize..(part.end - range.start) as usize;
            out(part.start, &buffer[bytes]).map_err(DecodeError::Write)?;
            decoded.bytes += part.end - part.start;
        }
        decoded.len_is_proven |= range.end == len;
    }
    Ok(decoded)
}

fn read_exact(
    input: &mut impl Read,
    buf: &mut [u8],
    range: &Range<u64>,
) -> Result<(), DecodeError> {
    input.read_exact(buf).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => DecodeError::Ended(range.clone()),
        _ => DecodeError::Read(error),
    })
}
