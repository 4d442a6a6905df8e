//! A page for a browser that needs nothing else, and appears all at once.
//!
//! Its rows are JSON, one a line, as they are found; what counts them follows. Names are text in it, never HTML.

use crate::shell::output::{Output, Prints};
use crate::shell::progress::Progress;
use crate::shell::terminal::{self, Form};
use anyhow::Context;
use std::path::{Path, PathBuf};
use treewide_files::name::shown;

const PAGE: &str = include_str!("page.html");

/// Texts of a page.
pub(crate) struct Labels<'a> {
    pub(crate) title: &'a str,
    /// The heading of the list, and that of its first column.
    pub(crate) fixed: [&'static str; 2],
}

/// A page that is being written.
pub(crate) struct Page<'a> {
    output: Output<'a>,
    labels: [&'static str; 2],
    has_rows: bool,
    failed: Option<anyhow::Error>,
}

impl<'a> Page<'a> {
    /// Begins a page at `path`. An error if that is one of the `inputs`, or is not empty and `force` is false.
    pub(crate) fn open(
        (path, force): (&Path, bool),
        labels: &Labels<'_>,
        inputs: &[PathBuf],
        progress: &'a Progress,
    ) -> anyhow::Result<Self> {
        let output = Output::open(Some(path), force, (inputs, inputs), Prints::Always, progress)?;
        let mut page = Self { output, labels: labels.fixed, has_rows: false, failed: None };
        let (before, after) = parts("{title}", parts("{rows}", PAGE).0);
        page.write(&format!("{before}{}{after}", html(labels.title)))?;
        Ok(page)
    }

    /// The page, and the file that it is written to until then.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.output.places()
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.record(Form::Raw, |to| to.write_all(text.as_bytes())).context("the report")
    }

    /// Adds a row, a line of JSON; that it cannot be written shows at the end.
    pub(crate) fn row(&mut self, row: &str) {
        if self.failed.is_some() {
            return;
        }
        let comma = if std::mem::replace(&mut self.has_rows, true) { "," } else { "" };
        // Strings alone hold this sign. Without it, nothing ends the element that the rows are in.
        self.failed = self.write(&format!("{comma}{}", row.replace('<', "\\u003c"))).err();
    }

    /// Writes the rest, and lets the page appear.
    pub(crate) fn finish(mut self, summary: &str) -> anyhow::Result<()> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let (between, end) = parts("{summary}", parts("{rows}", PAGE).1);
        let [heading, kind] = self.labels;
        let end = end.replace("{heading}", heading).replace("{kind}", kind);
        self.write(&format!("{between}{summary}{end}"))?;
        self.output.finish().context("the report")
    }
}

/// The parts of a page before and after a mark. A page has each mark once.
fn parts<'a>(mark: &str, page: &'a str) -> (&'a str, &'a str) {
    page.split_once(mark).unwrap_or((page, ""))
}

/// A name on one line. Characters that would hide it or turn it are escaped.
pub(crate) fn visible(path: &Path) -> String {
    terminal::escape(&shown(path), Form::Lines).into_owned()
}

/// A text in HTML.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_each_mark_once() {
        for mark in ["{title}", "{rows}", "{summary}", "{heading}", "{kind}"] {
            assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
        }
        assert!(!PAGE.contains("://"), "the page needs nothing else");
    }

    #[test]
    fn html_has_no_sign_of_html() {
        assert_eq!(html("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }
}
