//! Reading a file for digests of other algorithms: in order, on one thread, and for BLAKE3 at the same time if both are wanted.

use crate::digest::{self, Digest, Extent};
use crate::error::{Error, ErrorKind};
use crate::long_path;
use crate::options::{Hashed, Options};
use crate::spare::Taken;
use crate::stamp::Stamp;
use crate::task::{Kind, Next, Other};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use treewide::Hasher;

/// Another thread that is idle finds the BLAKE3 digest of pieces of at least this many bytes, of files of at least `LONG`. Guesses: pieces
/// have 512 KiB as a rule (`results/zen5-2vcpu/digests.md#blake3-and-sha-256-in-one-read`).
const HANDED_OVER: usize = 256 << 10;
const LONG: u64 = 4 << 20;

/// A file whose bytes are all in memory, as often as `other` asks for them.
pub(crate) fn feed_bytes(bytes: &[u8], other: &mut dyn Other) {
    while other.next() == Next::Bytes {
        if other.begin(bytes.len() as u64) {
            other.update(bytes);
        }
    }
}

/// The same of a file whose BLAKE3 digest is known.
pub(crate) fn feed_both(bytes: &[u8], digest: &Digest, other: &mut dyn Other) {
    if other.next() == Next::Both && other.begin(bytes.len() as u64) {
        other.update(bytes);
    }
    other.blake3(digest);
    feed_bytes(bytes, other);
}

