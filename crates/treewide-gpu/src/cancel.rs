//! Stopping what is on its way.

use crate::error::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a [`Staged`](crate::host::staged::Staged) or a [`Pipeline`](crate::host::pipeline::Pipeline), from any
/// thread. Clones stop the same ones.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    is_cancelled: Arc<AtomicBool>,
}

impl Cancel {
    /// Stops it: it fails with [`ErrorKind::Cancelled`] at its next part.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.is_cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "cancelled")),
            false => Ok(()),
        }
    }
}
