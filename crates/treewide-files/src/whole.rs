//! Reading a file in order, where the end counts only if it is at the length of the file.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;
use treewide::file::check_end;

/// A file that is read from its position to its end.
///
/// Reading a regular file fails at its end if that is not where its length says, as after the loss of a connection to
/// a network file system. Pipes, devices, and files whose lengths are guesses (`/proc`) may end anywhere.
#[derive(Debug)]
pub struct Whole {
    file: File,
    opened: Metadata,
    at: u64,
    /// Whether the position was behind the length already: then the end is here.
    was_over: bool,
}

impl Whole {
    /// Reads a file that is open.
    ///
    /// # Errors
    /// If the system does not say what it is.
    pub fn new(file: File) -> io::Result<Self> {
        let opened = file.metadata()?;
        // Where the system refuses the position, it is 0, or the end is not at the length.
        let at = if opened.is_file() { (&file).stream_position().unwrap_or(0) } else { 0 };
        let was_over = at > opened.len();
        Ok(Self { file, opened, at, was_over })
    }

    /// Opens the file at `path`. Its access time stays as it is where the system allows that.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let opened = treewide::file::open(path).map_err(|error| match error.into_kind() {
            treewide::file::ErrorKind::Open(error) => error,
            other => io::Error::other(other),
        });
        Self::new(opened?)
    }

    /// Whether it is a regular file, so that reading does not wait for another program.
    pub fn is_regular(&self) -> bool {
        self.opened.is_file()
    }
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.at += read as u64;
        if read == 0 && !buffer.is_empty() && !self.was_over {
            check_end(&self.file, &self.opened, self.at)?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{SeekFrom, Write};

    #[test]
    fn read_ends_at_the_length() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        for (position, len) in [(0, 100), (30, 70), (100, 0), (200, 0)] {
            file.seek(SeekFrom::Start(position)).unwrap();
            let mut whole = Whole::new(file.try_clone().unwrap()).unwrap();
            assert_eq!(io::copy(&mut whole, &mut io::sink()).unwrap(), len, "from {position}");
        }
    }

    #[test]
    fn read_fails_where_the_file_has_become_shorter() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        file.rewind().unwrap();
        let mut whole = Whole::new(file.try_clone().unwrap()).unwrap();
        file.set_len(60).unwrap();
        let error = io::copy(&mut whole, &mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "file shrank while being hashed: 60 of 100 bytes");
    }

    #[test]
    fn read_takes_what_has_been_appended() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        let whole = Whole::new(file.try_clone().unwrap()).unwrap();
        file.write_all(&[1; 20]).unwrap();
        file.rewind().unwrap();
        let mut whole = Whole { at: 0, ..whole };
        assert_eq!(io::copy(&mut whole, &mut io::sink()).unwrap(), 120);
    }
}
