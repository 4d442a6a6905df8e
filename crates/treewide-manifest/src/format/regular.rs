//! Opening what must be a regular file: opening a pipe would wait for someone who writes to it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use treewide_files::name::shown;

/// Opens a regular file to read it, at once.
///
/// # Errors
/// If it cannot be opened, or is anything else.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = treewide::file::open_at_once(path).map_err(|error| error.into_kind())?;
    let there = file.metadata()?;
    if there.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !there.is_file() {
        return Err(io::Error::other("is not a regular file; write it to one first"));
    }
    Ok(file)
}

/// Whether the file at the path begins like this; `None` if there is none, or it is empty. One that cannot be read does not.
pub(crate) fn begins(path: &Path, with: &[u8]) -> Option<bool> {
    let mut begin = Vec::new();
    let read = open(path).ok()?.take(with.len() as u64).read_to_end(&mut begin);
    (read.is_err() || !begin.is_empty()).then(|| read.is_ok() && begin == with)
}

/// The path with this end after its name.
pub(crate) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// What is next to a list: what it is, the end of its name, and how it begins, of any version.
const PARTS: [(&str, &str, &[u8]); 2] = [("index", ".tw", INDEX), ("past", ".past", PAST)];
pub(crate) const INDEX: &[u8] = b"{\"treewide\":\"manifest ";
pub(crate) const PAST: &[u8] = b"{\"treewide\":\"past ";

/// What the file at the path is if it is a part of a manifest other than its list, and where the list is by its name.
pub(crate) fn part_of(path: &Path) -> Option<(&'static str, Option<PathBuf>)> {
    let (what, end, _) = PARTS.iter().find(|it| begins(path, it.2) == Some(true))?;
    let list = path.to_str().and_then(|it| it.strip_suffix(end));
    Some((what, list.filter(|it| !it.is_empty()).map(PathBuf::from)))
}

/// The list and the time in `X.b3@WHEN`. A file that has this whole name is that file.
pub(crate) fn then(path: &Path) -> Option<(&Path, &str)> {
    let (list, when) = path.to_str()?.rsplit_once('@')?;
    let list = Path::new(list);
    (list.is_file() && path.symlink_metadata().is_err()).then_some((list, when))
}

/// The error about such a part where a list is expected.
pub fn not_a_list(path: &Path) -> Option<String> {
    if let Some((list, _)) = then(path) {
        return Some(format!("is what {0} was, and is only read; name {0}", shown(list)));
    }
    Some(match part_of(path)? {
        (what, Some(list)) => format!("is the {what} of {0}; name {0}", shown(&list)),
        (what, None) => format!("is the {what} of a list; name the list"),
    })
}

/// Creates a file that is no more readable than the list next to it.
pub(crate) fn create_next_to(path: &Path, list: Option<&Metadata>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if let Some(list) = list {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        options.mode(list.mode() & 0o666 | 0o600);
    }
    let _ = list;
    options.open(path)
}
