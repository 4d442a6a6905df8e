//! Compares the files of a tree with the digests of lists, in the reading in which their BLAKE3 digests are found.

use crate::format::also::Also;
use crate::format::name;
use crate::run::judge::Read;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treewide_digests::check::{Finding, Total};
use treewide_digests::{Algorithm, Expected};
use treewide_files::ErrorKind;
use treewide_files::check::Verdict;

/// Digests that the files of a tree should have.
#[derive(Clone, Debug, Default)]
pub struct Against(Arc<Mutex<BTreeMap<Vec<u8>, Vec<Expected>>>>);

/// The result of comparing files with them.
#[derive(Debug, Default)]
pub struct Compared {
    /// Files that do not have a listed digest, or could not be compared with it, in the order of their paths, which are relative to the tree.
    pub differ: Vec<Finding>,
    /// Files that have all listed digests.
    pub ok: u64,
    /// The algorithms of these digests.
    pub algorithms: Vec<Algorithm>,
    /// Files of the tree that no list has a digest of.
    pub unlisted: u64,
}

impl Against {
    /// No digests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a digest of the file with this [name](crate::record::Record::name).
    pub fn expect(&mut self, name: impl Into<Vec<u8>>, expected: Expected) {
        self.listed().entry(name.into()).or_default().push(expected);
    }

    fn listed(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Vec<Expected>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The algorithms by which digests of this file are wanted.
    pub(crate) fn algorithms(&self, name: &[u8]) -> Vec<Algorithm> {
        let listed = self.listed();
        listed.get(name).into_iter().flatten().flat_map(Expected::algorithms).collect()
    }

    /// The files that were not seen.
    fn rest(&self) -> BTreeMap<Vec<u8>, Vec<Expected>> {
        std::mem::take(&mut *self.listed())
    }
}

impl Compared {
    /// Whether something was compared, and nothing differs.
    pub fn is_success(&self) -> bool {
        self.differ.is_empty() && self.ok > 0
    }

    /// The counts of listed files.
    pub fn total(&self) -> Total {
        Total::of(self.ok, &self.algorithms, &self.differ)
    }

    /// A file was read, or could not be. `also` has the digests by other algorithms.
    pub(crate) fn add(&mut self, against: &Against, name: &[u8], read: &Result<Read, ErrorKind>) {
        let Some(all) = against.listed().remove(name) else {
            self.unlisted += u64::from(read.is_ok());
            return;
        };
        match read {
            Ok(read) if read.stamp.is_some() => {
                let mut found: Also = read.also.clone();
                found.push((Algorithm::BLAKE3, read.digest.into()));
                let bytes = read.bytes;
                self.judged(name, all.into_iter().flat_map(|it| it.judge(bytes, &found)));
            }
            Ok(_) => {
                let cause = || ErrorKind::Other("changed each time that it was read".into());
                self.unread(name, all, cause);
            }
            Err(error) => self.unread(name, all, || error.again()),
        }
    }

    fn judged(&mut self, name: &[u8], all: impl Iterator<Item = (Expected, Verdict)>) {
        let (mut algorithms, mut is_ok) = (Vec::new(), true);
        for (expected, verdict) in all {
            match verdict {
                Verdict::Ok { .. } => algorithms.extend(expected.algorithm()),
                verdict => {
                    is_ok = false;
                    self.differ.push(Finding::of(name::path(name), &expected, verdict));
                }
            }
        }
        if is_ok && algorithms.is_empty() {
            // A length alone says nothing of the content.
            self.unlisted += 1;
        } else if is_ok {
            self.ok += 1;
            algorithms.retain(|it| !self.algorithms.contains(it));
            self.algorithms.extend(algorithms);
        }
    }

    fn unread(&mut self, name: &[u8], all: Vec<Expected>, cause: impl Fn() -> ErrorKind) {
        let all = all.into_iter().flat_map(|it| it.verdicts(Err(cause()), false));
        self.judged(name, all.collect::<Vec<_>>().into_iter());
    }

    /// The listed files that the walk has not found in `root`.
    pub(crate) fn end(&mut self, against: &Against, root: &Path) {
        for (name, all) in against.rest() {
            let there = root.join(name::path(&name)).symlink_metadata();
            self.unread(&name, all, || match &there {
                Ok(_) => {
                    ErrorKind::Other("is there, and is not a file that the manifest covers".into())
                }
                Err(error) => ErrorKind::open(match error.raw_os_error() {
                    Some(number) => io::Error::from_raw_os_error(number),
                    None => error.kind().into(),
                }),
            });
        }
        self.differ.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    }
}
