//! The flag that says where results go.

use crate::shell::output::{Output, Prints, Writes};
use crate::shell::progress::Progress;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write to FILE instead of standard output, all at once when everything is done
    ///
    /// Until then FILE stays as it is (or absent), and it also does if writing fails or the program
    /// is interrupted. If FILE cannot be replaced (it is a mount point, or in a directory that takes no new
    /// files), it is overwritten in the end. If the complete output cannot get to its place, it stays under
    /// another name, and the message says which. If some inputs cannot be read, FILE lists the others, and the exit status is 1.
    /// FILE must not be an input, a listed file, the file behind standard input, or a file that appears
    /// during the run; if it is, the run stops, for a listed file when its turn comes. Where all of a directory is read, or a store, FILE
    /// must not be a file in it, except an earlier list. FILE itself is left out of a recursive walk, and so is the unfinished file of
    /// any run, `.treewide-*.tmp` next to its FILE; the next run removes what a killed one has left. A pipe or a device is written to
    /// directly (except a disk that is an input), and so are /dev/stdout and /dev/stderr, whatever they
    /// are directed to; `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

impl OutputArgs {
    /// The regular file that is written, also if it does not exist yet.
    pub(crate) fn file(&self) -> Option<&Path> {
        let is_file =
            |it: &&Path| *it != Path::new("-") && it.metadata().map_or(true, |it| it.is_file());
        self.output.as_deref().filter(is_file)
    }

    /// Starts writing a report, as [`Output::open`] does.
    pub(crate) fn open<'a>(
        &self,
        inputs: &[PathBuf],
        prints: Prints,
        progress: &'a Progress,
    ) -> anyhow::Result<Output<'a>> {
        self.open_as(Writes::Report, inputs, prints, progress)
    }

    /// Starts writing something else.
    pub(crate) fn open_as<'a>(
        &self,
        writes: Writes,
        inputs: &[PathBuf],
        prints: Prints,
        progress: &'a Progress,
    ) -> anyhow::Result<Output<'a>> {
        Output::open(self.output.as_deref(), inputs, prints, progress, writes)
    }
}
