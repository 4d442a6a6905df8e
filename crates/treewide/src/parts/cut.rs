//! Ranges that do not consist of nodes.

use core::fmt;
#[cfg(feature = "std")]
use core::ops::Range;

use crate::spec::CHUNK_LEN;

/// A range that does not consist of nodes of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutError(Problem);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    InsideAChunk {
        cut: u64,
        total: u64,
    },
    Beyond {
        end: u64,
        total: u64,
    },
    #[cfg(feature = "std")]
    NotANode {
        range: Range<u64>,
        total: u64,
    },
}

impl CutError {
    pub(super) fn inside_a_chunk(cut: u64, total: u64) -> Self {
        Self(Problem::InsideAChunk { cut, total })
    }

    pub(super) fn beyond(end: u64, total: u64) -> Self {
        Self(Problem::Beyond { end, total })
    }

    #[cfg(feature = "std")]
    pub(super) fn not_a_node(range: Range<u64>, total: u64) -> Self {
        Self(Problem::NotANode { range, total })
    }
}

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::InsideAChunk { cut, total } => {
                let below = cut - cut % CHUNK_LEN as u64;
                let above = below.saturating_add(CHUNK_LEN as u64).min(*total);
                write!(
                    f,
                    "a part cannot be cut at byte {cut}, inside of a chunk: cut at {below} or {above} (a multiple of \
                     {CHUNK_LEN}, or the end of the input)"
                )
            }
            Problem::Beyond { end, total } => {
                write!(
                    f,
                    "there is no part up to byte {end} of an input of {total} bytes: check its length"
                )
            }
            #[cfg(feature = "std")]
            Problem::NotANode { range, total } => write!(
                f,
                "{}..{} is not a node of an input of {total} bytes: cut it as `subtrees` says",
                range.start, range.end
            ),
        }
    }
}

impl core::error::Error for CutError {}
