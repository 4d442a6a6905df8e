//! Where reading ended, compared with the length: for this module, and for callers who read a file themselves.

use std::fs::{File, Metadata};
use std::io;

use super::error::ErrorKind;
use crate::length;

/// Checks that reading a regular file from its beginning found the end at `end`, where the file ends: for callers who
/// read it themselves. `opened` is its metadata before the first byte was read. Returns the metadata of now.
///
/// A file of length 0, or on a file system whose lengths are guesses (`/proc`, `/sys`, cgroups and others of Linux), may
/// end anywhere. A file that has become longer since may end at its old length, its new length, or between them.
///
/// # Errors
/// [`ErrorKind::Shrank`], [`ErrorKind::Ended`], [`ErrorKind::GoesOn`], or [`ErrorKind::Read`] if the system does not
/// return the metadata.
pub fn check_end(file: &File, opened: &Metadata, end: u64) -> Result<Metadata, ErrorKind> {
    length::check_end(file, opened, end).map_err(ErrorKind::of)
}

/// Checks as [`check_end`], for callers who have read all bytes up to the length in `opened` and have not looked for more: reads
/// at the end.
///
/// # Errors
/// As [`check_end`], or [`ErrorKind::Read`] if the file cannot be read.
pub fn check_length(file: &File, opened: &Metadata) -> Result<Metadata, ErrorKind> {
    let len = opened.len();
    let end = length::end_of_reading(file, len.saturating_sub(1), len).map_err(ErrorKind::Read)?;
    check_end(file, opened, end)
}

/// Returns whether the length in the metadata of an open file is a promise, so that reading must end there. It is not for
/// pipes and devices, for length 0, and on file systems whose lengths are guesses.
pub fn promises_length(file: &File, opened: &Metadata) -> bool {
    length::is_promise(file, opened)
}

/// Reads at a place of a file, once. The position stays; on Windows only if no other thread reads the file through the same handle.
///
/// # Errors
/// Those of the system, [`Interrupted`](io::ErrorKind::Interrupted) among them.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    length::read_at(file, buffer, at)
}

/// Checks a file that was empty when it was opened and has become a log since.
pub(super) fn check_end_of_log(
    file: &File,
    log: &Metadata,
    end: u64,
) -> Result<Metadata, ErrorKind> {
    let len = log.len();
    let end = if end == len {
        length::end_of_reading(file, len, len).map_err(ErrorKind::Read)?
    } else {
        end
    };
    check_end(file, log, end)
}

/// The length of a file now, if it is more than was hashed.
pub(super) fn grown_to(now: &Metadata, hashed: u64) -> Option<u64> {
    Some(now.len()).filter(|now| *now > hashed)
}

/// The error of a reader that did not know what the file was when it was opened: if something has written to it, that is the
/// cause.
pub(super) fn if_changed(file: &File, opened: &Metadata, kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Ended { read, len }
            if file.metadata().is_ok_and(|now| length::has_changed(opened, &now)) =>
        {
            ErrorKind::Changed { read, len }
        }
        kind => kind,
    }
}
