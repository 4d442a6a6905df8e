//! `treewide check`: are the files still what a list says they are?
//!
//! The libraries decide what a line means, whether a file is as listed, and the verdict on all (`treewide_digests`). A run
//! that verified nothing fails, whatever the reason.

mod hint;
pub(super) mod json;
mod operands;

use self::hint::Clues;
use self::json::json;
use self::operands::{Counted, total_len};
use crate::args::algorithm;
use crate::args::color::ColorArgs;
use crate::args::input::Input;
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::progress::ProgressArgs;
use crate::args::quiet::QuietArgs;
use crate::args::read::ReadArgs;
use crate::commands::comparing::{self, EXIT};
use crate::commands::help::Notes;
use crate::shell::again::Again;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::program::Program;
use crate::shell::stdin::{Stdin, is_stdin};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::usage::wrong_value;
use crate::shell::wording::count;
use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use treewide_digests::check::{Check, Event, Finding, ListEnd, Operands, Status, StoreTally};
use treewide_digests::store::{KINDS, Kind, Store};
use treewide_digests::{Algorithm, Reading};
use treewide_files::check::Malformed;
use treewide_files::list::{Lines, MAX_LINE};
use treewide_files::name::{Listed, shown, shown_text};

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

    #[command(flatten)]
    quiet: QuietArgs,

    /// Print nothing about files and lines; only the exit status says
    #[arg(long, help_heading = "Verdict")]
    status: bool,

    /// Skip listed files that do not exist, and objects of stores that are named and do not exist
    ///
    /// At least one must exist, because nothing verified is a failure. A missing file in a last line
    /// without a line end is also a failure: its name may be cut off.
    #[arg(long, help_heading = "Verdict")]
    ignore_missing: bool,

    /// Count malformed lines as failures
    #[arg(long, help_heading = "Verdict")]
    strict: bool,

    /// Report every malformed line, not just the first five of a list
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

    /// Write one JSON object a line: path, status, digest, expected, bytes, error, algorithm, by, expected_bytes
    ///
    /// `status` is "ok", "failed", "unreadable", "unverified" (there is no digest to verify the file by, or
    /// no name to look for) or "missing" (with --ignore-missing, and in stores). `digest` is what was found and
    /// `expected` what was listed. `algorithm` is null if none is known, and `by` says what named it: "tag", "option",
    /// "list-name", "length" or "store". Lines about objects have `store`, the kind of store, and may have the status "skipped",
    /// where `error` says why. Directories that are not stores, lists by which nothing was verified, and lists with a
    /// line that makes the check fail are "unverified"; lists that cannot be read are "unreadable". With --quiet, lines for "ok" are left out.
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    color: ColorArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
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
        self.color.apply();
        let progress = self.progress.start(!self.quiet.is_on());
        let console = Console::new(program, &progress);
        let paths = if self.file.is_empty() { vec!["-".into()] } else { self.file.clone() };
        let is_of_lists =
            self.mode.is_chosen() || self.length.is_some() || self.algorithm.is_some();
        if is_of_lists && let Some(directory) = paths.iter().find(|it| it.is_dir()) {
            let what = "--keyed, --derive-key, --length and --algorithm are about lists";
            let directory = shown(directory);
            bail!(wrong_value(format!(
                "{what}, and {directory} is a directory; check it without them"
            )));
        }
        let input = Input::new(&self.read, &self.mode, &progress)?;
        let prints = match self.status || self.quiet.is_on() {
            true => Prints::OnlyFailures,
            false => Prints::Always,
        };
        let output = self.output.open(&paths, prints, &progress)?;
        paths.iter().for_each(|list| say_if_cut(&console, list));
        let (named, length) = (paths.clone(), self.length);
        progress.show(move || total_len(&named, length));
        let check = self.how();
        let open = || Ok(Lines::new(input.stdin.claim("a list")?, true)?);
        let operands = Counted(Operands::new(check, paths).stdin(open), &progress);
        let mut report = Report {
            args: self,
            console: &console,
            stdin: &input.stdin,
            output,
            malformed: 0,
            hidden: 0,
            clues: Clues::default(),
            again: Again::default(),
        };
        let mut results = check.results(input.run_without_streams(operands));
        for event in &mut results {
            report.event(event)?;
        }
        let (total, clues, again) = (results.total(), report.clues, report.again);
        report.output.finish()?;
        progress.finish();
        if !self.status && !self.json {
            again.say(&console, "the problems again:");
        }
        let is_fine = total.is_good() && total.lines.malformed == 0;
        let is_silent = self.status || self.quiet.is_on() && is_fine;
        if total.has_lists() && !is_silent {
            console.say(&total.to_string());
        }
        if total.is_nothing_known() && !self.status {
            console.say("nothing was verified: no object can be checked");
        }
        if let Some(hint) = clues.hint(total, self.mode.others())
            && !self.status
        {
            console.say(&hint);
        }
        Ok(match (total.is_certain(), total.differs()) {
            (false, _) => Outcome::CannotTell,
            (true, true) => Outcome::SomeFailed,
            (true, false) => Outcome::Success,
        })
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
fn say_if_cut(console: &Console<'_>, list: &Path) {
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
    console: &'a Console<'a>,
    stdin: &'a Stdin,
    output: Output<'a>,
    /// Malformed lines of the list whose files are being reported.
    malformed: u64,
    /// Those of them that were not shown.
    hidden: u64,
    clues: Clues,
    again: Again,
}

