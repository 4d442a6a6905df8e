//! How a run ended that was not cut short.

/// The exit code says it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything asked for was done (exit code 0).
    Success,
    /// At least one file or check failed; the others were done (exit code 1).
    SomeFailed,
    /// The request is invalid, as the run found out (exit code 2).
    BadUsage,
    /// It is undetermined whether a tree is as recorded (exit code 3).
    CannotTell,
}

impl Outcome {
    /// `Success` if nothing failed.
    pub(crate) fn of(failures: u64) -> Self {
        if failures == 0 { Self::Success } else { Self::SomeFailed }
    }

    /// The verdict on everything, in JSON and on pages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "ok",
            Self::SomeFailed => "differs",
            Self::BadUsage | Self::CannotTell => "undetermined",
        }
    }

    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::SomeFailed => 1,
            Self::BadUsage => 2,
            Self::CannotTell => 3,
        }
    }
}
