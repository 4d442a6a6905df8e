//! A directory: what is in it now, and which digests its manifest knows.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode};
use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Manifest, Records, index_path, unusable_index};
use crate::format::name;
use crate::format::record::{FileRecord, Record, Type, What};
use crate::format::regular;
use crate::format::rules::{Globs, Rules};
use crate::run::guard::{Guard, Limit};
use crate::run::join::Walked;
use crate::run::verdict::Evidence;
use crate::tree::scan::{Own, Scan, Scanned, There};
use std::io;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide::file::read_at;
use treewide_files::{Identity, Options, Stamp};

/// What is below a directory, in the order of names.
#[derive(Debug)]
pub(crate) struct Tree {
    dir: PathBuf,
    /// Whether names of symbolic links are those of the files that they lead to.
    pub(crate) follows: bool,
    pub(crate) items: Vec<Item>,
    /// Paths that could not be read, and why.
    pub(crate) failed: Vec<(PathBuf, String)>,
    /// The manifest next to it, whose digests are taken for files that are as recorded.
    pub(crate) manifest: Option<PathBuf>,
    /// Files whose digests it has.
    pub(crate) known: u64,
    /// Files that it names and that are not there.
    pub(crate) gone: u64,
}

#[derive(Debug)]
pub(crate) struct Item {
    name: Box<[u8]>,
    pub(crate) what: Thing,
}

#[derive(Debug)]
pub(crate) enum Thing {
    File(Box<File>),
    Directory,
    Other(Box<[u8]>),
    Unreadable,
}

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) identity: Identity,
    pub(crate) stamp: Stamp,
    pub(crate) digest: Option<[u8; OUT_LEN]>,
    pub(crate) evidence: Evidence,
}

impl Tree {
    /// Looks at everything, and reads nothing.
    pub(crate) fn walk(dir: &Path, options: &Options) -> Result<Self, Error> {
        let manifest = manifest_of(dir)?;
        let rules = manifest.as_ref().map_or_else(Rules::default, Manifest::rules);
        // What a manifest leaves out is here, and could be gone with a folder that is equal without it.
        let rules = Rules { follow: rules.follow, ..Rules::default() };
        let recorded = manifest.as_ref().map(|it| Recorded::new(it, dir));
        let mut recorded = recorded.transpose()?;
        let list = manifest.as_ref().map(|it| it.list().path().to_owned());
        let mut tree = Self {
            dir: dir.into(),
            follows: rules.follow,
            items: Vec::new(),
            failed: Vec::new(),
            manifest: list,
            known: 0,
            gone: 0,
        };
        // Half of the time is for the walk, and half for the metadata of each file.
        let scan = Scan::new(dir, &rules, &Globs::default(), Own::default())?;
        for found in Walked::on_thread(scan) {
            if tree.items.len().is_multiple_of(4096) && options.is_cancelled() {
                return Err(Error::cancelled());
            }
            let entry = match found {
                Scanned::Entry(entry) => entry,
                Scanned::Failed { name, cause } => {
                    let path = name::path(&name);
                    let is_top = path.as_os_str().is_empty();
                    if is_top && !tree.items.is_empty() {
                        // The walk has ended early.
                        return Err(Error::read(dir, io::Error::other(cause)));
                    }
                    tree.failed.push((if is_top { dir.into() } else { dir.join(path) }, cause));
                    let name = name.strip_suffix(b"/").unwrap_or(&name).into();
                    tree.items.push(Item { name, what: Thing::Unreadable });
                    continue;
                }
            };
            let is_file = matches!(entry.what, There::File(_));
            let stamp = match entry.what {
                There::File(_) => Stamp::at(&entry.path, rules.follow).map(Some),
                _ => Ok(None),
            };
            let record = match &mut recorded {
                Some(recorded) => recorded.at(
                    entry.name(),
                    is_file,
                    stamp.as_ref().ok().and_then(Option::as_ref),
                )?,
                None => None,
            };
            let what = stamp.and_then(|stamp| match (entry.what, stamp) {
                (There::File(identity), Some(stamp)) => {
                    let known = match record.map(|it| &it.what) {
                        Some(What::File(file)) if is_unchanged(file, &stamp) => Some(file.digest),
                        _ => None,
                    };
                    let is_empty = stamp.len == 0 && !has_more(&entry.path);
                    tree.known += u64::from(known.is_some() && !is_empty);
                    let digest = if is_empty { Some(EMPTY) } else { known };
                    let evidence = digest.map_or(Evidence::Read, |_| Evidence::Metadata);
                    Ok(Thing::File(Box::new(File { identity, stamp, digest, evidence })))
                }
                (There::Directory, _) => Ok(Thing::Directory),
                (There::Special(it), _) => Ok(Thing::Other(it.word().as_bytes().into())),
                (There::Link | There::File(_), _) => {
                    let to = entry.path.read_link()?;
                    Ok(Thing::Other(to.into_os_string().into_encoded_bytes().into()))
                }
            });
            let what = what.unwrap_or_else(|error| {
                tree.failed.push((entry.path.clone(), error.to_string()));
                Thing::Unreadable
            });
            let name = entry.name().strip_suffix(b"/").unwrap_or(entry.name()).into();
            tree.items.push(Item { name, what });
        }
        if let (Some(recorded), Some(list)) = (recorded, &tree.manifest) {
            tree.gone = recorded.gone(list, tree.failed.is_empty())?;
        }
        Ok(tree)
    }

