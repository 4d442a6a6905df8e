//! How files are hashed, and hashing one file with every thread.
//!
//! How the bytes of one file are read is the business of [`treewide::file`].

use crate::digest::{Digest, Extent};
use crate::error::{Error, ErrorKind};
use crate::identity::Identity;
use crate::links::{Claim, Links};
use crate::long_path;
use crate::progress::Progress;
use crate::spare::Spare;
use crate::stamp::{Stamp, Stamps};
use crate::task::{Found, Other};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use treewide::file::{self, OutboardError, Report, Strategy};
use treewide::outboard::{Group, WriteAt};
use treewide::{Cancel, Hasher, Mode};

/// No more threads than this for each core: more find nothing to do, and a million would keep the machine
/// busy for minutes before the first byte is hashed.
const MOST_PER_CORE: usize = 8;

/// How files are hashed: mode, digest, threads, strategy, and who hears about it.
#[derive(Clone)]
pub struct Options {
    mode: Mode,
    extent: Extent,
    threads: Option<usize>,
    strategy: Strategy,
    mapping: bool,
    drop_cache: bool,
    alone_from: u64,
    stamps: bool,
    links_once: bool,
    /// Of the run at hand.
    links: Option<Arc<Links>>,
    spare: Spare,
    progress: Option<Arc<dyn Progress>>,
    cancel: Cancel,
}

/// Result of hashing a file.
#[derive(Clone, Debug)]
pub struct Hashed {
    /// Its digest.
    pub digest: Digest,
    /// The bytes that were hashed.
    pub bytes: u64,
    /// The system's account of the file before and after, with [`Options::stamps`]. `None` if it was not found by a walk.
    pub stamps: Option<Box<Stamps>>,
}

/// Shows no key.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("mode", &self.mode)
            .field("extent", &self.extent)
            .field("threads", &self.threads)
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}

