//! Hash trees of files with BLAKE3, and write and read lists of their digests.
//!
//! This is the engine of the command line `treewide`, as a library. It walks directories, hashes small files
//! next to each other in the lanes of the kernel and large ones with every thread, and returns results in a
//! fixed order within bounded memory. It prints nothing and never ends the process, and
//! its errors name the file and the cause. The only signal handler is the one by which [`treewide::file`]
//! guards mapped files; [`Options::mapping`] turns it off.
//!
//! # Hash a tree
//!
//! ```
//! # let dir = std::env::temp_dir().join("treewide-files-doc-tree");
//! # std::fs::create_dir_all(dir.join("photos")).unwrap();
//! # std::fs::write(dir.join("photos/a"), "a").unwrap();
//! # std::fs::write(dir.join("photos/b"), "b").unwrap();
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! use treewide_files::{Options, list, name::Listed, walk::Walk};
//!
//! let bytes = Arc::new(AtomicU64::new(0));
//! let counter = Arc::clone(&bytes);
//! let progress = move |_files, bytes| {
//!     counter.fetch_add(bytes, Relaxed);
//! };
//!
//! let mut sums = Vec::new();
//! let options = Options::new().progress(Arc::new(progress));
//! for result in options.hash_tree(Walk::new(dir.join("photos"))) {
//!     match result {
//!         Ok((path, hashed)) => list::write_plain(&mut sums, &Listed::new(&path), hashed.digest)?,
//!         Err(error) => eprintln!("{error}"), // the file and the cause; the others are hashed
//!     }
//! }
//! std::fs::write(dir.join("SUMS"), sums)?;
//! assert_eq!(bytes.load(Relaxed), 2);
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Where to look
//!
//! | to | use |
//! |---|---|
//! | choose mode, digest length, threads, strategy | [`Options`] |
//! | hash files, a tree, one file | [`Options::hash_files`], [`Options::hash_tree`], [`Options::hash`] |
//! | find files yourself, keep something with each, or add notes between them | [`Source`], [`Options::run`] |
//! | hash large files in another way, such as on a GPU | [`HashAlone`], [`Options::run_with`] |
//! | find digests of other algorithms in the same run, or of one file | [`Source::other`], [`Options::hash_other`] |
//! | hear how far a run has come, stop it | [`Progress`], [`Cancel`] |
//! | find the files below a directory | [`walk`] |
//! | write and read lists, and find the files that they name | [`list`], [`check`] |
//! | turn names into text and back | [`name`] |
//! | write a list or another file that appears all at once | [`Replacement`] |
//! | read a file in order, and be sure that it ends at its length | [`Whole`] |
//!
//! # What a run promises
//!
//! - Results come in the order in which files were named or found, one for each, and an error of one leaves the others as they
//!   are.
//! - At most 8192 files are under way and at most one file for each thread is open, so memory is bounded (about
//!   10 MiB, and 130 bytes for each file of the largest directory).
//! - What a walk has found is what is hashed: a file, a link or a pipe that was put in its place, or a link in the place of
//!   a directory on the way, is [`ErrorKind::Replaced`]. (On Windows only what is not a regular file.)
//! - A file that becomes shorter while it is being hashed, or does not end at its length, is an error; see [`treewide::file`] for the
//!   other promises about files that change.

#![forbid(unsafe_code)]

pub mod check;
pub mod digest;
mod error;
mod files;
#[cfg(target_os = "linux")]
mod folder;
mod group;
mod identity;
mod links;
pub mod list;
pub mod long_path;
pub mod name;
mod opening;
mod options;
mod other;
mod overwrite;
mod progress;
mod queue;
mod replacement;
mod run;
pub mod size;
mod small_files;
mod spare;
mod stamp;
mod task;
mod temporary;
pub mod walk;
mod whole;

pub use error::{Error, ErrorKind};
pub use identity::Identity;
pub use options::{Hashed, Options};
pub use progress::Progress;
pub use replacement::Replacement;
pub use run::{Event, HashAlone, Run};
pub use spare::{Spare, Taken};
pub use stamp::{Stamp, Stamps};
pub use task::{Found, Item, Kind, Next, Other, Source, Task};
pub use temporary::{Locked, create_temporary, is_temporary, remove_leftovers, temporary_name};
pub use treewide::Cancel;
pub use whole::Whole;
