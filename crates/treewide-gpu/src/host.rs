//! Hashing bytes of the host on a device: they go there in parts, through a ring of places, and the
//! chaining values of the parts come back.

pub(crate) mod pipeline;
pub(crate) mod place;
pub(crate) mod ring;
pub(crate) mod staged;
pub(crate) mod wrapped;
