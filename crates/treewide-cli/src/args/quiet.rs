//! The flag that leaves out what is as it should be: the same in every command.

use clap::Args;

#[derive(Args)]
pub(crate) struct QuietArgs {
    /// Report only what is wrong
    ///
    /// Results are written as always. Progress, notes, counts, and what is as it should be are not.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl QuietArgs {
    /// Whether the flag was given.
    pub(crate) fn is_on(&self) -> bool {
        self.quiet
    }
}
