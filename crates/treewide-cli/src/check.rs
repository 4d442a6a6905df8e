//! `treewide check`: are the files still what a list says they are?
//!
//! The verdict errs on the side of failure. A run that verified nothing fails, whatever the
//! reason; a name that could mean another file is not looked for; and a digest too short to be
//! trusted has to be asked for.

use crate::Outcome;
use crate::console::{Console, count};
use crate::digest::{self, Digest, Extent};
use crate::entry::{self, Entry, NameIs};
use crate::input::{Input, InputError, ReadArgs, is_stdin};
use crate::json::Object;
use crate::list::{Line, List};
use crate::mode::ModeArgs;
use crate::name::{self, Listed, shown};
use crate::output::{Output, OutputArgs};
use crate::progress::ProgressArgs;
use clap::Args;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use treewide::Hasher;

/// So many malformed lines of a list are shown unless --warn is given: enough to see what is
/// wrong, and not a screenful of them if the list is no list.
const MALFORMED_SHOWN: u64 = 5;

const EXAMPLES: &str = "\
Examples:
  treewide check SUMS                     are the files still the same?
  treewide check --quiet A.b3 B.b3        only tell of those that are not
  treewide sum -r . | ssh host 'cd copy && treewide check'
  treewide check --keyed SUMS < key       a list made with --keyed
  treewide check --length 16 SUMS         a list made with --length 16

