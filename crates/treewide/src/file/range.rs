//! A range of a file that others read too: by threads or processes that share one file out.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::error::{Error, ErrorKind};
use super::options::Options;
use super::report::Report;
use super::strategy::Strategy;
use crate::hasher::Hasher;

impl Options<'_> {
    /// Appends the bytes of a range of an open file, by the strategy that suits the range. The position of the file has no
    /// meaning here, and stays where it is. `path` is for messages.
    ///
    /// ```
    /// use std::fs::File;
    /// use treewide::file::Options;
    /// use treewide::hazmat::{self, HasherExt, Mode};
    /// use treewide::{Hasher, hash};
    ///
    /// # let path = std::env::temp_dir().join("treewide-doc-range");
    /// # std::fs::write(&path, vec![7; 300_000]).unwrap();
    /// let file = File::open(&path)?;
    /// let (mut left, mut right) = (Hasher::new(), Hasher::new());
    /// right.set_input_offset(262_144);
    /// Options::new().update_range(&mut left, &file, &path, 0..262_144)?;
    /// Options::new().update_range(&mut right, &file, &path, 262_144..300_000)?;
    /// let values = (left.finalize_non_root(), right.finalize_non_root());
    /// assert_eq!(hazmat::merge_subtrees_root(&values.0, &values.1, Mode::Hash), hash(&[7; 300_000]));
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hash`](Self::hash); [`ErrorKind::Ended`] or [`ErrorKind::Shrank`] if the file has not all of the range. The hasher
    /// has then absorbed an unknown part of it: discard it. Whether something wrote to the file is not looked at.
    pub fn update_range(
        &self,
        hasher: &mut Hasher,
        file: &File,
        path: impl AsRef<Path>,
        range: Range<u64>,
    ) -> Result<Report, Error> {
        let failed = |kind| Error::new(path.as_ref(), kind);
        if range.is_empty() {
            return Ok(Report { bytes: 0, grown_to: None, strategy: Strategy::Read });
        }
        let (bytes, strategy) =
            self.append(hasher, file, range.start, range.end).map_err(failed)?;
        match range.start + bytes {
            end if end < range.end => Err(failed(ErrorKind::Ended { read: end, len: range.end })),
            _ => Ok(Report { bytes, grown_to: None, strategy }),
        }
    }
}
