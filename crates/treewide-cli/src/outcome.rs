//! How a run ended that was not cut short.

/// The exit code says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything asked for was done (exit code 0).
    Success,
    /// At least one file or check failed; the others were done (exit code 1).
    SomeFailed,
}

impl Outcome {
    /// `Success` if nothing failed.
    pub(crate) fn of(failures: u64) -> Self {
        if failures == 0 { Self::Success } else { Self::SomeFailed }
    }
}
