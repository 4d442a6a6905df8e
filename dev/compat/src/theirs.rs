//! The program with the real crate under its own name.

use ::oracle as blake3;

#[path = "program/mod.rs"]
pub(crate) mod program;
