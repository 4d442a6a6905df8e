//! A program that uses every public item of the `blake3` crate, compiled twice from one source:
//! with treewide under the name `blake3`, and with the real crate.
//!
//! That both compile is one half of the proof that a program can switch by changing its manifest.
//! The other half is the log of every item that each of them writes: `tests/same.rs`
//! compares the two, and `tests/items.rs` asks whether any item is missing from it.
//!
//! ```text
//!   program/*.rs  --  ours.rs    (blake3 = treewide)  --> ours():   the log
//!       same source
//!                 --  theirs.rs  (blake3 = blake3)    --> theirs(): the log
//! ```
#![allow(clippy::duplicate_mod)] // The same source twice is what this crate is for.

mod ours;
mod theirs;

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::PathBuf;
use std::sync::Once;

pub use ours::program::run as ours;
pub use theirs::program::run as theirs;

/// Something that an item did.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The item, named as in `tests/items.txt`.
    pub item: &'static str,
    /// Its log, as text.
    pub value: String,
}

/// What was seen so far.
#[derive(Default)]
struct Log(Vec<Seen>);

impl Log {
    fn see(&mut self, item: &'static str, value: impl Debug) {
        self.0.push(Seen { item, value: format!("{value:?}") });
    }
}

/// Whether `misuse` panics, as its documentation says. It does so without a message: a log full of
/// expected panics would hide the one that no test expects.
fn panics<T>(misuse: impl FnOnce() -> T) -> bool {
    thread_local!(static EXPECTED: Cell<bool> = const { Cell::new(false) });
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                print(panic);
            }
        }));
    });
    EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(misuse));
    EXPECTED.set(false);
    result.is_err()
}

/// The input of the official test vectors.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// A file that holds `pattern(len)`, and is deleted when it is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(len: usize, name: &str) -> TempFile {
        let name = format!("treewide-compat-{}-{name}-{len}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, pattern(len)).expect("a file can be written");
        TempFile(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that stays behind in the temporary directory does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}
