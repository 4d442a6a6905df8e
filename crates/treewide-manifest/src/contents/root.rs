//! The operands: lists, manifests, lists of a bucket and directories, each as a stream of files.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode, last};
use crate::contents::lines::Listed;
use crate::contents::sorter::Sorter;
use crate::contents::tree::Tree;
use crate::error::{Error, ErrorKind};
use crate::format::list::twice;
use crate::format::manifest::{Index, Manifest, index_path, unusable_index};
use crate::format::name;
use crate::format::record::{FileRecord, What};
use crate::run::verdict::Evidence;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use treewide::OUT_LEN;
use treewide_files::Options;
use treewide_files::name::{os_path, shown};

/// The name of a list of lists that `treewide scale` writes.
const BUCKET: &str = "bucket.b3";

/// An operand.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: Option<PathBuf>,
    pub(crate) from: From,
    /// Of a manifest, files whose content was not as recorded when it was made last, and why they do not count.
    doubtful: OnceLock<Vec<(PathBuf, String)>>,
}

/// Where its files are known from.
#[derive(Debug)]
pub(crate) enum From {
    List,
    Manifest(Box<Manifest>),
    /// The lists of a bucket.
    Bucket(Vec<PathBuf>),
    Directory(Box<Tree>),
}

impl Root {
    /// Opens an operand. A directory is walked, and nothing is read in it yet.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let new = |dir, from| Ok(Self { path: path.into(), dir, from, doubtful: OnceLock::new() });
        if path.is_dir() {
            let tree = Tree::walk(path, options)?;
            return new(Some(path.into()), From::Directory(Box::new(tree)));
        }
        let named = path.extension().filter(|it| *it == "b3").map(|_| path.with_extension(""));
        let named = named.filter(|dir| dir.is_dir());
        if index_path(path).exists() {
            let manifest = Manifest::open(path)?;
            manifest.check_index()?;
            if manifest.has_index() {
                return new(named, From::Manifest(Box::new(manifest)));
            }
        }
        if path.file_name().is_some_and(|name| name == BUCKET) {
            return new(None, From::Bucket(lists_of_bucket(path)?));
        }
        // As `check`: names are those of the directory at hand, if anything is there.
        let mut lines = Listed::open(path)?;
        let has_line = lines.next()?;
        let is_here =
            has_line && os_path(&lines.file.name).is_ok_and(|name| name.symlink_metadata().is_ok());
        new(is_here.then(PathBuf::new).or(named), From::List)
    }

    /// The operand as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that its names are below, if that is here.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Of a directory with a manifest next to it: the list, and how many files are as it records them, so that they were not read.
    pub fn known(&self) -> Option<(&Path, u64)> {
        self.tree().and_then(|it| Some((it.manifest.as_deref()?, it.known)))
    }

    /// Of a directory with a manifest next to it: how many files this names that are not there.
    pub fn gone(&self) -> u64 {
        self.tree().map_or(0, |it| it.gone)
    }

    /// Whether it is a list, so that its files may have changed since.
    pub fn is_list(&self) -> bool {
        self.tree().is_none()
    }

    /// Of a manifest, when the walk for it began, such as `2026-11-25T01:13:50Z`: what was written later may not be as recorded.
    pub fn began(&self) -> Option<&str> {
        match &self.from {
            From::Manifest(manifest) => match manifest.index() {
                Index::Bound(ends) => Some(&ends.0.began),
                Index::Absent | Index::Ignored(_) => None,
            },
            _ => None,
        }
    }

    /// Files whose digests are not believed, and why.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = (&Path, &str)> {
        let all = self.doubtful.get().into_iter().flatten();
        all.map(|(path, cause)| (&**path, &**cause))
    }

    /// Whether its names of symbolic links are those of the files that they lead to.
    pub(crate) fn follows(&self) -> bool {
        matches!(&self.from, From::Manifest(manifest) if manifest.rules().follow)
    }

    pub(crate) fn tree(&self) -> Option<&Tree> {
        match &self.from {
            From::Directory(tree) => Some(tree),
            _ => None,
        }
    }

    pub(crate) fn tree_mut(&mut self) -> Option<&mut Tree> {
        match &mut self.from {
            From::Directory(tree) => Some(tree),
            _ => None,
        }
    }

    /// Whether links, directories and special files are known.
    pub(crate) fn has_all(&self) -> bool {
        matches!(self.from, From::Manifest(_) | From::Directory(_))
    }

    /// Calls `each` for all that is below it. Lists are in any order.
    pub(crate) fn each(
        &self,
        number: u32,
        options: &Options,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let mut seen = Seen::default();
        let mut count = 0_u64;
        let mut each = |name: &[u8], kind: Kind<'_>| {
            count += 1;
            if count.is_multiple_of(4096) && options.is_cancelled() {
                return Err(Error::cancelled());
            }
            if let Kind::File(Some(digest), facts) = &kind {
                seen.add(digest, facts.size, &self.path)?;
            }
            each(name, kind)
        };
        match &self.from {
            From::List => each_line(&self.path, &mut each),
            From::Bucket(lists) => lists.iter().try_for_each(|list| each_line(list, &mut each)),
            From::Directory(tree) => tree.each(&mut each),
            From::Manifest(manifest) => {
                let (mut records, is_here) = (manifest.records()?, self.dir.is_some());
                let mut doubtful = Vec::new();
                for record in records.by_ref() {
                    let record = record?;
                    match &record.what {
                        // `update` keeps the digest of a file that has rotted, or may have.
                        What::File(file)
                            if file.facts.as_ref().is_some_and(|it| it.read.is_none()) =>
                        {
                            let list = shown(&self.path);
                            let cause = format!(
                                "was not as {list} records it; look at it, and let `treewide update` accept or find it again"
                            );
                            let name = name::path(&record.name);
                            let path = self.dir.as_ref().map_or(name.clone(), |it| it.join(name));
                            doubtful.push((path, cause));
                            each(&record.name, Kind::File(None, recorded(file, number, is_here)))?;
                        }
                        What::File(file) => {
                            each(
                                &record.name,
                                Kind::File(Some(file.digest), recorded(file, number, is_here)),
                            )?;
                        }
                        What::Directory(_) => each(record.bare(), Kind::Directory)?,
                        What::Link(to) => each(&record.name, Kind::Other(to))?,
                        What::Special(special) => {
                            each(&record.name, Kind::Other(special.word().as_bytes()))?;
                        }
                        What::Unknown(cause) => {
                            let cause = format!("{cause}; make the manifest again");
                            return Err(Error::new(&self.path, ErrorKind::List(cause)));
                        }
                    }
                }
                let _ = self.doubtful.set(doubtful);
                match records.damage() {
                    Some(damage) => Err(unusable_index(&self.path, damage)),
                    None => Ok(()),
                }
            }
        }
    }

    /// As [`each`](Self::each), in the order of names, each once.
    pub(crate) fn each_in_order(
        &self,
        number: u32,
        options: &Options,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        if self.has_all() {
            return self.each(number, options, each);
        }
        let (mut sorter, mut end) = (Sorter::new(), Vec::new());
        self.each(number, options, &mut |name, kind| {
            let Kind::File(Some(digest), facts) = kind else { return Ok(()) };
            end.clear();
            facts.push_to(&mut end);
            sorter.push(&[name, &[0], &digest, &end])
        })?;
        let mut sorted = sorter.finish()?;
        let mut previous: Option<(Vec<u8>, [u8; OUT_LEN])> = None;
        while let Some(mut record) = sorted.next()? {
            let facts = Facts::take(&mut record);
            let digest = last(&mut record);
            let name = &record[..record.len() - 1];
            match &mut previous {
                Some((before, known)) if before == name => {
                    if *known == digest {
                        continue;
                    }
                    return Err(Error::new(&self.path, ErrorKind::List(twice(name))));
                }
                Some((before, known)) => {
                    before.clear();
                    before.extend_from_slice(name);
                    *known = digest;
                }
                None => previous = Some((name.to_vec(), digest)),
            }
            each(name, Kind::File(Some(digest), facts))?;
        }
        Ok(())
    }
}

