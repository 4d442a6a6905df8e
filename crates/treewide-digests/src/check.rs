//! Checking lists and stores, one after the other, to one verdict.
//!
//! ```
//! # let dir = std::env::temp_dir().join("treewide-digests-doc-check");
//! # std::fs::create_dir_all(&dir).unwrap();
//! # std::fs::write(dir.join("a"), "abc").unwrap();
//! # let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
//! # let name = dir.join("a").display().to_string().replace('\\', "/");
//! # std::fs::write(dir.join("SHA256SUMS"), format!("{digest}  {name}\n")).unwrap();
//! use treewide_digests::check::{Check, Event};
//! use treewide_files::Options;
//!
//! let mut results = Check::default().run(vec![dir.join("SHA256SUMS")], &Options::new());
//! for event in &mut results {
//!     let Event::Finding(finding) = event else { continue };
//!     println!("{}: {}", finding.path.display(), finding.status.word());
//! }
//! assert!(results.total().is_good());
//! assert_eq!(results.total().to_string(), "1 file checked: 1 OK, by SHA-256");
//! # std::fs::remove_dir_all(&dir).unwrap();
//! ```

mod absent;
mod finding;
mod operands;
mod results;
mod stores;
mod total;

pub use finding::{Counts, Finding, Status};
pub use operands::{Learnt, Note, Operands, Ran};
pub use results::{Event, ListEnd, Results};
pub use stores::StoreTally;
pub use total::Total;

use crate::list::Reading;
use crate::store::Kind;
use std::path::{Path, PathBuf};
use treewide_files::check::refuse_stream;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, HashAlone, Hashed, Options, Other};

/// What may have no end is not read, by whatever algorithm.
struct WithoutStreams;

impl HashAlone for WithoutStreams {
    fn hash_alone(&mut self, path: &Path, _: Extent) -> Option<Result<Hashed, ErrorKind>> {
        refuse_stream(path)
    }

    fn read_alone(&mut self, path: &Path, _: &mut dyn Other) -> Option<Result<Hashed, ErrorKind>> {
        refuse_stream(path)
    }
}

/// How lists and stores are checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    /// How lists are read.
    pub reading: Reading,
    /// Whether listed files that do not exist are passed over, and objects of stores that are named and do not exist.
    pub ignore_missing: bool,
    /// Whether what was skipped is a failure.
    pub strict: bool,
    /// Only stores of this kind are looked for.
    pub kind: Option<&'static Kind>,
    /// Stores are looked for everywhere below a directory.
    pub recursive: bool,
}

impl Check {
    /// Checks lists, and directories with stores. The verdict is [`Results::total`], at the end.
    pub fn run(
        self,
        paths: Vec<PathBuf>,
        options: &Options,
    ) -> Results<impl Iterator<Item = Ran> + use<>> {
        self.results(options.run_with(Operands::new(self, paths), WithoutStreams))
    }

    /// The results of a run over [`Operands`].
    pub fn results<R: Iterator<Item = Ran>>(self, run: R) -> Results<R> {
        Results::new(self, run)
    }
}
