//! `treewide snapshot` and `treewide update`: make a manifest.

use super::against::{self, AgainstArgs};
use super::also::AlsoArgs;
use super::report::{self, Findings, Limits, is_passed};
use super::root;
use super::rules::RulesArgs;
use crate::args::cover;
use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::run;
use crate::commands::help::Notes;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::Summary;
use crate::shell::signals;
use crate::shell::usage::wrong_value;
use clap::Args;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_files::list::json::Object;
use treewide_files::name::{quoted, shown};
use treewide_files::size;
use treewide_manifest::machine::{Clock, Draft, Forget, Limit, Made, Places, Update, not_a_list};
use treewide_manifest::{
    Class, Error, ErrorKind, Finding, Globs, Index, Loss, Manifest, Outboards, Report, Rules,
    Totals, Written, journal,
};

pub(crate) const SNAPSHOT: Notes = Notes {
    exit: &[
        ("0", "the manifest has every file"),
        ("1", "a file is not as --against lists it: no manifest was written"),
        ("2", "invalid usage"),
        (
            "3",
            "a file could not be read, or changed each time, or the manifest or an outboard could not be written, or there is a list \
             in its place",
        ),
    ],
    ..Notes::new(&[
        ("treewide snapshot photos", "write photos.b3: what is in photos now"),
        ("treewide snapshot --exclude '*.tmp' --modes / -o root.b3", ""),
        ("treewide snapshot --outboards tree --min 100M photos", ""),
        ("treewide snapshot --also sha256 photos", "and SHA-256, in the same read"),
        ("treewide snapshot --against SHA256SUMS photos", "verify the old list first"),
        ("b3sum --check photos.b3", "in the directory: without this program"),
    ])
};

pub(crate) const UPDATE: Notes = Notes {
    exit: &[
        ("0", "the manifest is up to date"),
        ("1", "a file is ROT or SUSPECT: the manifest keeps its old digest"),
        ("2", "invalid usage"),
        (
            "3",
            "a file could not be read, or changed each time, or the manifest or an outboard could not be read or written, or the \
             new manifest would have lost what the old one has",
        ),
    ],
    ..Notes::new(&[
        ("treewide update photos.b3", "read only what looks different"),
        ("treewide update --accept-rot 2024/a.jpg photos.b3", "its content is right now"),
    ])
};

/// Write a manifest of a directory
///
/// X.b3 is a list of digests that b3sum can check, in the order of the paths; the same names and contents give
/// the same bytes on every machine. X.b3.tw is its index: types, links, and the times and inodes with which `update`
/// and `verify --quick` read only what changed.
#[derive(Args)]
#[command(after_help = SNAPSHOT.short(), after_long_help = SNAPSHOT.long())]
pub(crate) struct SnapshotArgs {
    /// The directory [default: .]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// The list to write; its index is written next to it [default: DIR.b3 next to DIR]
    ///
    /// No list is there yet, or an empty file: `update` is for the others.
    #[arg(short, long, value_name = "X.b3", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    against: AgainstArgs,

    #[command(flatten)]
    rules: RulesArgs,

    #[command(flatten)]
    with: WithArgs,
}

/// What both have.
#[derive(Args)]
pub(crate) struct WithArgs {
    /// Do not write what other programs have changed in memory to the disk first
    ///
    /// Without this, syncfs is called before the first file is read and once a minute. Otherwise a program that
    /// has mapped a file may change it without its times showing that, so that --quick and `update` miss it.
    #[arg(long, help_heading = "Reading", hide_short_help = true)]
    no_sync: bool,

    /// Start anew, also if a run was interrupted
    ///
    /// What a run of more than a second has read is kept in X.b3.part until the manifest is complete. The next run of this directory
    /// does not read a file again that the interrupted run has read, if its size, times, inode and device are as they were. With this
    /// flag, X.b3.part is not used, and is removed when the run is done.
    #[arg(long, help_heading = "Reading", hide_short_help = true)]
    no_resume: bool,

    #[command(flatten)]
    also: AlsoArgs,

    /// Write outboards of long files into a folder, as HEX.obao4 after their digests
    ///
    /// With them, `verify --outboards` names the bytes that are bad. They are made while the files are read, and are 0.4 % of their
    /// bytes. A file is also read if its outboard is missing. Nothing in the folder is removed.
    #[arg(long, value_name = "FOLDER", help_heading = "Outboards")]
    outboards: Option<PathBuf>,

