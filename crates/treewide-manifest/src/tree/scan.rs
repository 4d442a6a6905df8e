//! Lists the paths below a root, in the order of a manifest.

use crate::error::Error;
use crate::format::name;
use crate::format::record::{Special, Type};
use crate::format::rules::{Globs, Rules};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use treewide_files::walk::{self, Found};
use treewide_files::{Identity, Stamp};

/// Something that a walk has found.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// Where its name begins in the path, unless the name has other bytes.
    start: usize,
    other: Option<Vec<u8>>,
    pub(crate) what: There,
    /// What the system says of a file, if that was asked for.
    pub(crate) stamp: Option<Stamp>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum There {
    File(Identity),
    Link,
    Directory,
    Special(Special),
}

impl Entry {
    pub(crate) fn new(path: PathBuf, root: &Path, what: There) -> Self {
        let (start, mut other) = match name::relative(&path, root) {
            Cow::Borrowed(name) => (path.as_os_str().len() - name.len(), None),
            Cow::Owned(name) => (0, Some(name)),
        };
        if matches!(what, There::Directory) {
            let mut name = other.unwrap_or_else(|| name_in(&path, start).to_owned());
            name.push(b'/');
            other = Some(name);
        }
        Self { path, start, other, what, stamp: None }
    }

    /// As in a record: that of a directory has a `/` at its end.
    pub(crate) fn name(&self) -> &[u8] {
        self.other.as_deref().unwrap_or_else(|| name_in(&self.path, self.start))
    }

    pub(crate) fn kind(&self) -> Type {
        match self.what {
            There::File(_) => Type::File,
            There::Link => Type::Link,
            There::Directory => Type::Directory,
            There::Special(special) => Type::Special(special),
        }
    }
}

/// The name that begins there in a path.
fn name_in(path: &Path, start: usize) -> &[u8] {
    &path.as_os_str().as_encoded_bytes()[start..]
}

pub(crate) enum Scanned {
    Entry(Entry),
    /// A place that could not be looked at; the name is as in a record if it is a directory.
    Failed {
        name: Vec<u8>,
        cause: String,
    },
}

/// A walk below a root.
pub(crate) struct Scan {
    /// Whether files are looked at, and links followed for that.
    stamps: Option<bool>,
    follows: bool,
    root: PathBuf,
    walk: walk::IntoIter,
    own: Own,
    only: Globs,
    next: Option<Scanned>,
    /// The last place that could not be looked at: the walk may say so twice, of a name and of the paths below it.
    failed: Option<Vec<u8>>,
}

impl Scan {
    /// Walks `root`, except for the files at `own`.
    pub(crate) fn new(root: &Path, rules: &Rules, only: &Globs, own: Own) -> Result<Self, Error> {
        let there = std::fs::metadata(root).map_err(|error| Error::read(root, error))?;
        if !there.is_dir() {
            let cause = "is not a directory; name the directory that the manifest is of";
            return Err(Error::read(root, io::Error::other(cause)));
        }
        let mut walk = rules.walk(root)?.directories(true);
        let exclude = Globs::new(&rules.exclude)?;
        if !exclude.is_empty() {
            let root = root.to_owned();
            let seen = Arc::clone(&own.seen);
            let excluded = seen.excluded.get_or_init(|| {
                let none = |_: &String| AtomicBool::new(false);
                exclude.texts().iter().map(none).collect()
            });
            debug_assert_eq!(excluded.len(), exclude.texts().len());
            walk = walk.filter(move |path, is_directory| {
                let excluded = seen.excluded.get().map_or(&[][..], Vec::as_slice);
                !exclude.matches_noting(&name::relative(path, &root), is_directory, excluded)
            });
        }
        let (root, walk, only) = (root.into(), walk.into_iter(), only.clone());
        let follows = rules.follow;
        Ok(Self { stamps: None, follows, root, walk, own, only, next: None, failed: None })
    }

    /// Also looks at each file that is found.
    pub(crate) fn stamps(self, follows: bool) -> Self {
        Self { stamps: Some(follows), ..self }
    }

