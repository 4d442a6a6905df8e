//! How tensors are hashed.

use std::fmt;
use std::sync::Arc;
use treewide::{Cancel, Mode, OUT_LEN};
use treewide_files::Progress;

/// How tensors are hashed: by default in the plain mode, with all threads of the current rayon pool.
#[derive(Clone)]
pub struct Options {
    pub(crate) mode: Mode,
    pub(crate) output_len: usize,
    pub(crate) threads: usize,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) cancel: Cancel,
}

impl Default for Options {
    fn default() -> Self {
        let unseen = |_, _| {};
        Self {
            mode: Mode::PLAIN,
            output_len: OUT_LEN,
            threads: usize::MAX,
            progress: Arc::new(unseen),
            cancel: Cancel::new(),
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The mode, for [`Model::hash`](crate::Model::hash). Digests in lists are plain.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The bytes of output for each tensor, for [`Model::hash`](crate::Model::hash). Digests in lists have 32.
    pub fn output_len(mut self, output_len: usize) -> Self {
        self.output_len = output_len;
        self
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
        f.debug_struct("Options")
            .field("output_len", &self.output_len)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
