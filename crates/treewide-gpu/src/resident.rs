//! Hashing what is in the memory of a device: one input or a list of them, a batch with offsets, and
//! Merkle trees.

pub(crate) mod batch;
pub(crate) mod hash;
mod merkle;
