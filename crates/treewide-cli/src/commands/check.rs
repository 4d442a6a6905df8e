//! `treewide check`: are the files still what a list says they are?
//!
//! The library decides what a line means and whether a file is as listed (`treewide_files::check`). A run that
//! verified nothing fails, whatever the reason.

mod hint;
mod json;

use self::hint::{Clues, is_absent};
use self::json::json;
use crate::args::color::ColorArgs;
use crate::args::input::{Input, task};
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
use crate::shell::progress::Progress;
use crate::shell::stdin::{Stdin, is_stdin};
use crate::shell::terminal::Form;
use crate::shell::tone::Tone;
use crate::shell::wording::count;
use anyhow::bail;
use clap::Args;
use std::path::{Path, PathBuf};
use treewide_files::check::{self, Check, ListedFiles, Malformed, Tally, Verdict};
use treewide_files::list::{self, Lines, MAX_LINE};
use treewide_files::name::{Listed, shown};
use treewide_files::{ErrorKind, Event, Item, Source};

/// The number of malformed lines of a list that are shown without --warn: enough to see what is
/// wrong, and not a screenful of them if the file is not a list.
const MALFORMED_SHOWN: u64 = 5;

/// A list of at most this many bytes is read twice, to know how many bytes there will be.
const READ_TWICE: u64 = 64 << 10;

pub(crate) const NOTES: Notes = Notes {
    exit: EXIT,
    ..Notes::new(&[
        ("treewide check SUMS", "are the files still the same?"),
        ("treewide check --quiet A.b3 B.b3", "report only the files that are not"),
        ("treewide sum -r . | ssh host 'cd copy && treewide check'", ""),
        ("treewide check --keyed SUMS < key", "a list made with --keyed"),
        ("treewide check --length 16 SUMS", "a list made with --length 16"),
    ])
};

/// Check files against lists of their BLAKE3 digests
///
/// A list is what `treewide sum` or b3sum wrote: with or without --tag, or with --json. Lines of other
/// tools are also read: `DIGEST FILE` with one blank or a tab, `DIGEST ?BLAKE3*FILE`, and
/// `BLAKE3 (FILE) = DIGEST` with the tag in any case and any blanks. A list may have CRLF line ends,
/// begin with a UTF-8 or UTF-16 byte-order mark, and hold empty lines and comments (`#`). File names are
/// relative to the current directory, not to the list.
///
/// A name is that name, byte for byte; blanks at its end belong to it. Where it could be another
/// file's as well, nothing is verified, and that is a failure. So is the name of a pipe, a socket or a
/// device such as /dev/zero, which are not read; a disk is.
///
/// Each listed file is reported as OK or FAILED, and a last line on standard error counts them. A
/// file is also FAILED if its digest is missing, damaged, of the wrong length or too short, if its
/// name is empty, or if a line has 16 hexadecimal digits or more and a name, and cannot be understood. So is a digest
/// without a name.
///
/// Any other line that is not a checksum line is reported with its number. It is a failure with --strict, or if it
/// has no line end, because the list may have been cut off there. A line of 16 MiB or more means the
/// file is not a list: `check` stops reading it and fails. It also fails if nothing was verified, or if a list
/// or a file ends before its length, or continues after it.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct CheckArgs {
    /// Lists to check
    ///
    /// When no file is given, or when - is given, read standard input.
    file: Vec<PathBuf>,

    #[command(flatten)]
    quiet: QuietArgs,

    /// Print nothing about files and lines; only the exit status says
    #[arg(long, help_heading = "Verdict")]
    status: bool,

    /// Skip listed files that do not exist
    ///
    /// At least one file must exist, because nothing verified is a failure. A missing file in a last line
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

    #[command(flatten)]
    read: ReadArgs,

    /// Write one JSON object a line: path, status, digest, expected, bytes, error
    ///
    /// `status` is "ok", "failed", "unreadable", "unverified" (there is no digest to verify the file by, or
    /// no name to look for) or "missing" (with --ignore-missing). `digest` is what was found and
    /// `expected` what was listed. With --quiet, lines for "ok" are left out.
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    color: ColorArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl CheckArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.check(program))
    }

    fn check(&self, program: Program) -> anyhow::Result<Outcome> {
        self.color.apply();
        let progress = self.progress.start(!self.quiet.is_on());
        let console = Console::new(program, &progress);
        let input = Input::new(&self.read, &self.mode, &progress)?;
        let paths = if self.file.is_empty() { vec!["-".into()] } else { self.file.clone() };
        let prints = match self.status || self.quiet.is_on() {
            true => Prints::OnlyFailures,
            false => Prints::Always,
        };
        let output = self.output.open(&paths, prints, &progress)?;
        let (named, length) = (paths.clone(), self.length);
        progress.show(move || total_len(&named, length));
        let check = self.rules();
        let (stdin, paths) = (&input.stdin, paths.into_iter());
        let lists = Lists { check, stdin, paths, progress: &progress, list: None };
        let mut report = Report {
            args: self,
            check,
            console: &console,
            stdin: &input.stdin,
            output,
            tally: Tally::default(),
            hidden: 0,
            total: Total::default(),
            clues: Clues::default(),
            again: Again::default(),
        };
        for event in input.run_without_streams(lists) {
            report.event(event)?;
        }
        let (total, clues, again) = (report.total, report.clues, report.again);
        report.output.finish()?;
        progress.finish();
        let outcome = total.outcome(self.strict);
        let success = outcome == Outcome::Success;
        if !self.status && !self.json {
            again.say(&console, "the problems again:");
        }
        if !(self.status || self.quiet.is_on() && success && total.lines.malformed == 0) {
            console.say(&total.summary());
        }
        if let Some(hint) = clues.hint(&total.lines, self.mode.others())
            && !self.status
        {
            console.say(&hint);
        }
        Ok(outcome)
    }

    fn rules(&self) -> Check {
        let check = Check::new().ignore_missing(self.ignore_missing);
        match self.length {
            Some(len) => check.digest_len(len),
            None => check,
        }
    }
}

