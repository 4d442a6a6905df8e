//! `treewide verify` and `treewide diff`: what differs from a manifest?

use super::report::{self, Findings, Limits, is_passed};
use super::root;
use crate::args::cover::{self, CoverArgs};
use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::{EXIT, run};
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Prints, spare_below};
use crate::shell::program::Program;
use crate::shell::sheet::{Sheet, Summary};
use crate::shell::signals;
use crate::shell::usage::wrong_value;
use crate::shell::wording::count;
use anyhow::{Context, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_files::list::json::Object;
use treewide_files::name::{quoted, shown};
use treewide_files::size;
use treewide_manifest::machine::{Clock, Draft, Places, Update, Verify};
use treewide_manifest::{
    Cancel, Class, Evidence, Globs, Index, Manifest, Outboards, Report, Rules, open,
};

pub(crate) const VERIFY: Notes = Notes {
    exit: EXIT,
    ..Notes::new(&[
        ("treewide verify photos.b3", "read everything, and compare"),
        ("treewide verify --quick photos.b3", "read only what looks different"),
        ("treewide verify --fail-on changed,removed photos.b3", "new files are fine"),
        ("treewide verify --outboards tree photos.b3", "which bytes of long files are bad?"),
        ("treewide verify *.b3", "several manifests, each with its verdict"),
        ("treewide verify --html report.html photos.b3 /backup/photos", "a page to look at"),
    ])
};

pub(crate) const DIFF: Notes = Notes {
    exit: EXIT,
    ..Notes::new(&[
        ("treewide diff monday.b3 friday.b3", "needs no file of either tree"),
        ("treewide diff monday.b3 photos", "a manifest and a directory"),
        ("treewide diff photos /mnt/backup/photos", "two directories: what differs?"),
    ])
};

/// Compare a directory with its manifest
///
/// Reads every file, and reports what is changed, added, removed, moved or of another type. A file whose
/// content differs although its mtime, ctime and inode are as recorded is reported as ROT: no one wrote
/// to it. If only ctime, inode or device moved, it is SUSPECT: see docs/manifests.md. Without an index (X.b3.tw), X.b3 is a plain list, and only the content of files is compared. A
/// line is written for each difference, and a last line on standard error counts all entries: files, directories and links.
#[derive(Args)]
#[command(after_help = VERIFY.short(), after_long_help = VERIFY.long())]
pub(crate) struct VerifyArgs {
    /// Lists of manifests, whose indexes are next to them
    ///
    /// The directory of a list may be named after it; by default, it is X next to X.b3, or `.`. A directory X alone has the list X.b3. Of
    /// several manifests, each has its verdict, and the exit status is the worst.
    #[arg(value_name = "X.b3 [DIR]", required = true)]
    operands: Vec<PathBuf>,

    /// Read only files whose size, times, inode or device are not those recorded
    ///
    /// What is not read is not verified, and the last line says how much that is. This does not see rot, or what a
    /// program with access to the disk does. It believes the index, which is not signed.
    #[arg(long, help_heading = "Coverage")]
    quick: bool,

    /// Name the bytes that differ, by the outboards in a folder
    ///
    /// `snapshot --outboards` writes them. A file whose content differs is read a second time. An outboard is believed only as far as
    /// the digest in X.b3 proves it; the line says if there is none, or what is wrong with it.
    #[arg(long, value_name = "FOLDER", help_heading = "Coverage")]
    outboards: Option<PathBuf>,

    /// The least length of a file that should have an outboard
    #[arg(long, value_name = "BYTES", default_value = "1G", requires = "outboards")]
    #[arg(value_parser = size::parse, help_heading = "Coverage", hide_short_help = true)]
    min: u64,

    /// Compare only paths that match a glob, and what is below them
    #[arg(long, value_name = "GLOB", help_heading = "Coverage")]
    only: Vec<String>,

    /// Compare nothing unless this is the digest of the manifest, or of its list
    ///
    /// `snapshot` and `update` print the digest of the manifest. It covers names, contents, links, modes, attributes and rules,
    /// and needs the index. The digest of the list, which `manifest stat` prints, covers names and contents of files.
    #[arg(long, value_name = "DIGEST", help_heading = "Verdict")]
    expect: Option<String>,

    #[command(flatten)]
    say: SayArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What is said, and what counts.
#[derive(Clone, Args)]
pub(crate) struct SayArgs {
    /// The verdicts that are a failure, separated by commas; `rot` and `suspect` always are
    ///
    /// changed, replaced-type, moved, renamed, copied, added, removed. By default all of them are.
    #[arg(long, value_name = "VERDICT", value_delimiter = ',', help_heading = "Verdict")]
    #[arg(value_parser = classes(), hide_possible_values = true)]
    fail_on: Vec<Class>,

    /// Also write a page for a browser: counts, and every path that differs
    ///
    /// It appears when everything is done, and needs no other file. If the comparison comes to no end, there is none.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    html: Option<PathBuf>,

    #[command(flatten)]
    report: ReportArgs,
}

fn classes() -> impl TypedValueParser<Value = Class> {
    let all = || Class::ALL.into_iter().filter(|it| it.differs());
    PossibleValuesParser::new(all().map(Class::word))
        .try_map(move |word| all().find(|it| it.word() == word).ok_or("there is no such verdict"))
}

/// Whether listed paths are gone, and no file was compared: a disk that is off looks like that.
fn is_all_gone(report: &Report) -> bool {
    let is_there = |it: Class| it.differs() && !matches!(it, Class::Removed | Class::Added);
    report.count(Class::Removed) > 0
        && Evidence::ALL.into_iter().all(|it| report.known_by(it) == 0)
        && Class::ALL.into_iter().all(|it| !is_there(it) || report.count(it) == 0)
}

impl SayArgs {
    /// Whether a verdict is a failure.
    fn is_failure(&self, class: Class) -> bool {
        let counts = matches!(class, Class::Rot | Class::Suspect)
            || self.fail_on.is_empty()
            || self.fail_on.contains(&class);
        class.is_unknown() || class.differs() && counts
    }

    /// Begins the report, and its page.
    fn begin(
        &self,
        program: Program,
        output: &OutputArgs,
        inputs: &[PathBuf],
    ) -> anyhow::Result<Sheet> {
        let mut sheet = self.report.begin(program, output, inputs, Prints::OnlyFailures)?;
        sheet.with_page(self.html.as_deref(), output, inputs)?;
        Ok(sheet)
    }

    /// Begins to write findings.
    fn findings(&self, sheet: Sheet) -> Findings<'_> {
        let quiet = self.report.quiet();
        Findings::new(sheet, move |it| !quiet || self.is_failure(it.verdict.class()))
    }

    fn outcome(&self, report: &Report, is_all_gone: bool) -> Outcome {
        let fails = |class: Class| report.count(class) > 0 && self.is_failure(class);
        if !report.is_certain() || is_all_gone {
            Outcome::CannotTell
        } else if Class::ALL.into_iter().any(fails) {
            Outcome::SomeFailed
        } else {
            Outcome::Success
        }
    }

    /// Prints the counts and notes at the end. `dir` is the directory, and whether it was named.
    fn end(
        &self,
        mut findings: Findings<'_>,
        (manifests, dir): (&[&Manifest], Option<(&Path, bool)>),
        report: &Report,
        limits: &Limits<'_>,
    ) -> anyhow::Result<Outcome> {
        // Two manifests have no disk that could be off.
        let is_all_gone = match (manifests, dir) {
            ([manifest, ..], Some((dir, _))) if is_all_gone(report) => {
                !root::has_file(manifest, dir)?
            }
            _ => false,
        };
        let outcome = self.outcome(report, is_all_gone);
        let is_silent = self.report.quiet() && outcome == Outcome::Success;
        let first = manifests.first().map_or(Path::new(""), |it| it.list().path());
        let list = limits.instead.unwrap_or(first);
        let digest = manifests.first().and_then(|it| treewide_manifest::facts_of(it));
        let there = dir.map(|it| it.0);
        let more = |object: &mut Object| report::facts(object, report, limits, digest, there);
        let text = findings.sheet.named(report::summary(report));
        let summary = Summary::new(list, outcome, text, report::counts(report));
        let summary = Summary { more: &more, ..summary };
        let full = |it: &Path| it.canonicalize().ok();
        let is_own =
            |it: &Path| root::find(manifests[0]).map_or(true, |own| full(&own) == full(it));
        let named = dir.filter(|it| it.1).map(|it| it.0);
        // The content of a backup is not to be accepted.
        let is_backup = limits.instead.is_none() && named.is_some_and(|it| !is_own(it));
        let named = named.filter(|_| !is_backup);
        findings.release(is_all_gone);
        let is_told = limits.instead.is_none() && !is_backup;
        let operands = dir.filter(|_| is_told).map(|_| (list, named));
        findings.close(&summary, operands)?;
        let console = &findings.sheet.console;
        if let Some(cause) = &report.damage {
            let ignored = |it: &&&Manifest| matches!(it.index(), Index::Ignored(_));
            let whose = manifests.iter().find(ignored).or(manifests.first());
            let list = whose.map_or(list, |it| it.list().path());
            report::damage(console, (list, named), cause);
        }
        if let Some(cause) = &report.past_damage {
            report::past_damage(console, (list, named), cause);
        }
        if report.trusted_unseen {
            console.say(
                "extended attributes trusted.* were not compared: only the administrator of the machine sees them; \
                 run it as root",
            );
        }
        for glob in &report.unmatched {
            let glob = treewide_files::name::shown_text(glob);
            console.say(&format!("nothing was checked for --only {glob}: nothing has such a name"));
        }
        if report.nothing_checked && report.unmatched.is_empty() {
            console.say("nothing was checked: the list names no file");
        }
        if is_all_gone {
            let what = root::of_tensors(list).unwrap_or_else(|| {
                "none of the recorded files is there; see that the disk is mounted, and that this is the directory".into()
            });
            console.say(&format!("nothing was checked: {what}"));
        }
        if !is_silent {
            if report.skipped > 0 {
                let skipped = count(report.skipped, "recorded path");
                console.say(&format!("{skipped} not looked at, because of --only"));
            }
            console.say(&summary.text);
            report::back(report).iter().for_each(|it| console.say(it));
            if !limits.not_compared.is_empty() {
                console.say(&format!("not compared: {}", limits.not_compared.join(", ")));
            }
        }
        Ok(outcome)
    }
}

impl VerifyArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        root::each(program, &self.operands, |list, dir, name| {
            self.compare(program, list, dir, name)
        })
    }

    fn compare(
        &self,
        program: Program,
        list: &Path,
        dir: Option<&Path>,
        name: Option<&Path>,
    ) -> anyhow::Result<Outcome> {
        let is_one = [self.expect.is_some(), self.say.html.is_some(), self.output.file().is_some()];
        if name.is_some() && is_one.contains(&true) {
            let text = "--expect, --html and -o are for one manifest; name one";
            return Err(wrong_value(text).into());
        }
        let only = Globs::new(&self.only)?;
        let is_named = dir.is_some();
        let manifest = open(list)?;
        if let Some(expected) = &self.expect {
            Self::is_expected(&manifest, expected)?;
        }
        let mut verify = Verify::new().quick(self.quick).only(only);
        if let Some(folder) = &self.outboards {
            let there = std::fs::metadata(folder);
            if !there.with_context(|| shown(folder))?.is_dir() {
                bail!("{}: is not a folder of outboards", shown(folder));
            }
            verify = verify.outboards(Outboards::new(folder).min(self.min));
        }
        let total = manifest.bytes().filter(|_| !self.quick && self.only.is_empty());
        let dir = dir.map_or_else(|| root::find(&manifest), |it| Ok(it.to_owned()))?;
        let mut places = Places::new().reads_manifest(list);
        if let Some(folder) = &self.outboards {
            places = places.reads_folder(folder);
        }
        let written = self.output.file().into_iter().chain(self.say.html.as_deref());
        written.fold(places, Places::writes).check(Some((&manifest, &dir)))?;
        let inputs = [list.to_owned(), treewide_manifest::index_path(list)];
        let mut sheet = self.say.begin(program, &self.output, &inputs)?;
        name.into_iter().for_each(|it| sheet.set_name(it));
        verify = sheet.places().into_iter().fold(verify, Verify::leave_out);
        let progress = Rc::clone(&sheet.progress);
        let mut findings = self.say.findings(sheet).holding();
        if let (true, Index::Bound(ends)) = (self.only.is_empty(), manifest.index()) {
            progress.expects_files(ends.1.files);
        }
        progress.expects_bytes(total);
        progress.show();
        let options = self.read.plain_options(progress.hears());
        let report = verify.run(&manifest, &dir, &options, &mut |it| {
            findings.add(&it);
            if is_passed(&it) {
                progress.passed();
            }
        })?;
        progress.finish();
        let not_compared = report::not_compared(&manifest, &report);
        let not_compared = &not_compared;
        let limits = Limits { quick: self.quick, only: &self.only, not_compared, instead: None };
        let dir = Some((&*dir, is_named));
        self.say.end(findings, (&[&manifest], dir), &report, &limits)
    }

    /// Whether the manifest is the one that is meant. Its digest is believed here, and proven when all was read.
    fn is_expected(manifest: &Manifest, expected: &str) -> anyhow::Result<()> {
        let list = manifest.list().hash().to_hex().to_string();
        let facts = treewide_manifest::facts_of(manifest).map(|it| it.to_hex().to_string());
        let is = |found: &String| expected.eq_ignore_ascii_case(found);
        if is(&list) || facts.as_ref().is_some_and(is) {
            return Ok(());
        }
        let name = shown(manifest.list().path());
        let facts = facts.map_or("no index".into(), |it| format!("the digest {it}"));
        bail!(
            "{name}: has {facts}, its list has {list}, and neither is {expected}; nothing was compared"
        );
    }
}

