//! The program with treewide under the name `blake3`.

use ::blake3;

#[path = "program/mod.rs"]
pub(crate) mod program;
