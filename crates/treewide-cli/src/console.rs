//! Messages for the user, on standard error: `program: file: cause`.

use crate::progress::Progress;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::path::Path;
use treewide_files::name::shown;

/// Where messages go while a run is under way, past its progress display.
pub(crate) struct Console<'a> {
    program: &'static str,
    progress: &'a Progress,
}

impl<'a> Console<'a> {
    pub(crate) fn new(program: &'static str, progress: &'a Progress) -> Self {
        Self { program, progress }
    }

    /// The name the program was called by.
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// A message about the run as a whole.
    pub(crate) fn say(&self, message: &str) {
        self.progress.pause(|| complain(self.program, message));
    }

    /// A message about one file.
    pub(crate) fn about(&self, path: &Path, cause: impl Display) {
        self.say(&format!("{}: {cause}", shown(path)));
    }
}

/// Write one message, with or without a run under way.
pub(crate) fn complain(program: &str, message: &str) {
    // Nobody is left to tell that standard error cannot be written to; the exit code still tells.
    let _ = writeln!(stderr().lock(), "{program}: {message}");
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {singular}{plural}")
}
