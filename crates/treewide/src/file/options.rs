//! The options of hashing a file, and the choice of a strategy.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::end::{check_end_of_log, grown_to, if_changed};
use super::error::{Error, ErrorKind};
use super::hooks::Hooks;
use super::opening::{open, open_watched};
use super::report::{Hashed, Report};
use super::strategy::Strategy;
use super::watch::Watch;
use super::{device, map, read};
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::length;
use crate::mode::Mode;
use crate::parallel::leaves::Sink;
use crate::parallel::policy;
use crate::spec::CHUNK_LEN;

/// A file of at most this many bytes is one read on the calling thread, as hashing it takes
/// about as long as waking two threads (`results/zen3-2vcpu/threads.md#where-a-helper-wakes-up`). A guess.
const SMALL: u64 = 1 << 20;

/// A file of at least this many bytes is mapped. A guess: mapping and unmapping must cost little in comparison.
const WORTH_MAPPING: u64 = 16 << 20;

/// The bytes that a thread reads or maps and then hashes at a time. A buffer of this size
/// stays in the second-level cache between copying and hashing (`results/zen5-2vcpu/files.md#tiles`).
pub(super) const TILE: usize = 512 * 1024;

/// The fewest bytes of a tile. Shorter tiles have too much overhead each (`results/zen5-2vcpu/files.md#tiles`).
pub(super) const LEAST_TILE: usize = 64 * 1024;

/// The most bytes of the tiles of all threads together, so that memory is bounded on machines of any size. A guess.
const TILES_TOGETHER: usize = 32 << 20;

/// How to hash files: mode, strategy, threads.
#[derive(Clone)]
pub struct Options<'a> {
    pub(super) mode: Mode,
    pub(super) strategy: Strategy,
    threads: Option<usize>,
    mapping: bool,
    tile: Option<usize>,
    drop_cache: bool,
    pub(super) watch: Option<Arc<Watch<'a>>>,
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

    /// Sets the bytes that a thread reads at a time, a power of two, where what is made of them asks for it.
    #[cfg(feature = "outboard")]
    pub(super) fn tile(self, bytes: usize) -> Self {
        Self { tile: Some(bytes), ..self }
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

    /// Hashes as [`update`](Self::update), for an open file from its position on. Afterwards the position is behind the
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
        self.absorb_reader(hasher, reader)
    }

    fn absorb_reader(
        &self,
        sink: &mut impl Sink,
        reader: impl Read + Send,
    ) -> Result<Report, ErrorKind> {
        let (bytes, strategy) = match self.strategy {
            Strategy::Read => {
                (read::simply(sink, reader, None, &self.hooks(1, None))?, Strategy::Read)
            }
            _ => {
                let threads = self.most_threads();
                let hooks = self.hooks(threads, None);
                let bytes = read::overlapped(sink, reader, None, threads, &hooks)?;
                (bytes, Strategy::ReadOverlapped)
            }
        };
        Ok(Report { bytes, grown_to: None, strategy })
    }

    pub(super) fn absorb(&self, sink: &mut impl Sink, file: &File) -> Result<Report, ErrorKind> {
        let opened = file.metadata().map_err(ErrorKind::Read)?;
        // Pipes and devices have no length, and some file systems (/proc) report 0 for every file.
        // In others (/sys) the length is a guess.
        if length::is_promise(file, &opened) {
            let absorbed = self.absorb_regular(sink, file, &opened);
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
        let report = options.absorb_reader(sink, &mut stream)?;
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

    pub(super) fn absorb_regular(
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
    pub(super) fn append(
        &self,
        sink: &mut impl Sink,
        file: &File,
        at: u64,
        len: u64,
    ) -> Result<(u64, Strategy), ErrorKind> {
        let may_be_cold = self.drop_cache || len - at > SMALL;
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
            Strategy::Auto if len <= SMALL => Strategy::Read,
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

    pub(super) fn most_threads(&self) -> usize {
        match self.threads {
            Some(0 | 1) => 1,
            Some(most) => most.min(policy::pool()),
            None => policy::pool(),
        }
    }

    /// The tile of each of `threads` threads: a power of two, because all that it is computed from are.
    pub(super) fn tile_of(&self, threads: usize) -> usize {
        let tile = self.tile.unwrap_or(TILE);
        tile.min(TILES_TOGETHER / threads.next_power_of_two()).max(LEAST_TILE)
    }

    fn hooks<'s>(&'s self, threads: usize, drop_cache: Option<&'s File>) -> Hooks<'s> {
        Hooks { tile: self.tile_of(threads), watch: self.watch.as_deref(), drop_cache }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_all_threads_together_are_bounded() {
        for threads in 1..=512 {
            let tile = Options::new().tile_of(threads);
            assert!(tile.is_power_of_two() && (LEAST_TILE..=TILE).contains(&tile));
            assert!(tile * threads <= TILES_TOGETHER, "{threads} threads: {tile}");
        }
        assert_eq!(Options::new().tile_of(64), TILE);
    }
}