/// What became of all lists.
#[derive(Default)]
struct Total {
    lines: Tally,
    /// Files that could not be read because they do not exist.
    absent: u64,
    /// Lists that could not be read, seem to be cut off, or by which nothing was verified.
    bad_lists: u64,
}

impl Total {
    fn add(&mut self, list: &Tally, is_bad: bool) {
        self.lines.ok += list.ok;
        self.lines.failed += list.failed;
        self.lines.unreadable += list.unreadable;
        self.lines.unverified += list.unverified;
        self.lines.missing += list.missing;
        self.lines.malformed += list.malformed;
        self.bad_lists += u64::from(is_bad);
    }

    /// As `verify` has it for the same event: a file that is gone differs, and one that cannot be read is undetermined.
    fn outcome(&self, strict: bool) -> Outcome {
        let lines = &self.lines;
        let undetermined = lines.unreadable - self.absent + lines.unverified + self.bad_lists;
        if undetermined > 0 || strict && lines.malformed > 0 {
            Outcome::CannotTell
        } else {
            Outcome::of(lines.failed + self.absent)
        }
    }

    /// Such as `4 files checked: 1 OK, 1 FAILED, 1 missing, 1 could not be read; 2 malformed lines; 1 list
    /// failed`.
    fn summary(&self) -> String {
        let lines = &self.lines;
        let mut text = format!("{} checked: {} OK", count(lines.checked(), "file"), lines.ok);
        if lines.failed > 0 {
            text += &format!(", {} FAILED", lines.failed);
        }
        if self.absent > 0 {
            text += &format!(", {} missing", self.absent);
        }
        if lines.unreadable > self.absent {
            text += &format!(", {} could not be read", lines.unreadable - self.absent);
        }
        if lines.unverified > 0 {
            text += &format!(", {} not verified", lines.unverified);
        }
        if lines.missing > 0 {
            text += &format!("; {} ignored", count(lines.missing, "missing file"));
        }
        if lines.malformed > 0 {
            text += &format!("; {}", count(lines.malformed, "malformed line"));
        }
        if self.bad_lists > 0 {
            text += &format!("; {} failed", count(self.bad_lists, "list"));
        }
        text
    }
}

/// What lists hold in addition to files to hash.
enum Note {
    /// Something in this list.
    In(PathBuf, check::Note),
    /// The end of a list, or why no more of it can be read.
    End(PathBuf, Result<(), ErrorKind>),
}

