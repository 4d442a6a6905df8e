//! Tasks of a run: files, and notes between them.

use crate::digest::{Digest, Extent};
use crate::identity::Identity;
use crate::spare::Spare;
use std::path::PathBuf;

/// Source of files, found while the first are already being hashed.
///
/// The thread that asks the [run](crate::Run) for results also asks the source for files, a few thousand files
/// ahead.
pub trait Source {
    /// What the source knows about a file in addition to its path, and wants back with the result.
    type About: Send + 'static;
    /// Something else that is to be returned in its place between the files.
    type Note: Send + 'static;

    /// The next file or note. `None` at the end; it is not asked again then.
    fn next(&mut self) -> Option<Item<Self::About, Self::Note>>;

    /// Whether `next` may have to wait, as a list that comes through a pipe does. The run then
    /// returns the results of everything found so far first.
    fn may_wait(&self) -> bool {
        false
    }

    /// The bytes of memory that `about` or the note holds, which the run keeps within a bound.
    fn bytes(item: &Item<Self::About, Self::Note>) -> usize {
        let _ = item;
        0
    }

    /// What the source wants to know of a file's bytes in addition to its BLAKE3 digest, or in its place. `None`: nothing.
    fn other(about: &mut Self::About) -> Option<&mut dyn Other> {
        let _ = about;
        None
    }
}

/// Something that is computed from a file's bytes in order, such as a SHA-256 digest. One thread reads such a file; several
/// threads read several files.
pub trait Other: Send + Sync {
    /// What is done next with the file. A run asks before it reads the file, and after each reading, until the answer is
    /// [`Next::Nothing`].
    fn next(&mut self) -> Next;

    /// The answer was [`Next::Blake3`] or [`Next::Both`], and this is the digest. It comes after the last bytes.
    fn blake3(&mut self, digest: &Digest);

    /// The answer was [`Next::Bytes`] or [`Next::Both`], and this is the length of the file before it is read. `false` if it need not be
    /// read; then the next answer must be another. A file that changed while it was being read may begin again.
    fn begin(&mut self, size: u64) -> bool;

    /// `begin` has returned `true`, and these threads may help with the bytes.
    fn lend(&mut self, spare: &Spare) {
        let _ = spare;
    }

    /// The next bytes.
    fn update(&mut self, bytes: &[u8]);

    /// Everything that was found, for other names of the same file: see [`Options::links_once`](crate::Options::links_once).
    fn found(&self) -> Found {
        Found::new()
    }

    /// The file was read under another name, and this was found there. `false` if it does not suffice; then the file is read.
    fn was_found(&mut self, digest: &Digest, found: &Found) -> bool {
        let _ = (digest, found);
        false
    }
}

/// Digests of a file, by the names of their algorithms.
pub type Found = Vec<(&'static str, Vec<u8>)>;

/// The next step of a run for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Finds the BLAKE3 digest.
    Blake3,
    /// Reads the bytes from the start.
    Bytes,
    /// Reads the bytes from the start, and finds the BLAKE3 digest in the same reading. The answer after that is
    /// [`Bytes`](Self::Bytes) or [`Nothing`](Self::Nothing).
    Both,
    /// Returns the result. It has an empty digest if the BLAKE3 digest was not asked for.
    Nothing,
}

/// [`Source::other`] of some source.
pub(crate) type OtherOf<A> = fn(&mut A) -> Option<&mut dyn Other>;

/// Entry that a [`Source`] finds.
#[derive(Clone, Debug)]
pub enum Item<A, N> {
    /// A file to hash.
    File(Task<A>),
    /// Something to return in its place.
    Note(N),
}

/// A file to hash.
#[derive(Clone, Debug)]
pub struct Task<A = ()> {
    /// Its path.
    pub path: PathBuf,
    /// Facts about it.
    pub kind: Kind,
    /// Which bytes of the extended output make up its digest.
    pub extent: Extent,
    /// Whatever the source wants back with the result.
    pub about: A,
}

/// Facts about a file before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was a regular file when it was found. If it is something else when it is opened, that is the error
    /// [`Replaced`](crate::ErrorKind::Replaced), and no thread waits for it.
    Regular,
    /// A walk has found it. If it is anything else when it is opened, also another regular file, that is the error
    /// [`Replaced`](crate::ErrorKind::Replaced).
    Found(Identity),
    /// It may be anything. A named pipe is read to its end when its turn comes.
    Unknown,
    /// It may be anything, and is not to be opened before its turn comes. It need not even be a path, if a
    /// [`HashAlone`](crate::HashAlone) knows how to read it, such as standard input.
    Alone,
}