impl Report<'_> {
    fn event(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Finding(finding) => {
                // What was not read is not an input.
                if finding.expected.is_some() || finding.store.is_none() {
                    self.output.spare(&finding.path)?;
                }
                self.finding(finding)
            }
            Event::Place(finding) => self.place(finding),
            Event::Malformed(list, line) => {
                line.named.iter().try_for_each(|path| self.output.spare(path))?;
                self.malformed(&list, &line)
            }
            Event::ListEnd(end) => self.end(&end),
            Event::Store(store) => self.store(&store),
            Event::StoreEnd(store) => self.end_store(&store),
            Event::Pause => self.output.flush(),
            Event::Cancelled => bail!("cancelled before the end"),
        }
    }

    /// A line that cannot be used.
    fn malformed(&mut self, list: &Path, line: &Malformed) -> anyhow::Result<()> {
        self.malformed += u64::from(!line.has_digest);
        let is_shown =
            self.args.warn || line.is_cut || line.has_digest || self.malformed <= MALFORMED_SHOWN;
        if !is_shown {
            self.hidden += 1;
        } else if !self.args.status {
            self.output.flush()?;
            let cause = shown_text(&line.cause);
            self.console.say(&format!("{}:{}: {cause}", shown(list), line.number));
        }
        match line.has_digest || line.is_cut || self.args.strict {
            true => self.of_list(
                list,
                Status::Unverified,
                format!("line {}: {}", line.number, line.cause),
            ),
            false => Ok(()),
        }
    }

    /// A record about a list, if it fails. A message has named it.
    fn of_list(&mut self, list: &Path, status: Status, cause: String) -> anyhow::Result<()> {
        match self.args.json && !self.args.status {
            true => self.json(&Finding::unread(list.to_owned(), status, cause, None)),
            false => Ok(()),
        }
    }

    /// Every file of a list was reported.
    fn end(&mut self, end: &ListEnd) -> anyhow::Result<()> {
        self.output.flush()?;
        self.malformed = 0;
        let hidden = std::mem::take(&mut self.hidden);
        let list = &end.list;
        if !self.args.status {
            if !self.args.quiet.is_on() {
                end.remarks().iter().for_each(|it| self.console.about(list, it));
            }
            if end.end.is_ok() && hidden > 0 {
                let more = count(hidden, "more malformed line");
                self.console.about(list, format_args!("{more}; --warn shows all"));
            }
            end.nothing_verified().iter().for_each(|it| self.console.about(list, it));
        }
        if let Err(cause) = &end.end {
            self.console.about(list, cause);
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
        folders.try_for_each(|it| self.output.spare_below(it))
    }

    /// Every object of a store was reported.
    fn end_store(&mut self, store: &StoreTally) -> anyhow::Result<()> {
        self.output.flush()?;
        if self.args.status || self.args.quiet.is_on() && store.is_good() {
            return Ok(());
        }
        self.console.say(&store.to_string());
        if let Some(advice) = store.advice() {
            self.console.say(&advice);
        } else if store.missing() > 0 {
            let what = "--ignore-missing leaves out what was never fetched";
            self.console.about(&store.store.root, what);
        }
        Ok(())
    }

    /// A directory that was not checked. A message names it, and JSON has a line.
    fn place(&mut self, mut finding: Finding) -> anyhow::Result<()> {
        self.output.flush()?;
        let is_searched = finding.status == Status::Unverified && self.args.store.is_none();
        if let Some(cause) = finding.cause.as_mut().filter(|_| is_searched)
            && !finding.path.join(".git").exists()
        {
            *cause += "; `treewide sum -r` makes a list of it";
            *cause += if self.args.recursive { "" } else { ", and -r looks for stores below it" };
        }
        self.console.about(&finding.path, finding.cause.as_deref().unwrap_or_default());
        match self.args.json && !self.args.status {
            true => self.json(&finding),
            false => Ok(()),
        }
    }

    fn json(&mut self, finding: &Finding) -> anyhow::Result<()> {
        let line = json(finding);
        self.output.record(Form::Json, |to| to.write_all(line.as_bytes()))
    }

    /// Writes the line about a listed file, or about something in a store, if there is something to say.
    fn finding(&mut self, finding: Finding) -> anyhow::Result<()> {
        let (args, is_of_list) = (self.args, finding.store.is_none());
        if is_of_list {
            self.clues.add(&finding);
            if is_stdin(&finding.path) && finding.bytes.is_some() {
                // A second reading would find nothing, and blame the list.
                let _ = self.stdin.claim("an earlier `-`");
            }
        }
        let is_silent = match finding.status {
            Status::Ok if is_of_list => args.quiet.is_on(),
            Status::Ok => !args.verbose,
            Status::Skipped => args.quiet.is_on() && !args.strict,
            _ => false,
        };
        if args.status || is_silent {
            return Ok(());
        }
        if args.json {
            return self.json(&finding);
        }
        let word = match finding.status {
            Status::Ok => (Tone::Good, "OK"),
            Status::Failed => (Tone::Bad, "FAILED"),
            Status::Unreadable | Status::Unverified => (Tone::Unknown, "FAILED"),
            Status::Missing if args.ignore_missing => return Ok(()),
            Status::Missing => (Tone::Bad, "MISSING"),
            Status::Skipped => (Tone::Unknown, "skipped"),
        };
        let is_fine = match finding.status {
            Status::Ok => true,
            Status::Skipped => !args.strict,
            _ => false,
        };
        // Causes quote lists, and names that are in stores. What is known of a listed file that is OK was in the list.
        let cause = finding.cause.filter(|_| !is_of_list || finding.status != Status::Ok);
        let cause = cause.map_or_else(String::new, |it| format!(" ({})", shown_text(&it)));
        let name = format!("{}: ", Listed::new(&finding.path));
        match is_fine {
            true => self.again.line(),
            false => self.again.problem(|| format!("{name}{}{cause}", word.1)),
        }
        self.output.verdict(&name, word, &cause)
    }
}
