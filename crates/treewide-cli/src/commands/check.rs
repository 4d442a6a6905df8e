//! `treewide check`: are the files still what a list says they are?
//!
//! The libraries decide what a line means, whether a file is as listed, and the verdict on all (`treewide_digests`). A run
//! that verified nothing fails, whatever the reason.

mod hint;
mod operands;
pub(super) mod row;

use self::hint::Clues;
use crate::args::algorithm;
use crate::args::input::Input;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::commands::comparing::{self, EXIT};
use crate::commands::help::Notes;
use crate::commands::manifest::root;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::Prints;
use crate::shell::program::Program;
use crate::shell::sheet::{Sheet, Summary};
use crate::shell::stdin::{Stdin, is_stdin};
use crate::shell::tone::Tone;
use crate::shell::usage::wrong_value;
use crate::shell::wording::count;
use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_digests::check::{Check, Event, Finding, ListEnd, Operands, Status, StoreTally};
use treewide_digests::store::{KINDS, Kind, Store};
use treewide_digests::{Algorithm, Reading};
use treewide_files::check::Malformed;
use treewide_files::list::json::Object;
use treewide_files::list::{Lines, MAX_LINE};
use treewide_files::name::{quoted, shown, shown_text};
use treewide_manifest::machine::not_a_list;

/// The number of malformed lines of a list that are shown without --warn: enough to see what is
/// wrong, and not a screenful of them if the file is not a list.
const MALFORMED_SHOWN: u64 = 5;

pub(crate) const NOTES: Notes = Notes {
    exit: EXIT,
    ..Notes::new(&[
        ("treewide check SUMS", "are the files still the same?"),
        ("treewide check SHA256SUMS", "a list of another program"),
        ("treewide check a.iso.sha256", "a digest alone: a.iso next to the list"),
        ("treewide check ~/.ollama/models", "a store whose files are named by digests"),
        ("treewide check -r /srv", "every store below a directory"),
        ("treewide check --quiet A.b3 B.b3", "report only the files that are not"),
        ("treewide sum -r . | ssh host 'cd copy && treewide check'", ""),
        ("treewide check --keyed SUMS < key", "a list made with --keyed"),
        ("treewide check --length 16 SUMS", "a list made with --length 16"),
    ])
};

/// Check files against lists of their digests, and stores
///
/// A list is one of `treewide sum`, b3sum, sha256sum or many other programs; a digest alone in FILE.sha256 is one as well. File
/// names are relative to the current directory. Lines say which algorithm they are of, or --algorithm does, or the name of the
/// list, or the length of the digest. docs/check.md has all forms of lists, and the kinds of stores.
///
/// A directory is checked if it is a store whose files are named by digests, or has such a store in a usual place, as .git/lfs is.
/// Nothing is removed, moved or repaired.
///
/// Each listed file is reported as OK or FAILED, and a last line on standard error counts them. It is a failure if nothing
/// was verified, if a line with a digest cannot be read, or if a list or a file is cut off. Pipes, sockets and devices other
/// than disks are not read.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct CheckArgs {
    /// Lists, or directories with stores, to check
    ///
    /// When no file is given, or when - is given, read standard input.
    file: Vec<PathBuf>,

    /// Check every store below a directory
    #[arg(short, long, help_heading = "Stores")]
    recursive: bool,

    /// Check only stores of this kind
    ///
    /// A directory without one is a failure.
    #[arg(long, value_name = "KIND", help_heading = "Stores", value_parser = kinds())]
    store: Option<&'static Kind>,

    /// Print a line for each object, also if it is what its name says
    #[arg(short, long, help_heading = "Stores")]
    verbose: bool,

    /// Print nothing about files and lines; only the exit status says
    #[arg(long, help_heading = "Verdict")]
    status: bool,

    /// Skip listed files that do not exist, and objects of stores that are named and do not exist
    ///
    /// At least one must exist, because nothing verified is a failure. A missing file in a last line
    /// without a line end is also a failure: its name may be cut off.
    #[arg(long, help_heading = "Verdict")]
    ignore_missing: bool,

    /// Count what was skipped as a failure
    #[arg(long, help_heading = "Verdict")]
    strict: bool,

    /// Report every line that is not understood, not just the first five of a list
    #[arg(short, long, help_heading = "Verdict")]
    warn: bool,

    #[command(flatten)]
    mode: ModeArgs,

    /// The number of bytes that each digest has
    ///
    /// By default, each line's digest may have its own length, and a file whose digest has fewer than 32
    /// bytes fails: a list of very short digests would prove nothing.
    #[arg(short, long, value_name = "LEN", help_heading = "Digest")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..MAX_LINE / 2))]
    length: Option<u64>,

    /// The algorithm of lines that do not name one, such as sha256, sha512, md5, blake2b-256, sha3-256, xet
    ///
    /// By default, the name of the list says it (SHA256SUMS, a.iso.sha512), and otherwise the length of each digest. One of 64
    /// digits is that of a file if it is the file's BLAKE3 or SHA-256 digest. A line that names another algorithm is FAILED.
    #[arg(short, long, value_name = "NAME", help_heading = "Digest", hide_possible_values = true)]
    #[arg(value_parser = algorithm::parser(|it| *it != Algorithm::CRC32), conflicts_with_all = ["keyed", "derive_key", "length"])]
    algorithm: Option<Algorithm>,

    /// Refuse MD5, SHA-1 and CRC-32, by which two different files can be made that have the same digest
    #[arg(long, help_heading = "Verdict")]
    strong: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    output: OutputArgs,
}