/// As [`Options::new`].
impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// The plain mode, digests of 32 bytes, [`Strategy::Auto`], a thread for each core.
    pub fn new() -> Self {
        Self {
            mode: Mode::PLAIN,
            extent: Extent::HASH,
            threads: None,
            strategy: Strategy::Auto,
            mapping: true,
            drop_cache: false,
            alone_from: u64::MAX,
            stamps: false,
            links_once: false,
            links: None,
            spare: Spare::default(),
            progress: None,
            cancel: Cancel::new(),
        }
    }

    /// The mode to hash in.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Which bytes of the extended output make up a digest.
    pub fn extent(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// The most threads to use, including the one that asks for results; at least 1 and at most 8 for each
    /// core. Small files are shared by threads of the run; a large one is hashed by the current rayon pool.
    pub fn threads(self, most: usize) -> Self {
        Self { threads: Some(most), ..self }
    }

    /// How files are read. With anything but [`Strategy::Auto`] they are read one at a time.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// Whether [`Strategy::Auto`] may map files; without this it may.
    pub fn mapping(self, mapping: bool) -> Self {
        Self { mapping, ..self }
    }

    /// Whether what a file brought into the page cache is dropped again (Linux). Files are then read one at a
    /// time.
    pub fn drop_cache(self, drop_cache: bool) -> Self {
        Self { drop_cache, ..self }
    }

    /// Files of at least this many bytes are hashed one at a time, also if they are small, and offered to a
    /// [`HashAlone`](crate::HashAlone).
    pub fn alone_from(self, bytes: u64) -> Self {
        Self { alone_from: bytes, ..self }
    }

    /// Whether [`Hashed::stamps`] is found out, for files that a walk has found ([`Kind::Found`](crate::Kind::Found)).
    pub fn stamps(self, stamps: bool) -> Self {
        Self { stamps, ..self }
    }

    /// Whether a run reads a file that has several names once, with [`stamps`](Self::stamps). It remembers up to 2^18 such files;
    /// a file is read again if anything that the system says of it changes, if it was written to in the last two seconds, or if two
    /// threads come to it at the same time.
    pub fn links_once(self, links_once: bool) -> Self {
        Self { links_once, ..self }
    }

    /// For one run.
    pub(crate) fn of_run(&self) -> Self {
        let links = (self.links_once && self.stamps).then(Arc::default);
        let spare = Spare::new(self.most_threads() - 1);
        Self { links, spare, ..self.clone() }
    }

    /// Whether a file that was opened is to be read.
    pub(crate) fn claim(
        &self,
        identity: Identity,
        now: &Stamp,
        extent: Extent,
        other: Option<&mut (dyn Other + '_)>,
    ) -> Claim {
        let claim = self.links.as_ref().map_or(Claim::Read, |it| it.claim(identity, now, extent));
        if let (Claim::Known(digest, found), Some(other)) = (&claim, other)
            && !other.was_found(digest, found)
        {
            return Claim::Read;
        }
        claim
    }

    /// The result for a file that was read under another name.
    pub(crate) fn linked(&self, now: Stamp, digest: Digest) -> Hashed {
        self.has_hashed(1, now.len);
        let stamps = Some(Box::new(Stamps { before: now, after: now, linked: true }));
        Hashed { digest, bytes: now.len, stamps }
    }

    /// A file was read.
    pub(crate) fn was_read(
        &self,
        stamps: &Stamps,
        bytes: u64,
        extent: Extent,
        digest: &Digest,
        other: Option<&(dyn Other + '_)>,
    ) {
        if let Some(links) = &self.links {
            let found = other.map_or_else(Found::new, |it| it.found());
            links.was_read(stamps, bytes, extent, (digest, found));
        }
    }

    /// The result of reading a file that is open, with its stamps if they are wanted.
    pub(crate) fn stamped(
        &self,
        mut hashed: Hashed,
        file: &File,
        before: Stamp,
        extent: Extent,
        other: Option<&(dyn Other + '_)>,
    ) -> Result<Hashed, ErrorKind> {
        if self.stamps {
            let stamps = Stamps { before, after: Stamp::of(file)?, linked: false };
            self.was_read(&stamps, hashed.bytes, extent, &hashed.digest, other);
            hashed.stamps = Some(Box::new(stamps));
        }
        Ok(hashed)
    }

    /// Sets the receiver of progress.
    pub fn progress(self, progress: Arc<dyn Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Sets the switch that stops a run before its end.
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// The number of threads above which [`threads`](Self::threads) asks for no more: 8 for each core.
    pub fn most_useful_threads() -> usize {
        MOST_PER_CORE * cores()
    }

    /// Hashes the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened or read, becomes shorter, or the hashing is cancelled.
    pub fn hash(&self, path: impl AsRef<Path>) -> Result<Hashed, Error> {
        let path = path.as_ref();
        self.hash_path(path, false, self.extent).map_err(|kind| Error::new(path, kind))
    }

    /// Hashes a file that is open, from its position on, to a digest that is `extent`. `path` is for
    /// [`Progress`].
    ///
    /// # Errors
    /// If it cannot be read, becomes shorter, or the hashing is cancelled.
    pub fn hash_file(&self, file: &File, path: &Path, extent: Extent) -> Result<Hashed, ErrorKind> {
        self.hash_by(path, extent, |options, hasher| Ok(options.update_file(hasher, file, path)?))
    }

    /// Hashes a file that is open from its beginning on, and writes its outboard to `out` at the same time. It returns the hash of
    /// 32 bytes.
    ///
    /// # Errors
    /// If it cannot be read, becomes shorter, or the hashing is cancelled; if the outboard cannot be written.
    pub fn outboard_file(
        &self,
        file: &File,
        path: &Path,
        group: Group,
        out: &mut (impl WriteAt + Send + ?Sized),
    ) -> Result<Hashed, OutboardError> {
        self.with_reader(path, |options| {
            let made = options.outboard_file(file, path, group, out)?;
            let digest = Digest::of_hash(&made.digest, Extent::HASH);
            Ok(self.hashed(digest.expect("the whole digest"), &made.report))
        })
    }

    /// Hashes all that `reader` has, to a digest that is `extent`. `path` is for [`Progress`].
    ///
    /// # Errors
    /// If it cannot be read, or the hashing is cancelled.
    pub fn hash_reader(
        &self,
        reader: impl Read + Send,
        path: &Path,
        extent: Extent,
    ) -> Result<Hashed, ErrorKind> {
        self.hash_by(path, extent, |options, hasher| Ok(options.update_reader(hasher, reader)?))
    }

    /// Hashes the file at `path` with every thread. If it was `regular` when it was found, it must be so still.
    pub(crate) fn hash_path(
        &self,
        path: &Path,
        regular: bool,
        extent: Extent,
    ) -> Result<Hashed, ErrorKind> {
        self.hash_by(path, extent, |options, hasher| {
            let file =
                if regular { self.open_regular(path)? } else { long_path::open_to_watch(path)? };
            Ok(options.update_file(hasher, &file, path)?)
        })
    }

    fn hash_by(
        &self,
        path: &Path,
        extent: Extent,
        update: impl FnOnce(&file::Options<'_>, &mut Hasher) -> Result<Report, ErrorKind>,
    ) -> Result<Hashed, ErrorKind> {
        self.with_reader(path, |options| {
            let mut hasher = Hasher::with_mode(self.mode);
            let report = update(options, &mut hasher)?;
            Ok(self.hashed(Digest::new(&hasher, extent), &report))
        })
    }

    fn hashed(&self, digest: Digest, report: &Report) -> Hashed {
        Hashed { digest, bytes: report.bytes(), stamps: None }
    }

    /// Reads one file with every thread, with progress.
    fn with_reader<T, E>(
        &self,
        path: &Path,
        read: impl FnOnce(&file::Options<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.has_reached(path);
        let result = read(&self.watched(|bytes| self.has_hashed(0, bytes)))?;
        self.has_hashed(1, 0);
        Ok(result)
    }

    /// Opens a file that was regular when it was found, and must be so still.
    pub(crate) fn open_regular(&self, path: &Path) -> Result<File, ErrorKind> {
        let file = long_path::open(path, true)?;
        check_regular(&file)?;
        Ok(file)
    }

    /// How one file is read; `hears` is called with the number of bytes that were.
    pub(crate) fn watched<'a>(
        &'a self,
        hears: impl Fn(u64) + Send + Sync + 'a,
    ) -> file::Options<'a> {
        let watch = move |bytes| {
            hears(bytes);
            if self.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut options = file::Options::new()
            .mode(self.mode)
            .strategy(self.strategy)
            .mapping(self.mapping)
            .drop_cache(self.drop_cache)
            .watch(watch);
        if let Some(most) = self.threads {
            options = options.threads(most);
        }
        options
    }

    /// The most threads to use, this one counted.
    pub fn most_threads(&self) -> usize {
        self.threads.map_or_else(cores, |most| most.clamp(1, Self::most_useful_threads()))
    }

    /// Whether the caller leaves it open how small files are read, so that many may be read at a time.
    pub(crate) fn may_batch(&self) -> bool {
        self.strategy == Strategy::Auto && !self.drop_cache
    }

    /// The threads of the run at hand that have nothing to do. The one that asks for results has.
    pub(crate) fn spare(&self) -> &Spare {
        &self.spare
    }

    pub(crate) fn wants_stamps(&self) -> bool {
        self.stamps
    }

    pub(crate) fn chosen_mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn chosen_extent(&self) -> Extent {
        self.extent
    }

    /// Whether the run is [cancelled](Cancel).
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Whether a file of this length is hashed alone, also if it is small.
    pub(crate) fn is_alone(&self, len: u64) -> bool {
        len >= self.alone_from
    }

    pub(crate) fn has_hashed(&self, files: u64, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress.hashed(files, bytes);
        }
    }

    pub(crate) fn has_hashed_by_one(&self, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress.hashed_by_one(bytes);
        }
    }

    pub(crate) fn has_reached(&self, path: &Path) {
        if let Some(progress) = &self.progress {
            progress.reached(path);
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An error if a file that was regular when it was found is not regular any more.
pub(crate) fn check_regular(file: &File) -> Result<(), ErrorKind> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(ErrorKind::Replaced) }
}
