//! Stopping work from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A switch that stops everything that has a clone of it. Once cancelled, it stays so.
///
/// The crates `treewide-files`, `treewide-manifest` and `treewide-gpu` take it. A run over files stops before the next file, and
/// in the middle of a large one; a device stops at the next part. Each ends with an error, so that the work is not taken for
/// complete.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A switch that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the work.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