fn kinds() -> impl TypedValueParser<Value = &'static Kind> {
    let names = KINDS.iter().map(|it| it.name);
    PossibleValuesParser::new(names)
        .try_map(|name| Kind::named(&name).ok_or("there is no such kind of store"))
}

impl CheckArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.check(program))
    }

    fn check(&self, program: Program) -> anyhow::Result<Outcome> {
        let paths = if self.file.is_empty() { vec!["-".into()] } else { self.file.clone() };
        let is_of_lists =
            self.mode.is_chosen() || self.length.is_some() || self.algorithm.is_some();
        if is_of_lists && let Some(directory) = paths.iter().find(|it| !is_stdin(it) && it.is_dir())
        {
            let what = "--keyed, --derive-key, --length and --algorithm are about lists";
            let directory = shown(directory);
            bail!(wrong_value(format!(
                "{what}, and {directory} is a directory; check it without them"
            )));
        }
        let part = |it: &PathBuf| Some((it.clone(), not_a_list(it)?));
        if let Some((path, cause)) = paths.iter().filter(|it| !is_stdin(it)).find_map(part) {
            bail!(wrong_value(format!("{}: {cause}", shown(&path))));
        }
        let prints = match self.status || self.report.quiet() {
            true => Prints::OnlyFailures,
            false => Prints::Always,
        };
        let sheet = self.report.begin(program, &self.output, &paths, prints)?;
        let progress = Rc::clone(&sheet.progress);
        let input = Input::new(&self.read, &self.mode, &progress)?;
        paths.iter().for_each(|list| say_if_cut(&sheet.console, list));
        let (named, check, first) = (paths.clone(), self.how(), paths[0].clone());
        progress.show();
        progress.count(move || operands::listed(named, check.reading));
        let open = || Ok(Lines::new(input.stdin.claim("a list")?, true)?);
        let operands = Operands::new(check, paths).stdin(open);
        let (malformed, hidden, clues) = (0, 0, Clues::default());
        let mut report =
            Report { args: self, sheet, stdin: &input.stdin, malformed, hidden, clues };
        let mut results = check.results(input.run_without_streams(operands));
        for event in &mut results {
            report.event(event)?;
        }
        let (total, Report { mut sheet, clues, .. }) = (results.total(), report);
        let outcome = match (total.is_certain(), total.differs()) {
            (false, _) => Outcome::CannotTell,
            (true, true) => Outcome::SomeFailed,
            (true, false) => Outcome::Success,
        };
        let all = total.counts();
        let mut counts: Vec<_> = Status::ALL.map(|it| (it.word(), all.of(it))).into();
        counts.push(("malformed", all.malformed));
        let text = if total.has_lists() { total.to_string() } else { String::new() };
        let more = |object: &mut Object| {
            object.raw("differs", total.differs()).raw("certain", total.is_certain());
        };
        if self.status {
            return sheet.finish().map(|()| outcome);
        }
        sheet.end(&Summary { more: &more, ..Summary::new(&first, outcome, text, counts) })?;
        if total.is_nothing_known() {
            sheet.console.say("nothing was verified: no object can be checked");
        }
        clues.hint(total, self.mode.others()).iter().for_each(|it| sheet.console.say(it));
        Ok(outcome)
    }

    fn how(&self) -> Check {
        Check {
            reading: Reading {
                algorithm: self.algorithm,
                strong: self.strong,
                digest_len: self.length,
                blake3_alone: self.mode.is_chosen(),
                b3sum: None,
            },
            ignore_missing: self.ignore_missing,
            strict: self.strict,
            kind: self.store,
            recursive: self.recursive,
        }
    }
}

