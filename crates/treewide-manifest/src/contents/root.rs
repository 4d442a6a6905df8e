//! The operands: lists, manifests, lists of a bucket and directories, each as a stream of files.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode, last};
use crate::contents::tree::{Tree, indexed};
use crate::error::{Error, ErrorKind};
use crate::format::list::{Line, Reader, twice};
use crate::format::manifest::Manifest;
use crate::format::name;
use crate::format::record::{FileRecord, What};
use crate::format::rules::Rules;
use crate::run::verdict::Evidence;
use crate::sorter::Sorter;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use treewide::OUT_LEN;
use treewide_files::Options;
use treewide_files::name::shown;

/// The name of a list of lists that `treewide scale` writes.
const BUCKET: &str = "bucket.b3";

/// An operand. A directory is looked at; a list, a manifest or a bucket is a record, whose files are not looked at.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    pub(crate) from: From,
    /// Of a manifest, files that the last run did not find as recorded, and why they do not count.
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
    pub(crate) fn open(path: &Path, how: (bool, &Rules), options: &Options) -> Result<Self, Error> {
        let from = if path.is_dir() {
            From::Directory(Box::new(Tree::walk(path, how, options)?))
        } else if let Some(manifest) = indexed(path)? {
            From::Manifest(Box::new(manifest))
        } else if path.file_name().is_some_and(|name| name == BUCKET)
            && let Some(lists) = lists_of_bucket(path)?
        {
            From::Bucket(lists)
        } else {
            From::List
        };
        Ok(Self { path: path.into(), from, doubtful: OnceLock::new() })
    }

    /// The operand as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a record, so that its files may be gone or changed since.
    pub fn is_record(&self) -> bool {
        self.tree().is_none()
    }

    /// The list next to a directory, and how many files are as it records them, so that they were not read.
    pub fn known(&self) -> Option<(&Path, u64)> {
        self.tree().and_then(|it| Some((it.manifest.as_ref()?.list().path(), it.known)))
    }

    /// The symbolic links in a directory. What they lead to was not looked at.
    pub fn links(&self) -> u64 {
        self.tree().map_or(0, |it| it.links)
    }

    /// The time when the walk for a manifest began, such as `2026-11-25T01:13:50Z`.
    pub fn began(&self) -> Option<&str> {
        let From::Manifest(manifest) = &self.from else { return None };
        manifest.ends().map(|it| &*it.0.began)
    }

    /// Whether it is what a manifest was.
    pub(crate) fn is_then(&self) -> bool {
        matches!(&self.from, From::Manifest(manifest) if manifest.is_then())
    }

    /// Files whose digests are not believed, and why.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = (&Path, &str)> {
        let all = self.doubtful.get().into_iter().flatten();
        all.map(|(path, cause)| (&**path, &**cause))
    }

    /// The directory that its names are below, without symbolic links on the way, if it is here. That of `X.b3` is `X`.
    pub(crate) fn dir(&self) -> Option<PathBuf> {
        if !self.is_record() {
            return self.path.canonicalize().ok();
        }
        // Files of then have no place now.
        let is_list = !self.is_then() && self.path.extension().is_some_and(|it| it == "b3");
        let dir = is_list.then(|| self.path.with_extension("").canonicalize().ok())??;
        dir.is_dir().then_some(dir)
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
    fn has_all(&self) -> bool {
        matches!(self.from, From::Manifest(_) | From::Directory(_))
    }

    /// Calls `each` for everything. `number` is that of the operand.
    ///
    /// # Errors
    /// If it cannot be read, or has no file: then nothing was looked at.
    pub(crate) fn each(
        &self,
        number: u32,
        options: &Options,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let (mut count, mut files) = (0_u64, 0_u64);
        let mut each = |name: &[u8], kind: Kind<'_>| {
            count += 1;
            files += u64::from(matches!(kind, Kind::File(..)));
            if count.is_multiple_of(4096) && options.is_cancelled() {
                return Err(Error::cancelled());
            }
            if let (Kind::File(Some(digest), facts), true) = (&kind, self.is_record()) {
                check(&self.path, digest, facts.size)?;
            }
            each(name, kind)
        };
        match &self.from {
            From::List => each_line(&self.path, &mut each)?,
            From::Bucket(lists) => lists.iter().try_for_each(|list| each_line(list, &mut each))?,
            From::Directory(tree) => tree.each(&mut each)?,
            From::Manifest(manifest) => self.each_record(manifest, number, &mut each)?,
        }
        let cause = match self.has_all() {
            _ if files > 0 => return Ok(()),
            true => NO_FILE,
            false => "there is no checksum line in it; make it again",
        };
        Err(Error::new(&self.path, ErrorKind::List(cause.into())))
    }

    fn each_record(
        &self,
        manifest: &Manifest,
        number: u32,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let mut records = manifest.records()?;
        let (mut doubtful, list) = (Vec::new(), shown(&self.path));
        for record in records.by_ref() {
            let record = record?;
            let kind = match &record.what {
                What::File(file) => {
                    let mut digest = Some(file.digest);
                    // `update` keeps the digest of a file that has rotted, or may have, and of one that cannot be read.
                    if file.facts.as_ref().is_some_and(|it| !it.is_proven()) {
                        let cause = format!(
                            "the last run did not find it as {list} records it, so it does not count as a copy; look at it: treewide verify {list}"
                        );
                        doubtful.push((name::path(&record.name), cause));
                        digest = None;
                    }
                    let facts = recorded(file, number);
                    let inode = facts.inode.filter(|_| !self.is_then());
                    Kind::File(digest, Facts { inode, ..facts })
                }
                What::Directory(_) => Kind::Directory,
                What::Link(to) => Kind::Other(to),
                What::Special(special) => Kind::Other(special.word().as_bytes()),
                What::Unknown(cause, _) => {
                    let cause = format!("{cause}; make the manifest again");
                    return Err(Error::new(&self.path, ErrorKind::List(cause)));
                }
            };
            each(record.bare(), kind)?;
        }
        let _ = self.doubtful.set(doubtful);
        records.check(&self.path)
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
        // The name with its end, and the digest.
        let (mut before, mut known) = (Vec::new(), [0; OUT_LEN]);
        while let Some(mut record) = sorted.next()? {
            let facts = Facts::take(&mut record);
            let digest = last(&mut record);
            let name = &record[..record.len() - 1];
            if before != record {
                each(name, Kind::File(Some(digest), facts))?;
            } else if known != digest {
                return Err(Error::new(&self.path, ErrorKind::List(twice(name))));
            }
            before.clear();
            before.extend_from_slice(record);
            known = digest;
        }
        Ok(())
    }
}

