//! Hashes files, each by the fastest strategy that is safe, in bounded memory.
//!
//! ```
//! # let path = std::env::temp_dir().join("treewide-doc-file");
//! # std::fs::write(&path, b"abc").unwrap();
//! use treewide::Mode;
//! use treewide::file::{self, Options, Strategy};
//!
//! let hash = file::hash(&path)?;
//! // Another mode, strategy, or length of output.
//! let hashed = Options::new().mode(Mode::keyed(&[7; 32])).strategy(Strategy::Pread).hash(&path)?;
//! let mut output = [0; 100];
//! hashed.output().fill(&mut output);
//! # assert_eq!(hash, treewide::hash(b"abc"));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), file::Error>(())
//! ```
//!
//! # Which strategy is used when
//!
//! | input | [`Strategy::Auto`] takes | reason |
//! |---|---|---|
//! | up to 1 MiB | [`Read`](Strategy::Read) | the calling thread fills one buffer and hashes it; other threads would not be awake in time |
//! | pipe, socket, terminal, device | [`ReadOverlapped`](Strategy::ReadOverlapped) | the length is unknown, and only one thread can read |
//! | file of length 0 with content (`/proc`), or whose length is a guess (`/sys`) | [`Read`](Strategy::Read) | such files are short, and reading is the only way to find the length |
//! | not in the page cache, on a rotating disk or a network file system | [`ReadOverlapped`](Strategy::ReadOverlapped) | one reader reads in order: seeks and round trips cost more than everything else |
//! | not in the page cache, elsewhere | [`Pread`](Strategy::Pread), alternately at up to four places of the file, at least 64 MiB apart | the system reads ahead at each of them, so the device has work while one of them is hashed |
//! | in the page cache, less than 16 MiB | [`Pread`](Strategy::Pread) | mapping and unmapping would cost more than copying |
//! | in the page cache, more | [`MmapParallel`](Strategy::MmapParallel), [`Mmap`](Strategy::Mmap) with one thread | nothing is copied, if the cache holds the file in large pieces; if not, tiles are copied as with [`Pread`](Strategy::Pread) |
//!
//! In the last case, the first eight tiles of every 256 MiB are hashed both ways, and the faster one continues.
//! With [`Options::mapping`] off, the last case is [`Pread`](Strategy::Pread).
//!
//! A strategy that you name is used for every file that it can read. Other files are read as in this table;
//! [`Report::strategy`] says how.
//!
//! # What is promised
//!
//! - A file that **becomes shorter** while it is being hashed is an [error](ErrorKind::Shrank) that names it, with
//!   every strategy. Mappings are guarded: if a page disappears, a handler of SIGBUS puts zeros in its place and
//!   the hash is discarded. Other faults go to the handler that was installed before. Where there is no such
//!   handler (Windows, or if the program installs its own one later), mapping strategies read instead.
//! - A file whose reading **ends before its length**, which stays the same, is an [error](ErrorKind::Ended): some network
//!   file systems report a lost connection as the end of the file. So is a file that [goes on](ErrorKind::GoesOn) after
//!   its length. Only where lengths are guesses (length 0, `/proc`, `/sys` and similar file systems of Linux) is the end
//!   of reading the end of the file.
//! - A file that **becomes longer** is hashed up to the length that it had at the beginning, or, if it was empty
//!   then, up to the length that it has when its first bytes are read. [`Report::grown_to`] reports this.
//! - Memory does not depend on the length of the file: at most a buffer of 512 KiB for each thread, 32 MiB for all
//!   threads together, and 1 MiB of chaining values; at most 256 MiB are mapped at a time. With another
//!   [tile](Options::tile), the buffers have that size, and there are at most 4 MiB of chaining values.
//! - If the content is overwritten in place while it is being hashed, the digest is of a mixture, as with every
//!   program that reads it.

mod device;
mod end;
mod error;
#[cfg(feature = "async")]
mod future;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
mod map;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
#[path = "file/unmapped.rs"]
mod map;
mod outboard;
mod pieces;
mod range;
mod read;
mod report;
mod strategy;

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::length;
use crate::mode::Mode;
use crate::parallel::leaves::Sink;
use crate::parallel::policy;
use crate::profile;
use crate::spec::CHUNK_LEN;
pub use end::{check_end, check_length, promises_length, read_at};
use end::{check_end_of_log, grown_to, if_changed};
pub use error::{Error, ErrorKind};
pub use outboard::{OutboardError, Outboarded};
pub use report::{Hashed, Report};
pub use strategy::{Strategy, UnknownStrategy};

