//! `treewide dupes`: which files and folders are there more than once?

mod fclones;

use crate::commands::comparing::run;
use crate::commands::contents::{self, ContentsArgs, UNDETERMINED};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Sheet, Summary, Text};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::usage::wrong_value;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::ffi::OsString;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::{Listed, shown};
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
        ("treewide dupes --quick photos", "read only what changed since photos.b3"),
        ("treewide dupes photos.b3 old-disk.b3", "from manifests: no file is read"),
        ("treewide dupes --fclones photos | fclones remove --dry-run", "let fclones act"),
    ])
};

/// Find files with the same content, and folders that are equal
///
/// A directory is read: only files whose size another file has, and only to the end if their beginnings are the same. A list, a
/// manifest or the bucket.b3 of a bucket says what was recorded: no file of it is looked at.
///
/// The group with the most reclaimable bytes comes first. Names of one file (hard links) count once. Equal folders
/// are one group; what is in them is not listed again. Nothing is ever deleted.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct DupesArgs {
    /// Directories, lists and manifests
    #[arg(required = true, value_name = "DIR|X.b3")]
    operands: Vec<PathBuf>,

    /// Also list empty files
    #[arg(long, help_heading = "Coverage")]
    empty: bool,

    /// Compare folders by the contents in them, whatever the names are
    ///
    /// How deep the contents are still counts.
    #[arg(long, help_heading = "Coverage", conflicts_with = "fclones")]
    ignore_names: bool,

    /// Also list pairs of folders that share at least this much of the larger one's bytes
    ///
    /// Only contents at the same depth below the two folders count, so they may share more.
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Coverage")]
    #[arg(conflicts_with_all = ["fclones", "null"])]
    similar: Option<u8>,

    /// Write a report that `fclones remove`, `link` and `dedupe` read
    ///
    /// It lists files, not folders. fclones leaves files alone that were written to since this run began.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "null"])]
    fclones: bool,

    /// Also write a page for a browser, with groups as bars
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    #[arg(conflicts_with = "fclones")]
    html: Option<PathBuf>,

    #[command(flatten)]
    contents: ContentsArgs,
}

impl DupesArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        let record = self.operands.iter().find(|it| !it.is_dir() && it.exists());
        if let Some(record) = record.filter(|_| self.fclones || self.contents.null()) {
            let (record, form) = (shown(record), if self.fclones { "--fclones" } else { "-0" });
            let text = format!(
                "{record}: says what was recorded, and {form} is for programs that act on files; name their directory"
            );
            return Err(wrong_value(text).into());
        }
        let begun = std::time::SystemTime::now();
        let page = self.html.as_deref();
        let (mut sheet, options) = self.contents.begin(program, &self.operands, page)?;
        let dupes = Dupes::new().empty(self.empty).ignore_names(self.ignore_names);
        let dupes = dupes.similar(self.similar.unwrap_or(0)).quick(self.contents.quick());
        let dupes = dupes.rules(self.contents.rules()?);
        let mut found = dupes.folders(!self.fclones).run(&self.operands, &options)?;
        let outcome = contents::unreadable(&sheet, found.unreadable());
        let (text, counts) = (summary(&found) + &self.contents.left_out()?, counts(&found));
        if self.fclones {
            fclones::write(found, begun, sheet.output())?;
        } else {
            while let Some(group) = found.next() {
                self.group(&mut sheet, &found, &group?)?;
            }
        }
        sheet.end(&Summary::new(&self.operands[0], outcome, text, counts))
    }

    fn group(&self, sheet: &mut Sheet, found: &Found, group: &Group) -> anyhow::Result<()> {
        if self.contents.null() {
            let paths = group.members.iter().map(|it| ended(found.path(it), group));
            let paths = paths.map(|it| it.into_os_string().into_encoded_bytes());
            let all: Vec<u8> =
                paths.chain([Vec::new()]).flat_map(|it| [it, vec![0]].concat()).collect();
            return sheet.output().record(Form::Raw, |to| to.write_all(&all));
        }
        let (verdict, percent) = match group.kind {
            Kind::Similar(percent) => ("similar", Some(u64::from(percent))),
            Kind::Files | Kind::Folders => ("duplicate", None),
        };
        let kind = if group.kind == Kind::Files { "file" } else { "directory" };
        // As much as is known of all.
        let weakest = group.members.iter().filter_map(|it| it.evidence).max();
        let more = |object: &mut Object| {
            object.string_or_null("digest", group.digest.map(|it| hex(&it)).as_deref());
            object.number_or_null("files", percent.is_none().then_some(group.files));
            object.number_or_null("percent", percent);
            object.number_or_null("reclaimable", group.reclaimable);
            let members = group.members.iter().map(|it| member(found, group, it));
            object.list("members", &members.collect::<Vec<_>>());
        };
        let text = || (text(found, group), String::new(), String::new());
        sheet.row(&Row {
            bytes: group.size,
            evidence: weakest.map(Evidence::word),
            detail: heading(group),
            more: &more,
            text: Text::Parts(&text),
            ..Row::new(&found.path(&group.members[0]), verdict, kind, Tone::Moved)
        })
    }
}

