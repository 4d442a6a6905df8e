//! The flag that says whether verdicts have colours: the same in every command that prints some.

use anstream::ColorChoice;
use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct ColorArgs {
    /// When verdicts have colours: auto, always or never
    ///
    /// auto: on a terminal, unless NO_COLOR is set or TERM is dumb.
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    #[arg(hide_possible_values = true, hide_short_help = true)]
    color: When,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ColorArgs {
    /// From now on, output has colours or not.
    pub(crate) fn apply(&self) {
        match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        }
        .write_global();
    }
}
