//! Opening what must be a regular file: opening a pipe would wait for someone who writes to it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

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
