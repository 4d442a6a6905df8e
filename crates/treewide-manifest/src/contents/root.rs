//! The operands: lists, manifests, lists of a bucket and directories, each as a stream of files.

use crate::contents::entry::{EMPTY, Each, Kind};
use crate::contents::facts::{Facts, Inode, last};
use crate::contents::sorter::Sorter;
use crate::contents::tree::{Tree, indexed};
use crate::error::{Error, ErrorKind};
use crate::format::list::{Line, Reader, twice};
use crate::format::manifest::{Index, Manifest};
use crate::format::name;
use crate::format::record::{FileRecord, What};
use crate::run::verdict::Evidence;
use crate::tree::clock;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use treewide::OUT_LEN;
use treewide_files::Options;
use treewide_files::name::{os_path, shown};

/// Names of a list that are looked for in a directory, at most.
const LOOKED_FOR: usize = 1000;

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
    /// Opens an operand. A directory is walked, and nothing is read in it yet. That of a list is looked for at `root` first.
    pub(crate) fn open(path: &Path, root: Option<&Path>, options: &Options) -> Result<Self, Error> {
        let new = |dir, from| Ok(Self { path: path.into(), dir, from, doubtful: OnceLock::new() });
        if path.is_dir() {
            let tree = Tree::walk(path, options)?;
            return new(Some(path.into()), From::Directory(Box::new(tree)));
        }
        let named = path.extension().filter(|it| *it == "b3").map(|_| path.with_extension(""));
        let below =
            root.zip(named.as_ref()).and_then(|(root, it)| Some(root.join(it.file_name()?)));
        let root = root.map(PathBuf::from);
        if let Some(manifest) = indexed(path)? {
            let names = manifest.records()?.take(LOOKED_FOR).map(|it| Ok(it?.bare().to_vec()));
            let dir = find([below, root, named], &names.collect::<Result<Vec<_>, Error>>()?);
            return new(dir, From::Manifest(Box::new(manifest)));
        }
        if path.file_name().is_some_and(|name| name == BUCKET)
            && let Some(lists) = lists_of_bucket(path)?
        {
            return new(None, From::Bucket(lists));
        }
        let (mut lines, mut line, mut names) = (Reader::open(path)?, Line::empty(), Vec::new());
        while names.len() < LOOKED_FOR && lines.read(&mut line)? {
            names.push(line.name.clone());
        }
        // Where the directory of the list's name is there, it is the one: any directory may have a `README`. Unless the names begin with
        // it; then they are those of the directory at hand, as `check` takes them.
        let begin = named.as_ref().and_then(|it| it.file_name());
        let begin = begin.map(|it| [it.as_encoded_bytes(), b"/"].concat()).unwrap_or_default();
        let are_here = names.iter().any(|name| name.starts_with(&begin));
        let named = named.filter(|it| it.is_dir() && !are_here);
        new(find([root, below, Some(named.unwrap_or_default())], &names), From::List)
    }

    /// The operand as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that its names are below, if that is here.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The list next to a directory, and how many files are as it records them, so that they were not read.
    pub fn known(&self) -> Option<(&Path, u64)> {
        self.tree().and_then(|it| Some((it.manifest.as_deref()?, it.known)))
    }

    /// The number of files that the manifest next to a directory names and that are not there.
    pub fn gone(&self) -> u64 {
        self.tree().map_or(0, |it| it.gone)
    }

    /// Whether it is a list, so that its files may have changed since.
    pub fn is_list(&self) -> bool {
        self.tree().is_none()
    }

    /// The time when the walk for a manifest began, such as `2026-11-25T01:13:50Z`: what was written later may not be as recorded.
    pub fn began(&self) -> Option<&str> {
        let From::Manifest(manifest) = &self.from else { return None };
        if let Index::Bound(ends) = manifest.index() { Some(&ends.0.began) } else { None }
    }

    /// Files whose digests are not believed, and why.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = (&Path, &str)> {
        let all = self.doubtful.get().into_iter().flatten();
        all.map(|(path, cause)| (&**path, &**cause))
    }

    /// Where its directory is, without symbolic links on the way.
    pub(crate) fn full(&self) -> Option<PathBuf> {
        let dir = self.dir().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
        dir?.canonicalize().ok()
    }

    /// Whether its names of symbolic links are those of the files that they lead to.
    pub(crate) fn follows(&self) -> bool {
        match &self.from {
            From::Manifest(manifest) => manifest.rules().follow,
            From::Directory(tree) => tree.follows,
            _ => false,
        }
    }

    /// Whether its names may lead anywhere, so that several lead to one file: `a` and `b/../a`.
    pub(crate) fn is_vague(&self) -> bool {
        self.dir.is_some() && (matches!(self.from, From::List) || self.follows())
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

    /// The kind of its file system, if that is known.
    pub(crate) fn kind(&self) -> &str {
        match &self.from {
            From::Manifest(manifest) => match manifest.index() {
                Index::Bound(ends) => &ends.0.fs.kind,
                Index::Absent | Index::Ignored(_) => "unknown",
            },
            From::Directory(_) => clock::kind(&self.path).0,
            From::List | From::Bucket(_) => "unknown",
        }
    }

    /// Whether only inodes that it records tell its files from those of another operand.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self.from, From::Manifest(_)) && self.dir.is_none()
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
        let mut count = 0_u64;
        let mut each = |name: &[u8], kind: Kind<'_>| {
            count += 1;
            if count.is_multiple_of(4096) && options.is_cancelled() {
                return Err(Error::cancelled());
            }
            if let (Kind::File(Some(digest), facts), true) = (&kind, self.is_list()) {
                check(&self.path, digest, facts.size)?;
            }
            each(name, kind)
        };
        match &self.from {
            From::List => {
                each_line(&self.path, &mut each)?;
                let cause = "there is no checksum line in it; make it again";
                let empty = Error::new(&self.path, ErrorKind::List(cause.into()));
                if count == 0 { Err(empty) } else { Ok(()) }
            }
            From::Bucket(lists) => lists.iter().try_for_each(|list| each_line(list, &mut each)),
            From::Directory(tree) => tree.each(&mut each),
            From::Manifest(manifest) => {
                let (mut records, is_here) = (manifest.records()?, self.dir.is_some());
                let (mut doubtful, list) = (Vec::new(), shown(&self.path));
                for record in records.by_ref() {
                    let record = record?;
                    let kind = match &record.what {
                        What::File(file) => {
                            let mut digest = Some(file.digest);
                            // `update` keeps the digest of a file that has rotted, or may have.
                            if file.facts.as_ref().is_some_and(|it| it.read.is_none()) {
                                let cause = format!(
                                    "was not found as {list} records it; look at it, and let `treewide update` accept or find it again"
                                );
                                let dir = self.dir.as_deref().unwrap_or(Path::new(""));
                                doubtful.push((dir.join(name::path(&record.name)), cause));
                                digest = None;
                            }
                            Kind::File(digest, recorded(file, number, is_here))
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

/// The first of these directories that has one of the names, or the first that is there if there is no name.
fn find<const N: usize>(dirs: [Option<PathBuf>; N], names: &[Vec<u8>]) -> Option<PathBuf> {
    let is = |dir: &PathBuf| match names {
        [] => dir.is_dir(),
        names => names.iter().any(|it| has(dir, it)),
    };
    dirs.into_iter().flatten().find(is)
}

/// Whether there is something with this name in a directory.
fn has(dir: &Path, name: &[u8]) -> bool {
    os_path(name).is_ok_and(|it| dir.join(it).symlink_metadata().is_ok())
}

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

fn recorded(file: &FileRecord, number: u32, is_here: bool) -> Facts {
    let seen = file.facts.as_ref().and_then(|it| it.seen());
    let inode = seen.and_then(|seen| {
        let list = if is_here && seen.device.is_some() { 0 } else { number + 1 };
        let (ctime, device) = (seen.ctime, seen.device.unwrap_or(0));
        Some(Inode { list, ctime, device, inode: seen.inode?, links: 0 })
    });
    let size = file.facts.as_ref().map(|it| it.bytes);
    let has_key = file.facts.as_ref().is_some_and(|it| it.key.is_some() && it.read.is_some());
    Facts { size, inode, evidence: Evidence::Claimed, has_key }
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
