//! `treewide dupes`: which files and folders are there more than once?

mod fclones;

use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::run;
use crate::commands::contents::{self, UNDETERMINED};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Sheet, Summary, Text};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use clap::Args;
use indicatif::HumanBytes;
use std::path::PathBuf;
use treewide_files::digest::hex;
use treewide_files::list::json::Object;
use treewide_files::name::Listed;
use treewide_manifest::found::{Found, Group, Kind, Member, Root};
use treewide_manifest::{Dupes, Evidence};

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "everything was compared, whether or not there are duplicates"),
        ("1", "with --verify: a file is not as recorded"),
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
    #[arg(conflicts_with = "fclones")]
    similar: Option<u8>,

    /// The directory that a list is of, or one that has it under the name of the list [default: X next to X.b3]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Coverage")]
    root: Option<PathBuf>,

    /// Look at files that are only recorded before they are called the same
    ///
    /// metadata: a file is read unless its size, inode and ctime are as recorded; read: all are read. A file that is not as
    /// recorded is reported, and is not a duplicate; the exit status is 1. Files in folders of lists are listed for themselves.
    #[arg(long, value_name = "EVIDENCE", num_args = 0..=1, require_equals = true, help_heading = "Coverage")]
    #[arg(default_missing_value = "metadata", value_parser = ["metadata", "read"])]
    verify: Option<String>,

    /// Write paths alone, each with a zero byte after it, and one more after each group
    ///
    /// Those of folders end in `/`. Files of lists are verified, by metadata if --verify does not say more.
    #[arg(short = '0', long, help_heading = "Output", conflicts_with_all = ["fclones", "similar", "json"])]
    null: bool,

    /// Write a report that `fclones remove`, `link` and `dedupe` read
    ///
    /// It lists files, not folders. Files of lists are verified, by metadata if --verify does not say more. Its time is when
    /// the walk for the oldest manifest began, so that fclones leaves files alone that were written to since.
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    fclones: bool,

    /// Also write a page for a browser, with groups as bars
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    #[arg(conflicts_with = "fclones")]
    html: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl DupesArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.find(program))
    }

    fn find(&self, program: Program) -> anyhow::Result<Outcome> {
        contents::spare(
            &self.operands,
            self.root.as_ref(),
            &[self.output.file(), self.html.as_deref()],
        )?;
        let inputs = contents::lists(&self.operands);
        let mut sheet = self.report.begin(program, &self.output, &inputs, Prints::Always)?;
        sheet.with_page(self.html.as_deref(), &self.output, &inputs)?;
        sheet.progress.show(|| None);
        let begun = std::time::SystemTime::now();
        let options = self.read.plain_options(sheet.progress.hears());
        let dupes = Dupes::new().empty(self.empty).ignore_names(self.ignore_names);
        let dupes = self.root.iter().fold(dupes, Dupes::root);
        let dupes = dupes.similar(self.similar.unwrap_or(0)).verify(match self.verify.as_deref() {
            Some("read") => Evidence::Read,
            Some(_) => Evidence::Metadata,
            None if self.verifies() => Evidence::Metadata,
            None => Evidence::Claimed,
        });
        let mut found = dupes.folders(!self.fclones).run(&self.operands, &options)?;
        sheet.progress.finish();
        let mut outcome = contents::unreadable(&sheet.console, found.unreadable());
        for (path, cause) in found.changed() {
            sheet.console.about(path, cause);
            if outcome == Outcome::Success {
                outcome = Outcome::SomeFailed;
            }
        }
        let (text, counts) = (self.summary(&found), counts(&found));
        if self.fclones {
            fclones::write(found, begun, sheet.output())?;
        } else {
            while let Some(group) = found.next() {
                self.group(&mut sheet, &found, &group?)?;
            }
        }
        let summary = Summary { path: &self.operands[0], outcome, text, counts, more: &|_| {} };
        sheet.close(&summary)?;
        if !self.report.quiet() {
            sheet.console.say(&summary.text);
        }
        Ok(outcome)
    }

    /// Whether recorded files are looked at again. Those of lists always are for programs that remove files.
    fn verifies(&self) -> bool {
        let acts = self.fclones || self.null;
        self.verify.is_some() || (acts && self.operands.iter().any(|it| !it.is_dir()))
    }

    /// Whether the names of an operand are paths of its files here, as far as is known.
    fn knows_paths(&self, root: &Root) -> bool {
        root.dir().is_some() && (self.verify.is_some() || !root.is_list() || root.began().is_some())
    }

    fn summary(&self, found: &Found) -> String {
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
        if totals.similar > 0 {
            text += &format!("; {}", count(totals.similar, "pair") + " of similar folders");
        }
        if totals.links > 0 {
            text += &format!("; {} of the same files", count(totals.links, "more name"));
        }
        if totals.followed > 0 {
            text += &format!("; {} through links not counted", count(totals.followed, "name"));
        }
        text += "; ";
        if !self.verifies() {
            return text + &contents::known_by(found.roots(), found.read());
        }
        let (files, bytes) = found.read();
        text += &match files {
            0 => "no file was read".into(),
            _ => format!("{} read ({})", count(files, "file"), HumanBytes(bytes)),
        };
        let changed = found.changed().count();
        let are = if changed == 1 { "is" } else { "are" };
        text + &format!(", {changed} {are} not as recorded")
    }

    fn group(&self, sheet: &mut Sheet, found: &Found, group: &Group) -> anyhow::Result<()> {
        spare(found, group, sheet.output())?;
        if self.null {
            let paths = group.members.iter().map(|it| ended(path(found, it), group));
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
        let known = group.members.iter().filter_map(|it| it.evidence);
        // As much as is known of all.
        let weakest = known.max_by_key(|it| Evidence::ALL.iter().position(|other| other == it));
        let more = |object: &mut Object| {
            object.string_or_null("digest", group.digest.map(|it| hex(&it)).as_deref());
            object.number_or_null("files", percent.is_none().then_some(group.files));
            object.number_or_null("percent", percent);
            object.number_or_null("reclaimable", group.reclaimable);
            let members = group.members.iter().map(|it| self.member(found, group, it));
            object.list("members", &members.collect::<Vec<_>>());
        };
        let text = || (text(found, group), String::new(), String::new());
        sheet.row(&Row {
            bytes: group.size,
            evidence: weakest.map(Evidence::word),
            detail: heading(group),
            more: &more,
            text: Text::Parts(&text),
            ..Row::new(&path(found, &group.members[0]), verdict, kind, Tone::Moved)
        })
    }

    fn member(&self, found: &Found, group: &Group, member: &Member) -> String {
        let mut object = Object::about(&path(found, member));
        let root = &found.roots()[member.root];
        object.path("operand", root.path());
        object.raw("here", self.knows_paths(root));
        object.string_or_null("evidence", member.evidence.map(Evidence::word));
        match member.link_of {
            Some(first) => object.path("link_of", &path(found, &group.members[first])),
            None => object.null("link_of"),
        };
        object.finish().trim_end().to_owned()
    }
}

/// An error if the report would replace a file that it names, such as one that a list names here.
fn spare(found: &Found, group: &Group, output: &Output) -> anyhow::Result<()> {
    let mut paths = group.members.iter().filter_map(|member| found.path(member));
    paths.try_for_each(|path| output.spare(&path))
}

fn path(found: &Found, member: &Member) -> PathBuf {
    found.path(member).unwrap_or_else(|| contents::bare(&member.name))
}

/// The path with a slash at its end if it is of a folder.
fn ended(path: PathBuf, group: &Group) -> PathBuf {
    let mut path = path.into_os_string();
    path.push(if group.kind == Kind::Files { "" } else { "/" });
    path.into()
}

/// The path of a member as a line has it.
fn line(found: &Found, group: &Group, member: &Member) -> PathBuf {
    let path = contents::line(found.roots(), member.root, &member.name, found.path(member));
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
        ("followed", totals.followed),
        ("files_read", files),
        ("bytes_read", bytes),
        ("unreadable", found.unreadable().count() as u64),
        ("changed", found.changed().count() as u64),
    ]
}
