//! Manifests of trees: what every file of a tree is, in a list that b3sum reads and checks, and an index with which a later
//! run reads only what changed.
//!
//! It finds files that are new, gone, moved or replaced, and distinguishes an edit from rot: content that changed although nothing
//! shows that anybody wrote to the file. It prints nothing and never ends the process.
//!
//! | to | use |
//! |---|---|
//! | make a manifest, or bring it up to date | [`Update`], which writes into a [`Pair`] |
//! | compare a tree with its manifest | [`Verify`] |
//! | compare two manifests | [`diff()`] |
//! | read a manifest | [`Manifest`], [`list::List`], [`record::Record`] |
//! | hear of each path, and count | [`Finding`], [`Verdict`], [`Class`], [`Report`] |
//! | keep outboards, and find which bytes of a file are bad | [`Outboards`], [`Located`] |
//! | hand a manifest to tools that sign models | [`statement`] |
//! | choose what is covered | [`Rules`], [`Globs`] |
//! | know when a file is taken for unchanged | [`trust`] |
//! | choose threads, show progress, stop a run | [`Options`], of `treewide-files` |
//!
//! The formats are specified in `docs/formats.md`, the reasons are in `docs/manifests.md`.
//!
//! # What a run promises
//!
//! - Memory does not grow with the number of files, except by what is gone or new (and a list that is not sorted).
//! - A name from a list is checked before anything is done with it, and nothing below the root is reached through a link that
//!   the rules do not follow.
//! - Every path has one verdict, and the counts add up to the number of paths.
//! - If a report [differs](Report::differs) nowhere and is [certain](Report::is_certain), then every listed file was read and
//!   has its digest, except for files that are counted as [not read](Report::files_unread), whose keys are as recorded.

#![forbid(unsafe_code)]

mod beneath;
pub mod clock;
pub mod day;
pub mod diff;
mod error;
pub mod facts;
pub mod index;
mod join;
pub mod journal;
mod judge;
pub mod list;
mod located;
mod long_files;
mod manifest;
mod moves;
mod name;
mod outboards;
mod pair;
pub mod record;
mod records_ahead;
mod regular;
mod resume;
mod rules;
mod scan;
mod scan_ahead;
mod scrub;
pub mod statement;
pub mod trust;
mod update;
mod usual;
mod verdict;
mod verify;
pub mod xattrs;

pub use clock::Clock;
pub use diff::diff;
pub use error::{Error, ErrorKind};
pub use located::{Bad, Located};
pub use manifest::{Manifest, Records, State, facts as facts_of, index_path};
pub use outboards::{Outboards, Written};
pub use pair::{Pair, Totals};
pub use rules::{Globs, Rules};
pub use scrub::Budget;
pub use treewide_files::{Cancel, Options, Progress};
pub use update::{Made, Update};
pub use verdict::{Change, Class, Finding, Report, Verdict};
pub use verify::Verify;
