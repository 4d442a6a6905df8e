//! Outboards of the long files of a tree, made while the files are hashed, in a folder of their own.
//!
//! ```text
//! DIR/HEX.obao4        the outboard of any file whose digest is HEX: groups of 16 KiB
//! DIR/.treewide-*.tmp  one that is being written
//! ```
//!
//! The name is the digest. So copies and moved files share one, two runs may write into one folder, and the outboard of other
//! content is never taken for that of a file. The name is compared with the first pair, each time.

use crate::error::Error;
use crate::format::name;
use crate::format::regular;
use crate::format::rules::{Globs, Rules};
use crate::tree::clock;
use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use treewide::file::OutboardError;
use treewide::hazmat::Subtrees;
use treewide::outboard::{Group, Layout, PAIR_LEN, ReadAt};
use treewide::{Hash, Mode, OUT_LEN};
use treewide_files::digest::hex;
use treewide_files::name::shown;
use treewide_files::{ErrorKind, Hashed, Locked, Options, Stamp};

/// The groups of all outboards here.
pub(crate) const GROUP: Group = Group::IROH;

/// A folder with outboards, and which files have one.
///
/// [`Update::outboards`](crate::machine::Update::outboards) writes them, and [`Verify::outboards`](crate::machine::Verify::outboards) finds
/// the bytes that are bad by them. One run at a time uses a value of this type; many may use the same folder.
#[derive(Clone, Debug)]
pub struct Outboards {
    folder: PathBuf,
    min: u64,
    temporary: PathBuf,
}

/// Counts of outboards written into a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Outboards.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Why one could not be written. After that no other was.
    pub failed: Option<String>,
}

impl Outboards {
    /// The folder that has the outboards of files of at least 1 GiB.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let temporary = folder.join(treewide_files::temporary_name());
        Self { folder, min: 1 << 30, temporary }
    }

    /// Makes outboards of files of at least this many bytes. A file of one group, 16 KiB, never has one.
    pub fn min(self, bytes: u64) -> Self {
        Self { min: bytes, ..self }
    }

    /// Where the outboard of files with this digest is.
    pub fn path_of(&self, digest: &[u8; OUT_LEN]) -> PathBuf {
        self.folder.join(format!("{}.obao4", hex(digest)))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The temporary file, which a program that is ended by a signal removes.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The least length of a file that has one.
    pub(crate) fn least(&self) -> u64 {
        self.min.max(GROUP.bytes() + 1)
    }

    /// Whether none is missing of a file with this digest and length. Of one that is there, its length and its first pair are
    /// compared: what a crash leaves is made again while the file is still what it was.
    pub(crate) fn has(&self, digest: &[u8; OUT_LEN], bytes: u64) -> bool {
        let is_there = || {
            let pairs = regular::open(&self.path_of(digest))?;
            let is_whole = pairs.metadata()?.len() == layout(bytes).bytes();
            io::Result::Ok(is_whole && begins_with(&pairs, digest)?)
        };
        bytes < self.least() || is_there().unwrap_or(false)
    }

    /// An error if the folder is a part of the tree: the manifest would record files that come and go with it.
    fn require_outside(&self, root: &Path, rules: &Rules) -> Result<(), Error> {
        let there = self.folder.ancestors().find_map(|it| {
            let it = if it == Path::new("") { Path::new(".") } else { it };
            Some((it.to_owned(), it.canonicalize().ok()?))
        });
        let Some((ancestor, full)) = there else { return Ok(()) };
        let root = root.canonicalize().map_err(|error| Error::read(root, error))?;
        let full = match self.folder.strip_prefix(&ancestor) {
            Ok(rest) => full.join(rest),
            Err(_) => full.join(&self.folder),
        };
        let Ok(inside) = full.strip_prefix(&root) else { return Ok(()) };
        if inside != Path::new("") {
            let name = name::relative(&full, &root);
            if Globs::new(&rules.exclude)?.cover(&name, true) {
                return Ok(());
            }
        }
        Err(Error::usage(format!(
            "{}: is in the directory that the manifest is of; name another for the outboards, or leave it out with --exclude",
            shown(&self.folder)
        )))
    }
}

pub(crate) fn layout(len: u64) -> Layout {
    Layout::new(len, GROUP)
}

/// Whether the first pair of an outboard has this digest.
pub(crate) fn begins_with(pairs: &File, digest: &[u8; OUT_LEN]) -> io::Result<bool> {
    let mut pair = [0; PAIR_LEN];
    pairs.read_exact_at(&mut pair, 0)?;
    let mut top = Subtrees::new(Mode::PLAIN);
    top.push(pair.as_chunks().0, 0);
    Ok(top.finalize() == Hash::from_bytes(*digest))
}

