//! `treewide dupes`: which files and folders are there more than once?

mod fclones;

use self::fclones::Report;
use crate::args::output::OutputArgs;
use crate::args::progress::ProgressArgs;
use crate::args::quiet::QuietArgs;
use crate::args::read::ReadArgs;
use crate::commands::comparing::run;
use crate::commands::contents::{self, UNDETERMINED};
use crate::commands::help::Notes;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::program::Program;
use crate::shell::terminal::Form;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::Listed;
use treewide_manifest::found::{Found, Group, Kind, Member};
use treewide_manifest::{Dupes, Evidence};

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "everything was compared, whether or not there are duplicates"),
        ("2", "invalid usage"),
        UNDETERMINED,
    ],
    ..Notes::new(&[
        ("treewide dupes photos", "files and folders that are there twice"),
        ("treewide dupes photos.b3 old-disk.b3", "from manifests: no file is read"),
        ("treewide dupes --fclones photos | fclones remove --dry-run", "let fclones act"),
    ])
};

/// Find files with the same content, and folders that are equal
///
/// Each operand is a list, a manifest, the bucket.b3 of a bucket, or a directory. Lists are believed, and no file is
/// read. Of a directory, only files are read whose size another file has, and only to the end if their beginnings are
/// the same. If its manifest is next to it (photos.b3 of photos), files that are as it records them are not read.
///
/// The group with the most reclaimable bytes comes first. Names of one file (hard links) count once. Equal folders
/// are one group; what is in them is not listed again. Nothing is ever deleted.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct DupesArgs {
    /// Lists, manifests and directories
    #[arg(required = true, value_name = "X.b3|DIR")]
    operands: Vec<PathBuf>,

    /// List empty files, too
    #[arg(long, help_heading = "Coverage")]
    empty: bool,

    /// Compare folders by the contents in them, whatever the names are
    ///
    /// How deep the contents are still counts.
    #[arg(long, help_heading = "Coverage", conflicts_with = "fclones")]
    ignore_names: bool,

    /// Write one JSON object a line: kind, digest, size, files, reclaimable, members; and one that counts
    #[arg(long, help_heading = "Output", conflicts_with_all = ["null", "fclones"])]
    json: bool,

    /// Write paths alone, each with a zero byte after it, and one more after each group
    ///
    /// Those of folders end in `/`.
    #[arg(short = '0', long, help_heading = "Output", conflicts_with = "fclones")]
    null: bool,

    /// Write a report that `fclones remove`, `link` and `dedupe` read
    ///
    /// It lists files, not folders. Its time is that of the oldest list, so that fclones leaves files alone that were
    /// written to since.
    #[arg(long, help_heading = "Output")]
    fclones: bool,

    #[command(flatten)]
    quiet: QuietArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl DupesArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        contents::spare(&self.operands, &[self.output.file()])?;
        let progress = self.progress.start(!self.quiet.is_on());
        let console = Console::new(program, &progress);
        let inputs = contents::lists(&self.operands);
        let mut output = self.output.open(&inputs, Prints::Always, &progress)?;
        progress.show(|| None);
        let begun = std::time::SystemTime::now();
        let options = self.read.plain_options(progress.hears());
        let dupes = Dupes::new().empty(self.empty).ignore_names(self.ignore_names);
        let found = dupes.folders(!self.fclones).run(&self.operands, &options)?;
        progress.finish();
        let outcome = contents::unreadable(&console, found.unreadable());
        let summary = summary(&found);
        let end = self.json.then(|| summary_json(&found));
        match self.fclones {
            true => Report::new(&found, begun)?.write(found, &mut output)?,
            false => self.groups(found, &mut output)?,
        }
        if let Some(end) = end {
            output.record(Form::Json, |to| to.write_all(end.as_bytes()))?;
        }
        output.finish()?;
        if !self.quiet.is_on() {
            console.say(&summary);
        }
        Ok(outcome)
    }

    fn groups(&self, mut found: Found, output: &mut Output<'_>) -> anyhow::Result<()> {
        while let Some(group) = found.next() {
            let group = group?;
            if self.json {
                let line = json(&found, &group);
                output.record(Form::Json, |to| to.write_all(line.as_bytes()))?;
            } else if self.null {
                let mut paths = Vec::new();
                for member in &group.members {
                    paths.extend(path(&found, member).as_os_str().as_encoded_bytes());
                    paths.extend(if group.kind == Kind::Folders { &b"/\0"[..] } else { b"\0" });
                }
                paths.push(0);
                output.record(Form::Raw, |to| to.write_all(&paths))?;
            } else {
                let text = text(&found, &group);
                output.record(Form::Lines, |to| to.write_all(text.as_bytes()))?;
            }
        }
        Ok(())
    }
}

