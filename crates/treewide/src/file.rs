//! Hashes files, each by the fastest strategy that is safe, in bounded memory.
//!
//! ```
//! # let path = std::env::temp_dir().join("treewide-doc-file");
//! # std::fs::write(&path, b"abc").unwrap();
//! use treewide::Mode;
//! use treewide::file::{self, Options, Strategy};
//!
//! let hash = file::hash(&path)?;
//! // Another mode, strategy, or length of output.
//! let hashed = Options::new().mode(Mode::keyed(&[7; 32])).strategy(Strategy::Pread).hash(&path)?;
//! let mut output = [0; 100];
//! hashed.output().fill(&mut output);
//! # assert_eq!(hash, treewide::hash(b"abc"));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), file::Error>(())
//! ```
//!
//! # Which strategy is used when
//!
//! | input | [`Strategy::Auto`] takes | reason |
//! |---|---|---|
//! | up to 1 MiB | [`Read`](Strategy::Read) | the calling thread fills one buffer and hashes it; other threads would not be awake in time |
//! | pipe, socket, terminal, device | [`ReadOverlapped`](Strategy::ReadOverlapped) | the length is unknown, and only one thread can read |
//! | file of length 0 with content (`/proc`), or whose length is a guess (`/sys`) | [`Read`](Strategy::Read) | such files are short, and reading is the only way to find the length |
//! | not in the page cache, on a rotating disk or a network file system | [`ReadOverlapped`](Strategy::ReadOverlapped) | one reader reads in order: seeks and round trips cost more than everything else |
//! | not in the page cache, elsewhere | [`Pread`](Strategy::Pread), alternately at up to four places of the file, at least 64 MiB apart | the system reads ahead at each of them, so the device has work while one of them is hashed |
//! | in the page cache, less than 16 MiB | [`Pread`](Strategy::Pread) | mapping and unmapping would cost more than copying |
//! | in the page cache, more | [`MmapParallel`](Strategy::MmapParallel), [`Mmap`](Strategy::Mmap) with one thread | nothing is copied, if the cache holds the file in large pieces; if not, tiles are copied as with [`Pread`](Strategy::Pread) |
//!
//! In the last case, the first eight tiles of every 256 MiB are hashed both ways, and the faster one continues.
//! With [`Options::mapping`] off, the last case is [`Pread`](Strategy::Pread).
//!
//! A strategy that you name is used for every file that it can read. Other files are read as in this table;
//! [`Report::strategy`] says how.
//!
//! # What is promised
//!
//! - A file that **becomes shorter** while it is being hashed is an [error](ErrorKind::Shrank) that names it, with
//!   every strategy. Mappings are guarded: if a page disappears, a handler of SIGBUS puts zeros in its place and
//!   the hash is discarded. Other faults go to the handler that was installed before. Where there is no such
//!   handler (Windows, or if the program installs its own one later), mapping strategies read instead.
//! - A file whose reading **ends before its length**, which stays the same, is an [error](ErrorKind::Ended): some network
//!   file systems report a lost connection as the end of the file. A file that [continues](ErrorKind::GoesOn) after
//!   its length is an error too. Only where lengths are guesses (length 0, `/proc`, `/sys` and similar file systems of Linux) is the end
//!   of reading the end of the file.
//! - A file that **becomes longer** is hashed up to the length that it had at the beginning, or, if it was empty
//!   then, up to the length that it has when its first bytes are read. [`Report::grown_to`] reports this.
//! - Memory does not depend on the length of the file: at most a buffer of 512 KiB for each thread, 32 MiB for all
//!   threads together, and 1 MiB of chaining values; at most 256 MiB are mapped at a time.
//! - If the content is overwritten in place while it is being hashed, the digest is of a mixture, as with every
//!   program that reads it.

mod device;
mod end;
mod error;
#[cfg(feature = "async")]
mod future;
mod hooks;
mod in_order;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
mod map;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
#[path = "file/unmapped.rs"]
mod map;
mod opening;
mod options;
#[cfg(feature = "outboard")]
mod outboard;
#[cfg(feature = "outboard")]
mod range;
mod read;
mod report;
mod strategy;
mod watch;
#[cfg(windows)]
pub mod windows;

pub use end::{check_end, check_length, promises_length, read_at};
pub use error::{Error, ErrorKind};
pub use opening::{open, open_at_once, open_found, open_watched};
pub use options::{Options, hash};
#[cfg(feature = "outboard")]
pub use outboard::{OutboardError, Outboarded};
pub use report::{Hashed, Report};
pub use strategy::{Strategy, UnknownStrategy};
