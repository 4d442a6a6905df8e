//! `treewide sum`: print digests, as b3sum does.

mod check;

use crate::args::algorithm;
use crate::args::cover;
use crate::args::device::DeviceArgs;
use crate::args::input::{Input, task};
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::read::ReadArgs;
use crate::args::report::ReportArgs;
use crate::args::walk::WalkArgs;
use crate::commands::comparing::what_it_is;
use crate::commands::help::Notes;
use crate::shell::again::Again;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Prints, Written, WrittenAs, spare_below};
use crate::shell::program::Program;
use crate::shell::sheet::Sheet;
use crate::shell::stdin::is_stdin;
use crate::shell::terminal::Form;
use crate::shell::usage;
use crate::shell::wording::{cause, count};
use anyhow::bail;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use treewide_digests::{Algorithm, Wanted};
use treewide_files::digest::{self, Extent};
use treewide_files::list::{self, json};
use treewide_files::name::{Listed, shown};
use treewide_files::walk::{self, Found};
use treewide_files::{Error, ErrorKind, Event, Hashed, Item, Kind, Other, Source, Task};
use treewide_manifest::Rules;

const OUTPUT_IS_HERE: &str = "this is where the output goes";

pub(crate) const NOTES: Notes = Notes {
    exit: &[
        ("0", "every file was hashed"),
        ("1", "one could not be, or the output could not be written"),
        ("2", "invalid usage"),
    ],
    ..Notes::new(&[
        ("treewide sum *.iso > SUMS", "the digests of some files"),
        ("treewide check SUMS", "and later: are they still the same?"),
        ("treewide sum -r photos -o SUMS", "everything below a directory"),
        ("tar c src | treewide sum", "standard input"),
        ("treewide sum --json -r . | jq .digest", "for programs"),
        ("head -c 32 /dev/urandom > key", "a key, and its digests:"),
        ("treewide sum --keyed FILE < key", ""),
        ("treewide sum --algorithm sha256 *.iso", "for other programs"),
    ])
};

/// Print the BLAKE3 digests of files
///
/// Takes the options of b3sum 1.8 and prints the same lines. A line is `DIGEST  FILE`. If FILE
/// holds a newline, a carriage return or a backslash, these are written `\n`, `\r` and `\\`, and
/// the line begins with a backslash. Bytes that are not UTF-8 are written as U+FFFD. A line with U+FFFD
/// cannot be checked; a line written with --json can. On a terminal, other control characters in
/// names are shown as `\u{1b}`.
///
/// A file that ends before its length, or continues after it, gets no line but a message, and the exit
/// status is 1.
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
#[command(mut_group("CoverArgs", |group| group.requires("recursive")))]
pub(crate) struct SumArgs {
    /// Files to hash; with --check, lists to check
    ///
    /// When no file is given, or when - is given, read standard input. A file that standard output is
    /// directed to is passed over with a message, so that `sum * > SUMS` does not list SUMS.
    file: Vec<PathBuf>,

    #[command(flatten)]
    mode: ModeArgs,

    /// The number of output bytes, before hex encoding
    #[arg(short, long, value_name = "LEN", help_heading = "Digest")]
    #[arg(default_value_t = treewide::OUT_LEN as u64)]
    length: u64,