const NO_FILE: &str = "has no file, so nothing was compared; see that it is the right one, and that its disk is mounted";

/// An error if a list has another digest of the empty file than BLAKE3, as far as lengths say which it is.
fn check(list: &Path, digest: &[u8; OUT_LEN], size: Option<u64>) -> Result<(), Error> {
    let cause = match size {
        Some(0) if *digest != EMPTY => {
            "has another digest of the empty file than BLAKE3: it was made with --keyed or --derive-key; \
             make it without"
        }
        Some(1..) if *digest == EMPTY => {
            "has the digest of the empty file for one that is not empty; make it again"
        }
        _ => return Ok(()),
    };
    Err(Error::new(list, ErrorKind::List(cause.into())))
}

fn each_line(list: &Path, each: &mut Each<'_>) -> Result<(), Error> {
    let (mut lines, mut line) = (Reader::open(list)?, Line::empty());
    while lines.read(&mut line)? {
        let facts = Facts { size: lines.size, ..Facts::CLAIMED };
        each(&line.name, Kind::File(Some(line.digest), facts))?;
    }
    Ok(())
}

fn recorded(file: &FileRecord, number: u32) -> Facts {
    let inode = file.facts.as_ref().and_then(|it| it.seen()).and_then(|seen| {
        let (list, device) = (number + 1, seen.device.unwrap_or(0));
        Some(Inode { list, ctime: seen.ctime, device, inode: seen.inode?, links: 0 })
    });
    let size = file.facts.as_ref().map(|it| it.bytes);
    Facts { size, inode, evidence: Evidence::Claimed }
}

/// The lists that the list of a bucket names, if it is one: its last line is that of its index. Each must have the digest that is there.
fn lists_of_bucket(path: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
    let (mut lines, mut line, mut lists) = (Reader::open(path)?, Line::empty(), Vec::new());
    let mut has_index = false;
    while lines.read(&mut line)? {
        let name = str::from_utf8(&line.name).unwrap_or("/").to_owned();
        has_index = name.starts_with("index-") && name.ends_with(".objects");
        lists.push((name, line.digest));
    }
    if !has_index {
        return Ok(None);
    }
    lists.pop();
    let is_list = |(name, digest): (String, [u8; OUT_LEN])| {
        let list = path.with_file_name(&name);
        let fault = |cause: String| Error::new(path, ErrorKind::List(cause));
        if name.contains('/') || !name.ends_with(".b3") {
            let cause = "names {}, which is not a list of a bucket; write it again, or rename it if it is another list";
            return Err(fault(cause.replace("{}", &shown(Path::new(&name)))));
        }
        let found = Options::new().hash(&list).map_err(|error| {
            fault(format!("{error}; copy all lists of the bucket to the folder of this one"))
        })?;
        match found.digest.into_bytes() == digest {
            true => Ok(list),
            false => Err(fault(format!("{name} is not the list of that digest; copy it again"))),
        }
    };
    lists.into_iter().map(is_list).collect::<Result<_, _>>().map(Some)
}
