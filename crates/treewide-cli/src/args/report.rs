//! The flags that say what a command writes and says: the same in every command.

use crate::args::output::OutputArgs;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::progress::Progress;
use crate::shell::sheet::{As, Sheet};
use anstream::ColorChoice;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::rc::Rc;

#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Write one JSON object a line, and one that counts
    ///
    /// Each has path, verdict, type, bytes, evidence and detail, and keys of its command; docs/formats.md has the table. A value that
    /// does not exist is null. If the path is not valid UTF-8, `path` has U+FFFD in place of the bytes that are not, and `path_hex` has
    /// all its bytes in hex. The last object has the type "summary", and is left out with --quiet.
    #[arg(long)]
    json: bool,

    /// Print problems only
    ///
    /// No notes, no progress, and nothing that is as it should be. Results that were asked for, such as digests, are printed. Counts are, if something is wrong.
    #[arg(short, long)]
    quiet: bool,

    /// When verdicts have colours: auto, always or never
    ///
    /// auto: on a terminal, unless NO_COLOR is set or TERM is dumb.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_short_help = true)]
    color: When,

    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct ProgressArgs {
    /// Show files, bytes, rate and the file at hand on standard error
    ///
    /// This is the default if standard error is a terminal. If it is not, a line is written every
    /// five seconds, with the file at hand, and one at the end. On a terminal that cannot move its cursor (TERM is unset, empty or
    /// dumb), a line is written every five seconds. The total and the time left are shown when the files
    /// are counted. They are counted during the run: `counting` is shown until then. What `update`, `dupes` and `missing` have to read is not known
    /// before.
    #[arg(long, overrides_with = "no_progress", hide_short_help = true)]
    progress: bool,

    /// Do not show progress, not even on a terminal
    #[arg(long, overrides_with = "progress", hide_short_help = true)]
    no_progress: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ProgressArgs {
    /// Starts it; `by_itself` says whether on a terminal no one needs to ask for it.
    pub(crate) fn start(&self, by_itself: bool) -> Rc<Progress> {
        Rc::new(Progress::start(self.progress, by_itself && !self.no_progress))
    }
}

impl ReportArgs {
    /// Whether rows are JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Whether what is as it should be is left out.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet
    }

    /// Begins what the command writes and says, as [`Output::open`](crate::shell::output::Output::open) does.
    pub(crate) fn begin(
        &self,
        program: Program,
        output: &OutputArgs,
        inputs: &[PathBuf],
        prints: Prints,
    ) -> anyhow::Result<Sheet> {
        self.begin_from(program, output, (inputs, inputs), prints)
    }

    /// The same; the output may be more readable than the inputs, but not than the `sources`.
    pub(crate) fn begin_from(
        &self,
        program: Program,
        output: &OutputArgs,
        (inputs, sources): (&[PathBuf], &[PathBuf]),
        prints: Prints,
    ) -> anyhow::Result<Sheet> {
        match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        }
        .write_global();
        let progress = self.progress.start(!self.quiet);
        let output = output.open((inputs, sources), prints, &progress)?;
        let form = if self.json { As::Json } else { As::Text };
        Ok(Sheet::new(program, progress, output, form, self.quiet))
    }
}
