//! Result of absorbing parts.

/// How many bytes were new, and how many were there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absorbed {
    /// Bytes that no part had before.
    pub new: u64,
    /// Bytes that a part had before; [`Parts::unchecked`](super::Parts::unchecked) says which of them are not compared yet.
    pub again: u64,
}
