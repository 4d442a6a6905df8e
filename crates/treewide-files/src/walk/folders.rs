//! Which file each entry of a directory is, with as few questions to the system as possible, and whether each directory on
//! the way is still the one that was found.
//!
//! A directory lists names with inodes. On most file systems these are the inodes of the files. Where they are not (some
//! network file systems, stacks of file systems), and where files of a directory may be on several devices, each file is asked.
//! The first file of a directory says which it is.
//!
//! A directory is opened by its path, and a link that took its place leads elsewhere. So each time the walk continues in one, or
//! asks for a file, the directory around it is compared with its state when the walk came to it. (`held.rs` opens none by its path.)

use crate::error::ErrorKind;
use crate::identity::Identity;
use crate::long_path;
use std::path::Path;
use treewide::file;
use walkdir::DirEntry;

/// The directories on the way to the entry at hand.
pub(super) struct Folders {
    follows: bool,
    stack: Vec<Folder>,
    #[cfg(unix)]
    keeps_inodes: KeepsInodes,
}

/// Whether files keep their inodes, on the device that was asked last.
#[cfg(unix)]
pub(super) type KeepsInodes = Option<(u64, bool)>;

/// A directory, when the walk came to it.
#[derive(Clone, Copy)]
#[cfg_attr(not(unix), expect(dead_code, reason = "directories list no inodes"))]
pub(super) struct Folder {
    device: u64,
    inode: u64,
    listed: Inodes,
    /// Whether its files keep their inodes, once a file was looked at.
    keeps_inodes: bool,
    /// It is not what was found in its place: nothing in it is looked at.
    is_replaced: bool,
}

/// What is known of the inodes that a directory lists.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "directories list no inodes"))]
enum Inodes {
    /// No file was looked at yet.
    Unknown,
    /// They are those of the files, which are on the directory's device.
    Exact,
    /// They mean nothing.
    Vague,
}

impl Folder {
    pub(super) fn new((device, inode): (u64, u64)) -> Self {
        let (listed, keeps_inodes, is_replaced) = (Inodes::Unknown, false, false);
        Self { device, inode, listed, keeps_inodes, is_replaced }
    }

    /// Its device and its inode.
    #[cfg(target_os = "linux")]
    pub(super) fn numbers(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// The file that it lists with this inode, if that is known without a look.
    #[cfg(unix)]
    pub(super) fn identity(&self, inode: u64, follows: bool) -> Option<Identity> {
        let Self { device, inode: folder, .. } = *self;
        (self.listed == Inodes::Exact).then_some(Identity {
            device,
            inode,
            has_inode: true,
            folder: Some(folder),
            follows,
        })
    }

    /// It lists a file with this inode, which has these numbers. `keeps_inodes` asks whether it keeps its inode. Returns whether its
    /// files keep theirs: without an answer, another inode is another file.
    #[cfg(unix)]
    pub(super) fn learn(
        &mut self,
        listed: u64,
        (device, inode): (u64, u64),
        asked: &mut KeepsInodes,
        keeps_inodes: impl FnOnce() -> Option<bool>,
    ) -> bool {
        if self.listed == Inodes::Unknown {
            let known = asked.filter(|(asked, _)| *asked == device).map(|(_, keeps)| keeps);
            let Some(keeps) = known.or_else(keeps_inodes) else { return true };
            self.keeps_inodes = keeps;
            *asked = Some((device, self.keeps_inodes));
            let is_same = (self.device, listed) == (device, inode);
            let is_exact = self.keeps_inodes && is_same;
            self.listed = if is_exact { Inodes::Exact } else { Inodes::Vague };
        }
        self.keeps_inodes
    }
}

impl Folders {
    pub(super) fn new(follows: bool) -> Self {
        Self {
            follows,
            stack: Vec::new(),
            #[cfg(unix)]
            keeps_inodes: None,
        }
    }

    /// Whether the entry is below a directory that was replaced.
    pub(super) fn leads_elsewhere(&self, entry: &DirEntry) -> bool {
        self.stack[..entry.depth().min(self.stack.len())].iter().any(|it| it.is_replaced)
    }

    /// The walk continues in this directory.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if something else is in its place now, and [`ErrorKind::File`].
    pub(super) fn enter(&mut self, folder: &DirEntry) -> Result<(), ErrorKind> {
        self.stack.truncate(folder.depth());
        let there = match self.same(folder) {
            // The walk could not list it either, and says so next.
            Err(ErrorKind::File(file::ErrorKind::Read(error)))
                if long_path::is_too_long(&error) =>
            {
                Ok((0, 0))
            }
            there => there,
        };
        let is_replaced = there.is_err();
        let folder = Folder::new(*there.as_ref().unwrap_or(&(0, 0)));
        self.stack.push(Folder { is_replaced, ..folder });
        there.map(|_| ())
    }

