//! Tests that compare digests. Tests that ask something of the process, such as its memory, are programs of their own.

mod api;
#[cfg(feature = "std")]
mod batch;
#[cfg(feature = "std")]
mod batch_unruly;
#[path = "../common/mod.rs"]
mod common;
mod differential;
mod hazmat;
#[cfg(feature = "std")]
mod io;
#[cfg(feature = "std")]
mod merkle;
mod parts;
#[path = "../reference/mod.rs"]
mod reference;
#[cfg(feature = "outboard")]
mod slice;
mod state;
mod streams;
mod subtrees;