/// What a list shows of the mode in which it was made: only the empty file has a digest that is known.
#[derive(Default)]
struct Seen {
    is_plain: bool,
    is_other: bool,
}

impl Seen {
    fn add(&mut self, digest: &[u8; OUT_LEN], size: Option<u64>, list: &Path) -> Result<(), Error> {
        self.is_plain |= *digest == EMPTY;
        self.is_other |= size == Some(0) && *digest != EMPTY;
        if !self.is_other {
            return Ok(());
        }
        let cause = "has another digest of the empty file than BLAKE3: it was made with --keyed or --derive-key; \
                     make it without";
        Err(Error::new(list, ErrorKind::List(cause.into())))
    }
}

fn each_line(list: &Path, each: &mut Each<'_>) -> Result<(), Error> {
    let mut lines = Listed::open(list)?;
    while lines.next()? {
        let facts = Facts { size: lines.file.size, ..Facts::CLAIMED };
        each(&lines.file.name, Kind::File(Some(lines.file.digest), facts))?;
    }
    Ok(())
}

fn recorded(file: &FileRecord, number: u32, is_here: bool) -> Facts {
    let seen = file.facts.as_ref().and_then(|it| it.seen());
    let inode = seen.and_then(|seen| {
        let number = if is_here && seen.device.is_some() { 0 } else { number + 1 };
        let (of, device) = ((number, seen.ctime), seen.device.unwrap_or(0));
        Some(Inode { of, device, inode: seen.inode?, links: 0 })
    });
    let size = file.facts.as_ref().map(|it| it.bytes);
    let has_key = file.facts.as_ref().is_some_and(|it| it.key.is_some() && it.read.is_some());
    Facts { size, inode, evidence: Evidence::Claimed, has_key }
}

/// The lists that the list of a bucket names. Each is the one whose digest is there.
fn lists_of_bucket(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut lines, mut lists) = (Listed::open(path)?, Vec::new());
    while lines.next()? {
        let name = str::from_utf8(&lines.file.name).unwrap_or_default();
        let is_list = name.ends_with(".b3") && !name.contains('/');
        if !is_list {
            continue;
        }
        let list = path.with_file_name(name);
        let found = Options::new().hash(&list).map_err(|error| {
            lines.fault(&format!("{error}; copy all lists of the bucket to the folder of this one"))
        })?;
        if found.digest.into_bytes() != lines.file.digest {
            return Err(
                lines.fault(&format!("{name} is not the list of that digest; copy it again"))
            );
        }
        lists.push(list);
    }
    if lists.is_empty() {
        let cause = "names no list of objects, as the bucket.b3 of `treewide scale` does; rename it if it is another list";
        return Err(Error::new(path, ErrorKind::List(cause.into())));
    }
    Ok(lists)
}
