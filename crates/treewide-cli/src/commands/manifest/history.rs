//! `treewide history`: what did a manifest have before?

use super::root;
use crate::args::output::OutputArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::run;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Sheet, Summary, Text};
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::shown;
use treewide_manifest::record::{Record, What};

pub(crate) const HISTORY: Notes = Notes {
    exit: &[
        ("0", "everything was printed"),
        ("2", "invalid usage"),
        (
            "3",
            "the manifest or its past could not be read, or no content was recorded under the path",
        ),
    ],
    ..Notes::new(&[
        ("treewide history photos.b3", "which runs changed the manifest?"),
        ("treewide history photos.b3 2024/a.jpg", "which contents were recorded under this path?"),
        (
            "treewide verify --only /2024/a.jpg photos.b3@2026-11-20 usb-stick",
            "has this copy the content of then?",
        ),
    ])
};

/// Show what a manifest had before
///
/// Without a path: a line for each run that changed the manifest, the newest first. With a path: each content that was recorded under
/// it, and until when. What was forgotten is not shown.
#[derive(Args)]
#[command(after_help = HISTORY.short(), after_long_help = HISTORY.long())]
pub(crate) struct HistoryArgs {
    /// The list of the manifest; its index and its past are next to it
    #[arg(value_name = "X.b3", value_parser = root::list())]
    manifest: PathBuf,

    /// A path, relative to the directory of the manifest
    #[arg(value_name = "PATH")]
    path: Option<String>,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl HistoryArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || {
            let inputs = [self.manifest.clone()];
            let mut sheet = self.report.begin(program, &self.output, &inputs, Prints::Always)?;
            let text = match &self.path {
                None => self.runs(&mut sheet)?,
                Some(path) => self.contents(&mut sheet, path)?,
            };
            sheet.end(&Summary::new(&self.manifest, Outcome::Success, text, Vec::new()))
        })
    }

    fn runs(&self, sheet: &mut Sheet) -> anyhow::Result<String> {
        let runs = treewide_manifest::history(&self.manifest)?;
        for it in &runs {
            let counts = [("new", it.new), ("changed", it.changed), ("gone", it.gone)];
            let said = counts.iter().filter(|(_, number)| *number > 0);
            let said: Vec<_> = said.map(|(word, number)| format!("{number} {word}")).collect();
            let detail = match &it.gap {
                Some(gap) => format!("records until then are {gap}"),
                None => said.join(", "),
            };
            let line = || (format!("{}  ", it.run), String::new(), detail.clone());
            let more = |object: &mut Object| {
                object.string("run", &it.run);
                for (word, number) in &counts {
                    object.number(word, *number);
                }
            };
            sheet.row(&Row {
                detail: detail.clone(),
                more: &more,
                text: Text::Parts(&line),
                ..Row::new(&self.manifest, "run", "list", Tone::Good)
            })?;
        }
        let known = runs.iter().filter(|it| it.gap.is_none()).count() as u64;
        Ok(format!("{} changed {}", count(known, "run"), shown(&self.manifest)))
    }

    fn contents(&self, sheet: &mut Sheet, path: &str) -> anyhow::Result<String> {
        let found = treewide_manifest::history_of(&self.manifest, path.as_bytes())?;
        if found.is_empty() {
            bail!(
                "{}: nothing was recorded under {path:?}; name it as the list does",
                shown(&self.manifest)
            );
        }
        for (record, until) in &found {
            let detail = match until {
                Some(until) => format!("until {until}"),
                None => "now".into(),
            };
            let (bytes, digest) = content(record);
            let what = digest.clone().unwrap_or_else(|| record.kind().word().into());
            let size = bytes.map_or(String::new(), |it| format!("  {}", HumanBytes(it)));
            let line = || (format!("{what}{size}  "), String::new(), detail.clone());
            let more = |object: &mut Object| {
                object.string_or_null("digest", digest.as_deref());
                object.string_or_null("until", until.as_deref());
            };
            sheet.row(&Row {
                bytes,
                evidence: Some("claimed"),
                detail: detail.clone(),
                more: &more,
                text: Text::Parts(&line),
                ..Row::new(Path::new(path), "recorded", record.kind().word(), Tone::Good)
            })?;
        }
        Ok(String::new())
    }
}

/// The length and the digest of a file.
fn content(record: &Record) -> (Option<u64>, Option<String>) {
    match &record.what {
        What::File(file) => (file.facts.as_ref().map(|it| it.bytes), Some(hex(&file.digest))),
        _ => (None, None),
    }
}
