//! `treewide missing`: which files of one place are in no other?

use crate::commands::comparing::run;
use crate::commands::contents::{self, ContentsArgs, UNDETERMINED};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
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
use treewide_manifest::found::MissingFiles;
use treewide_manifest::{Evidence, Missing};

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "the others have all contents"),
        ("1", "something is missing"),
        ("2", "invalid usage"),
        UNDETERMINED,
    ],
    ..Notes::new(&[
        ("treewide missing old-disk new-disk", "may the old disk be wiped?"),
        ("treewide missing phone photos backup.b3", "what may not be deleted yet?"),
        ("treewide missing photos bucket.b3", "is the directory in the bucket?"),
    ])
};

/// List the files of the first place that have no copy in the others
///
/// A directory is read: a copy is a file that this run has read, and that has the content. Only files are read that another
/// operand could have, by their sizes. A list, a manifest or the bucket.b3 of a bucket says what was recorded: no file of it
/// is looked at, and the last line counts such copies apart. A file of the first place is not its own copy.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct MissingArgs {
    /// What is looked for
    #[arg(value_name = "DIR|X.b3")]
    first: PathBuf,

    /// Where it is looked for
    #[arg(required = true, value_name = "DIR|Y.b3")]
    others: Vec<PathBuf>,

    /// Look for each content under the name that it has
    ///
    /// That is its path below the directory.
    #[arg(long, help_heading = "Coverage")]
    names: bool,

    #[command(flatten)]
    contents: ContentsArgs,
}

impl MissingArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        let operands: Vec<_> = [&self.first].into_iter().chain(&self.others).cloned().collect();
        let (mut sheet, options) = self.contents.begin(program, &operands, None)?;
        let missing = Missing::new().names(self.names).quick(self.contents.quick());
        let missing = missing.rules(self.contents.rules()?);
        let mut found = missing.run(&self.first, &self.others, &options)?;
        let unreadable = contents::unreadable(&sheet, found.unreadable());
        while let Some(lost) = found.next() {
            let lost = lost?;
            let path = found.path(&lost);
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
        let evidence = weakest(&found).map(Evidence::word);
        let text = verdict(&found) + &self.contents.left_out()?;
        let summary = Summary::new(&self.first, outcome, text, counts(&found));
        sheet.end(&Summary { evidence, ..summary })
    }
}

/// The least evidence that a copy has.
fn weakest(found: &MissingFiles) -> Option<Evidence> {
    let copies = found.totals().copies;
    Evidence::ALL.into_iter().rfind(|it| copies[*it as usize] > 0)
}

/// Such as `all 30 files of old are also in new (read now); 60 files read (2 GiB)`.
fn verdict(found: &MissingFiles) -> String {
    let (totals, roots) = (found.totals(), found.roots());
    let first = shown(roots[0].path());
    let files = count(totals.files, "file");
    let [read, metadata, attested, claimed] = totals.copies;
    let claimed = attested + claimed;
    let records = contents::records(&roots[1..]);
    let others = match &roots[1..] {
        _ if claimed == totals.files => format!("recorded in {records}"),
        [other] if totals.missing == 0 => format!("also in {}", shown(other.path())),
        [other] => shown(other.path()),
        _ if totals.missing == 0 => "also in the others".into(),
        _ => "the others".into(),
    };
    let known = totals.files - totals.unreadable;
    let mut text = match totals.missing {
        0 if known < totals.files => {
            let are = if known == 1 { "is" } else { "are" };
            format!("{known} of {files} of {first} {are} {others}")
        }
        0 if totals.files == 1 => format!("the file of {first} is {others}"),
        0 => format!("all {files} of {first} are {others}"),
        1 => format!("1 of {files} of {first} is not in {others}"),
        missing => format!("{missing} of {files} of {first} are not in {others}"),
    };
    if totals.unreadable > 0 {
        let unreadable = count(totals.unreadable, "file");
        text += &format!("; {unreadable} of {first} could not be read, and may have no copy");
    }
    if totals.missing > totals.unknown {
        text += &format!(" ({}", HumanBytes(totals.bytes));
        if totals.unknown > 0 {
            text += &format!(" and {} of unknown size", count(totals.unknown, "file"));
        }
        text.push(')');
    }
    let recorded = format!("only recorded in {records}");
    let how = [(read, "read now"), (metadata, "known by metadata"), (claimed, &recorded)];
    let how = how.iter().filter(|(number, _)| *number > 0);
    let how: Vec<_> = how.map(|(number, how)| format!("{number} {how}")).collect();
    if metadata + claimed == 0 && totals.missing == 0 {
        text += " (read now)";
    } else if metadata + claimed > 0 && claimed < totals.files {
        text += &format!("; copies: {}", how.join(", "));
    }
    text += &format!("; {}", contents::read(roots, found.read()));
    if totals.own > 0 {
        text += &format!("; not counted: {} of the others in {first}", count(totals.own, "file"));
    }
    if claimed > 0 {
        text += "; no recorded copy was looked at: before you delete, name its directory";
    }
    text
}

fn counts(found: &MissingFiles) -> Vec<(&'static str, u64)> {
    let (totals, (files, bytes)) = (found.totals(), found.read());
    let [read, metadata, attested, claimed] = totals.copies;
    vec![
        ("files", totals.files),
        ("missing", totals.missing),
        ("bytes_missing", totals.bytes),
        ("unknown", totals.unknown),
        ("by_read", read),
        ("by_metadata", metadata),
        ("by_claimed", attested + claimed),
        ("not_counted", totals.own),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
    ]
}
