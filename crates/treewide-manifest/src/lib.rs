//! Manifests of trees: what every file of a tree is, in a list that b3sum reads and checks, and an index with which a later
//! run reads only what changed.
//!
//! It finds files that are new, gone, moved or replaced, and distinguishes an edit from rot: content that changed although nothing
//! shows that anybody wrote to the file. It prints nothing and never ends the process.
//!
//! ```
//! # let dir = std::env::temp_dir().join("treewide-manifest-doc");
//! # let _ = std::fs::remove_dir_all(&dir);
//! # std::fs::create_dir_all(dir.join("photos")).unwrap();
//! # std::fs::write(dir.join("photos/a"), "a").unwrap();
//! use treewide_manifest::{Class, Options, snapshot, update, verify};
//!
//! let (photos, list, options) = (dir.join("photos"), dir.join("photos.b3"), Options::new());
//! snapshot(&photos, &list, &options)?;
//! std::fs::write(photos.join("b"), "b").unwrap();
//! let report = verify(&list, &photos, &options, &mut |finding| {
//!     println!("{} {}", finding.verdict.class().word(), finding.path().display());
//! })?;
//! assert_eq!((report.count(Class::Same), report.count(Class::Added)), (1, 1));
//! update(&list, &photos, &options, &mut |_| {})?;
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), treewide_manifest::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | make, update, verify or compare manifests in one call | [`snapshot`], [`update`], [`verify`], [`diff`] |
//! | choose what is read, where the result goes, and what is accepted | [`machine`] |
//! | read a manifest, also as it was | [`Manifest`], [`open`], [`history()`], [`list::List`], [`record::Record`] |
//! | find duplicates, and what is missing elsewhere | [`dupes`], [`missing`], [`Dupes`], [`Missing`] |
//! | hear of each path, and count | [`Finding`], [`Verdict`], [`Evidence`], [`Class`], [`Report`] |
//! | keep outboards, and find which bytes of a file are bad | [`Outboards`], [`Located`] |
//! | keep digests by other algorithms next to BLAKE3 | [`machine::Update::also`], [`also`](mod@also) |
//! | hand a manifest to tools that sign models | [`statement`] |
//! | choose what is covered | [`Rules`], [`Globs`] |
//! | know when a file is taken for unchanged | [`trust`] |
//! | choose threads, show progress, stop a run | [`Options`], of `treewide-files` |
//!
//! The formats are specified in `docs/formats.md`, the reasons are in `docs/manifests.md`.
//!
//! # What a run promises
//!
//! - Memory does not grow with the number of files, except by removed and added paths (and a list that is not sorted).
//! - A name from a list is checked before anything is done with it, and nothing below the root is reached through a link that
//!   the rules do not follow.
//! - Every path has one verdict, and the counts add up to the number of paths.
//! - If a report [differs](Report::differs) nowhere and is [certain](Report::is_certain), then every listed file was read and
//!   has its digest, except for files that are counted as [not read](Report::files_unread), whose keys are as recorded.

#![forbid(unsafe_code)]

mod ahead;
mod contents;
mod door;
mod error;
mod format;
mod keep;
mod loss;
mod run;
mod sorter;
mod tree;

pub use contents::dupes::Dupes;
pub use contents::missing::Missing;
pub use door::{diff, dupes, missing, snapshot, update, verify};
pub use error::{Error, ErrorKind};
pub use format::manifest::{Index, Manifest, Records, facts as facts_of, index_path};
pub use format::rules::{Globs, Rules};
pub use format::{also, day, facts, index, list, record, statement, sums, trust, xattrs};
pub use keep::as_of::{PastRun, history, history_of, open};
pub use keep::draft::Totals;
pub use keep::journal;
pub use keep::located::{Bad, Located};
pub use keep::outboards::{Outboards, Written};
pub use keep::past::{PastTotals, past_path, past_totals};
pub use loss::Loss;
pub use run::scrub::Budget;
pub use run::verdict::{Change, Class, Evidence, Finding, Report, Since, Verdict};
pub use treewide_files::{Cancel, Options, Progress};

/// Duplicates, and what is missing: the results of [`dupes()`] and [`missing()`].
pub mod found {
    pub use crate::contents::dupes::{Found, Totals};
    pub use crate::contents::group::{Group, Kind, Member};
    pub use crate::contents::missing::{Lost, MissingFiles, MissingTotals};
    pub use crate::contents::root::Root;
}

/// Runs with every choice: which files are read, by which clock, into which place, and what is accepted.
pub mod machine {
    pub use crate::format::regular::not_a_list;
    pub use crate::keep::draft::Draft;
    pub use crate::keep::forget::Forget;
    pub use crate::keep::places::{Places, manifest_at};
    pub use crate::run::against::{Against, Compared};
    pub use crate::run::diff::diff;
    pub use crate::run::guard::Limit;
    pub use crate::run::update::{Made, Update};
    pub use crate::run::verify::Verify;
    pub use crate::tree::clock::Clock;
}
