//! The strategies that read: into one buffer, in order by turns, or everywhere at once.

use std::fs::File;
use std::io::{self, ErrorKind::Interrupted, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{ErrorKind, Hooks};
use crate::Hasher;
use crate::parallel::{self, Source};

/// Tiles whose nodes are kept before they go into the tree: 1 MiB of nodes.
const WINDOW: usize = 1024;

/// Bytes after which pages are dropped from the cache, if they are to be.
const DROP_WINDOW: u64 = 64 << 20;

/// A file from a place of its own, so that threads do not share a position.
pub(super) struct At<'a> {
    pub(super) file: &'a File,
    pub(super) at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Fills `buffer` as far as there are bytes, and returns how far.
pub(super) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == Interrupted => {}
            // Ours if the reader was one of `device`.
            Err(error) => return Err(error.downcast().unwrap_or_else(ErrorKind::Read)),
        }
    }
    Ok(filled)
}

/// Appends `len` bytes, or all there are, through one buffer; returns how many they were.
pub(super) fn simply(
    hasher: &mut Hasher,
    mut reader: impl Read,
    len: Option<u64>,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let most = len.unwrap_or(u64::MAX);
    // A quarter stays in the cache beside everything else, and short files need no more than they
    // have.
    let mut buffer = vec![0; most.min(hooks.tile as u64 / 2) as usize];
    let (mut done, mut dropped) = (0, 0);
    loop {
        let wanted = (most - done).min(buffer.len() as u64) as usize;
        let read = fill(&mut reader, &mut buffer[..wanted])?;
        hooks.read(read)?;
        hasher.update(&buffer[..read]);
        done += read as u64;
        let is_last = read < wanted || done == most;
        if is_last || done - dropped >= DROP_WINDOW {
            hooks.done(dropped, done - dropped);
            dropped = done;
        }
        if is_last {
            return Ok(done);
        }
    }
}

/// The most tiles whose nodes go into the tree at a time.
fn window(hooks: &Hooks<'_>) -> usize {
    let drop = (DROP_WINDOW / hooks.tile as u64) as usize;
    if hooks.drop_cache.is_some() { drop.min(WINDOW) } else { WINDOW }
}

/// Tiles of a stream: who comes first reads the next one, and hashes it while another one reads.
struct InOrder<'a, R> {
    stream: Mutex<Stream<R>>,
    most: usize,
    hooks: &'a Hooks<'a>,
}

struct Stream<R> {
    reader: R,
    /// Bytes that are still to be read, if the stream has as many.
    left: u64,
    tiles: usize,
    /// The bytes of the last, short tile, once the stream has ended.
    rest: Option<Vec<u8>>,
}

impl<R: Read + Send> Source for InOrder<'_, R> {
    type Scratch = Vec<u8>;
    type Error = ErrorKind;

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn next<'a>(&'a self, buffer: &'a mut Vec<u8>) -> Result<Option<(usize, &'a [u8])>, ErrorKind> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if stream.rest.is_some() || stream.tiles == self.most {
            return Ok(None);
        }
        let tile = self.hooks.tile;
        buffer.resize(tile, 0);
        let wanted = stream.left.min(tile as u64) as usize;
        let read = fill(&mut stream.reader, &mut buffer[..wanted]).and_then(|read| {
            self.hooks.read(read)?;
            Ok(read)
        });
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                // Nobody is to read on after an error.
                stream.rest = Some(Vec::new());
                return Err(error);
            }
        };
        stream.left -= read as u64;
        if read < tile {
            buffer.truncate(read);
            stream.rest = Some(std::mem::take(buffer));
            return Ok(None);
        }
        let index = stream.tiles;
        stream.tiles += 1;
        drop(stream);
        Ok(Some((index, buffer)))
    }
}

/// Appends `len` bytes, or all there are, reading in order and hashing at the same time; returns
/// how many they were.
pub(super) fn overlapped(
    hasher: &mut Hasher,
    mut reader: impl Read + Send,
    len: Option<u64>,
    threads: usize,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let mut left = len.unwrap_or(u64::MAX);
    let start = hasher.count();
    // Up to where a tile may begin; and a short input wakes nobody.
    let tile = hooks.tile;
    let before = tile as u64 - start % tile as u64;
    let read = simply(hasher, &mut reader, Some(before.min(left)), hooks)?;
    left -= read;
    if read < before || left == 0 {
        return Ok(read);
    }
    let mut dropped = 0;
    let mut stream = Stream { reader, left, tiles: 0, rest: None };
    loop {
        let most = window(hooks);
        let source = InOrder { stream: Mutex::new(stream), most, hooks };
        parallel::append(hasher, &source, tile, most, threads, false)?;
        stream = source.stream.into_inner().unwrap_or_else(PoisonError::into_inner);
        stream.tiles = 0;
        if let Some(rest) = &stream.rest {
            hasher.update(rest);
        }
        let done = hasher.count() - start;
        hooks.done(dropped, done - dropped);
        dropped = done;
        if stream.rest.is_some() {
            return Ok(done);
        }
    }
}

/// Tiles of a file, read by those who hash them.
struct Anywhere<'a> {
    file: &'a File,
    start: u64,
    next: AtomicU64,
    end: u64,
    /// Where the file was found to end before the length that it had.
    shrank_to: AtomicU64,
    hooks: &'a Hooks<'a>,
}

impl Source for Anywhere<'_> {
    type Scratch = Vec<u8>;
    type Error = ErrorKind;

    fn scratch(&self) -> Vec<u8> {
        Vec::new()
    }

    fn next<'a>(&'a self, buffer: &'a mut Vec<u8>) -> Result<Option<(usize, &'a [u8])>, ErrorKind> {
        let tile = self.hooks.tile;
        let at = self.next.fetch_add(tile as u64, Ordering::Relaxed);
        if at >= self.end.min(self.shrank_to.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        buffer.resize(tile, 0);
        let read = fill(&mut At { file: self.file, at }, buffer)?;
        if read < tile {
            self.shrank_to.fetch_min(at + read as u64, Ordering::Relaxed);
        }
        self.hooks.read(read)?;
        Ok(Some((((at - self.start) / tile as u64) as usize, buffer)))
    }
}

/// Appends the bytes of a file from `at` to `len`, each tile read by the thread that hashes it;
/// returns how many they were.
pub(super) fn positional(
    hasher: &mut Hasher,
    file: &File,
    at: u64,
    len: u64,
    threads: usize,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let tile = hooks.tile as u64;
    let mut start = at;
    while len - start >= tile {
        let tiles = ((len - start) / tile).min(window(hooks) as u64);
        let end = start + tiles * tile;
        let next = AtomicU64::new(start);
        let source = Anywhere { file, start, next, end, shrank_to: AtomicU64::new(len), hooks };
        parallel::append(hasher, &source, hooks.tile, tiles as usize, threads, false)?;
        let shrank_to = source.shrank_to.into_inner();
        if shrank_to < len {
            return Err(ErrorKind::Shrank { read: shrank_to, len });
        }
        hooks.done(start, end - start);
        start = end;
    }
    let rest = simply(hasher, At { file, at: start }, Some(len - start), hooks)?;
    Ok(start - at + rest)
}
