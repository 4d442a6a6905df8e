//! `treewide sum`: print digests, as b3sum does.

use crate::b3sum_check::B3sumCheck;
use crate::console::{Console, count};
use crate::device::DeviceArgs;
use crate::input::{Input, ReadArgs, is_stdin};
use crate::mode::ModeArgs;
use crate::output::{Output, OutputArgs, Written, WrittenAs};
use crate::pipeline::{Hashed, Item, Job, Task};
use crate::progress::ProgressArgs;
use crate::walk::WalkArgs;
use crate::{Outcome, cli, pipeline};
use anyhow::bail;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use treewide_files::digest::Extent;
use treewide_files::list::{self, json};
use treewide_files::name::{Listed, shown};
use treewide_files::walk::{self, Found};
use treewide_files::{Error, ErrorKind};

/// Messages that are further up than this are repeated at the end.
const SCREENFUL: u64 = 24;

/// So many failures are repeated: enough to see what they have in common.
const FAILURES_LISTED: usize = 20;

const EXAMPLES: &str = "\
Examples:
  treewide sum *.iso > SUMS               the digests of some files
  treewide check SUMS                     and later: are they still the same?
  treewide sum -r photos -o SUMS          everything below a directory
  tar c src | treewide sum                standard input
  treewide sum --json -r . | jq .digest   for programs
  head -c 32 /dev/urandom > key; treewide sum --keyed FILE < key

Exit status: 0 if every file was hashed, 1 if one could not be, 2 for bad usage.";

/// Print the BLAKE3 digests of files
///
/// Takes the options of b3sum 1.8 and prints the same lines. A line is `DIGEST  FILE`. If FILE
/// holds a newline, a carriage return or a backslash, these are written `\n`, `\r` and `\\`, and
/// the line begins with a backslash. Bytes that are not UTF-8 are written as U+FFFD; such a line
/// cannot be checked, one written with --json can.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SumArgs {
    /// Files to hash, or checkfiles to check
    ///
    /// When no file is given, or when - is given, read standard input.
    file: Vec<PathBuf>,

    #[command(flatten)]
    mode: ModeArgs,

    /// The number of output bytes, before hex encoding
    #[arg(short, long, value_name = "LEN", help_heading = "Digest")]
    #[arg(default_value_t = treewide::OUT_LEN as u64)]
    length: u64,

    /// The starting output byte offset, before hex encoding
    ///
    /// The output ends after 2^64 - 1 bytes; to ask for more is bad usage.
    #[arg(long, default_value_t = 0, value_name = "SEEK", help_heading = "Digest")]
    seek: u64,

    #[command(flatten)]
    walk: WalkArgs,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    device: DeviceArgs,

    /// Omit file names in the output
    #[arg(long, help_heading = "Output")]
    no_names: bool,

    /// Write raw output bytes to standard output, rather than hex
    ///
    /// --no-names is implied. In this case, only a single input is allowed.
    #[arg(long, help_heading = "Output")]
    raw: bool,

    /// Output BSD-style checksums: BLAKE3 (FILE) = DIGEST
    #[arg(long, help_heading = "Output")]
    tag: bool,

    /// Write one JSON object a line: path, digest, bytes, error
    ///
    /// `error` is null, or else `digest` and `bytes` are, and `error` says why. If the path is not
    /// valid UTF-8, `path` has U+FFFD in place of what is not, and `path_hex` is added: all its
    /// bytes, in hex. `treewide check` reads these lines, too.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["tag", "raw", "no_names"])]
    json: bool,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,

    /// Say only what went wrong
    ///
    /// No progress, nothing about links and special files that were passed over, and no list of
    /// failures at the end of a long run. With --check it is --quiet.
    #[arg(short = 'q', long, help_heading = "Output")]
    no_notes: bool,

    /// Read digests from the FILEs and check them, exactly as b3sum does
    ///
    /// `treewide check` understands more kinds of lists and says more about them.
    #[arg(short, long, help_heading = "Checking")]
    #[arg(conflicts_with_all = ["derive_key", "keyed", "length", "raw", "tag", "no_names", "json"])]
    check: bool,

    /// Skip printing OK for each checked file
    ///
    /// Must be used with --check.
    #[arg(long, requires = "check", help_heading = "Checking")]
    quiet: bool,
}

