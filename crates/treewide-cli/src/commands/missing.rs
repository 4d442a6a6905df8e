//! `treewide missing`: which files of one place are in no other?

use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::run;
use crate::commands::contents::{self, UNDETERMINED};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Summary, Text};
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown};
use treewide_manifest::Missing;
use treewide_manifest::found::MissingFiles;

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "the others have all contents"),
        ("1", "something is missing"),
        ("2", "invalid usage"),
        UNDETERMINED,
    ],
    ..Notes::new(&[
        (
            "treewide missing old-disk.b3 new-disk.b3",
            "what of the old disk is nowhere on the new one?",
        ),
        ("treewide missing phone photos.b3 backup.b3", "what may not be deleted yet?"),
        ("treewide missing photos bucket.b3", "is the folder in the bucket?"),
    ])
};

/// Find the files whose content is in no other place, under any name
///
/// Each operand is a list, a manifest, the bucket.b3 of a bucket, or a directory. Lists are believed. Of a directory,
/// only files are read that another operand could have, by their sizes. If its manifest is next to it, files that are
/// as it records them are not read either.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct MissingArgs {
    /// What is looked for
    #[arg(value_name = "X.b3|DIR")]
    first: PathBuf,

    /// Where it is looked for
    #[arg(required = true, value_name = "Y.b3|DIR")]
    others: Vec<PathBuf>,

    /// Look for each content under the name that it has
    ///
    /// That is its path below the directory.
    #[arg(long, help_heading = "Coverage")]
    names: bool,

    /// The directory that a list is of, or one that has it under the name of the list [default: X next to X.b3]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Coverage")]
    root: Option<PathBuf>,

    /// Write a zero byte after each path, and no escapes
    #[arg(short = '0', long, help_heading = "Output", conflicts_with = "json")]
    null: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl MissingArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        let operands: Vec<_> = [&self.first].into_iter().chain(&self.others).cloned().collect();
        contents::spare(&operands, self.root.as_ref(), &[self.output.file()])?;
        let inputs = contents::lists(&operands);
        let mut sheet = self.report.begin(program, &self.output, &inputs, Prints::Always)?;
        if self.null {
            sheet.as_paths();
        }
        sheet.progress.show(|| None);
        let options = self.read.plain_options(sheet.progress.hears());
        let missing = self.root.iter().fold(Missing::new().names(self.names), Missing::root);
        let mut found = missing.run(&self.first, &self.others, &options)?;
        sheet.progress.finish();
        let unreadable = contents::unreadable(&sheet.console, found.unreadable());
        while let Some(lost) = found.next() {
            let lost = lost?;
            let here = found.path(&lost);
            here.iter().try_for_each(|path| sheet.output().spare(path))?;
            let path = here.unwrap_or_else(|| contents::bare(&lost.name));
            let digest = lost.digest.map(|it| hex(&it));
            let more = |object: &mut Object| {
                object.string_or_null("digest", digest.as_deref());
            };
            let text = || (Listed::new(&path).to_string(), String::new(), String::new());
            sheet.row(&Row {
                bytes: lost.size,
                evidence: Some(lost.evidence.word()),
                more: &more,
                text: Text::Parts(&text),
                ..Row::new(&path, "missing", "file", Tone::Moved)
            })?;
        }
        let outcome = match unreadable {
            Outcome::Success => Outcome::of(found.totals().missing),
            unreadable => unreadable,
        };
        let (text, counts) = (summary(&found), counts(&found));
        sheet.close(&Summary { path: &self.first, outcome, text, counts, more: &|_| {} })?;
        if !self.report.quiet() {
            sheet.console.say(&summary(&found));
        }
        Ok(outcome)
    }
}

fn summary(found: &MissingFiles) -> String {
    let totals = found.totals();
    let mut text = format!("{} of {} missing", totals.missing, count(totals.files, "file"));
    if totals.missing > totals.unknown {
        text += &format!(" ({}", HumanBytes(totals.bytes));
        if totals.unknown > 0 {
            text += &format!(" and {} of unknown size", count(totals.unknown, "file"));
        }
        text.push(')');
    }
    if totals.own > 0 {
        let first = shown(found.roots()[0].path());
        text += &format!("; not counted: {} of the others in {first}", count(totals.own, "file"));
        if totals.unnumbered > 0 {
            text += &format!(
                " ({} of them by name and content alone, as no inode is recorded; name the directory with --root if it is a copy)",
                totals.unnumbered
            );
        }
    }
    text + "; " + &contents::known_by(found.roots(), found.read())
}

fn counts(found: &MissingFiles) -> Vec<(&'static str, u64)> {
    let (totals, (files, bytes)) = (found.totals(), found.read());
    vec![
        ("files", totals.files),
        ("missing", totals.missing),
        ("bytes_missing", totals.bytes),
        ("unknown", totals.unknown),
        ("not_counted", totals.own),
        ("unnumbered", totals.unnumbered),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
    ]
}
