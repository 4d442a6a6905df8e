//! Looks up a name below a root without following a link out of it.

use crate::format::name;
use crate::format::record::{Special, Type};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A root below which names are looked up.
#[derive(Debug)]
pub(crate) struct Beneath {
    root: PathBuf,
    #[cfg(target_os = "linux")]
    opened: Option<std::fs::File>,
    follows: bool,
}

impl Beneath {
    /// `follows` says whether links are followed, as the walk of the same root does.
    pub(crate) fn new(root: &Path, follows: bool) -> Self {
        Self {
            root: root.into(),
            #[cfg(target_os = "linux")]
            opened: fs::File::open(root).ok(),
            follows,
        }
    }

    /// What is at this name, which was [checked](name::checked). `None` if there is nothing.
    pub(crate) fn look(&self, name: &[u8]) -> io::Result<Option<Type>> {
        let found = match self.quick(name) {
            Some(found) => found,
            None => self.by_parts(name),
        };
        match found {
            Ok(there) => Ok(Some(kind(&there))),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                // A name that cannot exist here.
                io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Why the directory that a name is in cannot be listed to its end. The system's library takes `ENOENT` for the end, so that
    /// a walk does not see what comes after it.
    #[cfg(target_os = "linux")]
    pub(crate) fn listing_error(&self, name: &[u8]) -> Option<io::Error> {
        let path = self.root.join(name::path(name));
        let folder = fs::File::open(path.parent()?).ok()?;
        let mut room = Vec::with_capacity(32 << 10);
        let mut names = rustix::fs::RawDir::new(&folder, room.spare_capacity_mut());
        while let Some(name) = names.next() {
            if let Err(error) = name {
                return Some(error.into());
            }
        }
        None
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn listing_error(&self, _: &[u8]) -> Option<io::Error> {
        None
    }

    /// In one call that never leaves the root. `None` if the system has no such call.
    #[cfg(target_os = "linux")]
    fn quick(&self, name: &[u8]) -> Option<io::Result<Metadata>> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::Errno;
        let root = self.opened.as_ref().filter(|_| !self.follows)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Some(match openat2(root, name, flags, Mode::empty(), resolve) {
            Ok(found) => fs::File::from(found).metadata(),
            // A link on the way: below it the walk finds nothing.
            Err(Errno::LOOP | Errno::XDEV) => Err(io::ErrorKind::NotFound.into()),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::NAMETOOLONG) => return None,
            Err(error) => Err(error.into()),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn quick(&self, _: &[u8]) -> Option<io::Result<Metadata>> {
        None
    }

    fn by_parts(&self, name: &[u8]) -> io::Result<Metadata> {
        let path = self.root.join(name::path(name));
        if self.follows {
            return fs::metadata(&path).or_else(|_| fs::symlink_metadata(&path));
        }
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let on_the_way = fs::symlink_metadata(self.root.join(name::path(&name[..at])))?;
            if !on_the_way.is_dir() {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        fs::symlink_metadata(path)
    }
}

fn kind(there: &Metadata) -> Type {
    let kind = there.file_type();
    if kind.is_file() {
        Type::File
    } else if kind.is_dir() {
        Type::Directory
    } else if kind.is_symlink() {
        Type::Link
    } else {
        special(kind)
    }
}

#[cfg(unix)]
fn special(kind: fs::FileType) -> Type {
    use std::os::unix::fs::FileTypeExt;
    Type::Special(if kind.is_fifo() {
        Special::Pipe
    } else if kind.is_socket() {
        Special::Socket
    } else {
        Special::Device
    })
}

#[cfg(not(unix))]
fn special(_: fs::FileType) -> Type {
    Type::Special(Special::Device)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn look_never_leaves_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "").unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("out")).unwrap();
        std::os::unix::fs::symlink("a", root.join("in")).unwrap();
        let beneath = Beneath::new(&root, false);
        for (name, expected) in [
            ("a", Some(Type::Directory)),
            ("a/file", Some(Type::File)),
            ("out", Some(Type::Link)),
            ("out/secret", None),
            ("in/file", None),
            ("a/file/x", None),
            ("b", None),
        ] {
            assert_eq!(beneath.look(name.as_bytes()).unwrap(), expected, "{name}");
            let by_parts = beneath.by_parts(name.as_bytes()).ok().map(|it| kind(&it));
            assert_eq!(by_parts, expected, "{name}");
        }
    }
}
