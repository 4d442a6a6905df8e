//! All operands of a run.

use crate::contents::entry::{EMPTY, Kind};
use crate::contents::facts::{Facts, first};
use crate::contents::root::Root;
use crate::error::Error;
use crate::format::name;
use crate::format::regular::then;
use crate::format::rules::Rules;
use crate::sorter::Sorted;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use treewide_files::name::shown;
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
    /// Opens operands: whether the manifests next to directories count, and what is looked at.
    pub(crate) fn open<P: AsRef<Path>>(
        paths: &[P],
        how: (bool, &Rules),
        options: &Options,
    ) -> Result<Self, Error> {
        let mut seen = Vec::new();
        for path in paths.iter().map(AsRef::as_ref) {
            let is_stream = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
            if is_stream || path.as_os_str() == "-" {
                let cause = "lists are read more than once, and a pipe cannot be; write it to a file, and name that";
                return Err(refused(path, cause));
            }
            let full = if then(path).is_some() { Ok(path.into()) } else { path.canonicalize() };
            let full = full.map_err(|error| Error::read(path, error))?;
            if seen.contains(&full) {
                return Err(refused(path, "is named twice; name it once"));
            }
            seen.push(full);
        }
        let all = paths.iter().map(|path| Root::open(path.as_ref(), how, options));
        Ok(Self { all: all.collect::<Result<_, _>>()?, read: (0, 0) })
    }

    /// An error if a file of one is a file of another as well.
    pub(crate) fn are_apart(&self) -> Result<(), Error> {
        let dirs: Vec<_> = self.all.iter().filter_map(|it| Some((it, it.dir()?))).collect();
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

    /// The path of a file or folder of an operand. That of a record is its name: no one looked whether it is there.
    pub(crate) fn path(&self, root: usize, name: &[u8]) -> PathBuf {
        let name = if name.is_empty() { Path::new(".").into() } else { name::path(name) };
        match self.all.get(root).filter(|it| !it.is_record()) {
            Some(root) if name == Path::new(".") => root.path().into(),
            Some(root) => root.path().join(name),
            None => name,
        }
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