    /// The least length of a file that has an outboard, more than 16K
    #[arg(long, value_name = "BYTES", default_value = "1G", requires = "outboards")]
    #[arg(value_parser = size::parse, help_heading = "Outboards", hide_short_help = true)]
    min: u64,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// What is accepted.
#[derive(Args)]
pub(super) struct AcceptArgs {
    /// Record the new content of files that are ROT or SUSPECT, if they match a glob
    ///
    /// They are read. So also of files that are CHANGED where no times are recorded, as by a list without an index.
    #[arg(long, value_name = "GLOB", help_heading = "Verdict")]
    accept_rot: Vec<String>,

    /// Continue although the index or the past is damaged, so that rot looks like an edit
    ///
    /// If it is the index, every file is read, and those with other content keep their digests, except with --accept-rot. Damaged parts of
    /// the past are left out.
    #[arg(long, help_heading = "Verdict")]
    accept_damage: bool,

    /// Write nothing if more of the recorded files are gone: 10%, or 1000
    ///
    /// Counts below each mounted disk as well. A percentage never stops a run in which ten files or fewer are gone. Also nothing is written
    /// if no file is as it was and most are gone; 100% passes both. A disk that is off looks like this. No record is lost in any case.
    #[arg(long, value_name = "MOST", default_value = "50%", value_parser = Limit::parse)]
    #[arg(help_heading = "Verdict", overrides_with = "max_removed")]
    max_removed: Limit,

    /// Forget records that were dropped or replaced longer ago: 90d, 1y, or all
    ///
    /// Nothing else forgets them. Names, times and digests of deleted files are in X.b3.past until then. One name alone cannot be
    /// forgotten.
    #[arg(long, value_name = "AGE", value_parser = Forget::parse)]
    #[arg(help_heading = "Verdict")]
    forget: Option<Forget>,
}

impl AcceptArgs {
    fn apply(&self, update: Update) -> anyhow::Result<Update> {
        let update = self.forget.into_iter().fold(update, Update::forget);
        let update = update.accept_damage(self.accept_damage);
        Ok(update.most_removed(self.max_removed).accept_rot(Globs::new(&self.accept_rot)?))
    }
}

/// A past with more bytes, and more than four times those of the pair, is one to speak of.
const LONG: u64 = 64 << 20;

/// A manifest that is to be made.
pub(super) struct Making<'a> {
    /// The list that is written.
    pub(super) path: &'a Path,
    pub(super) update: Update,
    /// What is accepted, if there is an old one at its place.
    pub(super) accept: Option<&'a AcceptArgs>,
    pub(super) reads_all: bool,
    pub(super) dir: Option<&'a Path>,
    /// What rows and counts are headed by, if there are several.
    pub(super) name: Option<&'a Path>,
    pub(super) rules: Option<&'a RulesArgs>,
    /// Other files that are read.
    pub(super) lists: &'a [PathBuf],
}

