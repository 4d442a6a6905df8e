//! Parts of one input, hashed anywhere in any order: by threads, processes or machines.
//!
//! Each worker hashes ranges of the input and sends its [`Parts`] as bytes. The place where they meet
//! [absorbs](Parts::absorb) them, in any order. It knows what is [missing](Parts::missing), and has the digest when nothing
//! is. Values that come twice are compared: two workers that found different values for the same bytes are a
//! [`Clash`](AbsorbError::Clash).
//!
//! ```
//! use treewide::parts::Parts;
//! use treewide::{CHUNK_LEN, Mode};
//!
//! let input = vec![7; 1000 * CHUNK_LEN + 123];
//! let total = input.len() as u64;
//! let mut whole = Parts::new(total, Mode::PLAIN).of_object(b"s3://bucket/key, version 3");
//! // Each thread could be a process on another machine: what it sends are bytes.
//! let work = |range: std::ops::Range<usize>| {
//!     let mut mine = Parts::new(total, Mode::PLAIN).of_object(b"s3://bucket/key, version 3");
//!     mine.hash(&input[range.clone()], range.start as u64)?;
//!     Ok::<_, treewide::parts::AbsorbError>(mine.to_bytes())
//! };
//! let cut = 300 * CHUNK_LEN + 77; // anywhere
//! let found = std::thread::scope(|scope| {
//!     let right = scope.spawn(|| work(cut..input.len()));
//!     [right.join().unwrap(), work(0..cut)]
//! });
//! for bytes in found {
//!     whole.absorb(&Parts::from_bytes(&bytes?, Mode::PLAIN)?)?;
//! }
//! assert_eq!(whole.finish()?, treewide::hash(&input));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A part is a node of the tree below the root. [`subtrees`] says into which nodes a range falls: at most 2 for each level.
//! Cuts at large powers of two, such as 64 MiB, give one part each. Where a cut lies inside a chunk, both sides hold and
//! send their bytes of this chunk, until it is whole.
//!
//! The values of a range are as secret as its digest: with them anyone can check a guess of its bytes. The bytes of a chunk
//! that was cut are sent as they are.

#[cfg(feature = "std")]
mod absorbed;
#[cfg(feature = "std")]
mod bytes;
mod cut;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod fragments;
#[cfg(feature = "std")]
mod known;
#[cfg(feature = "std")]
mod nodes;
#[cfg(feature = "std")]
mod object;
mod part;
#[cfg(feature = "std")]
mod runs;
mod subtrees;

#[cfg(feature = "std")]
pub use absorbed::Absorbed;
#[cfg(feature = "std")]
pub use bytes::PartsError;
pub use cut::CutError;
#[cfg(feature = "std")]
pub use error::{AbsorbError, Missing};
#[cfg(feature = "std")]
pub use known::Parts;
#[cfg(feature = "std")]
pub use object::MAX_OBJECT;
pub use part::Part;
#[cfg(all(feature = "std", feature = "outboard"))]
pub(crate) use subtrees::sibling;
pub use subtrees::{SubtreeRanges, subtrees};
