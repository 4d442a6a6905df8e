//! `treewide missing`: which files of one place are in no other?

use crate::args::output::OutputArgs;
use crate::args::progress::ProgressArgs;
use crate::args::quiet::QuietArgs;
use crate::args::read::ReadArgs;
use crate::commands::comparing::run;
use crate::commands::contents::{self, UNDETERMINED, known};
use crate::commands::help::Notes;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::terminal::Form;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::list::json::{Object, quoted};
use treewide_files::name::{Listed, shown};
use treewide_manifest::Missing;
use treewide_manifest::found::{Lost, MissingFiles};

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

    /// Write one JSON object a line: path, digest, size, evidence; and one that counts
    #[arg(long, help_heading = "Output", conflicts_with = "null")]
    json: bool,

    /// Write a zero byte after each path, and no escapes
    #[arg(short = '0', long, help_heading = "Output")]
    null: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl MissingArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        let operands: Vec<_> = [&self.first].into_iter().chain(&self.others).cloned().collect();
        contents::spare(&operands, self.root.as_ref(), &[self.output.file()])?;
        let progress = self.progress.start(!self.quiet.is_on());
        let console = Console::new(program, &progress);
        let inputs = contents::lists(&operands);
        let mut output = self.output.open(&inputs, Prints::Always, &progress)?;
        progress.show(|| None);
        let options = self.read.plain_options(progress.hears());
        let missing = self.root.iter().fold(Missing::new().names(self.names), Missing::root);
        let mut found = missing.run(&self.first, &self.others, &options)?;
        progress.finish();
        let outcome = contents::unreadable(&console, found.unreadable());
        while let Some(lost) = found.next() {
            let lost = lost?;
            let here = found.path(&lost);
            here.iter().try_for_each(|path| output.spare(path))?;
            let path = here.unwrap_or_else(|| contents::bare(&lost.name));
            let null = || [path.as_os_str().as_encoded_bytes(), b"\0"].concat();
            let text = || format!("{}\n", Listed::new(&path));
            let forms = (self.json, self.null);
            contents::write(&mut output, forms, || json(&path, &lost), null, text)?;
        }
        if self.json {
            let line = summary_json(&found);
            output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
        }
        output.finish()?;
        if !self.quiet.is_on() {
            console.say(&summary(&found));
        }
        let missing = found.totals().missing;
        Ok(if outcome == Outcome::Success { Outcome::of(missing) } else { outcome })
    }
}

fn json(path: &std::path::Path, lost: &Lost) -> String {
    let mut object = Object::about(path);
    known(&mut object, "digest", lost.digest.map(|it| quoted(&hex(&it))));
    known(&mut object, "size", lost.size);
    object.string("evidence", lost.evidence.word());
    object.finish()
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

fn summary_json(found: &MissingFiles) -> String {
    let (totals, (files, bytes)) = (found.totals(), found.read());
    contents::numbers(&[
        ("files", totals.files),
        ("missing", totals.missing),
        ("bytes", totals.bytes),
        ("unknown", totals.unknown),
        ("not_counted", totals.own),
        ("unnumbered", totals.unnumbered),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
    ])
}