/// The files of one list after the other.
struct Lists<'a> {
    check: Check,
    stdin: &'a Stdin,
    paths: std::vec::IntoIter<PathBuf>,
    progress: &'a Progress,
    /// The list that is being read.
    list: Option<(PathBuf, ListedFiles)>,
}

impl Lists<'_> {
    /// Open the list at `path`, or standard input for `-`.
    fn open(&self, path: &Path) -> Result<ListedFiles, ErrorKind> {
        let lines = if is_stdin(path) {
            Lines::new(self.stdin.claim("a list")?, true)?
        } else {
            Lines::open(path).map_err(ErrorKind::open)?
        };
        Ok(self.check.source(lines))
    }
}

impl Source for Lists<'_> {
    type About = Vec<u8>;
    type Note = Note;

    fn next(&mut self) -> Option<Item<Vec<u8>, Note>> {
        loop {
            let Some((path, list)) = &mut self.list else {
                let Some(path) = self.paths.next() else {
                    self.progress.has_found_all();
                    return None;
                };
                match self.open(&path) {
                    Ok(list) => self.list = Some((path, list)),
                    Err(error) => return Some(Item::Note(Note::End(path, Err(error)))),
                }
                continue;
            };
            let list_path = &*path;
            let note = match list.next() {
                // Which of them the list means no one knows.
                Some(Item::File(file)) if is_stdin(&file.path) && is_there(&file.path) => {
                    let cause = "could be standard input or the file of this name; list it as ./-";
                    let (path, expected) = (file.path, Some(file.about));
                    let verdict = Verdict::Unverified(cause.into());
                    let note = check::Note::Settled { path, expected, verdict };
                    let list = list_path.clone();
                    return Some(Item::Note(Note::In(list, note)));
                }
                Some(Item::File(file)) => {
                    self.progress.found();
                    return Some(Item::File(task(file.path, file.extent, file.about)));
                }
                Some(Item::Note(check::Note::Unreadable(error))) => Err(error.into()),
                Some(Item::Note(note)) => {
                    return Some(Item::Note(Note::In(path.clone(), note)));
                }
                None => Ok(()),
            };
            let (path, _) = self.list.take()?;
            return Some(Item::Note(Note::End(path, note)));
        }
    }

    fn may_wait(&self) -> bool {
        match &self.list {
            Some((_, list)) => list.may_wait(),
            // What is not a regular file, standard input above all, may wait to be opened.
            None => self.paths.as_slice().first().is_some_and(|list| !list.is_file()),
        }
    }

    fn bytes(item: &Item<Vec<u8>, Note>) -> usize {
        match item {
            Item::File(file) => file.about.len(),
            Item::Note(Note::In(_, note)) => note.bytes(),
            Item::Note(Note::End(..)) => 0,
        }
    }
}

/// Writes the results.
struct Report<'a> {
    args: &'a CheckArgs,
    check: Check,
    console: &'a Console<'a>,
    stdin: &'a Stdin,
    output: Output<'a>,
    /// Of the list whose files are being reported.
    tally: Tally,
    /// Malformed lines of it that were not shown.
    hidden: u64,
    total: Total,
    clues: Clues,
    again: Again,
}