    /// The file at this place.
    pub(crate) fn file(&self, at: usize) -> Option<&File> {
        match &self.items[at].what {
            Thing::File(file) => Some(file),
            _ => None,
        }
    }

    pub(crate) fn file_mut(&mut self, at: usize) -> Option<&mut File> {
        match &mut self.items[at].what {
            Thing::File(file) => Some(file),
            _ => None,
        }
    }

    /// The path of the item at this place.
    pub(crate) fn path(&self, at: usize) -> PathBuf {
        self.dir.join(name::path(&self.items[at].name))
    }

    /// Calls `each` for everything.
    pub(crate) fn each(&self, each: &mut Each<'_>) -> Result<(), Error> {
        self.items.iter().try_for_each(|item| match &item.what {
            Thing::File(file) => each(&item.name, Kind::File(file.digest, file.facts())),
            Thing::Directory => each(&item.name, Kind::Directory),
            Thing::Other(what) => each(&item.name, Kind::Other(what)),
            Thing::Unreadable => each(
                &item.name,
                Kind::File(None, Facts { evidence: Evidence::Read, ..Facts::CLAIMED }),
            ),
        })
    }
}

impl File {
    fn facts(&self) -> Facts {
        Facts {
            size: Some(self.stamp.len),
            inode: Inode::of(&self.stamp),
            evidence: self.evidence,
            has_key: false,
        }
    }
}

/// The records of a manifest, and what was found of them.
struct Recorded<'a> {
    records: Records,
    last: Option<Record>,
    /// Whether the last one is there.
    is_there: bool,
    gone: u64,
    guard: Guard<'a>,
}

impl<'a> Recorded<'a> {
    fn new(manifest: &'a Manifest, dir: &'a Path) -> Result<Self, Error> {
        let guard = Guard::new(Some(manifest), dir, Limit::default());
        Ok(Self { records: manifest.records()?, last: None, is_there: false, gone: 0, guard })
    }

    fn next(&mut self) -> Result<bool, Error> {
        if let Some(last) = self.last.take().filter(|_| !self.is_there) {
            self.guard.gone(&last);
            self.gone += u64::from(last.kind() == Type::File);
        }
        self.last = self.records.next().transpose()?;
        self.is_there = false;
        Ok(self.last.is_some())
    }

    /// The record of a path that is there. Names come in their order.
    fn at(
        &mut self,
        name: &[u8],
        is_file: bool,
        stamp: Option<&Stamp>,
    ) -> Result<Option<&Record>, Error> {
        while self.last.as_ref().is_none_or(|it| it.name[..] < *name) && self.next()? {}
        let Some(found) = self.last.take_if(|it| it.name == name) else {
            if stamp.is_some_and(|it| it.len > 0) {
                self.guard.new_file(name);
            }
            return Ok(None);
        };
        self.is_there = is_file == (found.kind() == Type::File);
        if let (What::File(was), true) = (&found.what, self.is_there) {
            self.guard.found(name, was, stamp.is_none_or(|it| has_times(was, it)));
        }
        Ok(Some(self.last.insert(found)))
    }

    /// How many recorded files are not there. An error if a disk may be off, and `all` could be looked at.
    fn gone(mut self, list: &Path, all: bool) -> Result<u64, Error> {
        while self.next()? {}
        if let Some(damage) = self.records.damage() {
            return Err(unusable_index(list, damage));
        }
        match self.guard.loss().filter(|_| all) {
            Some(loss) => {
                let cause = format!("{loss}; or move this manifest away, and every file is read");
                Err(Error::new(list, ErrorKind::List(cause)))
            }
            None => Ok(self.gone),
        }
    }
}

/// Whether a file that was not read has the size and mtime that are recorded.
fn has_times(was: &FileRecord, now: &Stamp) -> bool {
    was.facts.as_ref().is_some_and(|it| {
        it.bytes == now.len && it.seen().is_none_or(|seen| seen.moved(now).is_some())
    })
}

/// The manifest of a directory, if it is next to it and has an index.
fn manifest_of(dir: &Path) -> Result<Option<Manifest>, Error> {
    let full = if dir.file_name().is_some() { Some(dir.into()) } else { dir.canonicalize().ok() };
    let Some((full, mut list)) = full.and_then(|it| Some((it.clone(), it.file_name()?.to_owned())))
    else {
        return Ok(None);
    };
    list.push(".b3");
    indexed(&full.with_file_name(list))
}

/// The manifest at this list, if it has an index.
pub(crate) fn indexed(list: &Path) -> Result<Option<Manifest>, Error> {
    // One that cannot be looked at is there: a link to a disk that is off, for one.
    if index_path(list).symlink_metadata().is_err_and(|it| it.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let manifest = Manifest::open(list)?;
    manifest.check_index()?;
    Ok(Some(manifest).filter(Manifest::has_index))
}

/// Whether a file that is said to be empty has a content, as those in `/proc` do.
fn has_more(path: &Path) -> bool {
    regular::open(path).is_ok_and(|file| read_at(&file, &mut [0], 0).is_ok_and(|read| read > 0))
}

/// Whether the file is as recorded, as `update` decides it.
fn is_unchanged(file: &FileRecord, now: &Stamp) -> bool {
    let facts = file.facts.as_ref().filter(|facts| facts.read.is_some());
    facts.is_some_and(|it| it.bytes == now.len && it.key.as_ref().is_some_and(|key| key.is_of(now)))
}
