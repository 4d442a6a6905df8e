//! How tensors are hashed.

use std::sync::Arc;
use treewide::Cancel;
use treewide_files::Progress;

/// How tensors are hashed: by default with all threads of the current rayon pool.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "it has a function")]
pub struct Options {
    /// The most threads of the current rayon pool that work. With 1 the calling thread does all.
    pub threads: usize,
    /// Hears how many bytes were hashed, from any thread, and which files were done.
    pub progress: Arc<dyn Progress>,
    /// Stops the work when it is cancelled. The error is [`Stopped`](treewide::file::ErrorKind::Stopped).
    pub cancel: Cancel,
}

impl Default for Options {
    fn default() -> Self {
        let unseen = |_, _| {};
        Self { threads: usize::MAX, progress: Arc::new(unseen), cancel: Cancel::new() }
    }
}
