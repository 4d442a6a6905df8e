//! A directory: what is in it now, and which digests its manifest knows.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode};
use crate::error::Error;
use crate::format::manifest::{Manifest, Records, index_path};
use crate::format::name;
use crate::format::record::{FileRecord, Record, What};
use crate::format::regular::{self, then};
use crate::format::rules::{Globs, Rules};
use crate::keep::as_of;
use crate::run::join::Walked;
use crate::run::verdict::Evidence;
use crate::tree::scan::{Entry, Own, Scan, Scanned, There};
use std::io;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide::file::read_at;
use treewide_files::{Identity, Options, Stamp};

/// What is below a directory, in the order of names.
#[derive(Debug)]
pub(crate) struct Tree {
    dir: PathBuf,
    pub(crate) items: Vec<Item>,
    /// Paths that could not be read, and why.
    pub(crate) failed: Vec<(PathBuf, String)>,
    /// Symbolic links: what they lead to is not looked at.
    pub(crate) links: u64,
    /// The manifest next to it, whose digests are taken for files that are as recorded.
    pub(crate) manifest: Option<Manifest>,
    /// Files whose digests it has.
    pub(crate) known: u64,
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
    /// Looks at everything, and reads nothing. If it is to be `quick`, the manifest next to it has the digests of files that are as it
    /// records them.
    pub(crate) fn walk(
        dir: &Path,
        (quick, rules): (bool, &Rules),
        options: &Options,
    ) -> Result<Self, Error> {
        let manifest = if quick { manifest_of(dir)? } else { None };
        let records = manifest.as_ref().map(Manifest::records).transpose()?;
        let mut recorded = Recorded { records, last: None };
        let (items, failed) = Default::default();
        let mut tree = Self { dir: dir.into(), items, failed, links: 0, manifest, known: 0 };
        // Half of the time is for the walk, and half for the metadata of each file. What a manifest leaves out is here as well.
        let scan = Scan::new(dir, rules, &Globs::default(), Own::default())?;
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
            let recorded = recorded.at(entry.name())?;
            let what = tree.what(&entry, recorded.as_ref()).unwrap_or_else(|error| {
                tree.failed.push((entry.path.clone(), error.to_string()));
                Thing::Unreadable
            });
            let name = entry.name().strip_suffix(b"/").unwrap_or(entry.name()).into();
            tree.items.push(Item { name, what });
        }
        if let (Some(mut records), Some(manifest)) = (recorded.records, &tree.manifest) {
            records.by_ref().try_for_each(|it| it.map(drop))?;
            records.check(manifest.list().path())?;
        }
        Ok(tree)
    }

    fn what(&mut self, entry: &Entry, recorded: Option<&FileRecord>) -> io::Result<Thing> {
        Ok(match entry.what {
            There::File(identity) => {
                let stamp = Stamp::at(&entry.path, false)?;
                let known = recorded.filter(|it| is_unchanged(it, &stamp)).map(|it| it.digest);
                let is_empty = stamp.len == 0 && !has_more(&entry.path);
                self.known += u64::from(known.is_some() && !is_empty);
                let digest = if is_empty { Some(EMPTY) } else { known };
                // All of an empty file was looked at.
                let is_known = known.is_some() && !is_empty;
                let evidence = if is_known { Evidence::Metadata } else { Evidence::Read };
                Thing::File(Box::new(File { identity, stamp, digest, evidence }))
            }
            There::Directory => Thing::Directory,
            There::Special(it) => Thing::Other(it.word().as_bytes().into()),
            There::Link => {
                self.links += 1;
                let to = entry.path.read_link()?;
                Thing::Other(to.into_os_string().into_encoded_bytes().into())
            }
        })
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
        Facts { size: Some(self.stamp.len), inode: Inode::of(&self.stamp), evidence: self.evidence }
    }
}

/// The records of a manifest, in the order of names.
struct Recorded {
    records: Option<Records>,
    last: Option<Record>,
}

impl Recorded {
    /// The record of a file. Names come in their order.
    fn at(&mut self, name: &[u8]) -> Result<Option<FileRecord>, Error> {
        let Some(records) = &mut self.records else { return Ok(None) };
        while self.last.as_ref().is_none_or(|it| it.name[..] < *name) {
            self.last = records.next().transpose()?;
            if self.last.is_none() {
                return Ok(None);
            }
        }
        let found = self.last.take_if(|it| it.name == name);
        Ok(found.and_then(|it| if let What::File(file) = it.what { Some(file) } else { None }))
    }
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
    if then(list).is_none()
        && index_path(list).symlink_metadata().is_err_and(|it| it.kind() == io::ErrorKind::NotFound)
    {
        return Ok(None);
    }
    let manifest = as_of::open(list)?;
    manifest.check_index()?;
    Ok(Some(manifest).filter(Manifest::has_index))
}

/// Whether a file that is said to be empty has a content, as those in `/proc` do.
fn has_more(path: &Path) -> bool {
    regular::open(path).is_ok_and(|file| read_at(&file, &mut [0], 0).is_ok_and(|read| read > 0))
}

/// Whether the file is as recorded, as `update` decides it.
fn is_unchanged(file: &FileRecord, now: &Stamp) -> bool {
    let facts = file.facts.as_ref().filter(|facts| facts.is_proven());
    facts.is_some_and(|it| it.bytes == now.len && it.key.as_ref().is_some_and(|key| key.is_of(now)))
}