Exit status: 0 if every listed file is as listed, 1 if one is not, could not be read, or nothing
was verified at all, 2 for bad usage.";

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
/// line that is not a checksum line is reported with its number. Nothing verified is a failure.
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
    /// Some file has to exist, though: nothing verified is a failure.
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
    /// By default, each line's own digest tells, and those under 32 bytes are refused: a list
    /// of very short ones would prove nothing.
    #[arg(short, long, value_name = "LEN", help_heading = "Digest")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    length: Option<u64>,

    /// The output byte offset that digests start at, as given when the list was made
    #[arg(long, default_value_t = 0, value_name = "SEEK", help_heading = "Digest")]
    seek: u64,

    #[command(flatten)]
    read: ReadArgs,

    /// Write one JSON object a line: path, status, digest, expected, bytes, error
    ///
    /// `status` is "ok", "failed", "unreadable" or "missing" (with --ignore-missing). `digest` is
    /// what was found and `expected` what was listed. With --quiet, lines for "ok" are left out.
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl CheckArgs {
    pub(crate) fn run(&self, program: &'static str) -> anyhow::Result<Outcome> {
        let progress = self.progress.start();
        let console = Console::new(program, &progress);
        let mut input = Input::new(&self.read, &progress);
        let base = self.mode.hasher(&mut input)?;
        let lists = if self.file.is_empty() { vec!["-".into()] } else { self.file.clone() };
        let output = self.output.open(&lists, &progress)?;
        if progress.is_wanted() {
            let (lists, length) = (lists.clone(), self.length);
            progress.count_ahead(move || total_len(&lists, length));
        }
        let mut run = Run { args: self, console: &console, input, output, base };
        let mut total = Tally::default();
        for list in &lists {
            total.add(&run.list(list)?);
        }
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
    missing: u64,
    malformed: u64,
    /// Lists that could not be read, or in which nothing was verified.
    bad_lists: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.unreadable += other.unreadable;
        self.missing += other.missing;
        self.malformed += other.malformed;
        self.bad_lists += other.bad_lists;
    }

    fn checked(&self) -> u64 {
        self.ok + self.failed + self.unreadable
    }

    fn is_success(&self, strict: bool) -> bool {
        let failures = self.failed + self.unreadable + self.bad_lists;
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

/// What was found out about one listed file.
enum Verdict {
    Ok { bytes: u64 },
    Failed { bytes: u64, found: Vec<u8> },
    Unreadable(String),
    Missing,
}

/// What checking one list after the other needs at hand.
struct Run<'a> {
    args: &'a CheckArgs,
    console: &'a Console<'a>,
    input: Input<'a>,
    output: Output<'a>,
    base: Hasher,
}

impl Run<'_> {
    /// Check every line of a list. Only failing to write results is an error.
    fn list(&mut self, path: &Path) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        if let Err(cause) = self.lines(path, &mut tally)? {
            self.console.about(path, cause);
            tally.bad_lists = 1;
        } else if tally.ok + tally.failed + tally.unreadable == 0 {
            if !self.args.status {
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
        Ok(tally)
    }

    /// As [`Self::list`]; the inner result tells whether the list could be read.
    fn lines(&mut self, path: &Path, tally: &mut Tally) -> anyhow::Result<Result<(), InputError>> {
        if is_stdin(path)
            && let Err(error) = self.input.claim_stdin("a list")
        {
            return Ok(Err(error));
        }
        let mut list = match List::open(path) {
            Ok(list) => list,
            Err(error) => return Ok(Err(error.into())),
        };
        loop {
            let (number, line) = match list.next() {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(error) => return Ok(Err(error.into())),
            };
            let parsed = match line {
                Line::Whole(line) => entry::parse(line, self.args.length),
                Line::TooLong => Err("not a checksum line: far too long".into()),
            };
            match parsed {
                Ok(None) => {}
                Ok(Some(entry)) => self.entry(&entry, tally)?,
                Err(cause) => {
                    tally.malformed += 1;
                    if !self.args.status && (self.args.warn || tally.malformed <= MALFORMED_SHOWN) {
                        self.console.say(&format!("{}:{number}: {cause}", shown(path)));
                    }
                }
            }
        }
        if !(self.args.status || self.args.warn) && tally.malformed > MALFORMED_SHOWN {
            let more = count(tally.malformed - MALFORMED_SHOWN, "more malformed line");
            self.console.about(path, format_args!("{more}; --warn shows all"));
        }
        Ok(Ok(()))
    }

    /// Check one listed file and write its line.
    fn entry(&mut self, entry: &Entry, tally: &mut Tally) -> anyhow::Result<()> {
        let (path, verdict) = match find(entry) {
            Ok(path) => {
                let verdict = self.verdict(&path, &entry.digest);
                (path, verdict)
            }
            // Only for showing it, so it need not be the right path.
            Err(cause) => {
                let path = PathBuf::from(String::from_utf8_lossy(&entry.name).into_owned());
                (path, Verdict::Unreadable(cause.into()))
            }
        };
        match verdict {
            Verdict::Ok { .. } => tally.ok += 1,
            Verdict::Failed { .. } => tally.failed += 1,
            Verdict::Unreadable(_) => tally.unreadable += 1,
            Verdict::Missing => tally.missing += 1,
        }
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        if self.args.status || is_ok && self.args.quiet {
            return Ok(());
        }
        if self.args.json {
            let line = json(&path, &verdict, &entry.digest);
            return self.output.record(|to| to.write_all(line.as_bytes()));
        }
        let text = match &verdict {
            Verdict::Ok { .. } => "OK".into(),
            Verdict::Failed { .. } => "FAILED".into(),
            Verdict::Unreadable(cause) => format!("FAILED ({cause})"),
            Verdict::Missing => return Ok(()),
        };
        self.output.record(|to| writeln!(to, "{}: {text}", Listed::new(&path)))
    }

    fn verdict(&mut self, path: &Path, expected: &[u8]) -> Verdict {
        let mut hasher = self.base.clone();
        let bytes = match self.input.hash(path, &mut hasher) {
            Ok(bytes) => bytes,
            Err(error) => {
                let is_missing = error.kind() == Some(ErrorKind::NotFound);
                return if is_missing && self.args.ignore_missing {
                    Verdict::Missing
                } else {
                    Verdict::Unreadable(error.to_string())
                };
            }
        };
        if is_stdin(path) {
            // A second reading would find nothing, and blame the list.
            let _ = self.input.claim_stdin("an earlier `-`");
        }
        let extent = Extent { seek: self.args.seek, len: expected.len() as u64 };
        let found = Digest::new(&hasher, extent).bytes();
        if digest::equal(&found, expected) {
            Verdict::Ok { bytes }
        } else {
            Verdict::Failed { bytes, found }
        }
    }
}

/// The path that an entry is about: see [`CheckArgs`] for the rule on blanks.
fn find(entry: &Entry) -> Result<PathBuf, &'static str> {
    let path = match entry.name_is {
        NameIs::Exact => name::to_exact_path(&entry.name)?,
        NameIs::Delimited | NameIs::Loose => name::to_path(&entry.name)?,
    };
    if entry.name_is == NameIs::Loose
        && let Some(shorter) = name::without_trailing_blanks(&entry.name)
        && fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        return name::to_path(shorter);
    }
    Ok(path)
}

fn json(path: &Path, verdict: &Verdict, expected: &[u8]) -> String {
    let expected = digest::hex(expected);
    let mut object = Object::about(path);
    match verdict {
        Verdict::Ok { bytes } => object
            .string("status", "ok")
            .string("digest", &expected)
            .string("expected", &expected)
            .number("bytes", *bytes)
            .null("error"),
        Verdict::Failed { bytes, found } => object
            .string("status", "failed")
            .string("digest", &digest::hex(found))
            .string("expected", &expected)
            .number("bytes", *bytes)
            .null("error"),
        Verdict::Unreadable(cause) => object
            .string("status", "unreadable")
            .null("digest")
            .string("expected", &expected)
            .null("bytes")
            .string("error", cause),
        Verdict::Missing => object
            .string("status", "missing")
            .null("digest")
            .string("expected", &expected)
            .null("bytes")
            .null("error"),
    }
    .finish()
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
        let mut list = List::open(path).ok()?;
        while let Ok(Some((_, line))) = list.next() {
            if let Line::Whole(line) = line
                && let Ok(Some(entry)) = entry::parse(line, length)
                && let Ok(path) = find(&entry)
                && let Ok(metadata) = path.metadata()
                && metadata.is_file()
            {
                total += metadata.len();
            }
        }
    }
    Some(total)
}
