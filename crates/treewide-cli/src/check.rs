//! `treewide check`: are the files still what a list says they are?
//!
//! The verdict errs on the side of failure. A run that verified nothing fails, whatever the
//! reason; a name that could mean another file is not looked for; a digest too short to be
//! trusted has to be asked for; a file that is listed without a digest to verify it by fails; and so
//! does a list that seems to have lost its end.

mod verdict;

use self::verdict::{Verdict, json};
use crate::console::{Console, count};
use crate::input::{Input, ReadArgs, is_stdin};
use crate::mode::ModeArgs;
use crate::output::{Output, OutputArgs};
use crate::pipeline::{Hashed, Item, Job, Task};
use crate::progress::ProgressArgs;
use crate::{Outcome, pipeline};
use clap::Args;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use treewide_files::ErrorKind;
use treewide_files::digest::{self, Extent};
use treewide_files::list::{self, Entry, Fault, Lines, MAX_LINE};
use treewide_files::name::{self, Listed, shown};

/// So many malformed lines of a list are shown unless --warn is given: enough to see what is
/// wrong, and not a screenful of them if the list is no list.
const MALFORMED_SHOWN: u64 = 5;

/// What is said where a list ends within a line.
const CUT_OFF: &str = "the list may be cut off here: no line end";

const EXAMPLES: &str = "\
Examples:
  treewide check SUMS                     are the files still the same?
  treewide check --quiet A.b3 B.b3        only tell of those that are not
  treewide sum -r . | ssh host 'cd copy && treewide check'
  treewide check --keyed SUMS < key       a list made with --keyed
  treewide check --length 16 SUMS         a list made with --length 16

Exit status: 0 if every listed file is as listed, 1 if one is not or could not be verified,
a list is cut off, or nothing was verified at all, 2 for bad usage.";

/// Check files against lists of their BLAKE3 digests
///
/// A list is what `treewide sum` or b3sum wrote: with or without --tag, or with --json. It may
/// have CRLF line ends, begin with a UTF-8 or UTF-16 byte-order mark, and hold empty lines and
/// comments (`#`). File names are relative to the current directory, not to the list.
///
/// Blanks at the end of a `DIGEST  FILE` line belong to the name if there is such a file;
/// otherwise the name is taken without them.
///
/// Each listed file is reported as OK or FAILED, and a last line on standard error counts them. A
/// file whose digest is missing, damaged, of the wrong length or too short is FAILED, too, and so is
/// one whose name is empty or could be another's.
///
/// A line that is not a checksum line is reported with its number. It is a failure with --strict,
/// and if the list may have been cut off there: if it has no line end. A list with a line of 16 MiB
/// or more is none, and not read further. That is a failure, and so is nothing verified.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Lists to check
    ///
    /// When no file is given, or when - is given, read standard input.
    file: Vec<PathBuf>,

    /// Do not print OK for each file that is; be silent if all are
    #[arg(short, long, help_heading = "Verdict")]
    quiet: bool,

    /// Print nothing about the files and lines: the exit status tells
    #[arg(long, help_heading = "Verdict")]
    status: bool,

    /// Pass over listed files that do not exist
    ///
    /// Some file has to exist, though: nothing verified is a failure. So is a file that is missing where the list
    /// ends within the line, as its name may be cut off.
    #[arg(long, help_heading = "Verdict")]
    ignore_missing: bool,

    /// Let malformed lines count as failures
    #[arg(long, help_heading = "Verdict")]
    strict: bool,

    /// Report every malformed line, not just the first five of a list
    #[arg(short, long, help_heading = "Verdict")]
    warn: bool,

    #[command(flatten)]
    mode: ModeArgs,

    /// The number of bytes that each digest has
    ///
    /// By default, each line's own digest tells, and a file with one under 32 bytes fails: a list
    /// of very short ones would prove nothing.
    #[arg(short, long, value_name = "LEN", help_heading = "Digest")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..MAX_LINE / 2))]
    length: Option<u64>,

    /// The output byte offset that digests start at, as given when the list was made
    #[arg(long, default_value_t = 0, value_name = "SEEK", help_heading = "Digest")]
    seek: u64,

    #[command(flatten)]
    read: ReadArgs,

    /// Write one JSON object a line: path, status, digest, expected, bytes, error
    ///
    /// `status` is "ok", "failed", "unreadable", "unverified" (there is no digest to verify it by, or
    /// no name to look for) or "missing" (with --ignore-missing). `digest` is what was found and
    /// `expected` what was listed. With --quiet, lines for "ok" are left out.
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl CheckArgs {
    pub(crate) fn run(&self, program: &'static str) -> anyhow::Result<Outcome> {
        let progress = self.progress.start(true);
        let console = Console::new(program, &progress);
        let mut input = Input::new(&self.read, &progress);
        let mode = self.mode.mode(&mut input)?;
        let lists = if self.file.is_empty() { vec!["-".into()] } else { self.file.clone() };
        let output = self.output.open(&lists, &progress)?;
        if progress.is_wanted() {
            let (lists, length) = (lists.clone(), self.length);
            progress.count_ahead(move || total_len(&lists, length));
        }
        let mut run = Run {
            args: self,
            console: &console,
            output,
            lists: lists.into_iter(),
            list: None,
            tally: Tally::default(),
            is_cut: false,
            hidden: 0,
            digest_len: 0,
            total: Tally::default(),
        };
        pipeline::run(&mut run, &mut input, &mode, &progress)?;
        let total = run.total;
        run.output.finish()?;
        progress.finish();
        let success = total.is_success(self.strict);
        if !(self.status || self.quiet && success && total.malformed == 0) {
            console.say(&total.summary());
        }
        Ok(if success { Outcome::Success } else { Outcome::SomeFailed })
    }
}

