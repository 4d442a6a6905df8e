//! Stopping a run from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A switch that stops every run that has a clone of it. Once cancelled, it stays so.
///
/// Hand it to [`Options::cancel`](crate::Options::cancel). A run then stops before the next file, and in the
/// middle of a large one; it ends with an error, so that it is not taken for complete.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A switch that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the runs.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
