//! `treewide check`: are the files still what a list says they are?
//!
//! The libraries decide what a line means and whether a file is as listed (`treewide_digests`). A run that
//! verified nothing fails, whatever the reason.

mod algorithms;
mod hint;
mod json;
mod operands;
mod stores;
mod total;

use self::hint::{Clues, is_absent};
use self::json::{json, of_object};
use self::operands::{Finding, Learnt, Lists, Note, total_len};
use self::stores::{Checked, no_store};
use self::total::Total;
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
use treewide_digests::store::{KINDS, Kind, Object};
use treewide_digests::{Algorithm, Expected, Reading};
use treewide_files::check::{self, Malformed, Tally, Verdict};
use treewide_files::list::MAX_LINE;
use treewide_files::name::{Listed, shown, shown_text};
use treewide_files::{ErrorKind, Event};

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
/// A list is what `treewide sum` or b3sum wrote: with or without --tag, or with --json. Lists of other programs with SHA-256, SHA-512,
/// SHA-1, MD5, BLAKE2 and SHA3 digests are also read: of sha256sum (also --tag and --zero), openssl, rhash, shasum, PowerShell and
/// certutil; `sha256:DIGEST  FILE`; JSON with "name" and "digest"; BagIt manifests; Debian's .dsc, Release and Packages; .sfv (CRC-32);
/// hashdeep; mtree; RECORD of Python packages; Manifest of Gentoo; .cargo-checksum.json; and a digest
/// alone in FILE.sha256. A PGP signature around a list is passed over, not checked. A list may have CRLF line ends,
/// begin with a UTF-8 or UTF-16 byte-order mark, and hold empty lines and comments (`#`). File names are
/// relative to the current directory, not to the list, except in bags, RECORD, Manifest and .cargo-checksum.json, and for a digest alone.
///
/// Lines say which algorithm they are of, or --algorithm does, or the name of the list, or the length of the digest.
/// Several threads read several files, but a long file is read by one thread, except for BLAKE3.
///
/// A directory is checked if it is a store whose files are named by digests (of Hugging Face, Ollama, OCI images, git-lfs,
/// git-annex, DVC, restic, npm, Bazel, IPFS, apt, or a bag), or has such a store in a usual place, as .git/lfs is. Nothing is
/// removed, moved or repaired. Objects that are not what their names say are FAILED. Whether all objects are there is not
/// checked, except where links, manifests or other records name them.
///
/// A name is that name, byte for byte; blanks at its end belong to it. Where it could be another
/// file's as well, nothing is verified, and that is a failure. So is the name of a pipe, a socket or a
/// device such as /dev/zero, which are not read; a disk is.
///
/// Each listed file is reported as OK or FAILED, and a last line on standard error counts them. A
/// file is also FAILED if its digest is missing, damaged, of the wrong length or too short, if its
/// name is empty, or if a line has 16 hexadecimal digits or more and a name, and cannot be understood. A digest
/// without a name counts as not verified.
///
/// Any other line that is not a checksum line is reported with its number. It is a failure with --strict, or if it
/// has no line end, because the list may have been cut off there. A line of 16 MiB or more means the
/// file is not a list: `check` stops reading it and fails. It also fails if nothing was verified, or if a list
/// or a file ends before its length, or continues after it.
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
    // A line with a CRC-32 of 8 digits, and with one that is damaged, can be a line of prose. So that has a form of its own.
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
    /// where `error` says why. Directories that are not stores are "unverified". With --quiet, lines for "ok" are left out.
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
        let (stdin, missing) = (&input.stdin, self.ignore_missing);
        let finding = Finding { kind: self.store, everywhere: self.recursive };
        let lists = Lists::new(self.reading(), missing, stdin, paths, &progress, finding);
        let mut report = Report {
            args: self,
            console: &console,
            stdin: &input.stdin,
            output,
            tally: Tally::default(),
            store: None,
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
        let is_silent = self.status || self.quiet.is_on() && success && total.lines.malformed == 0;
        if total.has_lists() && !is_silent {
            console.say(&total.summary());
        }
        if total.is_nothing_known() && !self.status {
            console.say("nothing was verified: no object can be checked");
        }
        if let Some(hint) = clues.hint(&total.lines, self.mode.others())
            && !self.status
        {
            console.say(&hint);
        }
        Ok(outcome)
    }

    fn reading(&self) -> Reading {
        Reading {
            algorithm: self.algorithm,
            strong: self.strong,
            digest_len: self.length,
            blake3_alone: self.mode.is_chosen(),
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
    /// Of the list whose files are being reported.
    tally: Tally,
    /// The store whose objects are being reported.
    store: Option<Checked>,
    /// Malformed lines of it that were not shown.
    hidden: u64,
    total: Total,
    clues: Clues,
    again: Again,
}

impl Report<'_> {
    fn event(&mut self, event: Event<Expected, Note>) -> anyhow::Result<()> {
        match event {
            Event::File(file, result) if self.store.is_some() => {
                self.output.spare(&file.path)?;
                let mut verdicts = file.about.verdicts(result, false).into_iter();
                verdicts.try_for_each(|(expected, it)| self.object(&file.path, &expected, &it))
            }
            Event::Note(Note::Store(store)) => {
                let mut folders =
                    store.links().into_iter().map(|(_, to)| to).chain([store.root.clone()]);
                folders.try_for_each(|it| self.output.spare_below(it))?;
                self.store = Some(Checked::new(store, self.args.ignore_missing));
                Ok(())
            }
            Event::Note(Note::Object(object)) => self.not_read(object),
            Event::Note(Note::StoreEnd) => self.end_store(),
            Event::Note(Note::NoStore(path)) => {
                self.output.flush()?;
                self.total.add_no_store();
                let what = no_store(&path, self.args.store, self.args.recursive);
                self.console.about(&path, &what);
                self.no_object(&path, "unverified", &what)
            }
            Event::Note(Note::Hidden(error)) => {
                self.output.flush()?;
                self.total.add_no_store();
                self.console.say(&error.to_string());
                let (path, cause) = error.into_parts();
                self.no_object(&path, "unreadable", &cause.to_string())
            }
            Event::File(file, result) => {
                self.output.spare(&file.path)?;
                if is_stdin(&file.path) && result.is_ok() {
                    // A second reading would find nothing, and blame the list.
                    let _ = self.stdin.claim("an earlier `-`");
                }
                let verdicts = file.about.verdicts(result, self.args.ignore_missing);
                // A file counts once: it is OK if it has all digests that follow each other.
                let is_bad = |(_, it): &(Expected, Verdict)| !matches!(it, Verdict::Ok { .. });
                let counted = verdicts.iter().position(is_bad).unwrap_or(0);
                verdicts.into_iter().enumerate().try_for_each(|(at, (expected, verdict))| {
                    if at == counted {
                        self.count(&file.path, &verdict, Some(&expected));
                    }
                    self.verdict(&file.path, &verdict, Some(expected.digest()), Some(&expected))
                })
            }
            Event::Note(Note::In(_, check::Note::Settled { path, expected, verdict })) => {
                self.output.spare(&path)?;
                self.count(&path, &verdict, None);
                self.verdict(&path, &verdict, expected.as_deref(), None)
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
            let cause = shown_text(&line.cause);
            self.console.say(&format!("{}:{}: {cause}", shown(list), line.number));
        }
        Ok(())
    }

    /// Every file of a list was reported.
    fn end(&mut self, path: &Path, end: Result<Learnt, ErrorKind>) -> anyhow::Result<()> {
        self.output.flush()?;
        let (tally, hidden) = (std::mem::take(&mut self.tally), std::mem::take(&mut self.hidden));
        let status = self.args.status;
        let mut is_bad = tally.is_cut;
        if let Ok(learnt) = &end
            && !status
            && !self.args.quiet.is_on()
        {
            if let Some(algorithm) = learnt.by_name.filter(|it| *it != Algorithm::BLAKE3) {
                self.console.about(path, format_args!("{algorithm}, by the list's name"));
            }
            if let Some(outside) = learnt.signed {
                let list = shown(path);
                let mut advice = format!(
                    "the list is signed; the signature was not checked (gpg --verify {list})"
                );
                if outside > 0 {
                    let lines = count(outside, "line");
                    advice += &format!(", and {lines} outside of the signed text cannot be");
                }
                self.console.about(path, advice);
            }
        }
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

    /// Counts the verdict on an object, and writes its line if there is something to say.
    fn object(
        &mut self,
        path: &Path,
        expected: &Expected,
        verdict: &Verdict,
    ) -> anyhow::Result<()> {
        let Some(checked) = &mut self.store else { return Ok(()) };
        // A bag says what belongs to it. Another program may remove an object of a store at any time.
        let is_missing = is_absent(verdict) && checked.store.kind.is_complete();
        if is_absent(verdict) && !is_missing {
            *checked.passed.entry("object that vanished").or_default() += 1;
            return Ok(());
        }
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        checked.add(path, verdict, expected.algorithm(), is_missing);
        let (word, cause) = match verdict {
            Verdict::Ok { .. } => ((Tone::Good, "OK"), expected.remark.clone()),
            Verdict::Failed { bytes, .. } => ((Tone::Bad, "FAILED"), expected.cause(*bytes)),
            _ if is_missing => ((Tone::Bad, "MISSING"), None),
            Verdict::Unreadable(cause) => ((Tone::Unknown, "FAILED"), Some(cause.to_string())),
            Verdict::Unverified(cause) => ((Tone::Unknown, "FAILED"), Some(cause.clone())),
            Verdict::Missing => ((Tone::Unknown, "MISSING"), None),
        };
        if self.args.status || is_ok && !self.args.verbose {
            return Ok(());
        }
        if self.args.json {
            let verdict = if is_missing { &Verdict::Missing } else { verdict };
            let (listed, store) = (Some(expected.digest()), Some(checked.store.kind.name));
            let line = json(path, verdict, listed, Some(expected), store);
            return self.output.record(Form::Json, |to| to.write_all(line.as_bytes()));
        }
        if is_missing && self.args.ignore_missing {
            return Ok(());
        }
        self.line(path, word, cause, is_ok)
    }

    /// Something in the place of an object that was not read.
    fn not_read(&mut self, object: Object) -> anyhow::Result<()> {
        let Some(checked) = &mut self.store else { return Ok(()) };
        let (path, status, word, cause) = match object {
            Object::Passed(what) => {
                *checked.passed.entry(what).or_default() += 1;
                return Ok(());
            }
            // The run has it.
            Object::File(_) => return Ok(()),
            Object::Wrong(path, cause) => {
                checked.wrong += 1;
                (path, "failed", (Tone::Bad, "FAILED"), cause)
            }
            Object::Missing(path, cause) => {
                checked.missing += 1;
                (path, "missing", (Tone::Bad, "MISSING"), cause)
            }
            Object::Unreadable(error) => {
                checked.unreadable += 1;
                let (path, cause) = error.into_parts();
                (path, "unreadable", (Tone::Unknown, "FAILED"), cause.to_string())
            }
            Object::Unverified(path, cause) => {
                checked.unverified += 1;
                (path, "unverified", (Tone::Unknown, "FAILED"), cause)
            }
            Object::Skipped(path, cause) => {
                checked.skipped += 1;
                (path, "skipped", (Tone::Unknown, "skipped"), cause)
            }
        };
        let is_skipped = status == "skipped" && !self.args.strict;
        if self.args.status || is_skipped && self.args.quiet.is_on() {
            return Ok(());
        }
        if self.args.json {
            let line = of_object(&path, status, &cause, Some(checked.store.kind.name));
            return self.output.record(Form::Json, |to| to.write_all(line.as_bytes()));
        }
        if status == "missing" && self.args.ignore_missing {
            return Ok(());
        }
        self.line(&path, word, Some(cause), is_skipped)
    }

    /// A record about a place, which a message has named.
    fn no_object(&mut self, path: &Path, status: &str, cause: &str) -> anyhow::Result<()> {
        if !self.args.json || self.args.status {
            return Ok(());
        }
        let line = of_object(path, status, cause, None);
        self.output.record(Form::Json, |to| to.write_all(line.as_bytes()))
    }

    /// Every object of a store was reported.
    fn end_store(&mut self) -> anyhow::Result<()> {
        self.output.flush()?;
        let Some(checked) = self.store.take() else { return Ok(()) };
        let strict = self.args.strict;
        self.total.add_store(&checked, strict);
        if !(self.args.status || self.args.quiet.is_on() && checked.is_good(strict)) {
            self.console.say(&checked.summary());
            checked.advice().iter().for_each(|it| self.console.say(it));
        }
        Ok(())
    }

    /// Writes the line about a file.
    fn line(
        &mut self,
        path: &Path,
        word: (Tone, &str),
        cause: Option<String>,
        is_ok: bool,
    ) -> anyhow::Result<()> {
        // Causes quote lists, and names that are in stores.
        let cause = cause.map_or_else(String::new, |it| format!(" ({})", shown_text(&it)));
        let name = format!("{}: ", Listed::new(path));
        match is_ok {
            true => self.again.line(),
            false => self.again.problem(|| format!("{name}{}{cause}", word.1)),
        }
        self.output.verdict(&name, word, &cause)
    }

    fn count(&mut self, path: &Path, verdict: &Verdict, expected: Option<&Expected>) {
        self.tally.add_verdict(verdict);
        self.total.absent += u64::from(is_absent(verdict));
        self.clues.add(path, verdict, expected);
    }

    /// Write the line of a listed file.
    fn verdict(
        &mut self,
        path: &Path,
        verdict: &Verdict,
        listed: Option<&[u8]>,
        expected: Option<&Expected>,
    ) -> anyhow::Result<()> {
        let is_ok = matches!(verdict, Verdict::Ok { .. });
        if is_ok {
            self.total.shown_by(expected.and_then(Expected::algorithm));
        }
        if self.args.status || is_ok && self.args.quiet.is_on() {
            return Ok(());
        }
        if self.args.json {
            let line = json(path, verdict, listed, expected, None);
            return self.output.record(Form::Json, |to| to.write_all(line.as_bytes()));
        }
        let (word, cause) = match verdict {
            Verdict::Ok { .. } => ((Tone::Good, "OK"), None),
            Verdict::Failed { bytes, .. } => {
                ((Tone::Bad, "FAILED"), expected.and_then(|it| it.cause(*bytes)))
            }
            Verdict::Unreadable(cause) => ((Tone::Unknown, "FAILED"), Some(cause.to_string())),
            Verdict::Unverified(cause) => ((Tone::Unknown, "FAILED"), Some(cause.clone())),
            Verdict::Missing => return Ok(()),
        };
        self.line(path, word, cause, is_ok)
    }
}
