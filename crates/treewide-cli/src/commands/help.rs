//! The text below the options: examples, exit status, environment. Help texts and man pages take it from here.

use clap_mangen::roff::{Roff, bold, roman};
use std::fmt::Write;

/// A name and what it means.
type Row = (&'static str, &'static str);

/// The notes on one command.
#[derive(Clone, Copy)]
pub(crate) struct Notes {
    pub(crate) examples: &'static [Row],
    pub(crate) exit: &'static [Row],
    /// What else there is to say about how the program ends.
    pub(crate) ends: &'static str,
    pub(crate) environment: &'static [Row],
}

/// What every command reads.
pub(crate) const ENVIRONMENT: &[Row] = &[
    ("TREEWIDE_KERNEL", "the kernel that hashes, by a name that `treewide explain` lists"),
    ("RAYON_NUM_THREADS", "the most threads, where --threads does not say it"),
    ("NO_COLOR", "if it is set and not empty, help and messages have no colours"),
    ("TERM", "if it is unset or dumb, no line of progress is drawn"),
];

pub(crate) const EXIT: &[Row] = &[
    ("0", "everything was done"),
    ("1", "a file could not be read, or the output could not be written"),
    ("2", "invalid usage, or a variable of the environment that has no such value"),
];

impl Notes {
    /// A command that has no more to say than that.
    pub(crate) const fn new(examples: &'static [Row]) -> Self {
        Self { examples, exit: EXIT, ends: "", environment: ENVIRONMENT }
    }

    /// For `-h`.
    pub(crate) fn short(&self) -> String {
        let mut text = String::new();
        list(&mut text, "Examples", self.examples);
        text.trim_end().to_owned()
    }

    /// For `--help`.
    pub(crate) fn long(&self) -> String {
        let mut text = String::new();
        list(&mut text, "Examples", self.examples);
        list(&mut text, "Exit status", self.exit);
        text += self.ends;
        text += "\n\n";
        list(&mut text, "Environment", self.environment);
        text.trim_end().to_owned()
    }

    /// For the man page.
    pub(crate) fn sections(&self) -> Roff {
        let mut page = Roff::new();
        section(&mut page, "EXIT STATUS", self.exit);
        if !self.ends.is_empty() {
            page.control("PP", []).text([roman(self.ends.replace('\n', " "))]);
        }
        section(&mut page, "ENVIRONMENT", self.environment);
        section(&mut page, "EXAMPLES", self.examples);
        page
    }
}

fn list(text: &mut String, title: &str, rows: &[Row]) {
    let explained = rows.iter().filter(|(_, meaning)| !meaning.is_empty());
    let width = explained.map(|(name, _)| name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "{title}:");
    for (name, meaning) in rows {
        let row = format!("  {name:width$}  {meaning}");
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text.push('\n');
}

fn section(page: &mut Roff, title: &str, rows: &[Row]) {
    page.control("SH", [title]);
    for (name, meaning) in rows {
        page.control("TP", []).text([bold(*name)]).text([roman(*meaning)]);
    }
}
