//! The report of `treewide dupes --html`: a bar for each group, as long as its bytes.

use super::{heading, line, slash};
use crate::commands::manifest::html::PAGE as DIFFERENCES;
use crate::commands::page::{Page, html, style, visible};
use crate::shell::progress::Progress;
use std::path::{Path, PathBuf};
use treewide_files::list::json::{Object, quoted};
use treewide_manifest::found::{Found, Group, Kind};

const PAGE: &str = include_str!("page.html");

/// Names of a group that the page shows.
const SHOWN: usize = 100;

/// A page that is being written.
pub(super) struct Html<'a> {
    page: Page<'a>,
    operands: String,
}

impl<'a> Html<'a> {
    /// Begins a page at `path`. An error if that is one of the `inputs`.
    pub(super) fn open(
        path: &Path,
        operands: &[PathBuf],
        inputs: &[PathBuf],
        progress: &'a Progress,
    ) -> anyhow::Result<Self> {
        let operands = operands.iter().map(|it| visible(it)).collect::<Vec<_>>().join(", ");
        let title = format!("Duplicates in {operands}");
        let page = Page::open(path, (PAGE, style(DIFFERENCES)), &title, inputs, progress)?;
        Ok(Self { page, operands })
    }

    /// Adds a group; that it cannot be written shows at the end.
    pub(super) fn add(&mut self, found: &Found, group: &Group) {
        let (bytes, what) = heading(group);
        let shown = group.members.iter().take(SHOWN);
        let paths: Vec<_> =
            shown.map(|it| quoted(&(visible(&line(found, it)) + slash(group)))).collect();
        let number = if group.kind == Kind::Similar { group.size } else { group.reclaimable };
        let mut object = Object::new();
        object.string("kind", group.kind.word()).number("bytes", number.unwrap_or(0));
        object.string("text", &format!("{bytes}  {what}")).list("paths", &paths);
        object.number("more", (group.members.len() - paths.len()) as u64);
        self.page.row(&object.finish());
    }

    /// Writes the rest, and lets the page appear.
    pub(super) fn finish(self, summary: &str) -> anyhow::Result<()> {
        let (operands, summary) = (html(&self.operands), html(summary));
        let title = format!("<h1>Duplicates in <code>{operands}</code></h1>");
        self.page.finish(&format!("{title}\n<p class=\"result\">{summary}</p>"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::page::tests::is_template;

    #[test]
    fn page_has_each_mark_once() {
        is_template(PAGE, &["{title}", "{style}", "{rows}", "{summary}"]);
        assert!(style(DIFFERENCES).contains("--focus") && !style(DIFFERENCES).contains('<'));
    }
}
