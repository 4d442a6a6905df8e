//! The outboard of a file, made while the file is hashed, by the strategy that suits it.
//!
//! A tile is a subtree. The thread that hashes it writes the pairs below its top, which are neighbours in the outboard; the pairs above
//! tiles come of the tops, in order.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::end::if_changed;
use super::error::{Error, ErrorKind};
use super::opening::open_at_once;
use super::options::Options;
use super::report::Report;
use crate::buffer::Buffer;
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::length;
use crate::outboard::{Group, IoError, Layout, Tops, WriteAt};
use crate::parallel::leaves::Sink;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::tree::WIDE;

/// The most bytes of a tile whose pairs are made at once.
const MOST: usize = 512 << 10;

/// The digest of a file whose outboard was made: [`Options::outboard`].
#[derive(Clone, Copy, Debug)]
pub struct Outboarded {
    /// The digest.
    pub digest: Hash,
    /// The shape of the outboard, with the length of the file.
    pub layout: Layout,
    /// How the file was hashed.
    pub report: Report,
}

/// Why the outboard of a file could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum OutboardError {
    /// The file could not be hashed.
    Data(Error),
    /// The outboard could not be written.
    Outboard(IoError),
}

impl fmt::Display for OutboardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(error) => error.fmt(f),
            Self::Outboard(error) => write!(f, "failed to write the outboard: {error}"),
        }
    }
}

impl std::error::Error for OutboardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // It shows the text of this one already.
            Self::Data(error) => error.source(),
            Self::Outboard(error) => Some(error),
        }
    }
}

impl Options<'_> {
    /// Hashes the file at `path` and writes its outboard to `out`, which gets exactly [`Layout::bytes`] bytes. It takes about as long as
    /// [`hash`](Self::hash), and reads the file once.
    ///
    /// ```
    /// use treewide::file::Options;
    /// use treewide::outboard::{Group, Outboard};
    ///
    /// # let path = std::env::temp_dir().join("treewide-doc-outboard");
    /// # std::fs::write(&path, vec![7; 100_000])?;
    /// let mut pairs = Vec::new(); // or a `File`
    /// let made = Options::new().outboard(&path, Group::IROH, &mut pairs)?;
    /// let outboard = Outboard::new(&made.digest, made.layout, treewide::Mode::PLAIN, pairs);
    /// outboard.verify(&std::fs::File::open(&path)?, 50_000..60_000)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Self::hash), and if the outboard cannot be written. A pipe, or another file whose length is not known before it is read,
    /// is an error.
    pub fn outboard(
        &self,
        path: impl AsRef<Path>,
        group: Group,
        out: &mut (impl WriteAt + Send + ?Sized),
    ) -> Result<Outboarded, OutboardError> {
        // For a pipe no one waits, as it is refused.
        let file = open_at_once(path.as_ref()).map_err(OutboardError::Data)?;
        self.outboard_file(&file, path, group, out)
    }

    /// Makes an outboard like [`outboard`](Self::outboard), of a file that is open, from its beginning on. `path` is for messages.
    ///
    /// # Errors
    /// As [`outboard`](Self::outboard).
    pub fn outboard_file(
        &self,
        file: &File,
        path: impl AsRef<Path>,
        group: Group,
        out: &mut (impl WriteAt + Send + ?Sized),
    ) -> Result<Outboarded, OutboardError> {
        let path = path.as_ref();
        let failed = |kind| OutboardError::Data(Error::new(path, kind));
        let opened = file.metadata().map_err(|error| failed(ErrorKind::Read(error)))?;
        // Where the system refuses the position, the file is read in order, and its end is compared.
        if matches!({ file }.stream_position(), Ok(1..)) {
            { file }.rewind().map_err(|error| failed(ErrorKind::Read(error)))?;
        }
        if !length::is_promise(file, &opened) {
            // A file of length 0 may be empty, or one of `/proc`.
            if opened.is_file() {
                let mut hasher = Hasher::with_mode(self.mode);
                let report =
                    self.update_file(&mut hasher, file, path).map_err(OutboardError::Data)?;
                if report.bytes == 0 {
                    out.set_size(0).map_err(OutboardError::Outboard)?;
                    let layout = Layout::new(0, group);
                    return Ok(Outboarded { digest: hasher.finalize(), layout, report });
                }
            }
            let text = "its length is not known before it is read; copy it to a file first";
            return Err(failed(ErrorKind::Read(io::Error::new(io::ErrorKind::Unsupported, text))));
        }
        let layout = Layout::new(opened.len(), group);
        out.set_size(layout.bytes()).map_err(OutboardError::Outboard)?;
        let tile = self.tile_of(self.most_threads()).min(MOST);
        let stop = AtomicBool::new(false);
        let watch = |bytes| match &self.watch {
            _ if stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
            Some(watch) => watch(bytes),
            None => ControlFlow::Continue(()),
        };
        let options = self.clone().tile(tile).watch(watch);
        let tops = Tops::new(&layout, tile as u64, &self.mode);
        let mut making = Making {
            out: Mutex::new(out),
            tops,
            begun: Buffer::default(),
            stop: &stop,
            error: Mutex::new(None),
        };
        let result = options.absorb_regular(&mut making, file, &opened);
        if let Some(error) = making.error.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(OutboardError::Outboard(error));
        }
        let report = result.map_err(|kind| failed(if_changed(file, &opened, kind)))?;
        let digest = making.finish().map_err(OutboardError::Outboard)?;
        Ok(Outboarded { digest, layout, report })
    }
}

