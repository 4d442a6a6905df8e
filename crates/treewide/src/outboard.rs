//! Outboards: the tree of an input, stored apart from it, with which any part of the input can be verified
//! without the rest.
//!
//! An outboard has a *pair* of chaining values for each node above the *groups*, which have a power of two of
//! chunks each. To verify one group, a program needs a digest that it trusts, and the pairs on the path from the root to it:
//!
//! ```text
//! digest                 hash of pair 0
//! pair 0           [0..4]            [4..6]
//! pairs 1, 4    [0..2]  [2..4]      [4]  [5]
//! pairs 2, 3   [0] [1]  [2] [3]
//! data         group 0, group 1, ...               16 KiB each, the last one as short as it comes
//! ```
//!
//! The bytes are those of the crate `bao-tree` in pre-order: [`Layout`] says where each pair lies. With [`Group::IROH`] they are the
//! `.obao4` files of iroh.
//!
//! [`create_at`] makes an outboard of data of any length, [`create`] of data in memory, [`fill`] without an allocation,
//! and `file::Options::outboard` of a file by the strategy that suits it.
//!
//! [`Outboard`] compares data with a digest: [`verify`](Outboard::verify) reads the groups of a range and the pairs above them,
//! and nothing else; [`damage`](Outboard::damage) says which ranges are bad, and which are unknown because the outboard is broken
//! above them. `reader` is a `Read + Seek` of verified bytes. `repair` writes the bad groups from a copy.
//!
//! [`Parts::outboard`](crate::parts::Parts::outboard) makes the outboard of an input that was hashed in parts, in any order and place.
//!
//! # Without `std`
//!
//! There are [`Layout`], arithmetic of `u64` for inputs of up to 2^64 - 1 bytes on every target; [`ReadAt`] and [`WriteAt`]; [`fill`]; and
//! [`Outboard`] with `verify` and `damage`, group by group, as there is no room for more.

mod climb;
#[cfg(feature = "std")]
mod compare;
mod compared;
mod create;
#[cfg(feature = "std")]
mod create_at;
mod error;
#[cfg(feature = "std")]
mod find;
mod flaw;
mod io;
mod layout;
mod nodes;
#[cfg(feature = "std")]
mod of_parts;
#[cfg(feature = "std")]
mod ranges;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod repair;
#[cfg(feature = "std")]
pub mod slice;
mod stored;
mod tile;
#[cfg(feature = "std")]
mod tile_at;
#[cfg(all(feature = "file", any(unix, windows)))]
mod tops;
mod verify;
mod walk;

#[cfg(feature = "std")]
pub use create::create;
pub use create::fill;
#[cfg(feature = "std")]
pub use create_at::create_at;
pub use error::{Error, IoError};
pub use flaw::{Flaw, FlawKind};
pub use io::{ReadAt, WriteAt};
pub use layout::{Group, Layout, Node, PAIR_LEN};
#[cfg(feature = "std")]
pub use of_parts::NoOutboard;
#[cfg(feature = "std")]
pub use reader::VerifiedReader;
#[cfg(feature = "std")]
pub use repair::{Mended, Repair};
pub use stored::Outboard;
#[cfg(all(feature = "file", any(unix, windows)))]
pub(crate) use tops::Tops;
pub use verify::Damage;