    /// The starting output byte offset, before hex encoding
    ///
    /// The output ends after 2^64 - 1 bytes; asking for more is bad usage.
    #[arg(
        long,
        default_value_t = 0,
        value_name = "SEEK",
        help_heading = "Digest",
        hide_short_help = true
    )]
    seek: u64,

    #[command(flatten)]
    walk: WalkArgs,

    #[command(flatten)]
    read: ReadArgs,

    /// Do not map files into memory
    ///
    /// Files that would be mapped are read by several threads instead. A mapped file that shrinks is an error
    /// like any other, so this affects only the speed.
    #[arg(long, conflicts_with = "strategy", help_heading = "Reading", hide_short_help = true)]
    no_mmap: bool,

    #[command(flatten)]
    device: DeviceArgs,

    /// Omit file names in the output
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    no_names: bool,

    /// Write raw output bytes to standard output, rather than hex
    ///
    /// --no-names is implied. In this case, only a single input is allowed.
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    raw: bool,

    /// Find the digests of another algorithm, such as sha256, sha512, md5, blake2b-256, sha3-256, xet
    ///
    /// Lines are as with --tag: `SHA256 (FILE) = DIGEST`. `treewide check` and others read them. One thread reads a file.
    #[arg(short, long, value_name = "NAME", help_heading = "Digest", hide_possible_values = true)]
    #[arg(value_parser = algorithm::of_lines(), conflicts_with_all = [
        "keyed", "derive_key", "length", "seek", "raw", "json", "check"
    ])]
    algorithm: Option<Algorithm>,

    /// Output BSD-style checksums: BLAKE3 (FILE) = DIGEST
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    tag: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    report: ReportArgs,

    /// Read digests from the FILEs and check them, exactly as b3sum does
    ///
    /// `treewide check` understands more kinds of lists and says more about them. As b3sum does, this waits for a
    /// named pipe that is listed, and reads a device to its end, which /dev/zero does not have.
    #[arg(short, long, help_heading = "Checking")]
    #[arg(conflicts_with_all = ["derive_key", "keyed", "length", "raw", "tag", "no_names", "json"])]
    check: bool,
}

impl SumArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        // Bad usage, but b3sum's exit code for it is 1, and scripts may know.
        if self.raw && self.file.len() > 1 {
            bail!(
                "only one file can be given with --raw, because raw digests are written without names"
            );
        }
        let extent = Extent::new(self.seek, self.length)
            .map_err(|cause| usage::wrong_value(format_args!("--{cause}")))?;
        let operands = self.operands();
        let quiet = self.report.quiet();
        let prints = if self.check && quiet { Prints::OnlyFailures } else { Prints::Always };
        if let (true, Some(file)) = (self.walk.recursive(), self.output.file()) {
            spare_below(file, &operands)?;
        }
        let rules = self.walk.rules()?;
        let inputs: Vec<_> = operands.iter().chain(self.walk.files()).cloned().collect();
        let mut sheet = self.report.begin_from(program, &self.output, (&inputs, &[]), prints)?;
        let progress = Rc::clone(&sheet.progress);
        let mut input = Input::new(&self.read, &self.mode, &progress)?.mapping(!self.no_mmap);
        // Devices find BLAKE3 digests alone.
        if self.algorithm.is_none() {
            input.set_device(self.device.open(input.mode())?);
        }
        let written = sheet.output().written();
        if self.raw && operands.iter().any(|path| written.is_standard_output(path)) {
            bail!("{}: {OUTPUT_IS_HERE}", shown(&operands[0]));
        }
        progress.show();
        if !self.check {
            let (named, rules, recursive) =
                (operands.clone(), rules.clone(), self.walk.recursive());
            progress.count(move || {
                named.into_iter().flat_map(move |it| -> Box<dyn Iterator<Item = PathBuf>> {
                    match recursive && it.is_dir() {
                        true => Box::new(rules.walk(&it).into_iter().flat_map(cover::files)),
                        false => Box::new(std::iter::once(it)),
                    }
                })
            });
        }
        let failures = if self.check {
            check::run(&input, &mut sheet, operands, self.seek, quiet)?
        } else {
            let found = Operands {
                program,
                walk_args: &self.walk,
                extent,
                algorithm: self.algorithm,
                written,
                operands: operands.into_iter(),
                rules,
                walk: None,
            };
            let mut report = Report { args: self, sheet: &mut sheet, tally: Tally::default() };
            for event in input.run(found) {
                report.event(event)?;
            }
            report.finish()
        };
        sheet.finish()?;
        Ok(Outcome::of(failures))
    }

    fn operands(&self) -> Vec<PathBuf> {
        match (self.file.is_empty(), self.walk.recursive()) {
            (false, _) => self.file.clone(),
            (true, true) => vec![".".into()],
            (true, false) => vec!["-".into()],
        }
    }
}

/// Notes for the end of a run.
#[derive(Default)]
struct Tally {
    files: u64,
    failures: u64,
    again: Again,
    links: u64,
    ambiguous_names: u64,
}

