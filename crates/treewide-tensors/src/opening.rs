//! Opens the files of models and lists.

use crate::error::{Error, fault};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::SystemTime;
use treewide::file;

/// The failure to open a file.
pub(crate) fn opening(path: &Path, error: io::Error) -> Error {
    Error::new(path, file::ErrorKind::Open(error))
}

/// Opens a file for reading, with its size and when it was written.
pub(crate) fn open(path: &Path) -> Result<(File, u64, Option<SystemTime>), Error> {
    let there = fs::metadata(path).map_err(|error| opening(path, error))?;
    if !there.is_file() {
        return Err(Error::new(path, fault("is not a regular file")));
    }
    let file = File::open(path).map_err(|error| opening(path, error))?;
    let opened = file.metadata().map_err(|error| opening(path, error))?;
    Ok((file, opened.len(), opened.modified().ok()))
}
