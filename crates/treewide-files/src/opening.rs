//! Opening a file that a walk has found, in a directory that is open where the system has such.

use crate::error::ErrorKind;
#[cfg(target_os = "linux")]
use crate::folder::Folder;
use crate::identity::Identity;
use crate::stamp::Stamp;
use std::fs::File;
use std::path::Path;

impl Identity {
    /// Opens the file at `path` if it is still the same, and also returns its length.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if it is another file, and [`ErrorKind::File`].
    pub fn open(self, path: &Path) -> Result<(File, u64), ErrorKind> {
        self.open_stamped(path).map(|(file, stamp)| (file, stamp.len))
    }

    /// Opens like [`open`](Self::open), and returns the metadata of the open file too.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_stamped(self, path: &Path) -> Result<(File, Stamp), ErrorKind> {
        #[cfg(target_os = "linux")]
        return self.open_in(&mut Folder::default(), path);
        #[cfg(not(target_os = "linux"))]
        self.open_by_path(path)
    }

    /// As [`open_stamped`](Self::open_stamped), with a directory that may be open already.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_in(
        self,
        folder: &mut Folder,
        path: &Path,
    ) -> Result<(File, Stamp), ErrorKind> {
        match folder.open(self, path)? {
            Some(file) => self.stamped(file, path),
            None => self.open_by_path(path),
        }
    }
}