/// Compare two manifests or directories
///
/// Two manifests are compared with each other, and no file of either tree is needed. All files of a directory are read. A file that differs
/// in two directories although its mtime is the same is SUSPECT: one of the copies may be damaged.
#[derive(Args)]
#[command(after_help = DIFF.short(), after_long_help = DIFF.long())]
pub(crate) struct DiffArgs {
    /// The old manifest or directory
    #[arg(value_name = "X.b3|DIR")]
    old: PathBuf,

    /// The new manifest or directory
    #[arg(value_name = "Y.b3|DIR")]
    new: PathBuf,

    #[command(flatten)]
    cover: CoverArgs,

    #[command(flatten)]
    say: SayArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl DiffArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        run(program, || self.compare(program))
    }

    /// Compares two directories: the first by a manifest that is gone after the run.
    fn trees(&self, program: Program) -> anyhow::Result<Outcome> {
        let (trees, rules) = ([self.old.clone(), self.new.clone()], self.cover.rules()?);
        let mut written = self.output.file().into_iter().chain(self.say.html.as_deref());
        written.try_for_each(|it| spare_below(it, &trees))?;
        let sheet = self.say.begin(program, &self.output, self.cover.files())?;
        let own = sheet.places();
        let progress = Rc::clone(&sheet.progress);
        progress.show();
        let (walks, covered) = (trees.map(|it| rules.walk(&it)), rules.clone());
        progress.count(move || walks.into_iter().flatten().flat_map(cover::files));
        let options = self.read.plain_options(progress.hears());
        let folder = tempfile::tempdir()
            .context("cannot make a folder for the manifest of the first directory")?;
        let list = folder.path().join(format!("old.{}", root::ENDING));
        let draft = Draft::begin(&list, true)?;
        let _ = signals::watch();
        signals::unfinished().extend(draft.temporaries());
        let mut findings = self.say.findings(sheet).holding();
        let clock = Box::new(Clock::without_sync());
        let made = Update::new().rules(covered).run(
            None,
            &self.old,
            draft,
            clock,
            &options,
            &mut |it| {
                if it.verdict.class().is_unknown() {
                    findings.add(&it);
                }
            },
        )?;
        made.draft.appear()?;
        let (old, verify) = (open(&list)?, own.into_iter().fold(Verify::new(), Verify::leave_out));
        let mut report = verify.run(&old, &self.new, &options, &mut |it| findings.add(&it))?;
        progress.finish();
        report.add_unknown(&made.report);
        let not_compared = report::not_compared(&old, &report);
        let limits =
            Limits { not_compared: &not_compared, instead: Some(&self.old), ..Limits::default() };
        self.say.end(findings, (&[&old], Some((&self.new, true))), &report, &limits)
    }

    fn compare(&self, program: Program) -> anyhow::Result<Outcome> {
        let is_directory = self.new.is_dir();
        if self.old.is_dir() {
            if is_directory {
                return self.trees(program);
            }
            let (old, new) = (quoted(&shown(&self.old)), quoted(&shown(&self.new)));
            let text = format!("the manifest comes first: treewide diff {new} {old}");
            return Err(wrong_value(text).into());
        }
        if self.cover.rules()? != Rules::default() {
            let text = "the rules of a manifest say what is compared; --exclude, --no-junk and --no-hidden are for two directories";
            return Err(wrong_value(text).into());
        }
        if is_directory {
            let (say, read, output) = (self.say.clone(), self.read.clone(), self.output.clone());
            let (quick, outboards, min, only, expect) = (false, None, 0, Vec::new(), None);
            let operands = Vec::new();
            let verify =
                VerifyArgs { operands, quick, outboards, min, only, expect, say, read, output };
            return verify.compare(program, &self.old, Some(&self.new), None);
        }
        // Each is read as a whole: at the same time.
        let (old, new) = std::thread::scope(|scope| {
            let new = scope.spawn(|| open(&self.new));
            (open(&self.old), new.join())
        });
        let old = old?;
        let new = new.map_err(|_| anyhow::anyhow!("reading the new manifest panicked"))??;
        let places = Places::new().reads_manifest(&self.old).reads_manifest(&self.new);
        let written: Vec<_> =
            self.output.file().into_iter().chain(self.say.html.as_deref()).collect();
        let places = written.iter().fold(places, |places, it| places.writes(it));
        places.check(None)?;
        // Files of a manifest are not read, and no less the user's.
        for manifest in [&old, &new].into_iter().filter(|_| !written.is_empty()) {
            if let Ok(dir) = root::find(manifest) {
                places.check(Some((manifest, &dir)))?;
            }
        }
        let inputs = [self.old.clone(), self.new.clone()];
        let sheet = self.say.begin(program, &self.output, &inputs)?;
        let progress = Rc::clone(&sheet.progress);
        let mut findings = self.say.findings(sheet);
        let each = &mut |it: treewide_manifest::Finding| findings.add(&it);
        let report = treewide_manifest::machine::diff(&old, &new, &Cancel::new(), each)?;
        progress.finish();
        let not_compared = report::not_in_both(&old, &new);
        let limits = Limits { not_compared: &not_compared, ..Limits::default() };
        self.say.end(findings, (&[&old, &new], None), &report, &limits)
    }
}
