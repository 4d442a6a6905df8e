//! The flags that say which files below a directory are hashed.

use crate::args::cover::CoverArgs;
use clap::Args;
use std::path::{Path, PathBuf};
use treewide_manifest::Rules;

#[derive(Args)]
#[command(next_help_heading = "Directories")]
pub(crate) struct WalkArgs {
    /// Hash the files below each FILE that is a directory; without FILE, below `.`
    ///
    /// The order is the byte order of the paths, as `LC_ALL=C sort` gives it. Hidden files are
    /// included, the file being written to is not. Pipes, sockets and devices are skipped with a
    /// message; symbolic links are not followed, and a last message says how many there were. A file
    /// that is replaced between being found and being hashed is a failure.
    #[arg(short, long, conflicts_with_all = ["check", "raw"])]
    recursive: bool,

    /// Follow symbolic links met by --recursive
    ///
    /// A link that leads back to a directory it is in is reported and not followed. Links named
    /// as FILE are always followed.
    #[arg(long, requires = "recursive")]
    follow: bool,

    #[command(flatten)]
    cover: CoverArgs,
}

impl WalkArgs {
    pub(crate) fn recursive(&self) -> bool {
        self.recursive
    }

    /// Whether the operand is a directory to walk, rather than an input itself.
    pub(crate) fn covers(&self, operand: &Path) -> bool {
        self.recursive && operand.is_dir()
    }

    /// The files that rules are read from.
    pub(crate) fn files(&self) -> &[PathBuf] {
        self.cover.files()
    }

    /// What is covered below such a directory.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        Ok(Rules { follow: self.follow, ..self.cover.rules()? })
    }
}
