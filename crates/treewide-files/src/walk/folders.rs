//! Which file each entry of a directory is, with as few questions to the system as possible.
//!
//! A directory lists names with inodes. On most file systems these are the inodes of the files. Where they are not (some
//! network file systems, stacks of file systems), and where files of a directory may be on several devices, each file is asked.
//! The first file of a directory says which it is.

use crate::identity::Identity;
use walkdir::DirEntry;

/// The directories on the way to the entry at hand.
pub(super) struct Folders {
    pub(super) follows: bool,
    /// For each depth: what is known of the inodes that the directory lists.
    pub(super) inodes: Vec<Inodes>,
}

#[derive(Clone, Copy)]
#[cfg_attr(not(unix), expect(dead_code, reason = "directories list no inodes"))]
pub(super) enum Inodes {
    /// No file was looked at yet.
    Unknown,
    /// They are those of the files, which are on this device, as is the directory with this inode.
    Exact { device: u64, folder: u64 },
    /// They mean nothing.
    Vague,
}

impl Folders {
    /// The walk goes on in this directory.
    pub(super) fn enter(&mut self, folder: &DirEntry) {
        self.inodes.truncate(folder.depth());
        self.inodes.push(Inodes::Unknown);
    }

    /// Which file the entry is.
    #[cfg(unix)]
    pub(super) fn identity(&mut self, entry: &DirEntry) -> walkdir::Result<Identity> {
        use std::fs;
        use std::os::unix::fs::MetadataExt;
        use walkdir::DirEntryExt;

        // The root of a walk is followed if it is a link.
        let follows = self.follows || entry.depth() == 0;
        let known = entry.depth().checked_sub(1).and_then(|depth| self.inodes.get_mut(depth));
        if let Some(Inodes::Exact { device, folder }) = known
            && !entry.path_is_symlink()
        {
            let (device, folder) = (*device, Some(*folder));
            return Ok(Identity { device, inode: entry.ino(), folder, follows });
        }
        let file = entry.metadata()?;
        if let Some(known @ Inodes::Unknown) = known
            && !entry.path_is_symlink()
        {
            let folder = entry.path().parent().and_then(|it| fs::metadata(it).ok());
            *known = match folder {
                Some(folder) if folder.dev() == file.dev() && file.ino() == entry.ino() => {
                    Inodes::Exact { device: folder.dev(), folder: folder.ino() }
                }
                _ => Inodes::Vague,
            };
        }
        Ok(Identity { device: file.dev(), inode: file.ino(), folder: None, follows })
    }

    /// Nothing is known of it.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn identity(&mut self, _: &DirEntry) -> walkdir::Result<Identity> {
        Ok(Identity { device: 0, inode: 0, folder: None, follows: self.follows })
    }
}
