//! Slices: some ranges of an input, with the pairs that verify them.
//!
//! The wire format is the one of `bao-tree`. It is written and read from front to back. For each node above the wanted
//! bytes it has the pair of chaining values, and then what is wanted of the left and the right side:
//!
//! ```text
//! slice(node) = the bytes of the node     if they are one chunk, or at most one group, and all of them wanted
//!             = pair, slice(left side), slice(right side)     else; a side without anything wanted is left out
//! ```
//!
//! Bytes are sent in whole chunks. A range that reaches past the end means the last chunk, with which the
//! length is proven.
//!
//! ```
//! use treewide::outboard::{Group, Layout, slice};
//! use treewide::{Mode, hash};
//!
//! let input: Vec<u8> = (0..50_000_u32).map(|place| (place % 251) as u8).collect();
//! // Who has the input needs its outboard; with a group as large as the input, the outboard is empty.
//! let source = slice::Source {
//!     data: &input,
//!     layout: Layout::new(input.len() as u64, Group::MOST),
//!     outboard: &[],
//!     root: hash(&input),
//!     mode: Mode::PLAIN,
//! };
//! let wanted = [20_000..20_100, 40_000..41_000];
//! let mut sent = Vec::new();
//! slice::encode(&source, Group::IROH, &wanted, &mut sent)?;
//!
//! // Who knows the digest and the length needs nothing else.
//! let mut received = Vec::new();
//! let decoded = slice::decode(&hash(&input), 50_000, Group::IROH, &wanted, Mode::PLAIN, &sent[..], |_, bytes| {
//!     received.extend_from_slice(bytes);
//!     Ok(())
//! })?;
//! assert_eq!(received, [&input[20_000..20_100], &input[40_000..41_000]].concat());
//! assert!(!decoded.len_is_proven);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod error;
mod group;
mod place;
mod wanted;

pub use decode::{Decoded, decode};
pub use encode::{Source, encode};
pub use error::{DecodeError, EncodeError};
