//! A file that is hashed in pieces of equal length, whose chaining values the caller keeps, so that a later run continues after them.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use super::end::if_changed;
use super::error::{Error, ErrorKind};
use super::options::{LEAST_TILE, Options};
use super::report::Report;
use crate::hash::Hash;
use crate::hasher::Hasher;
use crate::hazmat::HasherExt;
use crate::length;
use crate::mode::Mode;
use crate::outboard::Group;
use crate::parallel::leaves::Sink;
use crate::spec::{CHUNK_LEN, ChainingValue};
use crate::subtrees::Subtrees;
use crate::tree::WIDE;

impl Options<'_> {
    /// Hashes a file that is open, and calls `each` with the chaining value of each piece of `piece` bytes that is followed by another,
    /// in order. Of a file whose first pieces are `known`, only what is after them is read; [`Report::bytes`] counts that.
    ///
    /// The values are believed: the file must not have changed since a call returned them.
    ///
    /// ```
    /// use std::fs::File;
    /// use treewide::file::Options;
    /// use treewide::outboard::Group;
    ///
    /// # let path = std::env::temp_dir().join("treewide-doc-pieces");
    /// # std::fs::write(&path, vec![7; 300_000]).unwrap();
    /// let (file, mut known) = (File::open(&path)?, Vec::new());
    /// let piece = Group::of_bytes(64 << 10).expect("a power of two");
    /// let (digest, _) = Options::new().hash_pieces(&file, &path, piece, &[], |cv| known.push(cv))?;
    /// assert_eq!((known.len(), digest), (4, treewide::file::hash(&path)?));
    /// let (again, report) = Options::new().hash_pieces(&file, &path, piece, &known[..3], |_| {})?;
    /// assert_eq!((again, report.bytes()), (digest, 300_000 - 3 * 65_536));
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Self::hash).
    ///
    /// # Panics
    /// If a piece has less than 64 KiB.
    pub fn hash_pieces(
        &self,
        file: &File,
        path: impl AsRef<Path>,
        piece: Group,
        known: &[ChainingValue],
        each: impl FnMut(ChainingValue) + Send + Sync,
    ) -> Result<(Hash, Report), Error> {
        assert!(piece.bytes() >= LEAST_TILE as u64, "a piece has 64 KiB or more");
        let path = path.as_ref();
        let failed = |kind| Error::new(path, kind);
        let opened = file.metadata().map_err(|error| failed(ErrorKind::Read(error)))?;
        if !length::is_promise(file, &opened) {
            let mut hasher = Hasher::with_mode(self.mode);
            let report = self.update_file(&mut hasher, file, path)?;
            return Ok((hasher.finalize(), report));
        }
        // The last piece is read, so that the end of the file is seen.
        let most = usize::try_from(opened.len().saturating_sub(1) / piece.bytes());
        let known = &known[..known.len().min(most.unwrap_or(usize::MAX))];
        let at = known.len() as u64 * piece.bytes();
        { file }.seek(SeekFrom::Start(at)).map_err(|error| failed(ErrorKind::Read(error)))?;
        let tile = self.tile_of(self.most_threads()).min(piece.bytes() as usize);
        let options = self.clone().tile(tile);
        let mut pieces = Pieces::new(self.mode, piece, known, each);
        let result = options.absorb_regular(&mut pieces, file, &opened);
        let report = result.map_err(|kind| failed(if_changed(file, &opened, kind)))?;
        Ok((pieces.finish(), report))
    }
}

struct Pieces<F> {
    mode: Mode,
    len: u64,
    /// The pieces before the one at hand.
    top: Subtrees,
    piece: Hasher,
    each: F,
}

impl<F: FnMut(ChainingValue)> Pieces<F> {
    fn new(mode: Mode, piece: Group, known: &[ChainingValue], each: F) -> Self {
        let mut top = Subtrees::new(mode);
        top.push(known, piece.bytes().ilog2() - CHUNK_LEN.ilog2());
        let piece_at = known.len() as u64 * piece.bytes();
        Self { mode, len: piece.bytes(), top, piece: begun(mode, piece_at), each }
    }

    fn before(&self) -> u64 {
        self.top.chunks() * CHUNK_LEN as u64
    }

    /// Begins the next piece, if the one at hand is full, and returns the bytes that it has room for.
    fn room(&mut self) -> u64 {
        if self.piece.count() == self.len {
            let cv = self.piece.finalize_non_root();
            self.top.push(&[cv], self.len.ilog2() - CHUNK_LEN.ilog2());
            self.piece = begun(self.mode, self.before());
            (self.each)(cv);
        }
        self.len - self.piece.count()
    }

    fn finish(mut self) -> Hash {
        if self.top.chunks() == 0 {
            return self.piece.finalize();
        }
        let chunks = self.piece.count().div_ceil(CHUNK_LEN as u64);
        self.top.push_last(&self.piece.finalize_non_root(), chunks);
        self.top.finalize()
    }
}

fn begun(mode: Mode, at: u64) -> Hasher {
    let mut piece = Hasher::with_mode(mode);
    piece.set_input_offset(at);
    piece
}

impl<F: FnMut(ChainingValue) + Sync> Sink for Pieces<F> {
    fn count(&self) -> u64 {
        self.before() + self.piece.count()
    }

    fn next_chunk(&self) -> u64 {
        self.count() / CHUNK_LEN as u64
    }

    fn update(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            let room = self.room().min(input.len() as u64) as usize;
            let (now, later) = input.split_at(room);
            self.piece.update(now);
            input = later;
        }
    }

    fn leaf(&self, counter: u64, leaf: &[u8], nodes: &mut [ChainingValue; WIDE]) {
        Sink::leaf(&self.piece, counter, leaf, nodes);
    }

    fn append(&mut self, mut nodes: &[ChainingValue], chunks: usize) {
        while !nodes.is_empty() {
            let leaves = self.room() / (chunks * CHUNK_LEN) as u64;
            let (now, later) = nodes.split_at(nodes.len().min(leaves as usize * WIDE));
            Sink::append(&mut self.piece, now, chunks);
            nodes = later;
        }
    }
}
