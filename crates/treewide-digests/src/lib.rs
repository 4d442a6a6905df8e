//! Check files against digests that already exist: lists of SHA-256 and other digests, and stores whose names are digests.
//!
//! ```
//! # let dir = std::env::temp_dir().join("treewide-digests-doc");
//! # std::fs::create_dir_all(&dir).unwrap();
//! # std::fs::write(dir.join("a"), "abc").unwrap();
//! # let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
//! # std::fs::write(dir.join("SHA256SUMS"), format!("{digest}  {}\n", dir.join("a").display())).unwrap();
//! use treewide_digests::{Algorithm, List, Reading};
//! use treewide_files::check::{ListedFiles, Verdict};
//! use treewide_files::{Event, Options, list::Lines};
//!
//! let path = dir.join("SHA256SUMS");
//! let files = ListedFiles::new(Lines::open(&path)?, List::new(&path, Reading::default()), false);
//! for event in Options::new().run(files) {
//!     let Event::File(file, result) = event else { continue };
//!     for (expected, verdict) in file.about.verdicts(result, false) {
//!         assert!(matches!(verdict, Verdict::Ok { bytes: 3 }));
//!         assert_eq!(expected.algorithm(), Some(Algorithm::SHA256));
//!     }
//! }
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```

#![forbid(unsafe_code)]

mod algorithm;
pub mod check;
mod expected;
mod list;
pub mod store;
mod wanted;
mod wording;

pub use algorithm::{Algorithm, Digester};
pub use expected::{By, Expected};
pub use list::{List, Reading};
pub use wanted::{Wanted, digests};
