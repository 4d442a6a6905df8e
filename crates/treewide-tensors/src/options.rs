//! How tensors are hashed.

use std::fmt;
use std::sync::Arc;
use treewide::Cancel;
use treewide_files::Progress;

/// How tensors are hashed: by default with all threads of the current rayon pool.
#[derive(Clone)]
pub struct Options {
    pub(crate) threads: usize,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) cancel: Cancel,
}

impl Default for Options {
    fn default() -> Self {
        let unseen = |_, _| {};
        Self { threads: usize::MAX, progress: Arc::new(unseen), cancel: Cancel::new() }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most threads of the current rayon pool that work. With 1 the calling thread does all.
    pub fn threads(mut self, most: usize) -> Self {
        self.threads = most.max(1);
        self
    }

    /// Hears how many bytes were hashed, from any thread, and which files were done.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Stops the work when it is cancelled. The error is [`Stopped`](treewide::file::ErrorKind::Stopped).
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("threads", &self.threads).finish_non_exhaustive()
    }
}