/// What became of the lines of a list, or of all lists.
#[derive(Default)]
struct Tally {
    ok: u64,
    failed: u64,
    unreadable: u64,
    /// Listed without a digest to verify them by, or a name to look for.
    unverified: u64,
    missing: u64,
    malformed: u64,
    /// Lists that could not be read, seem to be cut off, or in which nothing was verified.
    bad_lists: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.unreadable += other.unreadable;
        self.unverified += other.unverified;
        self.missing += other.missing;
        self.malformed += other.malformed;
        self.bad_lists += other.bad_lists;
    }

    fn checked(&self) -> u64 {
        self.ok + self.failed + self.unreadable + self.unverified
    }

    fn is_success(&self, strict: bool) -> bool {
        let failures = self.failed + self.unreadable + self.unverified + self.bad_lists;
        self.ok > 0 && failures == 0 && !(strict && self.malformed > 0)
    }

    /// Such as `3 files checked: 1 OK, 1 FAILED, 1 could not be read; 2 malformed lines; 1 list
    /// failed`.
    fn summary(&self) -> String {
        let mut text = format!("{} checked: {} OK", count(self.checked(), "file"), self.ok);
        if self.failed > 0 {
            text += &format!(", {} FAILED", self.failed);
        }
        if self.unreadable > 0 {
            text += &format!(", {} could not be read", self.unreadable);
        }
        if self.unverified > 0 {
            text += &format!(", {} not verified", self.unverified);
        }
        if self.missing > 0 {
            text += &format!("; {} ignored", count(self.missing, "missing file"));
        }
        if self.malformed > 0 {
            text += &format!("; {}", count(self.malformed, "malformed line"));
        }
        if self.bad_lists > 0 {
            text += &format!("; {} failed", count(self.bad_lists, "list"));
        }
        text
    }
}

