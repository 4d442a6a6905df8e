//! All operands of a run.

use crate::contents::entry::{EMPTY, Kind, split};
use crate::contents::facts::{Facts, Inode, first};
use crate::contents::root::Root;
use crate::contents::sorter::Sorted;
use crate::error::Error;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use treewide_files::name::{os_path, shown};
use treewide_files::{Options, Stamp};

/// The operands.
#[derive(Debug)]
pub(crate) struct Roots {
    pub(crate) all: Vec<Root>,
    /// Files and bytes that were read to the end.
    pub(crate) read: (u64, u64),
}

/// The lengths of files whose digests are known.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    sizes: HashSet<u64>,
    /// An operand does not say how long its files are.
    any: bool,
}

impl Sizes {
    /// Whether a file of this length could have one of the contents.
    pub(crate) fn has(&self, size: u64) -> bool {
        self.any || self.sizes.contains(&size)
    }
}

impl Roots {
    /// Opens operands; `root` is where the directories of lists are looked for first.
    pub(crate) fn open<P: AsRef<Path>>(
        paths: &[P],
        root: Option<&Path>,
        options: &Options,
    ) -> Result<Self, Error> {
        if let Some(root) = root.filter(|it| !it.is_dir()) {
            return Err(refused(root, "is not a directory here; name the directory of the lists"));
        }
        let mut seen = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let is_stream = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
            if is_stream || path.as_os_str() == "-" {
                let cause = "lists are read more than once, and a pipe cannot be; write it to a file, and name that";
                return Err(refused(path, cause));
            }
            let full = path.canonicalize().map_err(|error| Error::read(path, error))?;
            if seen.contains(&full) {
                return Err(refused(path, "is named twice; name it once"));
            }
            seen.push(full);
        }
        let all = paths.iter().map(|path| Root::open(path.as_ref(), root, options));
        Ok(Self { all: all.collect::<Result<_, _>>()?, read: (0, 0) })
    }

    /// An error if a file of one is a file of another as well. Names of plain lists [may lead anywhere](Root::is_vague).
    pub(crate) fn are_apart(&self) -> Result<(), Error> {
        let dirs =
            self.all.iter().filter(|it| it.has_all()).filter_map(|it| Some((it, it.full()?)));
        let dirs: Vec<_> = dirs.collect();
        // One directory may be mounted twice.
        let number = |dir: &PathBuf| {
            let stamp = Stamp::at(dir, true).ok().filter(|it| it.inode != 0)?;
            Some((stamp.device, stamp.inode))
        };
        for (at, (a, of_a)) in dirs.iter().enumerate() {
            for (b, of_b) in &dirs[at + 1..] {
                let is_same = number(of_a).is_some_and(|it| number(of_b) == Some(it));
                if is_same || of_a.starts_with(of_b) || of_b.starts_with(of_a) {
                    let a = shown(a.path());
                    let cause = format!("has files of {a}, which is also named; name one of them");
                    return Err(refused(b.path(), &cause));
                }
            }
        }
        Ok(())
    }

    /// The lengths of all files of the operands that `of` is true for; `unread` says whether also of those whose digests are not known.
    pub(crate) fn sizes(
        &self,
        options: &Options,
        unread: bool,
        of: &dyn Fn(usize) -> bool,
    ) -> Result<Sizes, Error> {
        let mut sizes = Sizes::default();
        if self.all.iter().all(|root| root.tree().is_none()) {
            return Ok(sizes);
        }
        for (number, root) in self.all.iter().enumerate().filter(|(number, _)| of(*number)) {
            root.each(number as u32, options, &mut |_, kind| {
                match kind {
                    Kind::File(Some(EMPTY), _) => {}
                    Kind::File(digest, Facts { size: Some(size), .. })
                        if unread || digest.is_some() =>
                    {
                        sizes.sizes.insert(size);
                    }
                    Kind::File(Some(_), _) => sizes.any = true,
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(sizes)
    }

    /// An error if the directory of an operand is not here.
    pub(crate) fn are_here(&self, cause: &str) -> Result<(), Error> {
        let Some(root) = self.all.iter().find(|root| root.dir().is_none()) else { return Ok(()) };
        let what = "the directory that it is of is not here";
        Err(refused(root.path(), &format!("{what}, {cause}; name it with --root")))
    }

    /// Where a file or folder is, without symbolic links on the way; `None` if it is not here.
    pub(crate) fn place(&self, path: &[u8]) -> Option<PathBuf> {
        let (root, name) = split(path);
        self.path(root, name)?.canonicalize().ok()
    }

    /// The numbers of a file that is here, now.
    pub(crate) fn inode(&self, path: &[u8]) -> Option<Inode> {
        let (root, name) = split(path);
        Inode::of(&Stamp::at(&self.path(root, name)?, true).ok()?)
    }

    pub(crate) fn path(&self, root: usize, name: &[u8]) -> Option<PathBuf> {
        let (dir, name) = (self.all.get(root)?.dir()?, os_path(name).ok()?);
        Some(match name.as_os_str().is_empty() {
            true if dir.as_os_str().is_empty() => ".".into(),
            true => dir.into(),
            false => dir.join(name),
        })
    }

    pub(crate) fn unreadable(&self) -> impl Iterator<Item = (&Path, &str)> {
        let trees = self.all.iter().filter_map(Root::tree);
        let failed = trees.flat_map(|it| it.failed.iter().map(|(path, cause)| (&**path, &**cause)));
        failed.chain(self.all.iter().flat_map(Root::doubtful))
    }
}

fn refused(path: &Path, cause: &str) -> Error {
    Error::usage(format!("{}: {cause}", shown(path)))
}

/// Records that begin with the same bytes.
#[derive(Default)]
pub(crate) struct Run {
    bytes: Vec<u8>,
    /// The ends of the records.
    ends: Vec<usize>,
}

impl Run {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }

    /// The bytes with which they begin.
    pub(crate) fn key<const N: usize>(&self) -> [u8; N] {
        first(&mut &self.bytes[..])
    }
}

/// Calls `each` for records with the same first `key` bytes, if there are at least `least` of them.
pub(crate) fn runs(
    sorted: &mut Sorted,
    (key, least): (usize, usize),
    options: &Options,
    each: &mut dyn FnMut(&Run) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut run, mut count) = (Run::default(), 0_u64);
    loop {
        let record = sorted.next()?;
        let is_same = run.len() > 0 && record.is_some_and(|it| it[..key] == run.bytes[..key]);
        if !is_same {
            if run.len() >= least {
                each(&run)?;
            }
            run.bytes.clear();
            run.ends.clear();
        }
        let Some(record) = record else { return Ok(()) };
        count += 1;
        if count.is_multiple_of(4096) && options.is_cancelled() {
            return Err(Error::cancelled());
        }
        run.bytes.extend_from_slice(record);
        run.ends.push(run.bytes.len());
    }
}
