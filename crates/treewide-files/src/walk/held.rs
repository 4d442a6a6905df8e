//! The walk on Linux where no link is followed: each directory is opened by its name in the one around it, which is open.
//!
//! So nothing leads out of the tree, and paths may have any length. Of a tree whose directories have few entries, listing them by their
//! whole paths takes twice as long. results/zen5-2vcpu/digests.md#lists-and-stores

use super::folders::{Folder, KeepsInodes, keeps, look};
use super::{Found, Walk, is_hidden};
use crate::error::{Error, ErrorKind};
use crate::folder::numbers;
use crate::identity::Identity;
use crate::long_path;
use crate::temporary::is_temporary;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, fstat, fstatfs, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use treewide::file;

/// Directories that are open at a time. One above them is opened again when the walk comes back to it.
const OPEN: usize = 8;
/// Bytes of names that are read at a time.
const ROOM: usize = 32 << 10;
const LISTED: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

pub(super) struct Held {
    walk: Walk,
    /// The directories from the root to the one at hand.
    stack: Vec<Level>,
    keeps_inodes: KeepsInodes,
    /// This comes next.
    failed: Option<Error>,
    room: Vec<u8>,
}

struct Level {
    path: PathBuf,
    open: Option<OwnedFd>,
    folder: Folder,
    entries: std::vec::IntoIter<Entry>,
}

struct Entry {
    /// With a slash at the end if it is a directory, for the order.
    name: Vec<u8>,
    kind: FileType,
    inode: u64,
}

impl Entry {
    fn name(&self) -> &[u8] {
        self.name.strip_suffix(b"/").unwrap_or(&self.name)
    }
}

impl Held {
    /// `None` if links are followed, or the root cannot be opened as a directory.
    pub(super) fn new(walk: &Walk) -> Option<Self> {
        let open = open(&walk.root).ok().filter(|_| !walk.follow)?;
        let is = numbers(&fstat(&open).ok()?);
        let (walk, room) = (walk.clone(), Vec::with_capacity(ROOM));
        let mut held = Self { walk, stack: Vec::new(), keeps_inodes: None, failed: None, room };
        held.push(&held.walk.root.clone(), open, is);
        Some(held)
    }

    /// Lists a directory, and continues in it.
    fn push(&mut self, path: &Path, open: OwnedFd, is: (u64, u64)) {
        let (mut entries, failed) = list(&open, &mut self.room);
        self.failed = failed.map(|error| Error::new(path, ErrorKind::read(error)));
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(far) = self.stack.len().checked_sub(OPEN) {
            self.stack[far].open = None;
        }
        let (path, open, folder) = (path.to_owned(), Some(open), Folder::new(is));
        self.stack.push(Level { path, open, folder, entries: entries.into_iter() });
    }

    /// The directory at hand, open.
    fn open(&mut self) -> Result<BorrowedFd<'_>, ErrorKind> {
        let level = self.stack.last_mut().expect("the walk is in it");
        if level.open.is_none() {
            let open = open(&level.path).map_err(ErrorKind::read)?;
            if numbers(&fstat(&open).map_err(failed)?) != level.folder.numbers() {
                return Err(ErrorKind::Replaced);
            }
            level.open = Some(open);
        }
        Ok(level.open.as_ref().expect("it was opened").as_fd())
    }

    /// Continues in a directory, unless it is on another file system and is to be left alone.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if something else is in its place, or its path leads elsewhere now; if it is gone.
    fn enter(&mut self, path: &Path, entry: &Entry) -> Result<(), ErrorKind> {
        let (is_one, device) = (self.walk.one_file_system, self.stack[0].folder.numbers().0);
        let around = self.open()?;
        if is_one {
            let there = statat(around, entry.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            if numbers(&there).0 != device {
                return Ok(());
            }
        }
        let how = LISTED | OFlags::NOFOLLOW;
        let open = match openat(around, entry.name(), how, Mode::empty()) {
            Ok(open) => open,
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(ErrorKind::Replaced),
            Err(error @ Errno::NOENT) => return Err(failed(error)),
            Err(error) => {
                self.failed = Some(Error::new(path, failed(error)));
                return Ok(());
            }
        };
        let is = numbers(&fstat(&open).map_err(failed)?);
        match look(path, false) {
            Ok(now) if now != is => return Err(ErrorKind::Replaced),
            // No path leads there.
            Err(ErrorKind::File(file::ErrorKind::Read(error)))
                if long_path::is_too_long(&error) => {}
            now => drop(now?),
        }
        self.push(path, open, is);
        Ok(())
    }

    /// Which file an entry of the directory at hand is.
    ///
    /// # Errors
    /// [`ErrorKind::Replaced`] if it is not a file any more; if it cannot be looked at.
    fn identity(&mut self, entry: &Entry) -> Result<Identity, ErrorKind> {
        if let Some(known) = self.stack.last().and_then(|it| it.folder.identity(entry.inode, false))
        {
            return Ok(known);
        }
        // Open, so that both answers are of the same file.
        let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(self.open()?, entry.name(), how, Mode::empty()).map_err(failed)?;
        let there = fstat(&file).map_err(failed)?;
        if !FileType::from_raw_mode(there.st_mode).is_file() {
            return Err(ErrorKind::Replaced);
        }
        let (device, inode) = numbers(&there);
        let keeps_inodes = || fstatfs(&file).ok().as_ref().map(keeps);
        let folder = &mut self.stack.last_mut().expect("the walk is in it").folder;
        let asked = &mut self.keeps_inodes;
        let has_inode = folder.learn(entry.inode, (device, inode), asked, keeps_inodes);
        Ok(Identity { device, inode, has_inode, folder: None, follows: false })
    }
}

