//! Hashing what is in the memory of a device: one input or a list of them, parts of inputs, and a batch with offsets.

pub(crate) mod batch;
pub(crate) mod hash;
pub(crate) mod parts;