fn summary(found: &Found) -> String {
    let totals = found.totals();
    let groups = [(totals.files, " of files"), (totals.folders, " of folders")];
    let groups = groups.iter().filter(|(number, _)| *number > 0);
    let groups: Vec<_> = groups.map(|(number, of)| count(*number, "group") + of).collect();
    let mut text = "no duplicates".to_owned();
    if !groups.is_empty() {
        let spare = match totals.redundant {
            1 => "1 file is a spare copy".into(),
            files => format!("{files} files are spare copies"),
        };
        text = format!("{}: {spare} ({}", groups.join(" and "), HumanBytes(totals.reclaimable));
        if totals.unknown > 0 {
            text += &format!(" and {} of unknown size", count(totals.unknown, "group"));
        }
        text.push(')');
    }
    if totals.similar > 0 {
        text += &format!("; {}", count(totals.similar, "pair") + " of similar folders");
    }
    if totals.links > 0 {
        text += &format!("; {} of the same files", count(totals.links, "more name"));
    }
    text += &format!("; {}", contents::read(found.roots(), found.read()));
    let records = contents::records(found.roots());
    if !records.is_empty() {
        text += &format!("; not looked at: the files of {records}");
    }
    text
}

fn member(found: &Found, group: &Group, member: &Member) -> String {
    let mut object = Object::about(&found.path(member));
    object.path("operand", found.roots()[member.root].path());
    object.string_or_null("evidence", member.evidence.map(Evidence::word));
    match member.link_of {
        Some(first) => object.path("link_of", &found.path(&group.members[first])),
        None => object.null("link_of"),
    };
    object.finish().trim_end().to_owned()
}

/// The path with a slash at its end if it is of a folder.
fn ended(path: PathBuf, group: &Group) -> PathBuf {
    let mut path = path.into_os_string();
    path.push(if group.kind == Kind::Files { "" } else { "/" });
    path.into()
}

/// The path of a member as a line has it. A name of a record is after that if there are several operands.
fn line(found: &Found, group: &Group, member: &Member) -> PathBuf {
    let (root, path) = (&found.roots()[member.root], found.path(member));
    let path = if root.is_record() && found.roots().len() > 1 {
        [root.path().as_os_str(), ":".as_ref(), path.as_os_str()]
            .into_iter()
            .collect::<OsString>()
            .into()
    } else {
        path
    };
    ended(path, group)
}

/// The bytes by which groups are in order.
fn bytes_of(group: &Group) -> Option<u64> {
    if matches!(group.kind, Kind::Similar(_)) { group.size } else { group.reclaimable }
}

/// Such as `600 MiB  3 files of 300 MiB`.
fn heading(group: &Group) -> String {
    let size = |bytes: Option<u64>| bytes.map_or("?".into(), |it| HumanBytes(it).to_string());
    let copies = group.members.iter().filter(|it| it.link_of.is_none()).count();
    let (bytes, each) = (size(bytes_of(group)), size(group.size));
    match group.kind {
        Kind::Files => format!("{bytes}  {copies} files of {each}"),
        Kind::Folders => {
            format!("{bytes}  {copies} folders of {each}, {} in each", count(group.files, "file"))
        }
        Kind::Similar(percent) => {
            format!("{bytes}  shared by 2 folders, {percent} % of the larger one")
        }
    }
}

/// The heading, and a line for each member.
fn text(found: &Found, group: &Group) -> String {
    let mut text = heading(group);
    for member in &group.members {
        text += &format!("\n  {}", Listed::new(&line(found, group, member)));
        if let Some(first) = member.link_of {
            let first = line(found, group, &group.members[first]);
            text += &format!("  (another name of {})", Listed::new(&first));
        }
    }
    text
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let number = number.filter(|number| (1..=100).contains(number));
    number.ok_or_else(|| "expected a percentage from 1 to 100, such as 80%".into())
}

fn counts(found: &Found) -> Vec<(&'static str, u64)> {
    let (totals, (files, bytes)) = (found.totals(), found.read());
    vec![
        ("file_groups", totals.files),
        ("folder_groups", totals.folders),
        ("similar", totals.similar),
        ("redundant", totals.redundant),
        ("reclaimable", totals.reclaimable),
        ("unknown", totals.unknown),
        ("links", totals.links),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
    ]
}
