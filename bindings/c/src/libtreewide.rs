//! `libtreewide`: the functions of `include/treewide.h`, which says what they do.
//!
//! Each module has the functions of one section of the header. A `treewide_hasher` holds a [`Hasher`](treewide::Hasher) without a
//! buffer and a `treewide_mode` holds a [`Mode`](treewide::Mode). Both are copied with `=` and never destroyed, as they own
//! nothing.

#![cfg_attr(not(feature = "parallel"), no_std)]

extern crate alloc;

mod batches;
mod digests;
mod errors;
#[cfg(feature = "file")]
mod files;
mod hashing;
mod kernels;
mod memory;
mod mode;
#[cfg(not(feature = "parallel"))]
mod no_std;
mod output;
mod readers;
mod states;
mod streams;
mod subtrees;
#[cfg(feature = "file")]
mod watch;
