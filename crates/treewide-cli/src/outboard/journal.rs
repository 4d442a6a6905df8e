//! The journal of an update: the file next to an outboard from which the next run finishes what was interrupted.

use super::files::Store;
use super::shape::Shape;
use anyhow::Context;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use treewide::outboard::{Outboard, ReadAt};
use treewide::{Hash, Mode};
use treewide_files::name::shown;

/// An open journal. It is removed in the end, if nothing has to be finished from it.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// The place of the journal of an outboard.
fn path_of(outboard: &Path) -> PathBuf {
    let mut path = OsString::from(outboard);
    path.push(".journal");
    path.into()
}

/// What a message adds where an outboard is broken.
pub(super) fn hint(outboard: &Path) -> Option<String> {
    let path = path_of(outboard);
    let has_bytes = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() > 0);
    has_bytes.then(|| {
        format!(
            "{}: an update was interrupted; 'treewide outboard update --recover' finishes it",
            shown(&path)
        )
    })
}

impl Journal {
    pub(super) fn open(outboard: &Path) -> anyhow::Result<Self> {
        let path = path_of(outboard);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("{}: cannot open", shown(&path)))?;
        Ok(Self { path, file })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Finishes the update that the journal is of, if there is one, and returns the digest that it has then.
    pub(super) fn recover(
        &mut self,
        outboard: &Path,
        shape: Shape,
    ) -> anyhow::Result<Option<Hash>> {
        // As `treewide::outboard` documents it: lengths at 8 and digests at 32, the old one first.
        let mut header = [0; 96];
        match self.file.read_exact_at(&mut header, 0) {
            Ok(()) => {}
            // It was cut off, so the outboard is as before.
            Err(error) if error.is_end() => return Ok(None),
            Err(error) => return Err(anyhow::anyhow!("{}: {error}", shown(&self.path))),
        }
        let len = u64::from_le_bytes(header[8..16].try_into()?);
        let digest = Hash::from_slice(&header[32..64])?;
        let store = Store::open_torn(outboard)?;
        let mut torn = Outboard::new(&digest, shape.layout(len), Mode::PLAIN, store);
        let recovered = torn.recover(&self.file);
        let recovered =
            recovered.map_err(|error| anyhow::anyhow!("{}: {error}", shown(&self.path)))?;
        if recovered {
            self.file.set_len(0).with_context(|| shown(&self.path))?;
        }
        Ok(recovered.then(|| *torn.root()))
    }

    /// Nothing has to be finished.
    pub(super) fn clear(&mut self) -> anyhow::Result<()> {
        self.file.set_len(0).with_context(|| shown(&self.path))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|it| it.len() == 0) {
            let _ = fs::remove_file(&self.path); // an empty one does no harm
        }
    }
}
