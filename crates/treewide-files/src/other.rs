//! Reading a file for digests of other algorithms: in order, on one thread.

use crate::digest::Digest;
use crate::error::ErrorKind;
use crate::long_path;
use crate::options::{Hashed, Options};
use crate::task::{Kind, Next, Other};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// A file whose bytes are all in memory, as often as `other` asks for them.
pub(crate) fn feed_bytes(bytes: &[u8], other: &mut dyn Other) {
    while other.next() == Next::Bytes {
        if other.begin(bytes.len() as u64) {
            other.update(bytes);
        }
    }
}

impl Options {
    /// Reads a file as often as `other` asks for its bytes. Returns how many there are. Progress counts them once, and not at all if
    /// it `has_counted` them before.
    pub(crate) fn feed_file(
        &self,
        file: &File,
        path: &Path,
        other: &mut dyn Other,
        has_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let mut bytes = file.metadata()?.len();
        let mut has_read = false;
        while other.next() == Next::Bytes {
            if !other.begin(bytes) {
                continue;
            }
            let is_first = !std::mem::replace(&mut has_read, true);
            if !is_first {
                { file }.rewind()?;
            }
            let is_counted = is_first && !has_counted;
            let report = self.watched(|bytes| {
                self.has_hashed_by_one(if is_counted { bytes } else { 0 });
            });
            bytes = report.read_in_order(file, path, |more| other.update(more))?.bytes();
        }
        self.has_hashed(u64::from(!has_counted), 0);
        Ok(Hashed { digest: Digest::empty(), bytes, stamps: None })
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
        let mut is_over = other.next() != Next::Bytes || !other.begin(0);
        while !is_over {
            if self.is_cancelled() {
                return Err(ErrorKind::Cancelled);
            }
            let read = match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            is_over = read == 0;
            other.update(&buffer[..read]);
            bytes += read as u64;
            self.has_hashed_by_one(read as u64);
        }
        self.has_hashed(1, 0);
        match other.next() {
            Next::Nothing => Ok(Hashed { digest: Digest::empty(), bytes, stamps: None }),
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
        other: &mut dyn Other,
        has_counted: bool,
    ) -> Result<Hashed, ErrorKind> {
        let file = match kind {
            Kind::Found(identity) => identity.open(path)?.0,
            Kind::Regular => self.open_regular(path)?,
            Kind::Unknown | Kind::Alone => long_path::open_to_watch(path)?,
        };
        self.feed_file(&file, path, other, has_counted)
    }
}