impl Report<'_> {
    fn event(&mut self, event: Event<Vec<u8>, Note>) -> anyhow::Result<()> {
        match event {
            Event::File(file, result) => {
                self.output.spare(&file.path)?;
                if is_stdin(&file.path) && result.is_ok() {
                    // A second reading would find nothing, and blame the list.
                    let _ = self.stdin.claim("an earlier `-`");
                }
                let verdict = self.check.verdict(result, &file.about);
                self.verdict(&file.path, &verdict, Some(&file.about))
            }
            Event::Note(Note::In(_, check::Note::Settled { path, expected, verdict })) => {
                self.output.spare(&path)?;
                self.verdict(&path, &verdict, expected.as_deref())
            }
            Event::Note(Note::In(list, check::Note::Malformed(line))) => {
                line.named.iter().try_for_each(|path| self.output.spare(path))?;
                self.malformed(&list, &line)
            }
            Event::Note(Note::In(list, check::Note::Unreadable(error))) => {
                self.end(&list, Err(error.into()))
            }
            Event::Note(Note::End(list, end)) => self.end(&list, end),
            Event::Pause => self.output.flush(),
            Event::Cancelled => bail!("cancelled before the end"),
        }
    }

    /// A line that cannot be used.
    fn malformed(&mut self, list: &Path, line: &Malformed) -> anyhow::Result<()> {
        self.tally.add_malformed(line);
        let is_shown = self.args.warn
            || line.is_cut
            || line.has_digest
            || self.tally.malformed <= MALFORMED_SHOWN;
        if !is_shown {
            self.hidden += 1;
        } else if !self.args.status {
            self.output.flush()?;
            self.console.say(&format!("{}:{}: {}", shown(list), line.number, line.cause));
        }
        Ok(())
    }

    /// Every file of a list was reported.
    fn end(&mut self, path: &Path, end: Result<(), ErrorKind>) -> anyhow::Result<()> {
        self.output.flush()?;
        let (tally, hidden) = (std::mem::take(&mut self.tally), std::mem::take(&mut self.hidden));
        let status = self.args.status;
        let mut is_bad = tally.is_cut;
        if end.is_ok() && !status && hidden > 0 {
            let more = count(hidden, "more malformed line");
            self.console.about(path, format_args!("{more}; --warn shows all"));
        }
        if let Err(cause) = end {
            self.console.about(path, cause);
            is_bad = true;
        } else if tally.checked() == 0 {
            if !status {
                self.console.about(
                    path,
                    if tally.missing > 0 {
                        "no file was verified: all that are listed are missing"
                    } else if tally.malformed > 0 {
                        "no file was verified: no line in it can be checked"
                    } else {
                        "no file was verified: there is no checksum line in it"
                    },
                );
            }
            is_bad = true;
        }
        self.total.add(&tally, is_bad);
        self.clues.end(path);
        Ok(())
    }

    /// Count the verdict on one listed file, and write its line.
    fn verdict(
        &mut self,
        path: &Path,
        verdict: &Verdict,
        expected: Option<&[u8]>,
    ) -> anyhow::Result<()> {
        self.tally.add_verdict(verdict);
        self.total.absent += u64::from(is_absent(verdict));
        self.clues.add(path, verdict);
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        if self.args.status || is_ok && self.args.quiet.is_on() {
            return Ok(());
        }
        if self.args.json {
            let line = json(path, verdict, expected);
            return self.output.record(Form::Json, |to| to.write_all(line.as_bytes()));
        }
        let (word, cause) = match verdict {
            Verdict::Ok { .. } => ((Tone::Good, "OK"), String::new()),
            Verdict::Failed { .. } => ((Tone::Bad, "FAILED"), String::new()),
            Verdict::Unreadable(cause) => ((Tone::Unknown, "FAILED"), format!(" ({cause})")),
            Verdict::Unverified(cause) => ((Tone::Unknown, "FAILED"), format!(" ({cause})")),
            Verdict::Missing => return Ok(()),
        };
        let name = format!("{}: ", Listed::new(path));
        match is_ok {
            true => self.again.line(),
            false => self.again.problem(|| format!("{name}{}{cause}", word.1)),
        }
        self.output.verdict(&name, word, &cause)
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The bytes that there are to hash, as far as the lengths of files say.
///
/// `None` if a list is standard input or a pipe, which can be read only once, and not here; or if it is so long that reading
/// it twice would cost time.
fn total_len(lists: &[PathBuf], length: Option<u64>) -> Option<u64> {
    let mut total = 0;
    for path in lists {
        if is_stdin(path) {
            return None;
        }
        let Ok(metadata) = path.metadata() else { continue };
        if !metadata.is_file() || metadata.len() > READ_TWICE {
            return None;
        }
        let mut list = Lines::open(path).ok()?;
        while let Ok(Some((_, line))) = list.next() {
            if let Ok(Some(entry)) = list::parse(line, length)
                && let Ok(path) = entry.find()
                && let Ok(metadata) = path.metadata()
                && metadata.is_file()
            {
                total += metadata.len();
            }
        }
    }
    Some(total)
}
