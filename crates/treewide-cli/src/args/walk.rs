//! The flags that say which files below a directory are hashed.

use clap::Args;
use std::path::Path;
use treewide_files::walk::Walk;

#[derive(Args, Clone)]
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

    /// Leave out files and directories whose name begins with a dot
    ///
    /// What is named as FILE is hashed in any case.
    #[arg(long, requires = "recursive")]
    no_hidden: bool,
}

impl WalkArgs {
    pub(crate) fn recursive(&self) -> bool {
        self.recursive
    }

    /// Whether the operand is a directory to walk, rather than an input itself.
    pub(crate) fn covers(&self, operand: &Path) -> bool {
        self.recursive && operand.is_dir()
    }

    /// The walk of everything below `root`.
    pub(crate) fn walk(&self, root: &Path) -> Walk {
        Walk::new(root).follow_links(self.follow).hidden(!self.no_hidden)
    }
}
