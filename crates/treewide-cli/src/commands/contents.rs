//! Parts that `treewide dupes` and `treewide missing` share: operands, flags, and the words about them at the end.

use crate::args::cover::CoverArgs;
use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::manifest::root::ENDING;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Prints, spare_below};
use crate::shell::program::Program;
use crate::shell::sheet::Sheet;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use treewide_files::Options;
use treewide_files::name::{shown, shown_text};
use treewide_manifest::Rules;
use treewide_manifest::found::Root;
use treewide_manifest::machine::Places;

/// Exit codes of both.
pub(crate) const UNDETERMINED: (&str, &str) =
    ("3", "undetermined: a file or a list could not be read (takes priority over 1)");

#[derive(Args)]
pub(crate) struct ContentsArgs {
    /// Do not read files that are as the manifest next to their directory records them
    ///
    /// That is photos.b3 of photos. The evidence of such a file is metadata: its size, mtime, ctime and inode are as recorded. What rotted
    /// on the disk since it was read last is not found.
    #[arg(long, help_heading = "Reading")]
    quick: bool,

    /// Write paths alone, each with a zero byte after it
    ///
    /// Those of directories end in `/`, and one more zero byte ends a group.
    #[arg(short = '0', long, help_heading = "Output", conflicts_with = "json")]
    null: bool,

    #[command(flatten)]
    cover: CoverArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl ContentsArgs {
    pub(crate) fn quick(&self) -> bool {
        self.quick
    }

    /// What of directories is looked at.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        self.cover.rules()
    }

    /// Such as `; left out: *.tmp, names that begin with a dot`.
    pub(crate) fn left_out(&self) -> anyhow::Result<String> {
        let Rules { exclude, hidden, .. } = self.rules()?;
        let hidden = (!hidden).then(|| "names that begin with a dot".to_owned());
        let parts: Vec<_> = exclude.iter().map(|it| shown_text(it)).chain(hidden).collect();
        Ok(if parts.is_empty() {
            String::new()
        } else {
            format!("; left out: {}", parts.join(", "))
        })
    }

    pub(crate) fn null(&self) -> bool {
        self.null
    }

    /// Begins what the command writes and says, and what it reads. A page is written as well if there is a place for it.
    pub(crate) fn begin(
        &self,
        program: Program,
        operands: &[PathBuf],
        page: Option<&Path>,
    ) -> anyhow::Result<(Sheet, Options)> {
        let outputs = || self.output.file().into_iter().chain(page);
        let places = operands.iter().fold(Places::new(), |all, it| all.reads_manifest(it));
        outputs().fold(places, |all, it| all.writes(it)).check(None)?;
        // Who reads a report of a manifest acts on the files in its directory.
        let folders = operands.iter().map(|it| match it.extension() {
            Some(end) if end == ENDING && !it.is_dir() => it.with_extension(""),
            _ => it.clone(),
        });
        let folders: Vec<_> = folders.collect();
        outputs().try_for_each(|it| spare_below(it, &folders))?;
        let lists = operands.iter().filter(|it| !it.is_dir()).chain(self.cover.files());
        let lists: Vec<_> = lists.cloned().collect();
        let mut sheet = self.report.begin(program, &self.output, &lists, Prints::Always)?;
        sheet.with_page(page, &self.output, &lists)?;
        if self.null {
            sheet.as_paths();
        }
        sheet.progress.show();
        let options = self.read.plain_options(sheet.progress.hears());
        Ok((sheet, options))
    }
}

/// Reports what could not be read.
pub(crate) fn unreadable<'a>(
    sheet: &Sheet,
    failed: impl Iterator<Item = (&'a Path, &'a str)>,
) -> Outcome {
    sheet.progress.finish();
    failed.fold(Outcome::Success, |_, (path, cause)| {
        sheet.console.about(path, cause);
        Outcome::CannotTell
    })
}

/// What was read, such as `4 files read (12 B), 3 known by t.b3 and metadata; 2 symbolic links not followed`.
pub(crate) fn read(roots: &[Root], (files, bytes): (u64, u64)) -> String {
    let mut text = match roots.iter().all(Root::is_record) {
        true => "no file was read".into(),
        false => format!("{} read ({})", count(files, "file"), HumanBytes(bytes)),
    };
    for (list, known) in roots.iter().filter_map(Root::known) {
        text += &format!(", {known} known by {} and metadata", shown(list));
    }
    match roots.iter().map(Root::links).sum() {
        0 => text,
        links => text + &format!("; {} not followed", count(links, "symbolic link")),
    }
}

/// The records among the operands, such as `u.b3 (of 2026-11-28)`.
pub(crate) fn records(roots: &[Root]) -> String {
    let record = |root: &Root| match root.began().and_then(|it| it.get(..10)) {
        Some(day) => format!("{} (of {day})", shown(root.path())),
        None => shown(root.path()),
    };
    let all = roots.iter().filter(|root| root.is_record()).map(record);
    all.collect::<Vec<_>>().join(", ")
}
