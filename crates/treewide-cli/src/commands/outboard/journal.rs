//! The journal of an update: the file next to an outboard from which the next run finishes what was interrupted.

use super::failure::named;
use super::files::Store;
use super::shape::Shape;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use treewide::outboard::{Change, Outboard};
use treewide::{Hash, Mode};
use treewide_files::Stamp;
use treewide_files::name::shown;

/// An open journal. It is removed in the end, if nothing has to be finished from it.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// The place of the journal of an outboard.
pub(super) fn path_of(outboard: &Path) -> PathBuf {
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

/// Removes the journal of an outboard that is made again: what it has belongs to the one before.
pub(super) fn forget(outboard: &Path) {
    if fs::symlink_metadata(path_of(outboard)).is_ok()
        && let Ok(mut journal) = Journal::open(outboard)
    {
        // If it stays, the next update finds that it does not belong to the new one.
        let _ = journal.clear();
    }
}

impl Journal {
    /// Opens the journal, or makes an empty one. Another file in its place is an error, because it would be overwritten.
    pub(super) fn open(outboard: &Path) -> anyhow::Result<Self> {
        let path = path_of(outboard);
        let other = || {
            format!(
                "{}: is not a journal, but stands in the place of one; move it away",
                shown(&path)
            )
        };
        let is_new = match fs::symlink_metadata(&path) {
            Ok(there) if !there.is_file() => bail!(other()),
            Ok(_) => false,
            Err(_) => true,
        };
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("{}: cannot open", shown(&path)))?;
        lock(&file).with_context(|| shown(&path))?;
        let (ours, there) = (Stamp::of(&file)?, Stamp::at(&path, false));
        if !there.is_ok_and(|there| (there.device, there.inode) == (ours.device, ours.inode)) {
            bail!("{}: another update has just ended; run this again", shown(&path));
        }
        if !Change::may_begin(&file).map_err(|error| named(&error, outboard, outboard))? {
            bail!(other());
        }
        if is_new {
            sync_folder(&path);
        }
        Ok(Self { path, file })
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Finishes the update that the journal is of, if there is one, and returns the digest that it has then. `given` is a digest
    /// that the outboard must have had before the update, or after it.
    pub(super) fn recover(
        &mut self,
        outboard: &Path,
        shape: Shape,
        mode: Mode,
        given: Option<Hash>,
        others: &str,
    ) -> anyhow::Result<Option<Hash>> {
        let failed = |error| named(&error, outboard, outboard);
        // If it was cut off, the outboard is as before.
        let change = Change::read(&self.file, mode).map_err(failed)?;
        let Some(change) = change else {
            if Change::may_be_whole(&self.file).map_err(failed)? {
                bail!(
                    "{}: is of an update {others}, or was damaged; finish it that way, or verify the outboard with 'treewide \
                     outboard verify', and remove the journal",
                    shown(&self.path)
                );
            }
            return Ok(None);
        };
        let (digest, layout) = change.before();
        let store = Store::open_torn(outboard)?;
        if layout != shape.layout(layout.len()) || !change.fits(&store, mode).map_err(failed)? {
            bail!(
                "{}: is not of {}, or of what it was before it was made again; verify the outboard with 'treewide outboard \
                 verify', and remove the journal",
                shown(&self.path),
                shown(outboard)
            );
        }
        let after = change.after().0;
        // Of one group, there was no digest.
        if let Some(given) =
            given.filter(|given| layout.groups() > 1 && ![digest, after].contains(given))
        {
            bail!(
                "{}: is of an update from {digest} to {after}, and not from {given}, which was given as the old digest; give \
                 one of them, or make the outboard again with 'treewide outboard create'",
                shown(&self.path)
            );
        }
        let mut torn = Outboard::new(&digest, layout, mode, store);
        let recovered = torn.recover(&self.file).map_err(failed)?;
        if recovered {
            self.clear()?;
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

/// Nobody else updates the outboard at the same time.
fn lock(file: &File) -> io::Result<()> {
    // On Windows a file that is locked and open cannot be removed.
    if cfg!(windows) {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another update is running; wait until it is done"))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// After a loss of power, the journal must be there under its name.
#[cfg(unix)]
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    // A file system that cannot do this does it otherwise, or not at all.
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) {}