impl WithArgs {
    /// Begins to write, makes the manifest, and lets it appear. `old` is read when no one else can write it any more.
    pub(super) fn make(&self, program: Program, making: Making<'_>) -> anyhow::Result<Outcome> {
        let Making { path, update, accept, reads_all, dir, name, rules, lists } = making;
        let old = accept.map(|_| path);
        let accepts_damage = accept.is_some_and(|it| it.accept_damage);
        // In place of the manifest, they give an error that says what to name.
        old.filter(|it| not_a_list(it).is_some()).map(Manifest::open).transpose()?;
        Self::check_places(path, rules, lists)?;
        let mut sheet =
            self.report.begin(program, &OutputArgs::default(), &[], Prints::OnlyFailures)?;
        name.into_iter().for_each(|it| sheet.set_name(it));
        let progress = Rc::clone(&sheet.progress);
        let outboards = self.outboards.as_ref().map(|it| Outboards::new(it).min(self.min));
        let pair = begin(path, outboards.as_ref(), accepts_damage)?.with_journal(!self.no_resume);
        let update = match accept {
            Some(accept) => accept.apply(update)?,
            None => update,
        };
        let update = self.also.apply(update);
        let update = outboards.iter().cloned().fold(update, Update::outboards);
        self.say_what_is_left(&sheet.console, path);
        let operands = (path, dir);
        let old = old.map(Manifest::open).transpose()?;
        let dir = match (dir, &old) {
            (Some(dir), _) => dir.to_owned(),
            (None, Some(old)) => root::find(old)?,
            (None, None) => PathBuf::from("."),
        };
        let quiet = self.report.quiet();
        let is_wrong = |it: &Finding| it.verdict.is_doubtful() || it.verdict.class().is_unknown();
        let mut findings = Findings::new(sheet, move |it| !quiet || is_wrong(it));
        if let Some(Index::Absent) = old.as_ref().map(Manifest::index) {
            let text = "is not there, so every file is read, and none without a recorded time is taken for edited; links, rules and names that are not UTF-8 were only in it";
            findings.sheet.console.about(&treewide_manifest::index_path(path), text);
        }
        let clock = if self.no_sync { Clock::without_sync() } else { Clock::new() };
        if let Some(Index::Bound(ends)) = old.as_ref().map(Manifest::index) {
            progress.expects_files(ends.1.files);
        }
        progress.show();
        match &old {
            Some(old) => progress.expects_bytes(old.bytes().filter(|_| reads_all)),
            // An interrupted run has read some of them.
            None if journal::is_left(path) => {}
            None => {
                let rules = rules.map(RulesArgs::rules).transpose()?.flatten().unwrap_or_default();
                let walk = rules.walk(&dir)?;
                progress.count(move || cover::files(walk));
            }
        }
        let options = self.read.plain_options(progress.hears());
        let each = &mut |finding: Finding| {
            findings.add(&finding);
            if is_passed(&finding) {
                progress.passed();
            }
        };
        let made = update.run(old.as_ref(), &dir, pair, Box::new(clock), &options, each)?;
        progress.finish();
        let sheet = &mut findings.sheet;
        let say = |it| against::say(it, path, quiet, sheet);
        let is_as_listed = made.compared.as_ref().map_or(Ok(true), say)?;
        let digest = is_as_listed.then_some(made.totals.facts);
        let more = |object: &mut Object| {
            report::facts(object, &made.report, &Limits::default(), digest, Some(&dir));
        };
        let text = findings.sheet.named(report::summary(&made.report));
        let (summed, counts) = (text.clone(), report::counts(&made.report));
        let judged = if is_as_listed { outcome(&made.report) } else { Outcome::SomeFailed };
        let summary = Summary { path, outcome: judged, text, counts, evidence: None, more: &more };
        // The manifest is made although the reader of these rows may be gone.
        let said = findings.close(&summary, Some(operands));
        let console = &findings.sheet.console;
        if !is_as_listed {
            said?;
            return Ok(Outcome::SomeFailed);
        }
        let (report, totals, written) = appear(made)?;
        said?;
        let past = treewide_manifest::past_path(path);
        if let Some(cause) = &report.past_damage {
            report::past_damage(console, operands, cause);
        }
        if let Some(note) = report.past_note.as_ref().filter(|_| !quiet) {
            console.about(&past, note);
        }
        let bytes = |it: &Path| it.metadata().map_or(0, |it| it.len());
        let (has, pair) = (bytes(&past), bytes(path) + bytes(&treewide_manifest::index_path(path)));
        if !quiet && has > (4 * pair).max(LONG) {
            let (has, way) = (HumanBytes(has), report::update("--forget 1y", operands));
            console.about(&past, format_args!("has {has}; to forget older records: {way}"));
        }
        if let Some(cause) = report.unused_journal.as_ref().filter(|_| !quiet) {
            console
                .about(&journal::journal_path(path), format_args!("{cause}, so it was not used"));
        }
        let is_wrong = report.files_kept > 0 || written.failed.is_some() || !report.is_certain();
        if !quiet {
            if let Some(rules) = rules {
                rules.say_what_is_idle(console, &report);
            }
            for glob in &report.idle_accepts {
                let glob = treewide_files::name::shown_text(glob);
                console.say(&format!(
                    "--accept-rot {glob}: no file that is ROT or SUSPECT has such a name"
                ));
            }
            if report.uncovered > 0 {
                let left_out = crate::shell::wording::count(report.uncovered, "recorded path");
                console.say(&format!(
                    "{left_out} not covered any more by the rules, and not in the new manifest"
                ));
            }
            self.say(console, old.as_ref().map(|_| &*summed), path, &report, &totals);
            if let Some(runs) = report.runs {
                console.say(&report::round(&report, runs));
            }
            if let Some(outboards) = &outboards {
                let files = crate::shell::wording::count(written.files, "outboard");
                let (bytes, folder) = (HumanBytes(written.bytes), outboards.folder());
                console.say(&format!("{files} written, {bytes}: {}", shown(folder)));
            }
        } else if is_wrong {
            console.say(&summed);
        }
        let outcome = match &written.failed {
            Some(failed) => {
                console.say(&format!(
                    "{failed}; from then on files were recorded without outboards; to make the missing ones: {}",
                    report::update(&self.outboards_flags(), operands)
                ));
                Outcome::CannotTell
            }
            None => outcome(&report),
        };
        Ok(outcome)
    }

