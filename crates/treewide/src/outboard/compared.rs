//! Data and an outboard that are compared: one pair, one group.

use super::error::Error;
use super::io::ReadAt;
use super::layout::{Layout, Node, PAIR_LEN};
use super::nodes::hash_pair;
use crate::mode::Mode;
use crate::spec::OUT_LEN;

/// A node, and the hash that it must have.
pub(super) type Expected = (Node, [u8; OUT_LEN]);

/// What a walk compares.
pub(super) struct Compared<'a, D: ?Sized, S> {
    pub(super) data: &'a D,
    pub(super) store: &'a S,
    pub(super) layout: Layout,
    pub(super) mode: Mode,
}

impl<D: ?Sized, S> Clone for Compared<'_, D, S> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<D: ReadAt + ?Sized, S: ReadAt> Compared<'_, D, S> {
    /// The pair of `node`, if the hash of the node is the expected one.
    pub(super) fn pair(
        &self,
        node: Node,
        expected: &[u8; OUT_LEN],
    ) -> Result<Option<[u8; PAIR_LEN]>, Error> {
        let mut pair = [0; PAIR_LEN];
        let at = self.layout.position(node).expect("it is above groups") * PAIR_LEN as u64;
        match self.store.read_exact_at(&mut pair, at) {
            Ok(()) => {}
            Err(error) if error.is_end() => return Ok(None),
            Err(error) => return Err(Error::Outboard(error)),
        }
        Ok((hash_pair(&pair, &self.layout, node, &self.mode) == *expected).then_some(pair))
    }

    /// The hash of the group `node`; `None` if the data ends before it does.
    pub(super) fn hash_group(&self, node: Node) -> Result<Option<[u8; OUT_LEN]>, Error> {
        use crate::hazmat::HasherExt;
        let span = self.layout.span(node);
        let mut hasher = crate::hasher::Hasher::with_mode(self.mode);
        hasher.set_input_offset(span.start);
        if let Some(all) = self.data.as_slice() {
            let (start, end) = (usize::try_from(span.start), usize::try_from(span.end));
            let part = start.ok().zip(end.ok()).and_then(|(start, end)| all.get(start..end));
            let Some(part) = part else { return Ok(None) };
            hasher.update(part);
        } else {
            // Without an allocator a few chunks at a time.
            #[cfg(feature = "std")]
            let mut buffer = vec![0; (span.end - span.start).min(super::tile::TILE) as usize];
            #[cfg(not(feature = "std"))]
            let mut buffer = [0; 4 * crate::spec::CHUNK_LEN];
            let mut at = span.start;
            while at < span.end {
                let len = (span.end - at).min(buffer.len() as u64) as usize;
                match self.data.read_exact_at(&mut buffer[..len], at) {
                    Ok(()) => hasher.update(&buffer[..len]),
                    Err(error) if error.is_end() => return Ok(None),
                    Err(error) => return Err(Error::Data(error)),
                };
                at += len as u64;
            }
        }
        Ok(Some(match self.layout.is_root(node) {
            true => *hasher.finalize().as_bytes(),
            false => hasher.finalize_non_root(),
        }))
    }
}