impl Options {
    /// Reads the file at `path` for `other`, as a run does: once for [`Next::Both`].
    ///
    /// ```
    /// use treewide_files::digest::Digest;
    /// use treewide_files::{Next, Options, Other};
    ///
    /// /// Counts line ends, and finds BLAKE3 in the same reading.
    /// #[derive(Default)]
    /// struct LineEnds(usize, Option<Digest>);
    ///
    /// impl Other for LineEnds {
    ///     fn next(&mut self) -> Next {
    ///         if self.1.is_none() { Next::Both } else { Next::Nothing }
    ///     }
    ///
    ///     fn begin(&mut self, _: u64) -> bool {
    ///         self.0 = 0;
    ///         true
    ///     }
    ///
    ///     fn update(&mut self, bytes: &[u8]) {
    ///         self.0 += bytes.iter().filter(|byte| **byte == b'\n').count();
    ///     }
    ///
    ///     fn blake3(&mut self, digest: &Digest) {
    ///         self.1 = Some(digest.clone());
    ///     }
    /// }
    ///
    /// # let path = std::env::temp_dir().join("treewide-files-doc-other");
    /// # std::fs::write(&path, "a\nb\n").unwrap();
    /// let mut found = LineEnds::default();
    /// Options::new().hash_other(&path, &mut found)?;
    /// assert_eq!(found.0, 2);
    /// assert_eq!(found.1.unwrap().into_bytes(), treewide::hash(b"a\nb\n").as_bytes());
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), treewide_files::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Self::hash).
    pub fn hash_other(
        &self,
        path: impl AsRef<Path>,
        other: &mut dyn Other,
    ) -> Result<Hashed, Error> {
        let (this, path, extent) = (self.of_run(), path.as_ref(), self.chosen_extent());
        let at_path = |kind| Error::new(path, kind);
        let mut hashed = Hashed { digest: Digest::empty(), bytes: 0, stamps: None };
        let mut has_counted = false;
        loop {
            hashed = match other.next() {
                Next::Blake3 => {
                    let hashed = this.hash_path(path, false, extent).map_err(at_path)?;
                    other.blake3(&hashed.digest);
                    hashed
                }
                Next::Bytes | Next::Both => this
                    .feed_path(path, Kind::Unknown, extent, other, has_counted)
                    .map_err(at_path)?,
                Next::Nothing => return Ok(hashed),
            };
            has_counted = true;
        }
    }

    /// Hashes a file that is open at its beginning, in the same reading for `other`, which wants [`Next::Both`]. What is `known` is not
    /// hashed again: then the file is read for `other` alone.
    ///
    /// # Errors
    /// As [`hash_file`](Self::hash_file).
    pub fn hash_open(
        &self,
        file: &File,
        path: &Path,
        extent: Extent,
        known: Option<Hashed>,
        other: Option<&mut (dyn Other + '_)>,
    ) -> Result<Hashed, ErrorKind> {
        match (known, other) {
            (Some(known), None) => Ok(known),
            (None, None) => self.hash_file(file, path, extent),
            (None, Some(other)) => {
                self.has_reached(path);
                let hashed = self.both(file, path, extent, other, true)?;
                self.has_hashed(1, 0);
                Ok(hashed)
            }
            (Some(known), Some(other)) => {
                let again = self.both(file, path, extent, other, false)?;
                // Otherwise it changed between the two, or one of them was read wrongly.
                let is_same = again.bytes == known.bytes
                    && digest::equal(
                        &again.digest.into_bytes(),
                        &known.digest.clone().into_bytes(),
                    );
                if is_same { Ok(known) } else { Err(ErrorKind::Replaced) }
            }
        }
    }

    /// Reads a file from its position on for `other`, and for BLAKE3.
    fn both(
        &self,
        file: &File,
        path: &Path,
        extent: Extent,
        other: &mut dyn Other,
        is_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let mut hasher = Some(Hasher::with_mode(self.chosen_mode()));
        other.begin(file.metadata()?.len());
        let bytes = self.feed_once(file, path, &mut hasher, other, is_counted)?;
        let digest = hasher.map_or_else(Digest::empty, |hasher| Digest::new(&hasher, extent));
        other.blake3(&digest);
        Ok(Hashed { digest, bytes, stamps: None })
    }

    /// Reads a file from its position on for `other`, and for a hasher if there is one. Returns how many bytes there are.
    fn feed_once(
        &self,
        file: &File,
        path: &Path,
        hasher: &mut Option<Hasher>,
        other: &mut dyn Other,
        is_counted: bool,
    ) -> Result<u64, ErrorKind> {
        let options = self.watched(|bytes| {
            self.has_hashed_by_one(if is_counted { bytes } else { 0 });
        });
        let Some(hasher) = hasher else {
            other.lend(self.spare());
            return Ok(options.read_in_order(file, path, |more| other.update(more))?.bytes());
        };
        let mut taken = None;
        let each = |more: &[u8]| {
            taken =
                taken.take().filter(|it: &Taken| !it.is_missed()).or_else(|| self.spare().take());
            if taken.is_some() && more.len() >= HANDED_OVER {
                rayon::join(|| other.update(more), || hasher.update(more));
            } else {
                other.update(more);
                hasher.update(more);
            }
        };
        let read = || options.read_in_order(file, path, each);
        // On a thread of the pool, `join` waits for no other one to wake up.
        let is_long = file.metadata()?.len() >= LONG;
        let is_in_pool =
            is_long && (2..=rayon::current_num_threads()).contains(&self.most_threads());
        let report = if is_in_pool { rayon::scope(|_| read()) } else { read() };
        Ok(report?.bytes())
    }

    /// Reads a file as often as `other` asks for its bytes. Returns how many there are. Progress counts them once, and not at all if
    /// it `has_counted` them before.
    fn feed_file(
        &self,
        file: &File,
        path: &Path,
        extent: Extent,
        other: &mut dyn Other,
        has_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let bytes = file.metadata()?.len();
        let mut hashed = Hashed { digest: Digest::empty(), bytes, stamps: None };
        let mut has_read = false;
        loop {
            let next = other.next();
            match next {
                Next::Bytes if !other.begin(hashed.bytes) => continue,
                Next::Bytes | Next::Both => {}
                Next::Blake3 | Next::Nothing => break,
            }
            let is_first = !std::mem::replace(&mut has_read, true);
            if !is_first {
                { file }.rewind()?;
            }
            let is_counted = is_first && !has_counted;
            match next {
                Next::Both => hashed = self.both(file, path, extent, other, is_counted)?,
                _ => hashed.bytes = self.feed_once(file, path, &mut None, other, is_counted)?,
            }
        }
        self.has_hashed(u64::from(!has_counted), 0);
        Ok(hashed)
    }

    /// As [`feed_file`](Self::feed_file), for a file of a walk that was like `before` when it was opened.
    pub(crate) fn feed_found(
        &self,
        file: &File,
        before: Option<Stamp>,
        path: &Path,
        extent: Extent,
        other: &mut dyn Other,
        has_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let hashed = self.feed_file(file, path, extent, other, has_counted)?;
        match before {
            // Without its BLAKE3 digest it is not claimed either.
            Some(before) if hashed.digest.len() > 0 => {
                self.stamped(hashed, file, before, extent, Some(other))
            }
            _ => Ok(hashed),
        }
    }

    /// Reads `reader` to its end for `other`. It can be read only once, and its length is not known.
    ///
    /// # Errors
    /// If it cannot be read, the run is cancelled, or `other` wants the bytes again.
    pub fn feed_reader(
        &self,
        mut reader: impl Read,
        path: &Path,
        other: &mut dyn Other,
    ) -> Result<Hashed, ErrorKind> {
        self.has_reached(path);
        let (mut buffer, mut bytes) = (vec![0; 64 << 10], 0);
        let next = other.next();
        let mut is_over = !matches!(next, Next::Bytes | Next::Both) || !other.begin(0);
        let mut hasher = (next == Next::Both).then(|| Hasher::with_mode(self.chosen_mode()));
        while !is_over {
            if self.is_cancelled() {
                return Err(ErrorKind::Cancelled);
            }
            let read = match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            is_over = read == 0;
            hasher.as_mut().map(|it| it.update(&buffer[..read]));
            other.update(&buffer[..read]);
            bytes += read as u64;
            self.has_hashed_by_one(read as u64);
        }
        self.has_hashed(1, 0);
        let mut digest = Digest::empty();
        if let Some(hasher) = hasher {
            digest = Digest::new(&hasher, self.chosen_extent());
            other.blake3(&digest);
        }
        match other.next() {
            Next::Nothing => Ok(Hashed { digest, bytes, stamps: None }),
            _ => Err(ErrorKind::Other(
                "can be read only once, and its digest may be of several algorithms".into(),
            )),
        }
    }

    /// As [`feed_file`](Self::feed_file), for the file at `path`.
    pub(crate) fn feed_path(
        &self,
        path: &Path,
        kind: Kind,
        extent: Extent,
        other: &mut dyn Other,
        has_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let (file, before) = match kind {
            Kind::Found(identity) => {
                let (file, before) = identity.open_stamped(path)?;
                (file, Some(before))
            }
            Kind::Regular => (self.open_regular(path)?, None),
            Kind::Unknown | Kind::Alone => (long_path::open_to_watch(path)?, None),
        };
        self.feed_found(&file, before, path, extent, other, has_counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Takes the bytes, and wants nothing.
    struct Bytes(Vec<u8>);

    impl Other for Bytes {
        fn next(&mut self) -> Next {
            Next::Nothing
        }

        fn blake3(&mut self, _: &Digest) {}

        fn begin(&mut self, _: u64) -> bool {
            self.0.clear();
            true
        }

        fn update(&mut self, bytes: &[u8]) {
            self.0.extend(bytes);
        }
    }

    /// A file that is read twice, for an outboard, and was another one then.
    #[test]
    fn hash_open_compares_both_readings() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"now").unwrap();
        for (before, is_same) in [("now", true), ("was", false), ("long", false)] {
            file.rewind().unwrap();
            let digest = Digest::of_hash(&treewide::hash(before.as_bytes()), Extent::HASH).unwrap();
            let known = Hashed { digest, bytes: before.len() as u64, stamps: None };
            let mut other = Bytes(Vec::new());
            let path = Path::new("file");
            let hashed =
                Options::new().hash_open(&file, path, Extent::HASH, Some(known), Some(&mut other));
            assert_eq!(hashed.is_ok(), is_same, "{before}");
            assert_eq!(other.0, b"now");
        }
    }
}