/// The index of a manifest knows which lines there were.
fn say_if_cut(console: &Console, list: &Path) {
    let index = treewide_manifest::index_path(list);
    if index.is_file()
        && let Ok(manifest) = treewide_manifest::Manifest::open(list)
        && let treewide_manifest::Index::Ignored(cause) = manifest.index()
    {
        console.about(&index, format_args!("{cause}; files may be gone from {}", shown(list)));
    }
}

/// Writes the results.
struct Report<'a> {
    args: &'a CheckArgs,
    sheet: Sheet,
    stdin: &'a Stdin,
    /// Malformed lines of the list whose files are being reported.
    malformed: u64,
    /// Those of them that were not shown.
    hidden: u64,
    clues: Clues,
}

impl Report<'_> {
    fn event(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Finding(finding) => {
                // What was not read is not an input.
                if finding.expected.is_some() || finding.store.is_none() {
                    self.sheet.output().spare(&finding.path)?;
                }
                self.finding(&finding)
            }
            Event::Place(finding) => self.place(finding),
            Event::Malformed(list, line) => {
                line.named.iter().try_for_each(|path| self.sheet.output().spare(path))?;
                self.malformed(&list, &line)
            }
            Event::ListEnd(end) => self.end(&end),
            Event::Store(store) => self.store(&store),
            Event::StoreEnd(store) => self.end_store(&store),
            Event::Pause => self.sheet.flush(),
            Event::Cancelled => bail!("cancelled before the end"),
        }
    }

    /// A line that cannot be used.
    fn malformed(&mut self, list: &Path, line: &Malformed) -> anyhow::Result<()> {
        self.malformed += 1;
        let is_shown = self.args.warn || line.is_cut || self.malformed <= MALFORMED_SHOWN;
        if !is_shown {
            self.hidden += 1;
        } else if !self.args.status {
            self.sheet.flush()?;
            let cause = shown_text(&line.cause);
            self.sheet.console.say(&format!("{}:{}: {cause}", shown(list), line.number));
        }
        let cause = format!("line {}: {}", line.number, line.cause);
        self.of_list(list, Status::Unverified, cause)
    }

    /// A record about a list, if it fails. A message has named it.
    fn of_list(&mut self, list: &Path, status: Status, cause: String) -> anyhow::Result<()> {
        self.json(&Finding::unread(list.to_owned(), status, cause, None), "list")
    }

    /// Every file of a list was reported.
    fn end(&mut self, end: &ListEnd) -> anyhow::Result<()> {
        self.sheet.flush()?;
        self.malformed = 0;
        let hidden = std::mem::take(&mut self.hidden);
        let list = &end.list;
        if !self.args.status {
            if !self.args.report.quiet() {
                end.remark().iter().for_each(|it| self.sheet.console.about(list, it));
            }
            if end.end.is_ok() && hidden > 0 {
                let more = count(hidden, "more line");
                self.sheet
                    .console
                    .about(list, format_args!("{more} not understood; --warn shows all"));
            }
            end.nothing_verified().iter().for_each(|it| self.sheet.console.about(list, it));
        }
        if let Err(cause) = &end.end {
            self.sheet.console.about(list, cause);
            self.of_list(list, Status::Unreadable, cause.to_string())?;
        }
        if let Some(cause) = end.nothing_verified() {
            self.of_list(list, Status::Unverified, cause.to_string())?;
        }
        self.clues.end(list);
        Ok(())
    }

    /// The next objects are in this store.
    fn store(&mut self, store: &Store) -> anyhow::Result<()> {
        let mut folders = store.links().into_iter().map(|(_, to)| to).chain([store.root.clone()]);
        folders.try_for_each(|it| self.sheet.output().spare_below(it))
    }

    /// Every object of a store was reported.
    fn end_store(&mut self, store: &StoreTally) -> anyhow::Result<()> {
        self.sheet.flush()?;
        if self.args.status || self.args.report.quiet() && store.is_good() {
            return Ok(());
        }
        self.sheet.console.say(&store.to_string());
        if let Some(advice) = store.advice() {
            self.sheet.console.say(&advice);
        } else if store.missing() > 0 {
            let what = "--ignore-missing leaves out what was never fetched";
            self.sheet.console.about(&store.store.root, what);
        }
        Ok(())
    }

    /// A directory that was not checked. A message names it, and JSON has a line.
    fn place(&mut self, mut finding: Finding) -> anyhow::Result<()> {
        self.sheet.flush()?;
        let is_searched = finding.status == Status::Unverified && self.args.store.is_none();
        if let Some(cause) = finding.cause.as_mut().filter(|_| is_searched)
            && !finding.path.join(".git").exists()
        {
            let name = quoted(&shown(&finding.path));
            *cause += &match root::near(&finding.path).is_ok_and(|it| it.exists()) {
                true => format!("; it has a manifest: treewide verify {name}"),
                false => "; `treewide sum -r` makes a list of it".into(),
            };
            *cause += if self.args.recursive { "" } else { ", and -r looks for stores below it" };
        }
        self.sheet.console.about(&finding.path, finding.cause.as_deref().unwrap_or_default());
        self.json(&finding, "directory")
    }

    /// A row that only programs need.
    fn json(&mut self, finding: &Finding, kind: &str) -> anyhow::Result<()> {
        match self.args.report.json() && !self.args.status {
            true => row::write(&mut self.sheet, finding, kind, (Tone::Unknown, "")),
            false => Ok(()),
        }
    }

    /// Writes the row about a listed file, or about something in a store, if there is something to say.
    fn finding(&mut self, finding: &Finding) -> anyhow::Result<()> {
        let (args, is_of_list) = (self.args, finding.store.is_none());
        if is_of_list {
            self.clues.add(finding);
            if is_stdin(&finding.path) && finding.bytes.is_some() {
                // A second reading would find nothing, and blame the list.
                let _ = self.stdin.claim("an earlier `-`");
            }
        }
        let is_silent = match finding.status {
            Status::Ok if is_of_list => args.report.quiet(),
            Status::Ok => !args.verbose,
            Status::Skipped => args.report.quiet() && !args.strict,
            _ => false,
        };
        if args.status || is_silent {
            return Ok(());
        }
        let word = match finding.status {
            Status::Ok => (Tone::Good, "OK"),
            Status::Failed => (Tone::Bad, "FAILED"),
            Status::Unreadable | Status::Unverified => (Tone::Unknown, "FAILED"),
            Status::Missing if args.ignore_missing && !args.report.json() => return Ok(()),
            Status::Missing => (Tone::Bad, "MISSING"),
            Status::Skipped if args.strict => (Tone::Unknown, "skipped"),
            Status::Skipped => (Tone::Moved, "skipped"),
        };
        row::write(&mut self.sheet, finding, if is_of_list { "file" } else { "object" }, word)
    }
}
