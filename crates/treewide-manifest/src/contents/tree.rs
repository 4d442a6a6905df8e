//! A directory: what is in it now, and which digests its manifest knows.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode};
use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Manifest, Records, index_path, unusable_index};
use crate::format::name;
use crate::format::record::{FileRecord, Record, What};
use crate::format::regular;
use crate::format::rules::{Globs, Rules};
use crate::run::join::Walked;
use crate::run::verdict::Evidence;
use crate::tree::scan::{Own, Scan, Scanned, There};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide::file::read_at;
use treewide_files::name::shown;
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
        let mut recorded = manifest.as_ref().map(Recorded::new).transpose()?;
        let list = manifest.map(|it| it.list().path().to_owned());
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
            let record = match &mut recorded {
                Some(recorded) => recorded.at(entry.name(), is_file)?,
                None => None,
            };
            let stamp = match entry.what {
                There::File(_) => Stamp::at(&entry.path, rules.follow).ok(),
                _ => None,
            };
            let what = match (entry.what, stamp) {
                (There::File(identity), Some(stamp)) => {
                    let (digest, evidence) = match record {
                        _ if stamp.len == 0 && !has_more(&entry.path) => {
                            (Some(EMPTY), Evidence::Metadata)
                        }
                        Some(Record { what: What::File(file), .. })
                            if is_unchanged(file, &stamp) =>
                        {
                            tree.known += 1;
                            (Some(file.digest), Evidence::Metadata)
                        }
                        _ => (None, Evidence::Read),
                    };
                    Thing::File(Box::new(File { identity, stamp, digest, evidence }))
                }
                (There::Directory, _) => Thing::Directory,
                (There::Special(special), _) => Thing::Other(special.word().as_bytes().into()),
                (There::Link, _) => match entry.path.read_link() {
                    Ok(to) => Thing::Other(to.into_os_string().into_encoded_bytes().into()),
                    Err(error) => tree.unreadable(&entry.path, error.to_string()),
                },
                (There::File(_), None) => {
                    tree.unreadable(&entry.path, "the system says nothing of it".into())
                }
            };
            let name = entry.name().strip_suffix(b"/").unwrap_or(entry.name()).into();
            tree.items.push(Item { name, what });
        }
        if let (Some(recorded), Some(list)) = (recorded, &tree.manifest) {
            tree.gone = recorded.gone(list, tree.failed.is_empty())?;
        }
        Ok(tree)
    }

    fn unreadable(&mut self, path: &Path, cause: String) -> Thing {
        self.failed.push((path.into(), cause));
        Thing::Unreadable
    }

    /// The file at this place.
    pub(crate) fn file(&self, at: usize) -> Option<&File> {
        match &self.items[at].what {
            Thing::File(file) => Some(file),
            _ => None,
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        (0..self.items.len()).filter_map(|at| self.file(at))
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

/// The records of a manifest, and which devices have a recorded file.
struct Recorded {
    records: Records,
    last: Option<Record>,
    gone: u64,
    /// Of each device, the first recorded file until one is there.
    devices: HashMap<Option<u64>, Option<Vec<u8>>>,
}

impl Recorded {
    fn new(manifest: &Manifest) -> Result<Self, Error> {
        let records = manifest.records()?;
        Ok(Self { records, last: None, gone: 0, devices: HashMap::new() })
    }

    fn next(&mut self) -> Result<bool, Error> {
        let Some(next) = self.records.next().transpose()? else { return Ok(false) };
        if let Some(device) = device(&next) {
            self.gone += 1;
            self.devices.entry(device).or_insert_with(|| Some(next.name.clone()));
        }
        self.last = Some(next);
        Ok(true)
    }

    /// The record of a path that is there. Names come in their order.
    fn at(&mut self, name: &[u8], is_file: bool) -> Result<Option<&Record>, Error> {
        while self.last.as_ref().is_none_or(|it| it.name[..] < *name) && self.next()? {}
        let found = self.last.as_ref().filter(|it| it.name == name);
        if is_file && let Some(device) = found.and_then(device) {
            self.gone -= 1;
            self.devices.insert(device, None);
        }
        Ok(found)
    }

    /// How many recorded files are not there. An error if those of a whole disk are not, and `all` could be looked at.
    fn gone(mut self, list: &Path, all: bool) -> Result<u64, Error> {
        while self.next()? {}
        if let Some(damage) = self.records.damage() {
            return Err(unusable_index(list, damage));
        }
        // Files without a recorded device may have been on any.
        let is_all_gone = self.devices.values().all(Option::is_some);
        let devices = self.devices.into_iter().filter(|it| it.0.is_some() || is_all_gone);
        let missing = devices.filter_map(|it| it.1).min().filter(|_| all);
        let Some(name) = missing else { return Ok(self.gone) };
        let cause = format!(
            "names {}, and neither that file nor another one that was on the same disk is there; see that the disk is \
             mounted, or bring the manifest up to date with `treewide update`",
            shown(&name::path(&name))
        );
        Err(Error::new(list, ErrorKind::List(cause)))
    }
}

/// The device that a file was on; `None` of anything else.
fn device(record: &Record) -> Option<Option<u64>> {
    let What::File(file) = &record.what else { return None };
    Some(file.facts.as_ref().and_then(|it| it.seen()).and_then(|it| it.device))
}

/// The manifest of a directory, if it is next to it and has an index.
fn manifest_of(dir: &Path) -> Result<Option<Manifest>, Error> {
    let full = match dir.file_name() {
        Some(_) => Some(dir.to_owned()),
        None => dir.canonicalize().ok(),
    };
    let Some(mut list) = full.as_deref().and_then(Path::file_name).map(|it| it.to_owned()) else {
        return Ok(None);
    };
    list.push(".b3");
    let list = full.as_deref().unwrap_or(dir).with_file_name(list);
    if !index_path(&list).exists() {
        return Ok(None);
    }
    let manifest = Manifest::open(&list)?;
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