/// A place that is not hashed, and the message about it.
enum Note {
    Link,
    Skipped(PathBuf, &'static str),
    Failed(Error),
}

/// The files that the operands stand for.
struct Operands<'a> {
    program: Program,
    walk_args: &'a WalkArgs,
    extent: Extent,
    algorithm: Option<Algorithm>,
    written: Written,
    operands: std::vec::IntoIter<PathBuf>,
    rules: Rules,
    /// The walk that is under way.
    walk: Option<walk::IntoIter>,
}

impl Operands<'_> {
    fn wanted(&self) -> Option<Wanted> {
        let other = self.algorithm.filter(|it| *it != Algorithm::BLAKE3);
        other.map(|it| Wanted::new([it]))
    }

    /// What to do about something that a walk found; `None` if nothing.
    fn found(&self, found: Found) -> Option<Item<Option<Wanted>, Note>> {
        Some(Item::Note(match found {
            Found::File { path, inode, identity } => match self.written.is_at(&path, inode) {
                None => {
                    let (kind, extent) = (Kind::Found(identity), self.extent);
                    return Some(Item::File(Task { path, kind, extent, about: self.wanted() }));
                }
                Some(WrittenAs::NamedFile) => return None,
                Some(WrittenAs::StandardOutput) => Note::Skipped(path, OUTPUT_IS_HERE),
            },
            Found::Special { path, kind } => Note::Skipped(path, kind),
            Found::Link(_) => Note::Link,
            Found::Failed(error) => Note::Failed(error),
            _ => return None,
        }))
    }
}

impl Source for Operands<'_> {
    type About = Option<Wanted>;
    type Note = Note;

    fn next(&mut self) -> Option<Item<Option<Wanted>, Note>> {
        loop {
            if let Some(walk) = &mut self.walk {
                match walk.next() {
                    Some(found) => match self.found(found) {
                        Some(item) => return Some(item),
                        None => continue,
                    },
                    None => self.walk = None,
                }
            }
            let operand = self.operands.next()?;
            if !self.walk_args.covers(&operand) {
                // The shell has emptied it. (b3sum hashes it all the same.)
                if !self.program.speaks_as_b3sum() && self.written.is_standard_output(&operand) {
                    return Some(Item::Note(Note::Skipped(operand, OUTPUT_IS_HERE)));
                }
                return Some(Item::File(task(operand, self.extent, self.wanted())));
            }
            let walk = self.rules.walk(&operand).expect("globs that were parsed before");
            self.walk = Some(walk.into_iter());
        }
    }

    fn other(about: &mut Option<Wanted>) -> Option<&mut dyn Other> {
        about.as_mut().map(|it| it as &mut dyn Other)
    }
}

/// Writes the results.
struct Report<'a> {
    args: &'a SumArgs,
    sheet: &'a mut Sheet,
    tally: Tally,
}