impl Iterator for Held {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(failed) = self.failed.take() {
                return Some(Found::Failed(failed));
            }
            let level = self.stack.last_mut()?;
            let Some(entry) = level.entries.next() else {
                self.stack.pop();
                continue;
            };
            let name = OsStr::from_bytes(entry.name());
            let (path, is_dir) = (level.path.join(name), entry.kind.is_dir());
            let is_left_out = !self.walk.hidden && is_hidden(name)
                || self.walk.filter.as_ref().is_some_and(|keeps| !keeps(&path, is_dir));
            if is_left_out {
                continue;
            }
            let found = match entry.kind {
                FileType::Directory => self.enter(&path, &entry).map(|()| None),
                FileType::RegularFile if is_temporary(name) => return Some(Found::Temporary(path)),
                FileType::RegularFile | FileType::Unknown => self.identity(&entry).map(Some),
                FileType::Symlink => return Some(Found::Link(path)),
                kind => return Some(Found::Special { path, kind: special_kind(kind) }),
            };
            match found {
                Ok(Some(identity)) => {
                    return Some(Found::File { path, inode: identity.inode, identity });
                }
                Ok(None) if self.walk.directories => return Some(Found::Directory(path)),
                Ok(None) => {}
                Err(error) => return Some(Found::Failed(Error::new(path, error))),
            }
        }
    }
}

fn failed(error: Errno) -> ErrorKind {
    ErrorKind::read(error.into())
}

/// Opens a directory by its path, whose length does not matter.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let opened = openat(CWD, path, LISTED, Mode::empty());
    match opened {
        Err(error @ Errno::NAMETOOLONG) => Ok(long_path::directory(path).ok_or(error)?.0.into()),
        opened => Ok(opened?),
    }
}

/// What is in a directory, and why there may be more.
fn list(folder: &OwnedFd, room: &mut Vec<u8>) -> (Vec<Entry>, Option<io::Error>) {
    let mut entries = Vec::new();
    let mut names = RawDir::new(folder, room.spare_capacity_mut());
    while let Some(next) = names.next() {
        let entry = match next {
            Ok(entry) => entry,
            Err(error) => {
                // It may have been removed after it was found.
                let is_there = fstat(folder).is_ok_and(|it| it.st_nlink > 0);
                return (entries, is_there.then(|| error.into()));
            }
        };
        let (mut name, mut kind) = (entry.file_name().to_bytes().to_vec(), entry.file_type());
        if name == b"." || name == b".." {
            continue;
        }
        if kind == FileType::Unknown
            && let Ok(there) = statat(folder, &name[..], AtFlags::SYMLINK_NOFOLLOW)
        {
            kind = FileType::from_raw_mode(there.st_mode);
        }
        if kind.is_dir() {
            name.push(b'/');
        }
        entries.push(Entry { name, kind, inode: entry.ino() });
    }
    (entries, None)
}

fn special_kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Each directory has `a`, with the next one in it, and `z`, to which the walk comes on its way back.
    #[test]
    fn a_walk_comes_back_to_directories_that_it_has_closed() {
        let folder = tempfile::tempdir().unwrap();
        let places: Vec<_> =
            (0..3 * OPEN).map(|depth| folder.path().join("a/".repeat(depth))).collect();
        for place in &places {
            fs::create_dir_all(place.join("z")).unwrap();
            fs::write(place.join("z/f"), "").unwrap();
        }
        let mut walk = Walk::new(folder.path()).into_iter();
        let mut found = walk.by_ref().take(2 * OPEN).map(|found| match found {
            Found::File { path, .. } => path,
            other => panic!("{other:?}"),
        });
        assert!(found.by_ref().eq(places.iter().rev().take(2 * OPEN).map(|it| it.join("z/f"))));
        // Something else is at the path of a directory that is not open.
        fs::rename(&places[1], folder.path().join("moved")).unwrap();
        fs::create_dir_all(places[3 * OPEN - 1].join("z")).unwrap();
        let next = walk.next().unwrap();
        assert!(
            matches!(next, Found::Failed(error) if matches!(error.kind(), ErrorKind::Replaced))
        );
    }
}
