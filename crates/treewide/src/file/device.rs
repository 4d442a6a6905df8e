//! Facts of the system about a file (its storage, and whether it is in the page cache), and hints to the system.
//!
//! On systems that do not report this, a file counts as cached, and hints do nothing.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod other;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::{
    drop_from_cache, is_cached, is_named_pipe, open, prefers_order, widen, will_read_in_order,
};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use other::{
    drop_from_cache, is_cached, is_named_pipe, open, prefers_order, widen, will_read_in_order,
};

use super::error::ErrorKind;
use super::watch::Watch;
use crate::length::is_promise;

/// A file without a length. While it has nothing to read, the watcher is asked every 20 ms whether to continue.
///
/// A file that was empty may be a log that is being written. Its end is the end at the time when its first bytes are
/// read; otherwise it might never end. A file of /proc has no length even then.
pub(super) struct Stream<'a> {
    file: &'a File,
    watch: Option<&'a Watch<'a>>,
    /// What the file is, if it was empty, and is not any more since its first bytes were read.
    log: Option<Metadata>,
    /// Whether it may be such a log.
    was_empty: bool,
    /// The number of bytes up to the end, once it is known.
    left: Option<u64>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(file: &'a File, opened: &Metadata, watch: Option<&'a Watch<'a>>) -> Self {
        widen(file, opened);
        let was_empty = opened.is_file() && opened.len() == 0;
        Self { file, watch: watch.filter(|_| !opened.is_file()), log: None, was_empty, left: None }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let most = most.min(buffer.len());
        let read = self.wait_and_read(&mut buffer[..most])?;
        self.left = match self.left {
            Some(left) => Some(left - read as u64),
            None if read == 0 || !self.was_empty || self.log.is_some() => None,
            None => {
                let now = self.file.metadata()?;
                if is_promise(self.file, &now) {
                    let left = now.len().saturating_sub(self.file.stream_position()?);
                    self.log = Some(now);
                    Some(left)
                } else {
                    self.was_empty = false;
                    None
                }
            }
        };
        Ok(read)
    }
}

impl Stream<'_> {
    /// What the file is, if it has become a log.
    pub(super) fn log(&self) -> Option<&Metadata> {
        self.log.as_ref()
    }

    fn wait_and_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            #[cfg(unix)]
            if let Some(watch) = self.watch {
                wait(self.file, watch)?;
            }
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.watch.is_some() => {
                }
                result => {
                    let read = result?;
                    return match self.watch.map(|watch| watch(read as u64)) {
                        Some(ControlFlow::Break(())) => Err(io::Error::other(ErrorKind::Stopped)),
                        _ => Ok(read),
                    };
                }
            }
        }
    }
}

/// Waits until there is something to read, or an error, or the watcher stops.
#[cfg(unix)]
fn wait(file: &File, watch: &Watch<'_>) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// The time between two questions: 20 ms. A guess: short enough for Ctrl-C.
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    loop {
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&PAUSE)) {
            // Nothing to read yet.
            Ok(0) | Err(rustix::io::Errno::INTR) => {
                if watch(0).is_break() {
                    return Err(io::Error::other(ErrorKind::Stopped));
                }
            }
            Ok(_) => return Ok(()),
            // The system cannot wait for this file: read it.
            Err(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_that_was_empty_ends() {
        let path = std::env::temp_dir().join(format!("treewide-log-{}", std::process::id()));
        let mut log = File::create_new(&path).expect("a file can be made");
        let file = File::open(&path).expect("it is there");
        let opened = file.metadata().expect("it is open");
        let mut stream = Stream::new(&file, &opened, None);
        let mut buffer = [0; 4];
        assert_eq!(stream.read(&mut buffer).expect("it can be read"), 0);
        log.write_all(b"123456").expect("it can be written");
        assert_eq!(stream.read(&mut buffer).expect("it can be read"), 4);
        log.write_all(b"789").expect("it can be written");
        assert_eq!(stream.read(&mut buffer).expect("it can be read"), 2);
        assert_eq!(stream.read(&mut buffer).expect("it can be read"), 0);
        drop((log, file));
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
    }
}
