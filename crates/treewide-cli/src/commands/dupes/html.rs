//! The report of `treewide dupes --html`: a bar for each group, as long as its bytes.

use super::{bytes_of, heading, line};
use crate::commands::page::{Labels, Page, html, visible};
use crate::shell::progress::Progress;
use std::path::{Path, PathBuf};
use treewide_files::list::json::Object;
use treewide_manifest::found::{Found, Group};

/// Groups that the page has, and names of a group.
const MOST: (u64, usize) = (10_000, 100);

/// A page that is being written.
pub(super) struct Html<'a> {
    page: Page<'a>,
    operands: String,
    groups: u64,
}

impl<'a> Html<'a> {
    /// Begins a page at `path`. An error if that is one of the `inputs`.
    pub(super) fn open(
        place: (&Path, bool),
        operands: &[PathBuf],
        inputs: &[PathBuf],
        progress: &'a Progress,
    ) -> anyhow::Result<Self> {
        let operands = operands.iter().map(|it| visible(it)).collect::<Vec<_>>().join(", ");
        let title = format!("Duplicates in {operands}");
        let labels = Labels { title: &title, fixed: ["Groups, largest first", "Kind"] };
        Ok(Self { page: Page::open(place, &labels, inputs, progress)?, operands, groups: 0 })
    }

    /// Adds a group; that it cannot be written shows at the end.
    pub(super) fn add(&mut self, found: &Found, group: &Group) {
        self.groups += 1;
        if self.groups > MOST.0 {
            return;
        }
        let shown = group.members.iter().take(MOST.1).map(|it| visible(&line(found, group, it)));
        let mut detail = heading(group);
        if group.members.len() > MOST.1 {
            detail += &format!("; {} more are not shown", group.members.len() - MOST.1);
        }
        let mut object = Object::new();
        object.string("verdict", group.kind.word()).number("bytes", bytes_of(group).unwrap_or(0));
        object.string("path", &shown.collect::<Vec<_>>().join("\n")).string("detail", &detail);
        self.page.row(&object.finish());
    }

    /// Writes the rest, and lets the page appear.
    pub(super) fn finish(self, summary: &str) -> anyhow::Result<()> {
        let (operands, mut summary) = (html(&self.operands), html(summary));
        if self.groups > MOST.0 {
            summary +=
                &format!("</p>\n<p>This page has the first {} of {} groups.", MOST.0, self.groups);
        }
        let title = format!("<h1>Duplicates in <code>{operands}</code></h1>");
        self.page.finish(&format!("{title}\n<p class=\"result\">{summary}</p>"))
    }
}
