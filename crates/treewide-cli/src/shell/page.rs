//! A page for a browser that needs nothing else, and appears all at once.
//!
//! It has the objects of `--json`: the rows, one a line, as they are found, and then the one that counts. A script shows some
//! hundreds of rows at a time, so that a page of 100,000 stays usable. Names are text in it, never HTML.

use crate::shell::output::{Output, Prints};
use crate::shell::progress::Progress;
use crate::shell::terminal::{self, Form};
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_manifest::day;

const PAGE: &str = include_str!("page.html");

/// Rows that a page has. More are only counted.
const MOST: u64 = 100_000;

/// A page that is being written.
pub(crate) struct Page {
    output: Output,
    rows: u64,
}

impl Page {
    /// Begins a page at `path`. An error if that is one of the `inputs`, or is not empty and `force` is false.
    pub(crate) fn open(
        (path, force): (&Path, bool),
        inputs: &[PathBuf],
        progress: &Rc<Progress>,
    ) -> anyhow::Result<Self> {
        let output = Output::open(Some(path), force, (inputs, inputs), Prints::Always, progress)?;
        let mut page = Self { output, rows: 0 };
        page.write(parts("{rows}", PAGE).0)?;
        Ok(page)
    }

    /// The page, and the file that it is written to until then.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.output.places()
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.record(Form::Raw, |to| to.write_all(text.as_bytes())).context("the report")
    }

    /// Adds a row, a line of JSON.
    pub(crate) fn row(&mut self, row: &str) -> anyhow::Result<()> {
        self.rows += 1;
        match self.rows {
            1 => self.write(&safe(row)),
            2..=MOST => self.write(&format!(",{}", safe(row))),
            _ => Ok(()),
        }
    }

    /// Writes the rest, and lets the page appear.
    pub(crate) fn finish(mut self, summary: &str) -> anyhow::Result<()> {
        let (between, end) = parts("{summary}", parts("{rows}", PAGE).1);
        let end = end.replace("{time}", &day::now()).replace("{rows}", &self.rows.to_string());
        self.write(&format!("{between}{}{end}", safe(summary)))?;
        self.output.finish().context("the report")
    }
}

/// The parts of a page before and after the first of a mark.
fn parts<'a>(mark: &str, page: &'a str) -> (&'a str, &'a str) {
    page.split_once(mark).unwrap_or((page, ""))
}

/// JSON in HTML: strings alone hold `<`, and without it nothing ends the element that it is in. What hides or turns text is escaped.
fn safe(json: &str) -> String {
    terminal::escape(json, Form::Json).replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_its_marks_and_needs_nothing_else() {
        for (mark, times) in [("{rows}", 2), ("{summary}", 1), ("{time}", 1)] {
            assert_eq!(PAGE.matches(mark).count(), times, "{mark}");
        }
        assert!(!PAGE.contains("://"));
    }

    #[test]
    fn safe_is_the_same_json_without_signs_of_html() {
        let text = "</script><img src=x>\u{202e}\u{9b}\n";
        let json = serde_json::Value::from(text).to_string();
        let safe = safe(&json);
        assert!(!safe.contains(['<', '\u{202e}', '\u{9b}', '\n']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }
}
