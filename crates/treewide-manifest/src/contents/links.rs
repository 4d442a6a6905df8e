//! Names that lead through symbolic links: the files that they lead to have names of their own.

use crate::contents::root::Root;
use std::path::{Component, Path, PathBuf};
use treewide_files::name::os_path;

/// Finds names of an operand that are not those of the files themselves.
pub(crate) struct Links {
    dir: PathBuf,
    /// The last directory in these names as they have it, and where it is.
    last: (PathBuf, Option<PathBuf>),
}

impl Links {
    /// `None` if the operand has no such names, or its files are not here.
    pub(crate) fn of(root: &Root) -> Option<Self> {
        let dir = root.full().filter(|_| root.is_vague())?;
        Some(Self { dir, last: Default::default() })
    }

    /// Whether this name is a symbolic link, or a directory in it is one.
    pub(crate) fn has(&mut self, name: &[u8]) -> bool {
        let Ok(name) = os_path(name) else { return false };
        let path = self.dir.join(&name);
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.last.0 != parent {
            self.last = (parent.into(), parent.canonicalize().ok());
        }
        let Some(real) = &self.last.1 else { return false };
        let is_link = || path.symlink_metadata().is_ok_and(|it| it.is_symlink());
        *real != plain(parent) || is_link()
    }
}

/// The path without `..`, as it is if there are no links in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
        // Windows has several forms of it.
        if cfg!(windows) && part == Component::RootDir {
            plain = plain.canonicalize().unwrap_or(plain);
        }
    }
    plain
}
