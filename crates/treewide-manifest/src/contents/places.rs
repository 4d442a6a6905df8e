//! Which names of operands lead to the same file: the operands can be lists of overlapping directories.

use crate::contents::root::{From, Root};
use crate::contents::roots::full_dir;
use std::collections::HashMap;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Mutex;
use treewide_files::name::os_path;

/// The places that names lead to.
#[derive(Debug)]
pub(crate) struct Places {
    /// The directory of each operand, where one may have a file of another.
    dirs: Vec<Option<PathBuf>>,
    /// The directories in names of plain lists, which can be of any form. `None` for other operands.
    parents: Vec<Option<Parents>>,
}

/// Directories, and where they are.
type Parents = Mutex<HashMap<PathBuf, PathBuf>>;

impl Places {
    pub(crate) fn of(roots: &[Root]) -> Self {
        let is_plain = |root: &Root| matches!(root.from, From::List) && root.dir().is_some();
        let mut dirs: Vec<_> = roots.iter().map(full_dir).collect();
        let here: Vec<_> = dirs.iter().flatten().collect();
        let meet = here
            .iter()
            .enumerate()
            .any(|(at, a)| here[at + 1..].iter().any(|b| a.starts_with(b) || b.starts_with(a)));
        if !meet && !roots.iter().any(is_plain) {
            dirs.fill(None);
        }
        let parents = roots.iter().map(|root| is_plain(root).then(Parents::default)).collect();
        Self { dirs, parents }
    }

    /// The place of a file; names of one file have the same. It begins with that of the folder, and `/`.
    pub(crate) fn file(&self, root: usize, name: &[u8]) -> Vec<u8> {
        let Some(dir) = &self.dirs[root] else {
            let number = (root as u32).to_be_bytes();
            let slash: &[u8] = if name.is_empty() { b"" } else { b"/" };
            return [&[0], &number[..], slash, name].concat();
        };
        let Ok(path) = os_path(name).map(|name| dir.join(name)) else { return name.into() };
        let (Some(parent), Some(last)) = (path.parent(), path.file_name()) else {
            return bytes(&path);
        };
        let mut place = match &self.parents[root] {
            None => bytes(parent),
            Some(parents) => {
                let mut parents = parents.lock().unwrap_or_else(|it| it.into_inner());
                let full = parents.entry(parent.into());
                bytes(full.or_insert_with(|| parent.canonicalize().unwrap_or(parent.into())))
            }
        };
        place.push(b'/');
        place.extend(last.as_encoded_bytes());
        place
    }

    /// The place of a folder; that of the operand itself if the name is empty.
    pub(crate) fn folder(&self, root: usize, name: &[u8]) -> Vec<u8> {
        let child = if name.is_empty() { b"x".to_vec() } else { [name, b"/x"].concat() };
        let mut place = self.file(root, &child);
        place.truncate(place.len().saturating_sub(2));
        place
    }

    /// The folders that a place is in, outermost first, and itself.
    pub(crate) fn ends(place: &[u8]) -> impl Iterator<Item = &[u8]> {
        // A number may have a byte that is a slash.
        let begin = if place.starts_with(&[0]) { 5 } else { 0 };
        let slashes = place.iter().enumerate().skip(begin).filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| &place[..at]).chain([place])
    }
}

/// A path with `/` between names, and none at the end.
fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_encoded_bytes().to_vec();
    if MAIN_SEPARATOR != '/' {
        bytes.iter_mut().filter(|it| **it == MAIN_SEPARATOR as u8).for_each(|it| *it = b'/');
    }
    if bytes.ends_with(b"/") {
        bytes.pop();
    }
    bytes
}
