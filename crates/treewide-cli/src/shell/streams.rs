//! Standard input, output and error: an error where one is closed, and a wait where one is not ready.
//!
//! A program that shares a pipe or a terminal with us may have set it to `O_NONBLOCK`. Reading and writing then return
//! "try again" where they would have waited, and we wait ourselves.

use crate::shell::inherited;
use std::fs::File;
use std::io::{self, Read, Write};
use treewide_files::Whole;

/// One of the three.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Input,
    Output,
    Error,
}

impl Stream {
    /// An error if it was closed when the program started.
    pub(crate) fn require(self) -> io::Result<()> {
        if !inherited::was_closed(self as usize) {
            return Ok(());
        }
        Err(io::Error::other(match self {
            Self::Input => {
                "standard input is closed; direct a file to it (</dev/null for no bytes)"
            }
            Self::Output | Self::Error => "is closed; direct it to a file or to /dev/null",
        }))
    }
}

/// Waits until the stream can be read or written without waiting.
#[cfg(unix)]
fn wait(stream: impl std::os::fd::AsFd, what: rustix::event::PollFlags) {
    use rustix::event::{PollFd, poll};
    // Whatever the result: the next attempt reports an error.
    let _ = poll(&mut [PollFd::new(&stream, what)], None);
}

/// Reads standard input. Only one reader may be in use, because it keeps nothing for the next one.
pub(crate) struct Input {
    /// Standard input, if it is a file: then reading must end at its length.
    file: Option<Whole>,
}

impl Input {
    pub(crate) fn open() -> io::Result<Self> {
        Stream::Input.require()?;
        let file = copy().and_then(Whole::new).ok().filter(Whole::is_regular);
        Ok(Self { file })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.read(buffer),
            None => read(buffer),
        }
    }
}

/// Standard input under another descriptor, with the same position.
#[cfg(unix)]
pub(crate) fn copy() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(crate) fn copy() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(unix)]
fn read(buffer: &mut [u8]) -> io::Result<usize> {
    let stdin = io::stdin();
    loop {
        match rustix::io::read(&stdin, &mut *buffer) {
            Err(rustix::io::Errno::AGAIN) => wait(&stdin, rustix::event::PollFlags::IN),
            result => return Ok(result?),
        }
    }
}

#[cfg(not(unix))]
fn read(buffer: &mut [u8]) -> io::Result<usize> {
    io::stdin().read(buffer)
}

/// Writes to standard output or standard error.
///
/// Unlike the standard library, it does not take bytes for written that no one can write.
pub(crate) struct Output(Stream);

impl Output {
    /// Whether it is closed is found out when something is written.
    pub(crate) fn new(stream: Stream) -> Self {
        Self(stream)
    }

    /// An error if a file system reports only now that bytes were not written.
    pub(crate) fn close(&self) -> io::Result<()> {
        match self.0 {
            Stream::Error => close(&io::stderr()),
            _ => close(&io::stdout()),
        }
    }
}

/// An error if a file system reports only when a file is closed that bytes were not written.
///
/// The file stays open until the process ends, but file systems report it at each close of a copy.
#[cfg(unix)]
pub(crate) fn close(file: &impl std::os::fd::AsFd) -> io::Result<()> {
    match file.as_fd().try_clone_to_owned() {
        Ok(copy) => inherited::close(copy),
        Err(_) => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) fn close<T>(_: &T) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use std::os::fd::AsFd;
        self.0.require()?;
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let stream = if self.0 == Stream::Error { stderr.as_fd() } else { stdout.as_fd() };
        loop {
            match rustix::io::write(stream, bytes) {
                Err(rustix::io::Errno::AGAIN) => wait(stream, rustix::event::PollFlags::OUT),
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(unix))]
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.require()?;
        match self.0 {
            Stream::Error => io::stderr().write(bytes),
            _ => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {
            Stream::Error => io::stderr().flush(),
            _ => io::stdout().flush(),
        }
    }
}

/// Writes a text to standard error, as it is.
pub(crate) fn write_error(text: &str) {
    // If it cannot be written to, the exit code is all that is left.
    let _ = Output::new(Stream::Error).write_all(text.as_bytes());
}