/// What a run needs at hand.
struct Run<'a> {
    args: &'a CheckArgs,
    console: &'a Console<'a>,
    output: Output<'a>,
    lists: std::vec::IntoIter<PathBuf>,
    /// The list that is being read.
    list: Option<(PathBuf, Lines)>,
    /// Of the list whose files are being reported.
    tally: Tally,
    /// Whether that list seems to be cut off.
    is_cut: bool,
    /// Malformed lines of it that were not shown.
    hidden: u64,
    /// Bytes of the digest in the line before.
    digest_len: usize,
    /// Of the lists before it.
    total: Tally,
}

/// What a list tells besides files to check.
enum Note {
    /// A listed file that is not looked for, and the digest that is listed with it, if any.
    NoFile(PathBuf, Verdict, Option<Vec<u8>>),
    Malformed {
        list: PathBuf,
        /// The file that it names all the same.
        named: Option<PathBuf>,
        number: u64,
        cause: String,
        /// Whether the list may have been cut off there.
        is_cut: bool,
    },
    /// The end of a list, or why there is no more of it.
    End(PathBuf, Result<(), ErrorKind>),
}

impl Run<'_> {
    /// Begin with a list, or say why that cannot be.
    fn open(&mut self, path: PathBuf, input: &mut Input) -> Option<Note> {
        let claimed = if is_stdin(&path) { input.claim_stdin("a list") } else { Ok(()) };
        match claimed.and_then(|()| Ok(open(&path)?)) {
            Ok(list) => {
                self.list = Some((path, list));
                self.digest_len = 0;
                None
            }
            Err(error) => Some(Note::End(path, Err(error))),
        }
    }

    /// What the next line of the list says; `None` if nothing.
    fn line(&mut self, path: &Path, list: &mut Lines) -> Option<Item<Vec<u8>, Note>> {
        let (number, line) = match list.next() {
            Ok(Some(next)) => next,
            Ok(None) => return Some(Item::Note(Note::End(path.into(), Ok(())))),
            Err(error) => return Some(Item::Note(Note::End(path.into(), Err(error.into())))),
        };
        Some(match list::parse(line, self.args.length) {
            Ok(None) => return None,
            // Half of a digest is a digest where it ends the line.
            Ok(Some(entry)) if list.is_endless() && entry.digest.len() < self.digest_len => {
                let (len, before) = (entry.digest.len(), self.digest_len);
                let cause = format!("digest of {len} bytes after one of {before}; {CUT_OFF}");
                let named = Some(shown_path(&entry.name));
                Item::Note(Note::Malformed {
                    list: path.into(),
                    named,
                    number,
                    cause,
                    is_cut: true,
                })
            }
            Ok(Some(entry)) => {
                self.digest_len = entry.digest.len();
                self.task(entry, list.is_endless())
            }
            Err(Fault::Digest { name, digest, cause }) => {
                Item::Note(Note::NoFile(shown_path(&name), Verdict::Unverified(cause), digest))
            }
            Err(Fault::Line(cause)) => {
                // What is lost may have been the name of a file, and the names of more.
                let is_cut = list.is_endless();
                let cause = if is_cut { format!("{cause}; {CUT_OFF}") } else { cause };
                let (list, named) = (path.into(), None);
                Item::Note(Note::Malformed { list, named, number, cause, is_cut })
            }
        })
    }

    fn task(&self, entry: Entry, is_endless: bool) -> Item<Vec<u8>, Note> {
        let extent = Extent::new(self.args.seek, entry.digest.len() as u64);
        match entry
            .find()
            .map_err(String::from)
            .and_then(|path| Ok((path, extent.map_err(|error| format!("--{error}"))?)))
        {
            // Half of a name is a name, of a file that is missing as a rule.
            Ok((path, _)) if is_endless && self.args.ignore_missing && is_missing(&path) => {
                let verdict = Verdict::Unreadable(format!("no such file; {CUT_OFF}"));
                Item::Note(Note::NoFile(path, verdict, Some(entry.digest)))
            }
            Ok((path, extent)) => {
                Item::File(Task { path, is_regular: false, extent, about: entry.digest })
            }
            Err(cause) => {
                let verdict = Verdict::Unverified(cause);
                Item::Note(Note::NoFile(shown_path(&entry.name), verdict, Some(entry.digest)))
            }
        }
    }

    /// A line that is none.
    fn malformed(
        &mut self,
        list: &Path,
        number: u64,
        cause: &str,
        is_cut: bool,
    ) -> anyhow::Result<()> {
        self.is_cut |= is_cut;
        self.tally.malformed += 1;
        let is_shown = self.args.warn || is_cut || self.tally.malformed <= MALFORMED_SHOWN;
        if !is_shown {
            self.hidden += 1;
        } else if !self.args.status {
            self.output.flush()?;
            self.console.say(&format!("{}:{number}: {cause}", shown(list)));
        }
        Ok(())
    }

    /// Every file of a list was reported.
    fn end(&mut self, path: &Path, end: Result<(), ErrorKind>) -> anyhow::Result<()> {
        self.output.flush()?;
        let mut tally = std::mem::take(&mut self.tally);
        tally.bad_lists = u64::from(std::mem::take(&mut self.is_cut));
        let (status, hidden) = (self.args.status, std::mem::take(&mut self.hidden));
        if end.is_ok() && !status && hidden > 0 {
            let more = count(hidden, "more malformed line");
            self.console.about(path, format_args!("{more}; --warn shows all"));
        }
        if let Err(cause) = end {
            self.console.about(path, cause);
            tally.bad_lists = 1;
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
            tally.bad_lists = 1;
        }
        self.total.add(&tally);
        Ok(())
    }

    /// Count the verdict on one listed file, and write its line.
    fn report(
        &mut self,
        path: &Path,
        verdict: &Verdict,
        expected: Option<&[u8]>,
    ) -> anyhow::Result<()> {
        match verdict {
            Verdict::Ok { .. } => self.tally.ok += 1,
            Verdict::Failed { .. } => self.tally.failed += 1,
            Verdict::Unreadable(_) => self.tally.unreadable += 1,
            Verdict::Unverified(_) => self.tally.unverified += 1,
            Verdict::Missing => self.tally.missing += 1,
        }
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        if self.args.status || is_ok && self.args.quiet {
            return Ok(());
        }
        if self.args.json {
            let line = json(path, verdict, expected, self.args.read.tells_growth());
            return self.output.record(|to| to.write_all(line.as_bytes()));
        }
        let text = match verdict {
            Verdict::Ok { .. } => "OK".into(),
            Verdict::Failed { .. } => "FAILED".into(),
            Verdict::Unreadable(cause) | Verdict::Unverified(cause) => format!("FAILED ({cause})"),
            Verdict::Missing => return Ok(()),
        };
        self.output.record(|to| writeln!(to, "{}: {text}", Listed::new(path)))
    }

    fn verdict(&self, result: Result<Hashed, ErrorKind>, expected: &[u8]) -> Verdict {
        match result {
            Ok(Hashed { digest, bytes, grown_to }) => {
                let found = digest.into_bytes();
                if digest::equal(&found, expected) {
                    Verdict::Ok { bytes, grown_to }
                } else {
                    Verdict::Failed { bytes, grown_to, found }
                }
            }
            Err(error) => {
                let is_missing = error.io_kind() == Some(io::ErrorKind::NotFound);
                if is_missing && self.args.ignore_missing {
                    Verdict::Missing
                } else {
                    Verdict::Unreadable(error.to_string())
                }
            }
        }
    }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Job for Run<'_> {
    /// The digest that is listed.
    type About = Vec<u8>;
    type Note = Note;

    fn next(&mut self, input: &mut Input) -> Option<Item<Vec<u8>, Note>> {
        loop {
            let Some((path, mut list)) = self.list.take() else {
                let path = self.lists.next()?;
                match self.open(path, input) {
                    Some(note) => return Some(Item::Note(note)),
                    None => continue,
                }
            };
            let item = self.line(&path, &mut list);
            if !matches!(item, Some(Item::Note(Note::End(..)))) {
                self.list = Some((path, list));
            }
            if item.is_some() {
                return item;
            }
        }
    }

    fn bytes(item: &Item<Vec<u8>, Note>) -> usize {
        match item {
            Item::File(task) => task.about.len(),
            Item::Note(Note::NoFile(path, verdict, digest)) => {
                let cause = match verdict {
                    Verdict::Unreadable(cause) | Verdict::Unverified(cause) => cause.len(),
                    _ => 0,
                };
                path.as_os_str().len() + cause + digest.as_ref().map_or(0, Vec::len)
            }
            Item::Note(Note::Malformed { cause, .. }) => cause.len(),
            Item::Note(Note::End(..)) => 0,
        }
    }

    fn may_wait(&self) -> bool {
        match &self.list {
            Some((_, list)) => list.may_wait(),
            // What is not a regular file, standard input above all, is open to anything.
            None => self.lists.as_slice().first().is_some_and(|list| !list.is_file()),
        }
    }

    fn file(
        &mut self,
        file: Task<Vec<u8>>,
        result: Result<Hashed, ErrorKind>,
        input: &mut Input,
    ) -> anyhow::Result<()> {
        self.output.spare(&file.path)?;
        if is_stdin(&file.path) && result.is_ok() {
            // A second reading would find nothing, and blame the list.
            let _ = input.claim_stdin("an earlier `-`");
        }
        if let Some(growth) = result.as_ref().ok().and_then(Hashed::growth)
            && !self.args.status
        {
            self.output.flush()?;
            self.console.about(&file.path, growth);
        }
        let verdict = self.verdict(result, &file.about);
        self.report(&file.path, &verdict, Some(&file.about))
    }

    fn note(&mut self, note: Note) -> anyhow::Result<()> {
        match note {
            Note::NoFile(path, verdict, expected) => {
                self.output.spare(&path)?;
                self.report(&path, &verdict, expected.as_deref())
            }
            Note::Malformed { list, named, number, cause, is_cut } => {
                named.iter().try_for_each(|path| self.output.spare(path))?;
                self.malformed(&list, number, &cause, is_cut)
            }
            Note::End(path, end) => self.end(&path, end),
        }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.output.flush()
    }
}

