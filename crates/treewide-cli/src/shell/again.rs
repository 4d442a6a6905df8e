//! Problems that may be out of sight at the end of a run, and are shown once more then.

use crate::shell::console::Console;

/// What was shown before this many lines may be out of sight.
const SCREENFUL: u64 = 24;

/// The number of problems that are shown again: enough to see what they have in common.
const SHOWN: usize = 20;

/// Counts lines, and keeps the first problems among them.
#[derive(Default)]
pub(crate) struct Again {
    /// Lines since the first problem.
    lines: u64,
    problems: Vec<String>,
    more: u64,
}

impl Again {
    /// A line was written.
    pub(crate) fn line(&mut self) {
        self.lines += u64::from(!self.problems.is_empty());
    }

    /// A line was written that says of a problem.
    pub(crate) fn problem(&mut self, text: impl FnOnce() -> String) {
        self.line();
        match self.problems.len() < SHOWN {
            true => self.problems.push(text()),
            false => self.more += 1,
        }
    }

    /// Shows the problems once more below a title, if the first of them may be out of sight.
    pub(crate) fn say(&self, console: &Console, title: &str) {
        if self.lines <= SCREENFUL {
            return;
        }
        console.say(title);
        for problem in &self.problems {
            console.say(&format!("  {}", problem.trim_end()));
        }
        if self.more > 0 {
            console.say(&format!("  and {} more, see above", self.more));
        }
    }
}