impl Report<'_> {
    fn event(&mut self, event: Event<Option<Wanted>, Note>) -> anyhow::Result<()> {
        match event {
            Event::File(file, Ok(hashed)) => {
                self.tally.files += 1;
                self.tally.again.line();
                match (&file.about, self.args.algorithm.and_then(Algorithm::tag)) {
                    (Some(wanted), Some(tag)) => self.line_by(&file.path, &tag, wanted),
                    _ => self.line(&file.path, hashed),
                }
            }
            Event::File(file, Err(error)) if self.sheet.console.program().speaks_as_b3sum() => {
                self.failed(&file.path, &cause(Program::B3sum, &error))
            }
            Event::File(file, Err(error)) => {
                self.failed(&file.path, &with_advice(&file.path, &error))
            }
            Event::Note(Note::Link) => {
                self.tally.links += 1;
                Ok(())
            }
            Event::Note(Note::Skipped(..)) if self.args.report.quiet() => Ok(()),
            Event::Note(Note::Skipped(path, why)) => {
                self.say(&path, format_args!("skipped: {why}"))
            }
            Event::Note(Note::Failed(error)) => {
                let cause = cause(self.sheet.console.program(), error.kind());
                self.failed(error.path(), &cause)
            }
            Event::Pause => self.sheet.flush(),
            Event::Cancelled => bail!("cancelled before the end"),
        }
    }

    /// Write the line of a file that was hashed.
    fn line(&mut self, path: &Path, hashed: Hashed) -> anyhow::Result<()> {
        let Hashed { digest, bytes, .. } = hashed;
        let args = self.args;
        if args.raw {
            return self.sheet.output().record(Form::Raw, |to| digest.write_raw(to));
        }
        if args.report.json() {
            return self
                .sheet
                .output()
                .record(Form::Json, |to| json::write_digest(to, path, digest, bytes));
        }
        if args.no_names {
            return self.sheet.output().record(Form::Lines, |to| {
                digest.write_hex(to)?;
                to.write_all(b"\n")
            });
        }
        let name = Listed::new(path);
        self.tally.ambiguous_names += u64::from(name.is_ambiguous());
        self.sheet.output().record(Form::Lines, |to| {
            if args.tag {
                list::write_tagged(to, &name, digest)
            } else {
                list::write_plain(to, &name, digest)
            }
        })
    }

    /// Write the line of a file that was hashed by another algorithm.
    fn line_by(&mut self, path: &Path, tag: &str, wanted: &Wanted) -> anyhow::Result<()> {
        let digest = wanted.digests().first().map_or_else(String::new, |it| digest::hex(&it.1));
        let name = Listed::new(path);
        let line = match self.args.no_names {
            true => format!("{digest}\n"),
            false => format!("{}{tag} ({}) = {digest}\n", name.mark(), name.text()),
        };
        self.tally.ambiguous_names += u64::from(!self.args.no_names && name.is_ambiguous());
        self.sheet.output().record(Form::Lines, |to| to.write_all(line.as_bytes()))
    }

    /// One input could not be hashed; say so and continue.
    fn failed(&mut self, path: &Path, cause: &str) -> anyhow::Result<()> {
        self.tally.files += 1;
        self.tally.failures += 1;
        self.tally.again.problem(|| format!("{}: {cause}", shown(path)));
        self.say(path, cause)?;
        if self.args.report.json() {
            self.sheet.output().record(Form::Json, |to| json::write_error(to, path, cause))?;
        }
        Ok(())
    }

    /// Say something about a file, after the lines of the files before it.
    fn say(&mut self, path: &Path, what: impl std::fmt::Display) -> anyhow::Result<()> {
        self.sheet.flush()?;
        self.sheet.console.about(path, what);
        Ok(())
    }

    /// Print the notes at the end; return the number of failures.
    fn finish(&self) -> u64 {
        let tally = &self.tally;
        if self.args.report.quiet() {
            return tally.failures;
        }
        if !self.sheet.console.program().speaks_as_b3sum() {
            let files = count(tally.files, "file");
            let title = format!("{} of {files} could not be hashed:", tally.failures);
            tally.again.say(&self.sheet.console, &title);
        }
        if tally.links > 0 {
            let links = count(tally.links, "symbolic link");
            self.sheet.console.say(&format!("{links} not followed; --follow follows them"));
        }
        if tally.ambiguous_names > 0 && !self.sheet.console.program().speaks_as_b3sum() {
            let names = count(tally.ambiguous_names, "name");
            self.sheet.console.say(&format!(
                "warning: {names} not valid UTF-8 and written with U+FFFD, so the list cannot be \
                 checked there; --json keeps every name"
            ));
        }
        tally.failures
    }
}

fn with_advice(path: &Path, error: &ErrorKind) -> String {
    match error.io_kind() {
        // The shell opened it, so its name is not known.
        Some(io::ErrorKind::IsADirectory) if is_stdin(path) => {
            format!("{error}; to hash the files in it, name it with -r")
        }
        Some(io::ErrorKind::IsADirectory) => format!("{error}; -r hashes the files in it"),
        Some(io::ErrorKind::NotFound) => {
            what_it_is(path).map_or(error.to_string(), |it| format!("{error}; {it}"))
        }
        _ => error.to_string(),
    }
}
