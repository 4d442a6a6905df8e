//! The strategies that read: into one buffer, in order with threads in turn, or at several places at once.

use std::alloc::{Layout, alloc_zeroed};
use std::fs::File;
use std::io::{self, ErrorKind::Interrupted, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::ErrorKind;
use super::hooks::Hooks;
use crate::buffer::Buffer;
use crate::length;
use crate::parallel::leaves::{self, Leaves, Sink};

/// The number of tiles whose nodes are kept before they go into the tree: 1 MiB of nodes. A guess.
const WINDOW: usize = 1024;

/// The number of bytes after which pages are dropped from the cache, with `drop_cache`. A guess: few system calls.
const DROP_WINDOW: u64 = 64 << 20;

/// The most places at which a file that is not in the page cache is read alternately. The system reads ahead at each of
/// them, so the device works while earlier bytes are hashed; with one place it is idle for up to a quarter of the time
/// (`results/zen5-2vcpu/files.md#cold-files`).
const PLACES: u64 = 4;

/// The least number of bytes that are read in order at each of these places (`results/zen5-2vcpu/files.md#cold-files`: with 33 MiB,
/// files of 100 MiB lose).
const STRETCH: u64 = 64 << 20;

/// A file with its own position, so that threads do not share one.
pub(super) struct At<'a> {
    pub(super) file: &'a File,
    pub(super) at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = length::read_at(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Fills `buffer` as far as possible, and returns the number of bytes.
pub(super) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == Interrupted => {}
            Err(error) => return Err(ErrorKind::of(error)),
        }
    }
    Ok(filled)
}

/// Makes `buffer` `len` bytes long.
pub(super) fn grow(buffer: &mut Buffer, len: usize) -> Result<(), ErrorKind> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| no_memory(len))?;
    buffer.resize(len, 0);
    Ok(())
}

/// `len` zeros, whose pages are not touched. `vec!` would end the program where there is no memory for them.
fn zeros(len: usize) -> Result<Buffer, ErrorKind> {
    let layout = Layout::array::<u8>(len).map_err(|_| no_memory(len))?;
    if len == 0 {
        return Ok(Buffer::default());
    }
    // SAFETY: `layout` is not empty. The memory is of the global allocator, has that layout and `len` bytes that are 0.
    unsafe {
        let start = alloc_zeroed(layout);
        if start.is_null() {
            Err(no_memory(len))
        } else {
            Ok(Buffer(Vec::from_raw_parts(start, len, len)))
        }
    }
}

#[cold]
fn no_memory(len: usize) -> ErrorKind {
    let text = format!("there is no memory for a buffer of {len} bytes; use fewer threads");
    ErrorKind::Read(io::Error::new(io::ErrorKind::OutOfMemory, text))
}

/// Appends `len` bytes, or all bytes, through one buffer; returns their number.
pub(super) fn simply(
    sink: &mut impl Sink,
    mut reader: impl Read,
    len: Option<u64>,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let most = len.unwrap_or(u64::MAX);
    // Half a tile stays in the cache, and short files need no more than their length.
    let mut buffer = zeros(most.min(hooks.tile as u64 / 2) as usize)?;
    let (mut done, mut dropped) = (0, 0);
    loop {
        let wanted = (most - done).min(buffer.len() as u64) as usize;
        let read = fill(&mut reader, &mut buffer[..wanted])?;
        hooks.read(read)?;
        sink.update(&buffer[..read]);
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

/// The most tiles whose nodes go into the tree at once.
fn window(hooks: &Hooks<'_>) -> usize {
    let drop = (DROP_WINDOW / hooks.tile as u64) as usize;
    if hooks.drop_cache.is_some() { drop.min(WINDOW) } else { WINDOW }
}

/// Tiles of a stream: the first free thread reads the next tile, and hashes it while another thread reads.
struct InOrder<'a, R> {
    stream: Mutex<Stream<R>>,
    most: usize,
    hooks: &'a Hooks<'a>,
}

struct Stream<R> {
    reader: R,
    /// The most bytes that are still to be read.
    left: u64,
    tiles: usize,
    /// The bytes of the last, short tile, once the stream has ended.
    rest: Option<Buffer>,
}

impl<R: Read + Send> Leaves for InOrder<'_, R> {
    type Scratch = Buffer;
    type Error = ErrorKind;

    fn scratch(&self) -> Buffer {
        Buffer::default()
    }

    fn next<'a>(&'a self, buffer: &'a mut Buffer) -> Result<Option<(usize, &'a [u8])>, ErrorKind> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if stream.rest.is_some() || stream.tiles == self.most {
            return Ok(None);
        }
        let tile = self.hooks.tile;
        grow(buffer, tile)?;
        let wanted = stream.left.min(tile as u64) as usize;
        let read = fill(&mut stream.reader, &mut buffer[..wanted]).and_then(|read| {
            self.hooks.read(read)?;
            Ok(read)
        });
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                // No thread may continue to read after an error.
                stream.rest = Some(Buffer::default());
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

/// Appends `len` bytes, or all bytes, reading in order and hashing at the same time; returns their number.
pub(super) fn overlapped(
    sink: &mut impl Sink,
    mut reader: impl Read + Send,
    len: Option<u64>,
    threads: usize,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let mut left = len.unwrap_or(u64::MAX);
    let start = sink.count();
    // Read up to a place where a tile may begin; a short input wakes no thread.
    let tile = hooks.tile;
    let before = tile as u64 - start % tile as u64;
    let read = simply(sink, &mut reader, Some(before.min(left)), hooks)?;
    left -= read;
    if read < before || left == 0 {
        return Ok(read);
    }
    let mut dropped = 0;
    let mut stream = Stream { reader, left, tiles: 0, rest: None };
    loop {
        let most = window(hooks);
        let source = InOrder { stream: Mutex::new(stream), most, hooks };
        leaves::append(sink, &source, tile, most, threads)?;
        stream = source.stream.into_inner().unwrap_or_else(PoisonError::into_inner);
        stream.tiles = 0;
        if let Some(rest) = &stream.rest {
            sink.update(rest);
        }
        let done = sink.count() - start;
        hooks.done(dropped, done - dropped);
        dropped = done;
        if stream.rest.is_some() {
            return Ok(done);
        }
    }
}