/// An outboard of the bytes so far.
struct Making<'a, W: ?Sized> {
    out: Mutex<&'a mut W>,
    tops: Tops,
    /// The bytes of a tile that is not full.
    begun: Buffer,
    /// Set after an error, so that nothing more is read.
    stop: &'a AtomicBool,
    error: Mutex<Option<IoError>>,
}

impl<W: WriteAt + Send + ?Sized> Making<'_, W> {
    fn note(&self, result: Result<(), IoError>) {
        if let Err(error) = result {
            self.stop.store(true, Ordering::Relaxed);
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Hashes the tile at byte `at`, and writes its pairs.
    fn tile(&self, at: u64, data: &[u8]) -> ChainingValue {
        let (hash, pairs, place) = self.tops.tile(at, data);
        if !pairs.is_empty() {
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            self.note(out.write_all_at(&pairs, place));
        }
        hash
    }

    fn push(&mut self, hash: ChainingValue) {
        let out = self.out.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = self.tops.push(hash, |pair, place| out.write_all_at(pair, place));
        self.note(result);
    }

    fn push_begun(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        let hash = self.tile(self.tops.at(), &begun);
        self.push(hash);
        self.begun = begun;
        self.begun.clear();
    }

    fn finish(mut self) -> Result<Hash, IoError> {
        if self.tops.digest().is_none() {
            self.push_begun();
        }
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Hash::from_bytes(self.tops.digest().expect("the whole file was hashed"))),
        }
    }
}

impl<W: WriteAt + Send + ?Sized> Sink for Making<'_, W> {
    fn count(&self) -> u64 {
        self.tops.at() + self.begun.len() as u64
    }

    fn next_chunk(&self) -> u64 {
        self.tops.at() / CHUNK_LEN as u64
    }

    fn update(&mut self, mut input: &[u8]) {
        let tile = self.tops.tile_len();
        while !input.is_empty() {
            let (now, later) = input.split_at(input.len().min(tile - self.begun.len()));
            self.begun.extend_from_slice(now);
            input = later;
            if self.begun.len() == tile {
                self.push_begun();
            }
        }
    }

    fn leaf(&self, counter: u64, leaf: &[u8], nodes: &mut [ChainingValue; WIDE]) {
        nodes[0] = self.tile(counter * CHUNK_LEN as u64, leaf);
    }

    fn append(&mut self, nodes: &[ChainingValue], _: usize) {
        for leaf in nodes.chunks(WIDE) {
            self.push(leaf[0]);
        }
    }
}