impl SumArgs {
    pub(crate) fn run(&self, program: &'static str) -> anyhow::Result<Outcome> {
        // Bad usage, but b3sum's exit code for it is 1, and scripts may know.
        if self.raw && self.file.len() > 1 {
            bail!("only one file can be given with --raw, which writes no names to tell them by");
        }
        let extent = Extent::new(self.seek, self.length).unwrap_or_else(|cause| {
            let cause = format!("--{cause}\n");
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, cause).exit()
        });
        let progress = self.progress.start(!self.no_notes);
        let console = Console::new(program, &progress);
        let mut input = Input::new(&self.read, &progress);
        let mode = self.mode.mode(&mut input)?;
        input.set_device(self.device.open(&mode.device)?);
        let operands = self.operands();
        let output = self.output.open(&operands, &progress)?;
        let failures = if self.check {
            let quiet = self.quiet || self.no_notes;
            let mut run = B3sumCheck::new(&console, output, operands, extent, quiet);
            pipeline::run(&mut run, &mut input, &mode, &progress)?;
            run.finish()?
        } else {
            if progress.is_wanted() {
                let (operands, walk) = (operands.clone(), self.walk.clone());
                progress.count_ahead(move || total_len(&operands, &walk));
            }
            let written = output.written();
            let (console, operands, tally) = (&console, operands.into_iter(), Tally::default());
            let mut run =
                Run { args: self, extent, console, output, written, operands, walk: None, tally };
            pipeline::run(&mut run, &mut input, &mode, &progress)?;
            run.close();
            run.output.finish()?;
            run.tally.failures
        };
        progress.finish();
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

/// What a run needs at hand.
struct Run<'a> {
    args: &'a SumArgs,
    extent: Extent,
    console: &'a Console<'a>,
    output: Output<'a>,
    written: Written,
    operands: std::vec::IntoIter<PathBuf>,
    /// The walk that is under way.
    walk: Option<walk::IntoIter>,
    tally: Tally,
}

/// What the run has to own up to at its end.
#[derive(Default)]
struct Tally {
    files: u64,
    failures: u64,
    /// The first of them: names and causes.
    failed: Vec<(PathBuf, String)>,
    /// How many files there were when the first one failed.
    files_before: u64,
    links: u64,
    ambiguous_names: u64,
}

impl Tally {
    fn failed(&mut self, path: &Path, cause: &str) {
        if self.failures == 0 {
            self.files_before = self.files;
        }
        self.files += 1;
        self.failures += 1;
        if self.failed.len() < FAILURES_LISTED {
            self.failed.push((path.to_owned(), cause.to_owned()));
        }
    }

    /// Whether the message about the first failure may be out of sight by now.
    fn has_forgotten_failures(&self) -> bool {
        self.failures > 0 && self.files - self.files_before > SCREENFUL
    }
}

/// What there is to tell about a place that is not hashed.
enum Note {
    Link,
    Skipped(PathBuf, &'static str),
    Failed(Error),
}

impl Run<'_> {
    /// What to do about something met on a walk; `None` if nothing.
    fn met(&self, found: Found) -> Option<Item<(), Note>> {
        Some(Item::Note(match found {
            Found::File { path, inode } => match self.written.is_at(&path, inode) {
                None => return Some(self.task(path, true)),
                Some(WrittenAs::NamedFile) => return None,
                Some(WrittenAs::StandardOutput) => {
                    Note::Skipped(path, "this is where the output goes")
                }
            },
            Found::Special { path, kind } => Note::Skipped(path, kind),
            Found::Link(_) => Note::Link,
            Found::Failed(error) => Note::Failed(error),
            _ => return None,
        }))
    }

    fn task(&self, path: PathBuf, is_regular: bool) -> Item<(), Note> {
        Item::File(Task { path, is_regular, extent: self.extent, about: () })
    }

    /// Write the line of a file that was hashed.
    fn line(&mut self, path: &Path, hashed: Hashed) -> anyhow::Result<()> {
        if let Some(growth) = hashed.growth() {
            self.say(path, growth)?;
        }
        let Hashed { digest, bytes, grown_to } = hashed;
        let args = self.args;
        if args.raw {
            return self.output.record(|to| digest.write_raw(to));
        }
        if args.json {
            let grown_to = args.read.tells_growth().then_some(grown_to);
            return self.output.record(|to| json::write_digest(to, path, digest, bytes, grown_to));
        }
        if args.no_names {
            return self.output.record(|to| {
                digest.write_hex(to)?;
                to.write_all(b"\n")
            });
        }
        let name = Listed::new(path);
        self.tally.ambiguous_names += u64::from(name.is_ambiguous());
        self.output.record(|to| {
            if args.tag {
                list::write_tagged(to, &name, digest)
            } else {
                list::write_plain(to, &name, digest)
            }
        })
    }