/// Outboards that are being made: it hashes the files that are to have one.
pub(crate) struct Making<'a> {
    outboards: &'a Outboards,
    options: &'a Options,
    written: RefCell<Written>,
}

impl<'a> Making<'a> {
    /// Makes the folder, and sees that it takes files.
    pub(crate) fn begin(
        outboards: &'a Outboards,
        options: &'a Options,
        root: &Path,
        rules: &Rules,
    ) -> Result<Self, Error> {
        outboards.require_outside(root, rules)?;
        let folder = &outboards.folder;
        fs::create_dir_all(folder).map_err(|error| Error::write(folder, error))?;
        // A `..` behind a directory that was not there led nowhere until now.
        outboards.require_outside(root, rules)?;
        treewide_files::remove_leftovers(folder);
        let made = Self { outboards, options, written: RefCell::default() };
        drop(made.create().map_err(|error| Error::write(folder, error))?);
        Ok(made)
    }

    /// Brings everything to the disk.
    pub(crate) fn finish(self) -> Written {
        let mut written = self.written.take();
        if written.files > 0 && !clock::sync(&self.outboards.folder) {
            let text = "cannot bring the outboards to the disk";
            written.failed.get_or_insert(format!("{}: {text}", shown(&self.outboards.folder)));
        }
        written
    }

    fn create(&self) -> io::Result<Temporary<'_>> {
        let path = self.outboards.temporary();
        let mut options = OpenOptions::new();
        let file = treewide_files::create_temporary(path, options.read(true).write(true))?;
        Ok(Temporary { path, file: Some(file) })
    }

    fn fail(&self, error: &io::Error) {
        let folder = shown(&self.outboards.folder);
        self.written.borrow_mut().failed = Some(format!("{folder}: cannot write: {error}"));
    }

    fn hash(&self, file: &File, path: &Path, before: &Stamp) -> Result<Hashed, OutboardError> {
        let mut made = self.create().map_err(|error| OutboardError::Outboard(error.into()))?;
        let out = made.file.as_deref_mut().expect("it is kept once");
        let hashed = self.options.outboard_file(file, path, GROUP, out)?;
        // No one needs that of a file which changed at the same time. It is read again.
        let is_as_before = Stamp::of(file).is_ok_and(|after| after == *before);
        if let (true, Some(hash)) =
            (is_as_before && before.len == hashed.bytes, hashed.digest.hash())
        {
            let bytes = made
                .keep(&self.outboards.path_of(hash.as_bytes()))
                .map_err(|error| OutboardError::Outboard(error.into()))?;
            let mut written = self.written.borrow_mut();
            written.files += 1;
            written.bytes += bytes;
        }
        Ok(hashed)
    }
}

impl Making<'_> {
    /// Hashes a file that is to have an outboard. `None` leaves it to the run.
    pub(crate) fn hash_found(&self, file: &File, path: &Path) -> Option<Result<Hashed, ErrorKind>> {
        let before = Stamp::of(file).ok()?;
        if before.len < self.outboards.least() || self.written.borrow().failed.is_some() {
            return None;
        }
        match self.hash(file, path, &before) {
            Ok(hashed) => Some(Ok(hashed)),
            Err(OutboardError::Outboard(error)) => {
                // The manifest is worth more than the outboards: the file is hashed without one.
                self.fail(&error.into());
                None
            }
            Err(OutboardError::Data(error)) => Some(Err(error.into())),
            Err(error) => Some(Err(io::Error::other(error).into())),
        }
    }
}

/// The temporary file. Dropping it removes it.
struct Temporary<'a> {
    path: &'a Path,
    file: Option<Locked>,
}

impl Temporary<'_> {
    /// Gives it its name, and returns its length.
    fn keep(&mut self, path: &Path) -> io::Result<u64> {
        let file = self.file.take().expect("it is kept once");
        let bytes = file.metadata()?.len();
        // A name that a crash leaves without its content would stand for an outboard.
        file.sync_data()?;
        // Some systems do not rename a file that is open. On others it is held, so that no run takes it for one left behind.
        let _held = (!cfg!(windows)).then_some(file);
        fs::rename(self.path, path).inspect_err(|_| drop(fs::remove_file(self.path)))?;
        Ok(bytes)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let _held = (!cfg!(windows)).then_some(file);
            let _ = fs::remove_file(self.path);
        }
    }
}
