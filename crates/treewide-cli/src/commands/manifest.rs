//! Manifests of trees: `snapshot`, `verify`, `update`, `diff` and `manifest`.
//!
//! The library `treewide-manifest` decides everything; here are words, lines and exit codes.

mod against;
mod also;
pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod make;
mod report;
pub(crate) mod root;
mod rules;
pub(crate) mod scrub;
pub(crate) mod show;