    /// One input could not be hashed; say so and go on.
    fn failed(&mut self, path: &Path, cause: &str) -> anyhow::Result<()> {
        self.tally.failed(path, cause);
        self.say(path, cause)?;
        if self.args.json {
            let tells_growth = self.args.read.tells_growth();
            self.output.record(|to| json::write_error(to, path, cause, tells_growth))?;
        }
        Ok(())
    }

    /// Say something about a file, behind the lines of those before it.
    fn say(&mut self, path: &Path, what: impl std::fmt::Display) -> anyhow::Result<()> {
        self.output.flush()?;
        self.console.about(path, what);
        Ok(())
    }

    /// What there is to say in the end.
    fn close(&self) {
        if self.args.no_notes {
            return;
        }
        let tally = &self.tally;
        if tally.has_forgotten_failures() && !cli::speaks_as_b3sum(self.console.program()) {
            let files = count(tally.files, "file");
            self.console.say(&format!("{} of {files} could not be hashed:", tally.failures));
            for (path, cause) in &tally.failed {
                self.console.say(&format!("  {}: {cause}", shown(path)));
            }
            let more = tally.failures - tally.failed.len() as u64;
            if more > 0 {
                self.console.say(&format!("  and {more} more, see above"));
            }
        }
        if tally.links > 0 {
            let links = count(tally.links, "symbolic link");
            self.console.say(&format!("{links} not followed; --follow does"));
        }
        if tally.ambiguous_names > 0 && !cli::speaks_as_b3sum(self.console.program()) {
            let names = count(tally.ambiguous_names, "name");
            self.console.say(&format!(
                "warning: {names} not valid UTF-8 and written with U+FFFD, so the list cannot be \
                 checked there; --json keeps every name"
            ));
        }
    }
}

impl Job for Run<'_> {
    type About = ();
    type Note = Note;

    fn next(&mut self, _: &mut Input) -> Option<Item<(), Note>> {
        loop {
            if let Some(walk) = &mut self.walk {
                match walk.next() {
                    Some(found) => match self.met(found) {
                        Some(item) => return Some(item),
                        None => continue,
                    },
                    None => self.walk = None,
                }
            }
            let operand = self.operands.next()?;
            if !self.args.walk.covers(&operand) {
                return Some(self.task(operand, false));
            }
            self.walk = Some(self.args.walk.walk(&operand).into_iter());
        }
    }

    fn may_wait(&self) -> bool {
        false
    }

    fn file(
        &mut self,
        file: Task<()>,
        result: Result<Hashed, ErrorKind>,
        _: &mut Input,
    ) -> anyhow::Result<()> {
        match result {
            Ok(hashed) => {
                self.tally.files += 1;
                self.line(&file.path, hashed)
            }
            Err(error) if cli::speaks_as_b3sum(self.console.program()) => {
                self.failed(&file.path, &error.to_string())
            }
            Err(error) => self.failed(&file.path, &with_advice(&file.path, &error)),
        }
    }

    fn note(&mut self, note: Note) -> anyhow::Result<()> {
        match note {
            Note::Link => self.tally.links += 1,
            Note::Skipped(..) if self.args.no_notes => {}
            Note::Skipped(path, why) => self.say(&path, format_args!("skipped: {why}"))?,
            Note::Failed(error) => self.failed(error.path(), &error.kind().to_string())?,
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.output.flush()
    }
}

fn with_advice(path: &Path, error: &ErrorKind) -> String {
    match error.io_kind() {
        // Of what the shell has opened nobody knows the name.
        Some(io::ErrorKind::IsADirectory) if is_stdin(path) => {
            format!("{error}; to hash the files in it, name it with -r")
        }
        Some(io::ErrorKind::IsADirectory) => format!("{error}; -r hashes the files in it"),
        _ => error.to_string(),
    }
}

/// How many bytes there are to hash, as far as file lengths tell; `None` if pipes are among them.
fn total_len(operands: &[PathBuf], walk: &WalkArgs) -> Option<u64> {
    let mut total = 0;
    for operand in operands {
        if walk.covers(operand) {
            for found in walk.walk(operand) {
                if let Found::File { path, .. } = found {
                    total += path.metadata().map_or(0, |metadata| metadata.len());
                }
            }
        } else if is_stdin(operand) {
            return None;
        } else if let Ok(metadata) = operand.metadata() {
            match metadata.is_file() {
                true => total += metadata.len(),
                false if metadata.is_dir() => {}
                false => return None,
            }
        }
    }
    Some(total)
}
