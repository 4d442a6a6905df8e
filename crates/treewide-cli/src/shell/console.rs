//! Messages for the user, on standard error: `program: file: cause`.

use crate::shell::program::Program;
use crate::shell::progress::Progress;
use crate::shell::streams;
use crate::shell::terminal::{self, Form};
use std::fmt::Display;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::rc::Rc;
use treewide_files::name::shown;

/// Where messages go while a run is under way, past its progress display.
pub(crate) struct Console {
    program: Program,
    progress: Rc<Progress>,
}

impl Console {
    pub(crate) fn new(program: Program, progress: Rc<Progress>) -> Self {
        Self { program, progress }
    }

    /// The name the program was called by.
    pub(crate) fn program(&self) -> Program {
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
pub(crate) fn complain(program: Program, message: &str) {
    let line = format!("{program}: {message}\n");
    streams::write_error(&if stderr().is_terminal() {
        terminal::escape(&line, Form::Lines)
    } else {
        line.into()
    });
}
