//! The files of a run: the data, whose reading is counted, and its outboard.

use anyhow::{Context, bail};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use treewide::outboard::{Group, IoError, Layout, ReadAt, WriteAt};
use treewide_files::name::shown;
use treewide_files::{Progress, Stamp};

/// A regular file that is read at any place.
pub(super) struct Data {
    file: File,
    /// As it was when it was opened.
    stamp: Stamp,
    progress: Option<Arc<dyn Progress>>,
}

impl Data {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = open(path)?;
        let stamp = Stamp::of(&file).with_context(|| shown(path))?;
        if !has_its_length(&file, stamp.len) {
            bail!(
                "{}: its length is not known before it is read; copy it to another file, and name that",
                shown(path)
            );
        }
        Ok(Self { file, stamp, progress: None })
    }

    /// Opens a file that is written to as well.
    pub(super) fn open_to_write(path: &Path) -> anyhow::Result<Self> {
        // A pipe or a directory is refused first.
        let read = Self::open(path)?;
        let file = File::options().read(true).write(true).open(path);
        let file = file.with_context(|| format!("{}: cannot open for writing", shown(path)))?;
        Ok(Self { file, ..read })
    }

    /// Counts the bytes that are read.
    pub(super) fn counted(self, progress: Arc<dyn Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Counts the file, when all that was wanted of it is read.
    pub(super) fn is_done(&self) {
        if let Some(progress) = &self.progress {
            progress.hashed(1, 0);
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn len(&self) -> u64 {
        self.stamp.len
    }

    /// An error if something wrote to the file since it was opened.
    pub(super) fn unchanged(&self, path: &Path) -> anyhow::Result<()> {
        let now = Stamp::of(&self.file).with_context(|| shown(path))?;
        if (now.len, now.mtime) != (self.stamp.len, self.stamp.mtime) {
            bail!(
                "{}: was written to while it was being read; run this again when nothing writes to it",
                shown(path)
            );
        }
        Ok(())
    }

    /// Whether the file at `path`, if there is one, is this one, which was opened as `own`.
    pub(super) fn is_at(&self, path: &Path, own: &Path) -> bool {
        let numbers = |stamp: &Stamp| (stamp.device, stamp.inode);
        match Stamp::at(path, true) {
            Ok(there) if there.inode != 0 => numbers(&there) == numbers(&self.stamp),
            // Where files have no numbers, only their names say it.
            Ok(_) => {
                matches!((path.canonicalize(), own.canonicalize()), (Ok(it), Ok(own)) if it == own)
            }
            Err(_) => false,
        }
    }
}

impl ReadAt for Data {
    fn read_exact_at(&self, buf: &mut [u8], at: u64) -> Result<(), IoError> {
        self.file.read_exact_at(buf, at)?;
        if let Some(progress) = &self.progress {
            progress.hashed(0, buf.len() as u64);
        }
        Ok(())
    }

    fn size(&self) -> Result<Option<u64>, IoError> {
        ReadAt::size(&self.file)
    }
}

impl WriteAt for Data {
    fn write_all_at(&mut self, buf: &[u8], at: u64) -> Result<(), IoError> {
        self.file.write_all_at(buf, at)
    }

    fn set_size(&mut self, size: u64) -> Result<(), IoError> {
        self.file.set_size(size)
    }

    fn sync(&mut self) -> Result<(), IoError> {
        WriteAt::sync(&mut self.file)
    }
}

/// Whether the last byte of a file is where its length says: files of `/proc` say 0, and those of `/sys` say 4096.
fn has_its_length(file: &File, len: u64) -> bool {
    match file.read_exact_at(&mut [0], len.saturating_sub(1)) {
        Ok(()) => len > 0,
        Err(error) if error.is_end() => len == 0,
        // The program that needs this byte says why it cannot be read.
        Err(_) => true,
    }
}

/// Opens a regular file; anything else has no bytes at places.
fn open(path: &Path) -> anyhow::Result<File> {
    let file = treewide::file::open_at_once(path)?;
    let metadata = file.metadata().with_context(|| shown(path))?;
    if metadata.is_dir() {
        bail!("{}: is a directory; an outboard belongs to one file", shown(path));
    }
    if !metadata.is_file() {
        bail!(
            "{}: is not a regular file, and cannot be read at any place; copy it to a file, and name that",
            shown(path)
        );
    }
    Ok(file)
}

/// Opens the outboard of `len` bytes.
pub(super) fn open_outboard(path: &Path, group: Group, len: u64) -> anyhow::Result<(File, Layout)> {
    let (file, layout) = (open(path)?, Layout::new(len, group));
    let size = file.metadata().with_context(|| shown(path))?.len();
    if size != layout.bytes() {
        bail!(
            "{}: has {size} bytes, and an outboard of {len} bytes in groups of {} has {}: another --group, another \
             file, or the file had another length, which --size says",
            shown(path),
            indicatif::HumanBytes(group.bytes()),
            layout.bytes()
        );
    }
    Ok((file, layout))
}