/// Open the list at `path`, or standard input for `-`.
fn open(path: &Path) -> io::Result<Lines> {
    if is_stdin(path) { Lines::new(io::stdin(), true) } else { Lines::open(path) }
}

/// A name as a path, only for showing it: it need not be the right one.
fn shown_path(name: &[u8]) -> PathBuf {
    name::os_path(name).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned().into())
}

/// How many bytes there are to hash, as far as file lengths tell.
///
/// `None` if a list is standard input or a pipe, which can be read only once, and not here.
fn total_len(lists: &[PathBuf], length: Option<u64>) -> Option<u64> {
    let mut total = 0;
    for path in lists {
        if is_stdin(path) {
            return None;
        }
        let Ok(metadata) = path.metadata() else { continue };
        if !metadata.is_file() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_its_turn_counts_its_bytes() {
        let no_file = |verdict| Note::NoFile("1234".into(), verdict, Some(vec![0; 32]));
        let malformed = |cause| Note::Malformed {
            list: "list".into(),
            named: None,
            number: 1,
            cause,
            is_cut: false,
        };
        for (note, bytes) in [
            (no_file(Verdict::Unverified("12345678".into())), 44),
            (no_file(Verdict::Unreadable("12345678".into())), 44),
            (no_file(Verdict::Missing), 36),
            (malformed("12345678".into()), 8),
            (Note::End("list".into(), Ok(())), 0),
        ] {
            assert_eq!(Run::bytes(&Item::Note(note)), bytes);
        }
        let extent = Extent::HASH;
        let about = vec![0; 32];
        let task = Task { path: "1234".into(), is_regular: false, extent, about };
        assert_eq!(Run::bytes(&Item::File(task)), 32, "names are counted where all jobs are");
    }
}
