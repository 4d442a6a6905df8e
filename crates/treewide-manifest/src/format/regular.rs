//! Opening what must be a regular file: opening a pipe would wait for someone who writes to it.

use std::fs::File;
use std::io;
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
