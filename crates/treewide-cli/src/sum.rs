//! `treewide sum`: print digests, as b3sum does.

use crate::b3sum_check::B3sumCheck;
use crate::console::{Console, count};
use crate::device::{ByDevice, DeviceArgs};
use crate::digest::{Digest, Extent};
use crate::input::{Input, InputError, ReadArgs, is_stdin};
use crate::json::Object;
use crate::mode::ModeArgs;
use crate::name::Listed;
use crate::output::{Output, OutputArgs, WrittenAs};
use crate::progress::ProgressArgs;
use crate::walk::{Found, WalkArgs};
use crate::{Outcome, cli};
use anyhow::bail;
use clap::Args;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use treewide::{Hasher, OutputReader};

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
        let progress = self.progress.start();
        let console = Console::new(program, &progress);
        let mut input = Input::new(&self.read, &progress);
        let mode = self.mode.mode(&mut input)?;
        let device = self.device.open(&mode)?;
        let base = mode.hasher();
        let operands = self.operands();
        let output = self.output.open(&operands, &progress)?;
        let failures = if self.check {
            let (seek, quiet) = (self.seek, self.quiet);
            let mut run = B3sumCheck { console: &console, input, output, seek, quiet };
            let failures = run.all(&operands)?;
            run.output.finish()?;
            failures
        } else {
            if progress.is_wanted() {
                let (operands, walk) = (operands.clone(), self.walk.clone());
                progress.count_ahead(move || total_len(&operands, &walk));
            }
            let mut run = Run { args: self, console: &console, input, output, device, base };
            let failures = run.all(&operands)?;
            run.output.finish()?;
            failures
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

/// What hashing one file after the other needs at hand.
struct Run<'a> {
    args: &'a SumArgs,
    console: &'a Console<'a>,
    input: Input<'a>,
    output: Output<'a>,
    device: ByDevice,
    base: Hasher,
}

/// What the run has to own up to at its end.
#[derive(Default)]
struct Tally {
    failures: u64,
    links: u64,
    ambiguous_names: u64,
}

impl Run<'_> {
    /// Hash everything and return how much of it failed.
    fn all(&mut self, operands: &[PathBuf]) -> anyhow::Result<u64> {
        let mut tally = Tally::default();
        for operand in operands {
            if self.args.walk.covers(operand) {
                self.below(operand, &mut tally)?;
            } else {
                self.one(operand, &mut tally)?;
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
        Ok(tally.failures)
    }

    /// Hash what is below a directory.
    fn below(&mut self, root: &Path, tally: &mut Tally) -> anyhow::Result<()> {
        for found in self.args.walk.walk(root) {
            match found {
                Found::File(path, inode) => match self.output.is_at(&path, inode) {
                    None => self.one(&path, tally)?,
                    Some(WrittenAs::NamedFile) => {}
                    Some(WrittenAs::StandardOutput) => {
                        self.console.about(&path, "skipped: this is where the output goes");
                    }
                },
                Found::Special(path, kind) => {
                    self.console.about(&path, format_args!("skipped: {kind}"));
                }
                Found::Link => tally.links += 1,
                Found::Failed(path, cause) => self.failed(&path, &cause, tally)?,
            }
        }
        Ok(())
    }

    /// Hash one input and write its line.
    fn one(&mut self, path: &Path, tally: &mut Tally) -> anyhow::Result<()> {
        let (bytes, xof) = match self.hash(path) {
            Ok(hashed) => hashed,
            Err(error) => return self.failed(path, &with_advice(&error), tally),
        };
        let args = self.args;
        let digest = Digest::of_output(xof, Extent { seek: args.seek, len: args.length });
        if args.raw {
            return self.output.record(|to| digest.write_raw(to));
        }
        if args.json {
            return self.output.record(|to| {
                to.write_all(Object::about(path).open_string("digest").as_bytes())?;
                digest.write_hex(to)?;
                let end = Object::close_string().number("bytes", bytes).null("error").finish();
                to.write_all(end.as_bytes())
            });
        }
        if args.no_names {
            return self.output.record(|to| {
                digest.write_hex(to)?;
                to.write_all(b"\n")
            });
        }
        let name = Listed::new(path);
        tally.ambiguous_names += u64::from(name.is_ambiguous());
        self.output.record(|to| {
            if args.tag {
                write!(to, "{}BLAKE3 ({}) = ", name.mark(), name.text)?;
                digest.write_hex(to)?;
                to.write_all(b"\n")
            } else {
                to.write_all(name.mark().as_bytes())?;
                digest.write_hex(to)?;
                writeln!(to, "  {}", name.text)
            }
        })
    }

    /// Hash one input: its length in bytes, and its extended output.
    fn hash(&mut self, path: &Path) -> Result<(u64, OutputReader), InputError> {
        if let Some(result) = self.device.hash(path, &self.input) {
            return result;
        }
        let mut hasher = self.base.clone();
        let bytes = self.input.hash(path, &mut hasher)?;
        Ok((bytes, hasher.finalize_xof()))
    }

    /// One input could not be hashed; say so and go on.
    fn failed(&mut self, path: &Path, cause: &str, tally: &mut Tally) -> anyhow::Result<()> {
        tally.failures += 1;
        self.console.about(path, cause);
        if self.args.json {
            let mut object = Object::about(path);
            let line = object.null("digest").null("bytes").string("error", cause).finish();
            self.output.record(|to| to.write_all(line.as_bytes()))?;
        }
        Ok(())
    }
}

fn with_advice(error: &InputError) -> String {
    match error.kind() {
        Some(ErrorKind::IsADirectory) => format!("{error}; -r hashes the files in it"),
        _ => error.to_string(),
    }
}

/// How many bytes there are to hash, as far as file lengths tell; `None` if pipes are among them.
fn total_len(operands: &[PathBuf], walk: &WalkArgs) -> Option<u64> {
    let mut total = 0;
    for operand in operands {
        if walk.covers(operand) {
            for found in walk.walk(operand) {
                if let Found::File(path, _) = found {
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