/// A file of at most this many bytes is one read on the calling thread, unless a profile says otherwise: hashing it takes
/// about as long as waking two threads (`results/zen3-2vcpu/threads.md#where-a-helper-wakes-up`). A guess.
const SMALL: u64 = 1 << 20;

/// [`SMALL`], or what the profile states.
fn small() -> u64 {
    profile::current().file_from.map_or(SMALL, |bytes| bytes as u64)
}

/// A file of at least this many bytes is mapped. A guess: mapping and unmapping must cost little in comparison.
const WORTH_MAPPING: u64 = 16 << 20;

/// The bytes that a thread reads or maps and then hashes at a time, unless a profile says otherwise. A buffer of this
/// size stays in the second-level cache between copying and hashing (`results/zen5-2vcpu/files.md#tiles`).
const TILE: usize = 512 * 1024;

/// The most bytes of the tiles of all threads together, so that memory is bounded on machines of any size. A guess.
const TILES_TOGETHER: usize = 32 << 20;

/// Called with the bytes of each tile that was read, from any of the threads.
type Watch<'a> = dyn Fn(u64) -> ControlFlow<()> + Send + Sync + 'a;

/// How to hash files: mode, strategy, threads.
#[derive(Clone)]
pub struct Options<'a> {
    mode: Mode,
    strategy: Strategy,
    threads: Option<usize>,
    mapping: bool,
    tile: Option<usize>,
    drop_cache: bool,
    watch: Option<Arc<Watch<'a>>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no key.
impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("strategy", &self.strategy)
            .field("threads", &self.threads)
            .field("drop_cache", &self.drop_cache)
            .finish_non_exhaustive()
    }
}

/// Hashes the file at `path` with [`Strategy::Auto`] and the threads of the current rayon pool.
///
/// # Errors
/// If the file cannot be opened or read, becomes shorter while it is being hashed, or does not end at its length.
pub fn hash(path: impl AsRef<Path>) -> Result<Hash, Error> {
    Ok(Options::new().hash(path)?.hash())
}

/// Opens a file for hashing. Its access time stays as it is where the system allows that (`O_NOATIME`).
///
/// # Errors
/// If the file cannot be opened.
pub fn open(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, true, true).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}

/// Like [`open`], but never blocks on a named pipe that has replaced the file since it was found; check the
/// [metadata](File::metadata) of the returned file. It still waits for a server to release a lease.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_at_once(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, false, true).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}

/// Like [`open`], for hashing with a [watcher](Options::watch): on Linux, it does not wait for the writer of a named pipe.
/// Hashing waits, and asks the watcher as long as there is none.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_watched(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    if device::is_named_pipe(path) { open_at_once(path) } else { open(path) }
}

/// Like [`open_at_once`], but does not follow a symbolic link that has replaced the file since it was found: that is an error
/// (not on Windows).
///
/// # Errors
/// If the file cannot be opened, or is a symbolic link.
pub fn open_found(path: impl AsRef<Path>) -> Result<File, Error> {
    let path = path.as_ref();
    device::open(path, false, false).map_err(|error| Error::new(path, ErrorKind::Open(error)))
}

impl<'a> Options<'a> {
    /// Makes options for the plain mode, [`Strategy::Auto`], and the threads of the current rayon pool.
    pub fn new() -> Self {
        Self {
            mode: Mode::PLAIN,
            strategy: Strategy::Auto,
            threads: None,
            mapping: true,
            tile: None,
            drop_cache: false,
            watch: None,
        }
    }

    /// Sets the mode; the default is [`Mode::PLAIN`]. In the derive-key mode files are the key material.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Sets how files are read.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// Sets the most threads to use, including the calling thread. They come from the current rayon pool. The default
    /// is the number of threads of the pool, or of CPUs if that is less.
    pub fn threads(self, most: usize) -> Self {
        Self { threads: Some(most), ..self }
    }

    /// Sets whether [`Strategy::Auto`] may map files. By default it may.
    pub fn mapping(self, mapping: bool) -> Self {
        Self { mapping, ..self }
    }