    fn read(&mut self) -> Option<Scanned> {
        loop {
            let (path, what) = match self.walk.next()? {
                Found::File { path, identity, .. } => {
                    if self.own.has(&path, identity) {
                        continue;
                    }
                    (path, There::File(identity))
                }
                Found::Link(path) => (path, There::Link),
                Found::Directory(path) => (path, There::Directory),
                Found::Special { path, kind } => (path, There::Special(Special::of_walk(kind))),
                Found::Temporary(path) => {
                    if !self.own.has_place(&path) {
                        self.own.seen.leftovers.fetch_add(1, Ordering::Relaxed);
                    }
                    continue;
                }
                // A link that leads nowhere is a link, also where links are followed.
                Found::Failed(error) if self.follows && is_dangling(&error) => {
                    (error.path().to_owned(), There::Link)
                }
                Found::Failed(error) => {
                    let name = name::relative(error.path(), &self.root).into_owned();
                    if self.failed.as_ref() == Some(&name) {
                        continue;
                    }
                    self.failed = Some(name.clone());
                    return Some(Scanned::Failed { name, cause: error.kind().to_string() });
                }
                _ => continue,
            };
            let is_directory = matches!(what, There::Directory);
            let is_covered = self.only.is_empty()
                || self.only.cover(&name::relative(&path, &self.root), is_directory);
            if !is_covered {
                continue;
            }
            let mut entry = Entry::new(path, &self.root, what);
            if let (Some(follows), There::File(_)) = (self.stamps, what) {
                entry.stamp = Stamp::at(&entry.path, follows).ok();
            }
            return Some(Scanned::Entry(entry));
        }
    }
}

impl Iterator for Scan {
    type Item = Scanned;

    fn next(&mut self) -> Option<Scanned> {
        let this = match self.next.take() {
            Some(next) => next,
            None => self.read()?,
        };
        // A directory is found first, and then that it cannot be read.
        if let Scanned::Entry(entry) = &this
            && matches!(entry.what, There::Directory)
        {
            self.next = self.read();
            if let Some(Scanned::Failed { name: failed, cause }) = &self.next
                && entry.name().strip_suffix(b"/") == Some(&failed[..])
            {
                let (name, cause) = (entry.name().to_owned(), cause.clone());
                self.next = None;
                return Some(Scanned::Failed { name, cause });
            }
        }
        Some(this)
    }
}

fn is_dangling(error: &treewide_files::Error) -> bool {
    error.kind().io_kind() == Some(io::ErrorKind::NotFound)
        && error.path().symlink_metadata().is_ok_and(|it| it.is_symlink())
}

/// What a walk has passed over, known when it is done.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Temporary files that are not those of this run.
    pub(crate) leftovers: AtomicU64,
    /// Of each rule of exclusion, whether it matched anything.
    pub(crate) excluded: OnceLock<Vec<AtomicBool>>,
    /// Records that are not asked for.
    pub(crate) skipped: AtomicU64,
}

/// Files that a run writes, or that are the manifest itself: they are not covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// Device and inode of the file and of the directory that it is in, and the last part of the name: another name of the
    /// same file is covered.
    numbers: Vec<(u64, u64, (u64, u64), OsString)>,
    paths: Vec<PathBuf>,
    pub(crate) seen: Arc<Seen>,
}

impl Own {
    pub(crate) fn add(&mut self, path: &Path) {
        let Ok(stamp) = Stamp::at(path, true) else { return };
        let Ok(path) = path.canonicalize() else { return };
        match path.file_name() {
            // On Windows, a walk does not know the numbers.
            Some(name) if stamp.inode != 0 && !cfg!(windows) => {
                self.numbers.push((stamp.device, stamp.inode, folder_of(&path), name.into()));
            }
            _ => self.paths.push(path),
        }
    }

    /// A file that may only be written when the walk is under way.
    pub(crate) fn add_later(&mut self, path: &Path) {
        let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
        if let (Ok(folder), Some(name)) = (folder.canonicalize(), path.file_name()) {
            self.paths.push(folder.join(name));
        }
    }

    /// Whether a file of this name is in its place, whatever its inode is.
    fn has_place(&self, path: &Path) -> bool {
        let is = |(_, _, folder, name): &(u64, u64, (u64, u64), OsString)| {
            path.file_name() == Some(name) && folder_of(path) == *folder
        };
        self.numbers.iter().any(is) || self.paths.iter().any(|it| it.ends_with(path))
    }

    fn has(&self, path: &Path, identity: Identity) -> bool {
        let (device, inode) = identity.numbers();
        if inode != 0 {
            let is = |(of, number, folder, name): &(u64, u64, (u64, u64), OsString)| {
                (*of, *number) == (device, inode)
                    && path.file_name() == Some(name)
                    && folder_of(path) == *folder
            };
            if self.numbers.iter().any(is) {
                return true;
            }
        }
        let bytes = path.as_os_str().as_encoded_bytes();
        let has_name = |it: &PathBuf| {
            it.file_name().is_some_and(|name| bytes.ends_with(name.as_encoded_bytes()))
        };
        self.paths.iter().any(has_name)
            && path.canonicalize().is_ok_and(|path| self.paths.contains(&path))
    }
}

/// Device and inode of the directory that the path is in.
fn folder_of(path: &Path) -> (u64, u64) {
    let folder = path.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    Stamp::at(folder, true).map_or((0, 0), |it| (it.device, it.inode))
}
