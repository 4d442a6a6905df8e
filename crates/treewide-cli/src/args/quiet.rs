//! The flag that leaves out what is as it should be: the same in every command.

use clap::Args;

#[derive(Args)]
pub(crate) struct QuietArgs {
    /// Print no notes, no progress, and nothing that is as it should be
    ///
    /// Results that were asked for, such as digests, are printed. Counts are, if something is wrong.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl QuietArgs {
    /// Whether the flag was given.
    pub(crate) fn is_on(&self) -> bool {
        self.quiet
    }
}