    /// Sets the bytes that a thread reads or maps, and then hashes, at a time: the largest power of two up to `bytes`,
    /// at least 64 KiB, at most 4 MiB, and less if the tiles of all threads would have more than 32 MiB. The default
    /// is the value of the [profile], or 512 KiB.
    pub fn tile(self, bytes: usize) -> Self {
        let (least, most) = profile::TILES.into_inner();
        Self { tile: Some(1 << bytes.clamp(least, most).ilog2()), ..self }
    }

    /// Sets whether to remove a file's pages from the page cache after they are hashed, so that hashing more than fits
    /// into memory does not push out the data of other programs. Files that were completely in the cache stay there.
    /// Only on Linux.
    pub fn drop_cache(self, drop_cache: bool) -> Self {
        Self { drop_cache, ..self }
    }

    /// Calls `watch` with the number of bytes of each tile that was read (of each read from a pipe, which may be slow), from any of the
    /// threads: for progress, and to stop. After [`ControlFlow::Break`] nothing more is read, and the error is [`ErrorKind::Stopped`]. While a pipe
    /// has nothing to read, `watch` is called with 0.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use treewide::file::Options;
    ///
    /// # let path = std::env::temp_dir().join("treewide-doc-watch");
    /// # std::fs::write(&path, b"abc").unwrap();
    /// let done = Arc::new(AtomicU64::new(0));
    /// let counter = Arc::clone(&done);
    /// let options = Options::new().watch(move |bytes| {
    ///     counter.fetch_add(bytes, Ordering::Relaxed);
    ///     ControlFlow::Continue(())
    /// });
    /// options.hash(&path)?;
    /// assert_eq!(done.load(Ordering::Relaxed), 3);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), treewide::file::Error>(())
    /// ```
    ///
    /// A watcher that borrows works with every method except `hash_async`, which needs one that owns
    /// its data, as above.
    pub fn watch<'b>(self, watch: impl Fn(u64) -> ControlFlow<()> + Send + Sync + 'b) -> Options<'b>
    where
        'a: 'b,
    {
        Options { watch: Some(Arc::new(watch)), ..self }
    }

    /// Hashes the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be opened or read, becomes shorter while it is being hashed, does not end at its length, or if
    /// hashing is stopped.
    pub fn hash(&self, path: impl AsRef<Path>) -> Result<Hashed, Error> {
        let mut hasher = Hasher::with_mode(self.mode);
        let report = self.update(&mut hasher, path)?;
        Ok(Hashed { hasher, report })
    }

    /// Appends the file at `path` to a hasher. The mode is the hasher's; the mode of the options is not used.
    ///
    /// # Errors
    /// As [`hash`](Self::hash). The hasher has then absorbed an unknown part of the file: discard it.
    pub fn update(&self, hasher: &mut Hasher, path: impl AsRef<Path>) -> Result<Report, Error> {
        let path = path.as_ref();
        let file = if self.watch.is_some() { open_watched(path)? } else { open(path)? };
        self.update_file(hasher, &file, path)
    }

    /// Like [`update`](Self::update), for an open file from its position on. Afterwards the position is behind the
    /// bytes that were hashed. `path` is for messages.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_file(
        &self,
        hasher: &mut Hasher,
        file: &File,
        path: impl AsRef<Path>,
    ) -> Result<Report, Error> {
        self.absorb(hasher, file).map_err(|kind| Error::new(path.as_ref(), kind))
    }

    /// Reads `reader` to its end and appends the bytes, reading and hashing at the same time.
    ///
    /// While one thread reads, other threads of the pool wait for the next bytes. So neither the reader nor the
    /// [watcher](Self::watch) may wait for the pool, as `rayon::join` and `rayon::broadcast` do. If they do, use
    /// one [thread](Self::threads) or [`Strategy::Read`].
    ///
    /// # Errors
    /// [`ErrorKind::Read`] with the first error of the reader, except for interruptions; [`ErrorKind::Stopped`].
    pub fn update_reader(
        &self,
        hasher: &mut Hasher,
        reader: impl Read + Send,
    ) -> Result<Report, ErrorKind> {
        let (bytes, strategy) = match self.strategy {
            Strategy::Read => {
                (read::simply(hasher, reader, None, &self.hooks(1, None))?, Strategy::Read)
            }
            _ => {
                let threads = self.most_threads();
                let hooks = self.hooks(threads, None);
                let bytes = read::overlapped(hasher, reader, None, threads, &hooks)?;
                (bytes, Strategy::ReadOverlapped)
            }
        };
        Ok(Report { bytes, grown_to: None, strategy })
    }

    fn absorb(&self, hasher: &mut Hasher, file: &File) -> Result<Report, ErrorKind> {
        let opened = file.metadata().map_err(ErrorKind::Read)?;
        // Pipes and devices have no length, and some file systems (/proc) report 0 for every file.
        // In others (/sys) the length is a guess.
        if length::is_promise(file, &opened) {
            let absorbed = self.absorb_regular(hasher, file, &opened);
            return absorbed.map_err(|kind| if_changed(file, &opened, kind));
        }
        // A pipe calls the watcher itself, because it may fill a tile slowly.
        let mut options = self.clone();
        match opened.is_file() {
            true if self.strategy == Strategy::Auto => options.strategy = Strategy::Read,
            true => {}
            false => options.watch = None,
        }
        let mut stream = device::Stream::new(file, &opened, self.watch.as_deref());
        let report = options.update_reader(hasher, &mut stream)?;
        let grown_to = match stream.log() {
            Some(log) => {
                let end = { file }.stream_position().map_err(ErrorKind::Read)?;
                grown_to(&check_end_of_log(file, log, end)?, end)
            }
            None if opened.is_file() => {
                let now = file.metadata().map_err(ErrorKind::Read)?;
                grown_to(&now, report.bytes).filter(|_| length::is_promise(file, &now))
            }
            None => None,
        };
        Ok(Report { grown_to, ..report })
    }

    fn absorb_regular(
        &self,
        sink: &mut impl Sink,
        file: &File,
        opened: &Metadata,
    ) -> Result<Report, ErrorKind> {
        let len = opened.len();
        let Ok(at) = { file }.stream_position() else {
            // Where the system refuses the position, the file is read in order. If it does not begin at 0, the check of
            // the end finds that.
            let bytes = read::simply(sink, file, Some(len), &self.hooks(1, None))?;
            let end = match bytes == len {
                true => length::end_of_reading(file, len, len).unwrap_or(len),
                false => bytes,
            };
            let now = length::check_end(file, opened, end).map_err(ErrorKind::of)?;
            let grown_to = grown_to(&now, len);
            return Ok(Report { bytes, grown_to, strategy: Strategy::Read });
        };
        if at > len {
            return Ok(Report { bytes: 0, grown_to: None, strategy: Strategy::Read });
        }
        let (bytes, strategy) = self.append(sink, file, at, len)?;
        let mut end = at + bytes;
        if end == len {
            // Pages of a mapping may be there even if reading ends before them.
            let from = if strategy.maps() { len.saturating_sub(1).max(at) } else { len };
            end = length::end_of_reading(file, from, len).map_err(ErrorKind::Read)?;
        }
        let now = length::check_end(file, opened, end).map_err(ErrorKind::of)?;
        { file }.seek(SeekFrom::Start(at + bytes)).map_err(ErrorKind::Read)?;
        Ok(Report { bytes, grown_to: grown_to(&now, len), strategy })
    }

    /// Chooses the strategy for a regular file that is not empty.
    /// Appends the bytes from `at` up to `len` by the strategy that suits them. Returns how many there were.
    fn append(
        &self,
        sink: &mut impl Sink,
        file: &File,
        at: u64,
        len: u64,
    ) -> Result<(u64, Strategy), ErrorKind> {
        let may_be_cold = self.drop_cache || len - at > small();
        let is_cold = may_be_cold && !device::is_cached(file, at..len);
        let strategy = self.choose(sink, file, len - at, is_cold);
        let drop_cache = self.drop_cache && is_cold;
        let threads = match strategy {
            Strategy::Read | Strategy::Mmap => 1,
            _ => self.most_threads(),
        };
        let hooks = self.hooks(threads, drop_cache.then_some(file));
        let in_order = || read::At { file, at };
        let may_copy = self.strategy == Strategy::Auto;
        let bytes = match strategy {
            Strategy::Read => read::simply(sink, in_order(), Some(len - at), &hooks)?,
            Strategy::ReadOverlapped => {
                device::will_read_in_order(file);
                read::overlapped(sink, in_order(), Some(len - at), threads, &hooks)?
            }
            Strategy::Mmap | Strategy::MmapParallel => {
                map::mapped(sink, file, at, len, threads, may_copy, &hooks)?
            }
            Strategy::Pread | Strategy::Auto => {
                // Pages are dropped behind the reader, in order.
                let may_seek = is_cold && !drop_cache && !device::prefers_order(file);
                if may_seek {
                    device::will_read_in_order(file);
                }
                read::positional(sink, file, at, len, threads, may_seek, &hooks)?
            }
        };
        Ok((bytes, strategy))
    }

    fn choose(&self, sink: &impl Sink, file: &File, len: u64, is_cold: bool) -> Strategy {
        // Tiles must be subtrees. They are, if nothing was hashed before.
        let tile = self.tile_of(1) as u64;
        let is_aligned = sink.count().is_multiple_of(tile)
            && sink.next_chunk().is_multiple_of(tile / CHUNK_LEN as u64);
        let strategy = match self.strategy {
            Strategy::Auto if len <= small() => Strategy::Read,
            Strategy::Auto if is_cold => {
                if device::prefers_order(file) {
                    Strategy::ReadOverlapped
                } else {
                    Strategy::Pread
                }
            }
            Strategy::Auto if self.mapping && len >= WORTH_MAPPING && map::is_possible() => {
                Strategy::MmapParallel
            }
            Strategy::Auto => Strategy::Pread,
            strategy if strategy.maps() && !map::is_possible() => Strategy::Pread,
            strategy => strategy,
        };
        match strategy {
            Strategy::Pread | Strategy::Mmap | Strategy::MmapParallel if !is_aligned => {
                Strategy::ReadOverlapped
            }
            Strategy::MmapParallel if self.most_threads() == 1 => Strategy::Mmap,
            strategy => strategy,
        }
    }

    fn most_threads(&self) -> usize {
        match self.threads {
            Some(0 | 1) => 1,
            Some(most) => most.min(policy::pool()),
            None => policy::pool(),
        }
    }

    /// The tile of each of `threads` threads: a power of two, because all that it is computed from are.
    fn tile_of(&self, threads: usize) -> usize {
        let tile = self.tile.or(profile::current().file_tile).unwrap_or(TILE);
        tile.min(TILES_TOGETHER / threads.next_power_of_two()).max(*profile::TILES.start())
    }

    fn hooks<'s>(&'s self, threads: usize, drop_cache: Option<&'s File>) -> Hooks<'s> {
        Hooks { tile: self.tile_of(threads), watch: self.watch.as_deref(), drop_cache }
    }
}

