//! Parts of a manifest: names, records, rules, keys, and the two files that hold them.

pub mod also;
pub(crate) mod check;
pub mod day;
pub mod facts;
pub mod index;
pub mod list;
pub(crate) mod manifest;
pub(crate) mod name;
pub mod record;
pub(crate) mod regular;
pub(crate) mod rules;
pub mod statement;
pub mod sums;
pub mod trust;
pub(crate) mod usual;
pub mod xattrs;