    /// What a directory is, if it and the one that it is in are still in their places.
    fn same(&mut self, folder: &DirEntry) -> Result<(u64, u64), ErrorKind> {
        // The root of a walk is followed if it is a link.
        let there = look(folder.path(), self.follows || folder.depth() == 0)?;
        if folder.depth() > 0 {
            self.check_parent(folder)?;
        }
        Ok(there)
    }

    /// Checks that the entry's directory is still the one that the walk has listed.
    fn check_parent(&self, entry: &DirEntry) -> Result<(), ErrorKind> {
        let depth = entry.depth() - 1;
        match (self.stack.get(depth), entry.path().parent()) {
            (Some(known), Some(path)) if !self.follows => {
                let now = look(path, depth == 0)?;
                let is_same = now == (known.device, known.inode);
                if is_same { Ok(()) } else { Err(ErrorKind::Replaced) }
            }
            _ => Ok(()),
        }
    }

    /// Which file the entry is.
    ///
    /// # Errors
    /// [`Trouble::Elsewhere`] if its directory is another one now, and [`Trouble::Walk`].
    #[cfg(unix)]
    pub(super) fn identity(&mut self, entry: &DirEntry) -> Result<Identity, Trouble> {
        use walkdir::DirEntryExt;

        // The root of a walk is followed if it is a link.
        let follows = self.follows || entry.depth() == 0;
        let parent = entry.depth().checked_sub(1);
        let known = parent.and_then(|depth| self.stack.get(depth)).copied();
        if let Some(identity) = known.and_then(|it| it.identity(entry.ino(), follows))
            && !entry.path_is_symlink()
        {
            return Ok(identity);
        }
        let (device, inode) = self.file(entry)?;
        let has_inode = match parent.and_then(|depth| self.stack.get_mut(depth)) {
            Some(known) if !entry.path_is_symlink() => {
                let keeps_inodes = || keeps_inodes(entry.path());
                known.learn(entry.ino(), (device, inode), &mut self.keeps_inodes, keeps_inodes)
            }
            _ => keeps_inodes(entry.path()).unwrap_or(true),
        };
        Ok(Identity { device, inode, has_inode, folder: None, follows })
    }

    /// The device and the inode of a file, if it is still one, in the directory that it was found in.
    #[cfg(unix)]
    fn file(&mut self, entry: &DirEntry) -> Result<(u64, u64), Trouble> {
        use std::os::unix::fs::MetadataExt;
        let file = entry.metadata()?;
        if entry.depth() > 0 {
            self.check_parent(entry)?;
        }
        Ok((file.dev(), file.ino()))
    }

    /// Nothing is known of it.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn identity(&mut self, _: &DirEntry) -> Result<Identity, Trouble> {
        Ok(Identity { device: 0, inode: 0, has_inode: false, folder: None, follows: self.follows })
    }
}

/// Why the walk cannot continue at an entry.
pub(super) enum Trouble {
    /// It cannot be looked at.
    Walk(walkdir::Error),
    /// It is not where it was found.
    Elsewhere(ErrorKind),
}

impl From<walkdir::Error> for Trouble {
    fn from(error: walkdir::Error) -> Self {
        Self::Walk(error)
    }
}

impl From<ErrorKind> for Trouble {
    fn from(error: ErrorKind) -> Self {
        Self::Elsewhere(error)
    }
}

/// The device and the inode of a directory.
///
/// # Errors
/// [`ErrorKind::Replaced`] if it is not one, and [`ErrorKind::File`].
pub(super) fn look(path: &Path, follows: bool) -> Result<(u64, u64), ErrorKind> {
    let found = if follows { path.metadata()? } else { path.symlink_metadata()? };
    if !found.is_dir() {
        return Err(ErrorKind::Replaced);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Ok((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    Ok((0, 0))
}

/// Whether a file has the same inode whenever it is looked at.
#[cfg(target_os = "linux")]
fn keeps_inodes(path: &Path) -> Option<bool> {
    rustix::fs::statfs(path).ok().as_ref().map(keeps)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn keeps_inodes(_: &Path) -> Option<bool> {
    Some(true)
}

/// Whether files have lasting inodes on this file system. Some make one up each time they load the file.
#[cfg(target_os = "linux")]
pub(super) fn keeps(system: &rustix::fs::StatFs) -> bool {
    /// By their numbers in `linux/magic.h`, and in the sources of the last two.
    const MADE_UP: [u32; 5] = [
        0x4d44,      // FAT
        0x2011_bab0, // exFAT
        0x6573_5546, // FUSE
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
    ];
    !MADE_UP.contains(&(system.f_type as u32))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn learn_keeps_no_answer_that_nobody_gave() {
        let (mut folder, mut asked) = (Folder::new((1, 2)), None);
        assert!(folder.learn(5, (1, 5), &mut asked, || None), "compared all the same");
        assert_eq!((asked, folder.identity(5, false)), (None, None));
        assert!(!folder.learn(5, (1, 5), &mut asked, || Some(false)));
        assert_eq!(asked, Some((1, false)));
    }
}
