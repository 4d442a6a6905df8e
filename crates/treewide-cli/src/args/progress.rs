//! The flags that say whether to show how far a run has come.

use crate::shell::progress::Progress;
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ProgressArgs {
    /// Show files, bytes, rate and the file at hand on standard error
    ///
    /// This is the default if standard error is a terminal. If it is not, a line is written every
    /// five seconds, with the file at hand, and one at the end. On a terminal that cannot move its cursor (TERM is unset, empty or
    /// dumb), a line is written every five seconds. The total and the time left are shown for up to 1,000
    /// files that are named, for lists of up to 64 KiB, and for directories with a manifest (as many as that has); for others,
    /// only those of the file at hand.
    #[arg(long, overrides_with = "no_progress", hide_short_help = true)]
    progress: bool,

    /// Do not show progress, not even on a terminal
    #[arg(long, overrides_with = "progress", hide_short_help = true)]
    no_progress: bool,
}

impl ProgressArgs {
    /// Starts it; `by_itself` says whether on a terminal no one needs to ask for it.
    pub(crate) fn start(&self, by_itself: bool) -> Progress {
        Progress::start(self.progress, by_itself && !self.no_progress)
    }
}
