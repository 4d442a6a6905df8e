//! Compares the files of a tree with the digests of lists, in the reading in which their BLAKE3 digests are found.

use crate::error::Error;
use crate::format::also::Also;
use crate::format::name;
use crate::run::read::Read;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use treewide_digests::check::{Finding, Total};
use treewide_digests::{Algorithm, Expected, List, Reading};
use treewide_files::check::{ListedFiles, Note, Verdict};
use treewide_files::list::Lines;
use treewide_files::name::{shown, shown_text};
use treewide_files::{ErrorKind, Item, Source};

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

    /// The digests that lists of any program have of files in `dir`. Names are relative to `dir`, wherever the list is. `say` gets what is
    /// wrong with a list. `None` if one cannot be relied on, because it seems to be cut off, names no file, or names one that is not in
    /// `dir`.
    ///
    /// # Errors
    /// If a list or `dir` cannot be read.
    pub fn of_lists(
        lists: impl IntoIterator<Item = (PathBuf, io::Result<Lines>)>,
        dir: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Option<Self>, Error> {
        let whole = dir.canonicalize().map_err(|error| Error::read(dir, error))?;
        // With the links that the shell followed to the working directory.
        let here = std::env::var_os("PWD").map(|it| PathBuf::from(it).join(dir));
        let here = here.filter(|it| it.canonicalize().is_ok_and(|it| it == whole));
        let dirs = [dir.to_owned(), whole].into_iter().chain(here).collect();
        let mut reader = Reader { dirs, against: Self::new(), faults: 0, say };
        let mut number = 0;
        for (list, lines) in lists {
            number += 1;
            let lines = lines.map_err(|error| Error::read(&list, error))?;
            reader.read(&list, lines)?;
        }
        let first = reader.against.listed().keys().next().cloned();
        let is_there = |name: &Vec<u8>| dir.join(name::path(name)).symlink_metadata().is_ok();
        let is_none = reader.faults == 0 && !reader.against.listed().keys().any(is_there);
        if let Some(first) = first.filter(|_| is_none) {
            let cause = "is not in the directory, nor is any other listed file; names are relative to it, so name the one that the list \
                         was made in";
            reader.fault(&shown(&name::path(&first)), cause);
        }
        if reader.faults > 0 {
            let lists = if number == 1 { "the list" } else { "a list" };
            (reader.say)(format!("{lists} cannot be relied on, so nothing was read or written"));
            return Ok(None);
        }
        Ok(Some(reader.against))
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

/// Reads lists.
struct Reader<'a> {
    /// A directory as it was named, without links, and as the shell shows it.
    dirs: Vec<PathBuf>,
    against: Against,
    /// What makes a list unusable.
    faults: u64,
    say: &'a mut dyn FnMut(String),
}

impl Reader<'_> {
    fn fault(&mut self, about: &str, cause: &str) {
        self.faults += 1;
        (self.say)(format!("{about}: {}", shown_text(cause)));
    }

    fn read(&mut self, path: &Path, lines: Lines) -> Result<(), Error> {
        // Names that are relative to the list are so to the directory, unless the list is below it.
        let in_dir = path.canonicalize().ok().filter(|it| it.starts_with(&self.dirs[1]));
        let named = in_dir.unwrap_or_else(|| path.file_name().unwrap_or_default().into());
        let list = List::new(&named, Reading::default());
        let mut files = ListedFiles::new(lines, list, false).relative_to(&self.dirs[0]);
        let mut found = 0;
        while let Some(item) = files.next() {
            match item {
                Item::File(file) => {
                    found += 1;
                    match self.name(&file.path) {
                        Ok(name) => self.against.expect(name, file.about),
                        Err(cause) => self.fault(&shown(&file.path), cause),
                    }
                }
                // The list has no digest of such files.
                Item::Note(Note::Settled { verdict: Verdict::Skipped(_), .. }) => {}
                Item::Note(Note::Settled { path, verdict, .. }) => {
                    let cause = match verdict {
                        Verdict::Unverified(cause) => cause,
                        Verdict::Unreadable(cause) => cause.to_string(),
                        _ => String::new(),
                    };
                    self.fault(&shown(&path), &cause);
                }
                Item::Note(Note::Malformed(line)) => {
                    self.fault(&format!("{}:{}", shown(path), line.number), &line.cause);
                }
                Item::Note(Note::Unreadable(error)) => return Err(Error::read(path, error)),
            }
        }
        if found == 0 && self.faults == 0 {
            self.fault(&shown(path), "names no file with a digest");
        }
        Ok(())
    }

    /// The name that the manifest has for this path.
    fn name(&self, path: &Path) -> Result<Vec<u8>, &'static str> {
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err("is named as a directory");
        }
        let below = self.dirs.iter().find_map(|dir| path.strip_prefix(dir).ok());
        let below = below.ok_or("is not in the directory, so that nothing compares it")?;
        let mut name = Vec::new();
        for part in below.components() {
            match part {
                Component::CurDir => continue,
                Component::Normal(part) => name.extend([b"/", part.as_encoded_bytes()].concat()),
                _ => return Err("has .. in its name; names are relative to the directory"),
            }
        }
        Ok(name.split_off(1.min(name.len())))
    }
}
