//! Hashing what is in the memory of a device: one input or a list of them, parts of inputs, a batch with offsets,
//! and Merkle trees.

pub(crate) mod batch;
pub(crate) mod hash;
mod merkle;
pub(crate) mod parts;