    /// An error if something would be written that is read, before anything is.
    fn check_places(
        path: &Path,
        rules: Option<&RulesArgs>,
        lists: &[PathBuf],
    ) -> anyhow::Result<()> {
        if path == Path::new("-") || path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir()) {
            let text = format!(
                "{}: a manifest is two files, a list and its index; name the list, or print one by `treewide sum -r`",
                shown(path)
            );
            return Err(wrong_value(text).into());
        }
        let places = Places::new().writes_manifest(path);
        let files = rules.map(RulesArgs::files).unwrap_or_default();
        let places = files.iter().chain(lists).fold(places, |places, file| places.reads(file));
        Ok(places.check(None)?)
    }

    /// The flags that make the same outboards.
    fn outboards_flags(&self) -> String {
        let folder = self.outboards.as_ref().map(|it| quoted(&shown(it)));
        format!("--outboards {} --min {}", folder.unwrap_or_default(), self.min)
    }

    /// Says that a run was interrupted, if none is under way.
    fn say_what_is_left(&self, console: &Console, path: &Path) {
        if journal::is_left(path) && !journal::is_in_use(path) && !self.report.quiet() {
            let text = match self.no_resume {
                true => "is not used, and removed when this run is done",
                false => "an interrupted run is resumed; --no-resume starts anew",
            };
            console.about(&journal::journal_path(path), text);
        }
    }

    fn say(
        &self,
        console: &Console,
        summary: Option<&str>,
        path: &Path,
        report: &Report,
        totals: &Totals,
    ) {
        if let Some(cause) = &report.damage {
            let index = treewide_manifest::index_path(path);
            console.about(&index, format_args!("was damaged: {cause}; every file was read"));
        }
        if let Some(summary) = summary {
            console.say(summary);
            report::back(report).iter().for_each(|it| console.say(it));
        } else {
            let files = crate::shell::wording::count(totals.files, "file");
            let bytes = HumanBytes(totals.bytes);
            console.say(&format!("{files}, {bytes}: {}", shown(path)));
            if let Some(text) = report::resumed(report) {
                console.say(&text);
            }
            if report.links > 0 {
                let links = crate::shell::wording::count(report.links, "symbolic link");
                let read = if totals.files == 0 { "no file was read: " } else { "" };
                console.say(&format!(
                    "{read}{links} recorded and not followed; --follow covers their files"
                ));
            }
        }
        console.say(&format!("{} is the digest of the manifest", totals.facts.to_hex()));
    }
}

fn begin(
    path: &Path,
    outboards: Option<&Outboards>,
    accepts_damage: bool,
) -> anyhow::Result<Draft> {
    // Without it, a signal leaves the temporary files behind; that is not a reason to do nothing at all.
    let _ = signals::watch();
    let mut unfinished = signals::unfinished();
    let pair = Draft::begin_over(path, true, accepts_damage)?;
    unfinished.extend(pair.temporaries());
    unfinished.extend(outboards.map(|it| it.temporary().to_owned()));
    Ok(pair)
}

fn appear(made: Made) -> anyhow::Result<(Report, Totals, Written)> {
    let mut unfinished = signals::unfinished();
    let Made { report, draft, outboards, .. } = made;
    let appeared = draft.appear();
    unfinished.clear();
    Ok((report, appeared?, outboards))
}

