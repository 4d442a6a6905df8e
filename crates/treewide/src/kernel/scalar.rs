//! One lane in the general registers of x86-64.
pub(super) use super::portable::compress;
