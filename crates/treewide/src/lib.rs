//! BLAKE3 at every length, on every instruction set. Digests are always standard [BLAKE3].
//!
//! ```
//! // A complete input.
//! let hash = treewide::hash(b"foobarbaz");
//! // In pieces.
//! let mut hasher = treewide::Hasher::new();
//! hasher.update(b"foo").update(b"bar").update(b"baz");
//! assert_eq!(hash, hasher.finalize());
//! // Output of any length.
//! let mut output = [0; 1000];
//! hasher.finalize_xof().fill(&mut output);
//! assert_eq!(hash, output[..32]);
//! println!("{hash}");
//! // Many inputs at once.
//! # #[cfg(feature = "std")]
//! let hashes = treewide::hash_many(&["foo", "bar", "foobarbaz"]);
//! # #[cfg(feature = "std")]
//! assert_eq!(hashes[2], hash);
//! ```
//!
//! # What to use
//!
//! | you have or want | use |
//! |---|---|
//! | bytes in memory | [`hash`](hash()), [`keyed_hash`], [`derive_key`]; `hash_parallel` from 1 MiB |
//! | bytes that come in pieces | [`Hasher::update`]; `Hasher::update_reader` for a `Read` |
//! | many inputs | [`hash_many`]; [`Batch`] for keys, threads, other lengths |
//! | the rows of one buffer | [`batch::Packed`] |
//! | a file | `file::Options`, or `update_mmap_rayon` as in `blake3` |
//! | a tree of files, a list to check | the crate `treewide-files` |
//! | output of any length, from any place | [`Hasher::finalize_xof`], [`OutputReader`] |
//! | to stop, and continue in another process | [`Hasher::to_state`] |
//! | one digest of parts that several machines hash | [`parts`]; [`hazmat::Subtrees`], [`hazmat::groups`] |
//! | a tree over digests, and proofs | [`merkle`] |
//! | a stored tree with which parts are verified (`.obao4` files) | [`outboard`] |
//! | to choose the mode at run time | [`Mode`] |
//!
//! # Threads
//!
//! Nothing uses threads unless its name or an option says so, and all threads come from the current rayon pool.
//! There are three forms. `_rayon` ends the methods that `blake3` has ([`Hasher`]). `_parallel` ends the others:
//! `hash_parallel`, `merkle::root_parallel`, `OutputReader::fill_parallel`. Options have `threads(most)`:
//! [`Batch`] and `file::Options`. Each decides by the number of bytes how many threads work, the calling one included, so
//! short inputs stay on one.
//!
//! A task of the pool may hash on the pool while it holds a lock: the calling thread takes no other work, so nothing deadlocks.
//! After `fork`, a child that hashes on threads does not hang.
//!
//! # Coming from the `blake3` crate
//!
//! Every public item of `blake3` 1.8 is here with the same name and meaning, so one line of `Cargo.toml`
//! switches a program:
//!
//! ```toml
//! blake3 = { package = "treewide", version = "0.1" }
//! ```
//!
//! One difference: [`Hash::to_hex`] returns [`Hex`], not an `ArrayString`. It dereferences to `str`, but
//! cannot be modified and does not implement `fmt::Write`.
//!
//! In addition there are [batches](batch), [Merkle trees](merkle), [saved states](Hasher::to_state), one type
//! for all [modes](Mode), and the choice of [`kernel`]s.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `std` (default) | `Read`, `Write`, `Seek`, [`Hasher::update_reader`], `TREEWIDE_KERNEL`; without it the crate is `no_std` |
//! | `rayon` | `update_rayon`, `hash_parallel`, `fill_parallel`, with the threads of the current rayon pool |
//! | `mmap` | `update_mmap` and, with `rayon`, `update_mmap_rayon` |
//! | `outboard` | the module [`outboard`]: trees stored apart from their data |
//! | `file` | the module `file`: each file by the strategy that suits it, on several threads, in bounded memory |
//! | `async` | `file::Options::hash_async`, in any runtime, stopped by dropping it |
//! | `serde` | [`Hash`](struct@Hash) as 32 bytes |
//! | `zeroize` | wiping of everything that may be secret |
//! | `traits-preview` | the traits of the `digest` crate, in `traits`; not covered by semantic versioning |
//! | `no_avx512`, `no_avx2`, `no_sse41`, `no_sse2`, `no_neon` | kernels that a small program leaves out |
//!
//! The other features that say how to build `blake3` (`pure`, `neon`, `prefer_intrinsics`, `wasm32_simd`) are accepted and
//! change nothing: there is no C to build, and [`kernel`] chooses when the program runs.
//!
//! # What is promised
//!
//! The digests of BLAKE3 for all lengths, ways of feeding the input, and instruction sets. Comparison of
//! digests in constant time. No panics, except for the misuse listed under "Panics" in a function's
//! documentation. Every call works in a thread of 32 KiB, and in one of 64 KiB in a
//! build without optimisation. Hashing memory cannot fail. An environment variable with a wrong value is ignored; see
//! [`check_environment`].
//!
//! [BLAKE3]: https://github.com/BLAKE3-team/BLAKE3-specs/blob/master/blake3.pdf

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "std", feature = "outboard")),
    allow(rustdoc::broken_intra_doc_links, reason = "of items that are not there")
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod batch;
mod block;
#[cfg(feature = "alloc")]
mod buffer;
#[cfg(feature = "std")]
mod cancel;
mod constant;
#[cfg(feature = "std")]
mod environment;
#[cfg(all(feature = "file", any(unix, windows)))]
pub mod file;
#[cfg(all(feature = "file", not(any(unix, windows))))]
compile_error!(
    "the feature `file` needs Unix or Windows: elsewhere Rust has no stable way to read at a place \
     of a file; `Hasher::update_reader` hashes files on WASI"
);
pub mod explain;
#[doc(hidden)]
#[deprecated(since = "0.1.0", note = "use the hazmat module instead")]
pub mod guts;
mod hash;
mod hasher;
pub mod hazmat;
pub mod kernel;
#[cfg(any(feature = "mmap", all(feature = "file", any(unix, windows))))]
mod length;
pub mod merkle;
#[cfg(feature = "mmap")]
mod mmap;
mod mode;
mod oneshot;
#[cfg(feature = "outboard")]
pub mod outboard;
#[cfg(feature = "rayon")]
mod parallel;
pub mod parts;
mod spec;
mod stack;
mod state;
mod subtrees;
#[cfg(feature = "traits-preview")]
pub mod traits;
mod tree;
mod xof;

pub use batch::Batch;
#[cfg(feature = "std")]
pub use batch::hash_many;
#[cfg(feature = "std")]
pub use cancel::Cancel;
pub use constant::const_hash;
#[cfg(feature = "std")]
pub use environment::{EnvironmentError, check_environment};
pub use explain::explain;
pub use hash::{Hash, Hex, HexError};
pub use hasher::Hasher;
pub use mode::Mode;
pub use oneshot::{derive_key, hash, keyed_hash};
#[cfg(feature = "rayon")]
pub use parallel::hash_parallel;
pub use spec::{BLOCK_LEN, CHUNK_LEN, KEY_LEN, OUT_LEN};
pub use state::{State, StateError};
pub use xof::OutputReader;

/// The examples of the README are tested too.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
