//! Trees of files: names, digests, and lists of them.

#![forbid(unsafe_code)]

pub mod digest;
pub mod error;
pub mod list;
pub mod long_path;
pub mod name;
pub mod walk;

pub use error::{Error, ErrorKind};
