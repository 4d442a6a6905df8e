//! All operands of a run.

use crate::contents::entry::{EMPTY, Kind};
use crate::contents::facts::Facts;
use crate::contents::places::Places;
use crate::contents::root::Root;
use crate::contents::sorter::Sorted;
use crate::contents::stages::{Wanted, resolve};
use crate::error::Error;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use treewide_files::Options;
use treewide_files::name::{os_path, shown};

/// The operands.
#[derive(Debug)]
pub(crate) struct Roots {
    pub(crate) all: Vec<Root>,
    pub(crate) places: Places,
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
    pub(crate) fn open<P: AsRef<Path>>(paths: &[P], options: &Options) -> Result<Self, Error> {
        let mut seen = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let is_stream = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
            if is_stream || path.as_os_str() == "-" {
                let cause = "lists are read more than once, and a pipe cannot be; write it to a file, and name that";
                return Err(Error::usage(format!("{}: {cause}", shown(path))));
            }
            let full = path.canonicalize().map_err(|error| Error::read(path, error))?;
            if seen.contains(&full) {
                return Err(refused(path, "is named twice"));
            }
            seen.push(full);
        }
        let all = paths.iter().map(|path| Root::open(path.as_ref(), options));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let places = Places::of(&all);
        Ok(Self { all, places, read: (0, 0) })
    }

    /// An error if a file of one is a file of another as well.
    pub(crate) fn are_apart(&self) -> Result<(), Error> {
        for (at, root) in self.all.iter().enumerate() {
            let Some(dir) = full_dir(root) else { continue };
            for (_, other) in self.all.iter().enumerate().filter(|(other, _)| *other != at) {
                let is_in = full_dir(other).is_some_and(|it| it.starts_with(&dir));
                if is_in && root.tree().is_some() {
                    let cause =
                        format!("has the files of {}, which is also named", shown(root.path()));
                    return Err(refused(other.path(), &cause));
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

    /// Finds the digests of files in directories.
    pub(crate) fn resolve(
        &mut self,
        options: &Options,
        wanted: &dyn Fn(usize, u64) -> Wanted,
    ) -> Result<(), Error> {
        self.read = resolve(&mut self.all, options, wanted)?;
        Ok(())
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

/// Where the files of an operand are, without symbolic links on the way.
pub(crate) fn full_dir(root: &Root) -> Option<PathBuf> {
    let dir = root.dir()?;
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    dir.canonicalize().ok()
}

fn refused(path: &Path, cause: &str) -> Error {
    Error::usage(format!("{}: {cause}; name it once", shown(path)))
}

/// Gets records that begin with the same bytes.
type EachRun<'a> = dyn FnMut(&[Vec<u8>]) -> Result<(), Error> + 'a;

/// Calls `each` for records with the same first `key` bytes, if there are at least `least` of them.
pub(crate) fn runs(
    sorted: &mut Sorted,
    (key, least): (usize, usize),
    options: &Options,
    each: &mut EachRun<'_>,
) -> Result<(), Error> {
    // Their memory is used again: most records are alone.
    let (mut run, mut len, mut count): (Vec<Vec<u8>>, _, _) = (Vec::new(), 0, 0_u64);
    loop {
        let record = sorted.next()?;
        let is_same = len > 0 && record.is_some_and(|it| it[..key] == run[0][..key]);
        if !is_same {
            if len >= least {
                each(&run[..len])?;
            }
            len = 0;
        }
        let Some(record) = record else { return Ok(()) };
        count += 1;
        if count.is_multiple_of(4096) && options.is_cancelled() {
            return Err(Error::cancelled());
        }
        if len == run.len() {
            run.push(Vec::new());
        }
        run[len].clear();
        run[len].extend_from_slice(record);
        len += 1;
    }
}