/// How much is read and hashed at a time, and what else happens for each tile.
struct Hooks<'a> {
    tile: usize,
    watch: Option<&'a Watch<'a>>,
    /// The file whose pages are dropped from the cache.
    drop_cache: Option<&'a File>,
}

impl Hooks<'_> {
    /// Reports the number of bytes read, and asks whether to continue.
    fn read(&self, bytes: usize) -> Result<(), ErrorKind> {
        match self.watch.map(|watch| watch(bytes as u64)) {
            Some(ControlFlow::Break(())) => Err(ErrorKind::Stopped),
            _ => Ok(()),
        }
    }

    /// Called when that part of the file is finished.
    fn done(&self, at: u64, len: u64) {
        if let Some(file) = self.drop_cache {
            device::drop_from_cache(file, at, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_bounded_and_so_are_all_of_them_together() {
        for (asked, tile) in [
            (0, 64 << 10),
            (100_000, 64 << 10),
            (128 << 10, 128 << 10),
            ((1 << 20) - 1, 512 << 10),
            (4 << 20, 4 << 20),
            (usize::MAX, 4 << 20),
        ] {
            let options = Options::new().tile(asked);
            assert_eq!(options.tile_of(1), tile);
            for threads in 1..=512 {
                let tile = options.tile_of(threads);
                assert!(tile.is_power_of_two() && profile::TILES.contains(&tile));
                assert!(tile * threads <= TILES_TOGETHER, "{threads} threads: {tile}");
            }
        }
        assert_eq!(Options::new().tile_of(64), TILE);
    }
}