fn path(found: &Found, member: &Member) -> PathBuf {
    found.path(member).unwrap_or_else(|| contents::bare(&member.name))
}

/// Such as `600 MiB  3 files of 300 MiB` and a line for each.
fn text(found: &Found, group: &Group) -> String {
    let size = |bytes: Option<u64>| bytes.map_or("?".into(), |it| HumanBytes(it).to_string());
    let what = match group.kind {
        Kind::Files => "files",
        Kind::Folders => "folders",
    };
    let (reclaimable, each) = (size(group.reclaimable), size(group.size));
    let copies = group.members.iter().filter(|it| !it.is_link).count();
    let mut text = format!("{reclaimable}  {copies} {what} of {each}");
    if group.kind == Kind::Folders {
        text += &format!(", {} in each", count(group.files, "file"));
    }
    text.push('\n');
    for member in &group.members {
        let slash = if group.kind == Kind::Folders { "/" } else { "" };
        let link = if member.is_link { "  (another name of one above)" } else { "" };
        let (root, name, path) = (member.root, &member.name, found.path(member));
        let path = contents::line(found.roots(), root, name, path);
        text += &format!("  {}{slash}{link}\n", Listed::new(&path));
    }
    text
}

fn json(found: &Found, group: &Group) -> String {
    let mut object = Object::new();
    object.string("kind", if group.kind == Kind::Files { "files" } else { "folders" });
    object.string("digest", &hex(&group.digest));
    let mut number = |key, value: Option<u64>| {
        match value {
            Some(value) => object.number(key, value),
            None => object.null(key),
        };
    };
    number("size", group.size);
    number("files", Some(group.files));
    number("reclaimable", group.reclaimable);
    let members = group.members.iter().map(|member| {
        let mut object = Object::about(&path(found, member));
        object.path("operand", found.roots()[member.root].path());
        match member.evidence.map(Evidence::word) {
            Some(word) => object.string("evidence", word),
            None => object.null("evidence"),
        };
        object.raw("link", if member.is_link { "true" } else { "false" });
        object.finish().trim_end().to_owned()
    });
    object.list("members", &members.collect::<Vec<_>>());
    object.finish()
}

fn summary(found: &Found) -> String {
    let totals = found.totals();
    let mut text = format!(
        "{} and {}: {} could go, {}",
        count(totals.files, "group") + " of files",
        count(totals.folders, "group") + " of folders",
        count(totals.redundant, "file"),
        HumanBytes(totals.reclaimable)
    );
    if totals.unknown > 0 {
        text += &format!(" and {} of unknown size", count(totals.unknown, "group"));
    }
    if totals.links > 0 {
        text += &format!("; {} of the same files", count(totals.links, "more name"));
    }
    text + "; " + &contents::known_by(found.roots(), found.read())
}

fn summary_json(found: &Found) -> String {
    let (totals, (files, bytes)) = (found.totals(), found.read());
    let mut object = Object::new();
    for (key, number) in [
        ("file_groups", totals.files),
        ("folder_groups", totals.folders),
        ("redundant", totals.redundant),
        ("reclaimable", totals.reclaimable),
        ("unknown", totals.unknown),
        ("links", totals.links),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
    ] {
        object.number(key, number);
    }
    object.finish()
}