/// Tiles of a file; the thread that hashes a tile reads it.
struct Anywhere<'a> {
    file: &'a File,
    start: u64,
    next: AtomicU64,
    tiles: u64,
    /// The number of places at which the file is read alternately, each in order; it divides the number of tiles.
    places: u64,
    /// The end of the file, if it was found before the length that the file had.
    shrank_to: AtomicU64,
    hooks: &'a Hooks<'a>,
}

impl Leaves for Anywhere<'_> {
    type Scratch = Buffer;
    type Error = ErrorKind;

    fn scratch(&self) -> Buffer {
        Buffer::default()
    }

    fn next<'a>(&'a self, buffer: &'a mut Buffer) -> Result<Option<(usize, &'a [u8])>, ErrorKind> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if turn >= self.tiles {
            return Ok(None);
        }
        let index = by_turns(turn, self.tiles, self.places);
        let tile = self.hooks.tile;
        let at = self.start + index * tile as u64;
        if at >= self.shrank_to.load(Ordering::Relaxed) {
            return Ok(None);
        }
        grow(buffer, tile)?;
        let read = fill(&mut At { file: self.file, at }, buffer)?;
        if read < tile {
            self.shrank_to.fetch_min(at + read as u64, Ordering::Relaxed);
        }
        self.hooks.read(read)?;
        Ok(Some((index as usize, buffer)))
    }
}

/// Returns the tile whose turn it is.
fn by_turns(turn: u64, tiles: u64, places: u64) -> u64 {
    turn % places * (tiles / places) + turn / places
}

/// Appends the bytes of a file from `at` to `len`; the thread that hashes a tile reads it. Returns the number of bytes. If
/// `may_seek` (for files that are not in the page cache), a file that is long enough is read at several places.
pub(super) fn positional(
    sink: &mut impl Sink,
    file: &File,
    at: u64,
    len: u64,
    threads: usize,
    may_seek: bool,
    hooks: &Hooks<'_>,
) -> Result<u64, ErrorKind> {
    let tile = hooks.tile as u64;
    let mut start = at;
    while len - start >= tile {
        let tiles = ((len - start) / tile).min(window(hooks) as u64);
        let places = if may_seek { (tiles * tile / STRETCH).clamp(1, PLACES) } else { 1 };
        let tiles = tiles - tiles % places;
        let next = AtomicU64::new(0);
        let shrank_to = AtomicU64::new(len);
        let source = Anywhere { file, start, next, tiles, places, shrank_to, hooks };
        leaves::append(sink, &source, hooks.tile, tiles as usize, threads)?;
        let shrank_to = source.shrank_to.into_inner();
        if shrank_to < len {
            // A place past the end may have found the end first, and all threads stopped.
            return Err(ErrorKind::of(length::ended(file, shrank_to, len)));
        }
        hooks.done(start, tiles * tile);
        start += tiles * tile;
    }
    let rest = simply(sink, At { file, at: start }, Some(len - start), hooks)?;
    Ok(start - at + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hasher::Hasher;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn every_tile_has_its_turn() {
        for places in 1..=PLACES {
            for tiles in (1..=50).map(|each| each * places) {
                let at = |turn| by_turns(turn, tiles, places);
                assert!((places..tiles).all(|turn| at(turn) == at(turn - places) + 1));
                let mut order: Vec<u64> = (0..tiles).map(at).collect();
                order.sort_unstable();
                assert!(order.into_iter().eq(0..tiles));
            }
        }
    }

    #[test]
    fn at_several_places() {
        let tile = crate::file::options::TILE;
        let len = 2 * STRETCH + 3 * tile as u64 + 77;
        let path = std::env::temp_dir().join(format!("treewide-places-{}", std::process::id()));
        let options = File::options().read(true).write(true).create_new(true).clone();
        let mut file = options.open(&path).expect("a file can be made");
        file.set_len(len).expect("its length can be set");
        // The tiles differ, and holes need no storage.
        let mut expected = Hasher::new();
        let mut bytes = vec![0; tile];
        for at in (0..len).step_by(tile) {
            bytes[..8].copy_from_slice(&at.to_le_bytes());
            file.seek(SeekFrom::Start(at))
                .and_then(|_| file.write_all(&bytes[..8]))
                .expect("written");
            expected.update(&bytes[..(len - at).min(tile as u64) as usize]);
        }
        let hooks = Hooks { tile, watch: None, drop_cache: None };
        for threads in [1, 2] {
            let mut hasher = Hasher::new();
            let read = positional(&mut hasher, &file, 0, len, threads, true, &hooks);
            assert_eq!(read.expect("it is read"), len);
            assert_eq!(hasher.finalize(), expected.finalize());
            // As if the file had been longer: it ends at the second place, and the third place is past the end.
            let read = positional(&mut Hasher::new(), &file, 0, 8 * len, threads, true, &hooks);
            assert!(matches!(read, Err(ErrorKind::Shrank { read, .. }) if read == len));
        }
        drop(file);
        let _ = std::fs::remove_file(&path); // it does no harm if it stays
    }
}