fn outcome(report: &Report) -> Outcome {
    // That the old index could not be used is mended by now.
    let is_certain = report.past_damage.is_none()
        && Class::ALL.into_iter().all(|it| !it.is_unknown() || report.count(it) == 0);
    match (is_certain, report.files_kept) {
        (false, _) => Outcome::CannotTell,
        (true, 0) => Outcome::Success,
        (true, _) => Outcome::SomeFailed,
    }
}

impl SnapshotArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || {
            let rules = self.rules.rules()?.unwrap_or_default();
            let mut update = Update::new().rules(rules);
            let (list, dir, lists) = (self.list()?, self.dir.as_deref(), self.against.lists());
            if !lists.is_empty() {
                let Some(listed) = self.against.read(program, dir.unwrap_or(Path::new(".")))?
                else {
                    return Ok(Outcome::SomeFailed);
                };
                update = update.against(listed);
            }
            if !self.with.report.quiet() {
                self.rules.say_what_is_unseen(program);
            }
            let making = Making {
                path: &list,
                update,
                accept: None,
                reads_all: true,
                dir,
                name: None,
                rules: Some(&self.rules),
                lists,
            };
            self.with.make(program, making).map_err(|error| match error.downcast_ref::<Error>() {
                Some(it) if matches!(it.kind(), ErrorKind::Refused(loss) if **loss == Loss::There) => {
                    let update = report::update("", (&list, dir));
                    anyhow::anyhow!("{error}; to bring it up to date: {update}")
                }
                _ => error,
            })
        })
    }

    /// Where to write.
    fn list(&self) -> anyhow::Result<PathBuf> {
        let dir = self.dir.as_deref().unwrap_or(Path::new("."));
        self.output.as_ref().map_or_else(|| root::list_of(dir), |it| Ok(it.clone()))
    }
}

/// Bring a manifest up to date, reading only what looks different
///
/// A file whose size, times, inode and device are as recorded is not read, and keeps its digest. A file that was read
/// and has other content, although no one wrote to it, is reported as ROT and keeps its digest as well: accept the
/// new content with --accept-rot, or restore the file. Without an index every file is read.
#[derive(Args)]
#[command(after_help = UPDATE.short(), after_long_help = UPDATE.long())]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    onto: OntoArgs,

    /// Read every file
    #[arg(long, help_heading = "Reading")]
    full: bool,

    /// Forget the rules that are recorded; without this, the flags of coverage are added to them
    #[arg(long, help_heading = "Coverage")]
    replace_rules: bool,

    #[command(flatten)]
    rules: RulesArgs,
}

/// The manifests that are brought up to date.
#[derive(Args)]
pub(super) struct OntoArgs {
    /// Lists of manifests, or their directories: X means X.b3
    ///
    /// The directory of a list may be named after it; by default, it is X next to X.b3, or `.`. Of several manifests, each has its verdict,
    /// and the exit status is the worst.
    #[arg(value_name = "X.b3 [DIR]", required = true)]
    operands: Vec<PathBuf>,

    #[command(flatten)]
    accept: AcceptArgs,

    #[command(flatten)]
    with: WithArgs,
}

impl OntoArgs {
    pub(super) fn run(
        &self,
        program: Program,
        (reads_all, rules): (bool, Option<&RulesArgs>),
        update: impl Fn(&Path) -> anyhow::Result<Update>,
    ) -> anyhow::Result<Outcome> {
        root::each(program, &self.operands, |path, dir, name| {
            let (update, accept, lists) = (update(path)?, Some(&self.accept), &[][..]);
            let making = Making { path, update, accept, reads_all, dir, name, rules, lists };
            self.with.make(program, making)
        })
    }
}

impl UpdateArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        self.onto.run(program, (self.full, Some(&self.rules)), |list| {
            let mut update = Update::new().full(self.full);
            if let Some(rules) = self.new_rules(list)? {
                if !self.onto.with.report.quiet() {
                    self.rules.say_what_is_unseen(program);
                }
                update = update.rules(rules);
            }
            Ok(update)
        })
    }

    /// What the manifest covers from now on; `None` if that stays as it is.
    fn new_rules(&self, list: &Path) -> anyhow::Result<Option<Rules>> {
        if self.replace_rules {
            return Ok(Some(self.rules.rules()?.unwrap_or_default()));
        }
        match self.rules.rules()? {
            None => Ok(None),
            Some(_) => self.rules.added_to(Manifest::open(list)?.rules()),
        }
    }
}
