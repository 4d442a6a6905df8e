//! How a run reports how far it has come.

use std::path::Path;

/// Is called while files are being hashed. Hand it to [`Options::progress`](crate::Options::progress).
///
/// Neither method may take long: hashing waits for it. A closure that takes files and bytes is a
/// `Progress` too.
pub trait Progress: Send + Sync {
    /// `files` more files were hashed, and `bytes` more bytes. Any thread calls this.
    ///
    /// The bytes of a large file are reported while it is being read, with 0 files; if reading it then fails, the
    /// bytes stay counted. So if every file was hashed, all calls add up to the number of files and their bytes.
    fn hashed(&self, files: u64, bytes: u64);

    /// `bytes` more bytes of a file were hashed that one thread reads, because its digest is not a BLAKE3 one. Several such files may be
    /// under way.
    fn hashed_by_one(&self, bytes: u64) {
        self.hashed(0, bytes);
    }

    /// The run has come to this file: it is about to return its result, or to read it if it is large. Only
    /// the thread that asks the run for results calls this.
    fn reached(&self, path: &Path) {
        let _ = path;
    }
}

impl<F: Fn(u64, u64) + Send + Sync> Progress for F {
    fn hashed(&self, files: u64, bytes: u64) {
        self(files, bytes);
    }
}
