//! Runs: a manifest and a tree next to each other, and the verdict on each path.

pub(crate) mod against;
pub(crate) mod diff;
mod earlier;
pub(crate) mod guard;
pub(crate) mod join;
mod judge;
mod moves;
mod read;
mod resume;
pub(crate) mod scrub;
pub(crate) mod update;
pub(crate) mod verdict;
pub(crate) mod verify;
