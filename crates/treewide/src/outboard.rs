//! Trees that are stored apart from their data: what is needed to hash, check and mend one input in pieces.

pub mod parts;
