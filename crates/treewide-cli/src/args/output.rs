//! The flag that says where results go.

use crate::shell::descriptor::descriptor;
use crate::shell::output::{Output, Prints};
use crate::shell::progress::Progress;
use clap::Args;
use std::path::{Path, PathBuf};
use std::rc::Rc;

#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write to FILE instead of standard output, all at once when everything is done
    ///
    /// FILE is new or empty, unless --force is given. It stays as it is (or absent) until everything is done, and if writing fails or
    /// the program is interrupted. If FILE cannot be replaced (it is a mount point, or in a directory that takes no new
    /// files), it is overwritten in the end. If the complete output cannot get to its place, it stays under
    /// another name, and the message says which. If some inputs cannot be read, FILE lists the others, and the exit status is 1.
    /// FILE must not be an input or below one, a listed file, a part of a manifest, the file behind standard input, or a file that
    /// appears during the run; if it is, the run stops, for a listed file when its turn comes. FILE itself is left out of a recursive
    /// walk, and so is the unfinished file of any run, `.treewide-*.tmp` next to its FILE; the next run removes what a killed one has
    /// left. A pipe or a device is written to directly (except a disk that is an input), and so are /dev/stdout and /dev/stderr,
    /// whatever they are directed to; `-` is standard output.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Replace a file that is to be written and is not empty
    ///
    /// An input, a listed file and a part of a manifest stay all the same.
    #[arg(long)]
    force: bool,
}

impl OutputArgs {
    /// The regular file that is written, also if it does not exist yet.
    pub(crate) fn file(&self) -> Option<&Path> {
        let is_file = |it: &&Path| {
            *it != Path::new("-")
                && it.metadata().map_or(true, |it| it.is_file())
                && descriptor(it).is_none()
        };
        self.output.as_deref().filter(is_file)
    }

    /// Whether a file that is not empty may be replaced.
    pub(crate) fn force(&self) -> bool {
        self.force
    }

    /// Starts writing, as [`Output::open`] does.
    pub(crate) fn open(
        &self,
        files: (&[PathBuf], &[PathBuf]),
        prints: Prints,
        progress: &Rc<Progress>,
    ) -> anyhow::Result<Output> {
        Output::open(self.output.as_deref(), self.force, files, prints, progress)
    }
}
