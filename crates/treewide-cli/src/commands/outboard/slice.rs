//! `treewide outboard slice` and `unslice`.

use super::failure::named;
use super::files::{Data, open_outboard};
use super::group::GroupArgs;
use super::ranges::range;
use super::trust::{self, TrustArgs};
use crate::args::mode::ModeArgs;
use crate::args::output::OutputArgs;
use crate::args::report::ProgressArgs;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::output::{Output, Prints};
use crate::shell::stdin::{Stdin, is_stdin};
use crate::shell::terminal::Form;
use anyhow::{Context, bail};
use clap::Args;
use std::io::{self, BufReader, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use treewide::Hash;
use treewide::outboard::slice::{EncodeError, Source, decode, encode};
use treewide::outboard::{Group, create_at};
use treewide_files::Whole;
use treewide_files::name::shown;
use treewide_files::size;

pub(super) const SLICE: Notes = Notes::new(&[
    ("treewide outboard slice disk.img --range 1G..+64K -o part.slice", ""),
    ("treewide outboard slice disk.img --range ..4K --range 1T.. | ssh host 'cat >part.slice'", ""),
]);

pub(super) const UNSLICE: Notes = Notes::new(&[(
    "treewide outboard unslice part.slice --expect HEX --size N --range 1G..+64K -o part",
    "",
)]);

/// The ranges of a slice.
#[derive(Args)]
struct RangeArgs {
    /// Bytes that the slice has: A..B, A.., ..B or A..+N, in bytes or with K, M, G or T; may be given more than once
    #[arg(long = "range", value_name = "RANGE", required = true, value_parser = range)]
    ranges: Vec<Range<u64>>,
}

/// Write ranges of a file with the hashes that verify them
///
/// A slice has the bytes of the ranges, and the pairs of the tree that lead to them. Anyone who has the digest can verify it
/// with `unslice`, without the file. Everything is verified before it is written.
#[derive(Args)]
#[command(after_help = SLICE.short(), after_long_help = SLICE.long())]
pub(super) struct SliceArgs {
    /// The file
    file: PathBuf,

    /// Its outboard [default: FILE.obao4, or the only one with another number]
    #[arg(long, value_name = "OUTBOARD", help_heading = "Outboard")]
    outboard: Option<PathBuf>,

    #[command(flatten)]
    range: RangeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    group: GroupArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl SliceArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let progress = self.progress.start(true);
        let data = Data::open(&self.file)?.counted(progress.hears());
        let (path, group) = self.group.find(&self.file, self.outboard.as_deref())?;
        let (store, layout) = open_outboard(&path, group, data.len())?;
        let mode = self.mode.mode(&Stdin::default())?;
        let root = if layout.groups() > 1 {
            self.trust.digest_or_root(&self.file, &path, &store, &layout, mode)?.0
        } else if let Some(digest) = self.trust.digest(&self.file)? {
            digest
        } else {
            // One group has no pair. Then it is all of the file.
            let digest = create_at(&data, &layout, mode, &mut Vec::new());
            digest.map_err(|error| named(&error, &self.file, &path))?
        };
        let source = Source { data: &data, layout, outboard: &store, root, mode };
        let inputs = self.trust.inputs(&[&self.file, &path]);
        let output = self.output.open((&inputs, &inputs), Prints::Always, &progress)?;
        let mut to = Sink::new(output);
        progress.show();
        let made = encode(&source, group, &self.range.ranges, &mut to);
        to.end(made.map_err(|error| match error {
            EncodeError::Source(error) => named(&error, &self.file, &path),
            error => error.into(),
        }))?;
        data.is_done();
        progress.finish();
        Ok(Outcome::Success)
    }
}

/// Verify a slice, and write its bytes
///
/// Nothing is written before it is verified. What the slice is of must be known: the digest, the length of the whole file, the
/// ranges, and the groups. A slice that ends too early, continues after its end or was changed is an error.
#[derive(Args)]
#[command(after_help = UNSLICE.short(), after_long_help = UNSLICE.long())]
pub(super) struct UnsliceArgs {
    /// The slice; - is standard input
    #[arg(value_name = "SLICE")]
    file: PathBuf,

    /// The digest of the whole file
    #[arg(long, value_name = "HEX", value_parser = trust::hash)]
    expect: Hash,

    /// The bytes of the whole file
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    size: u64,

    /// The bytes of a group
    #[arg(long, value_name = "SIZE", default_value = "16K", value_parser = super::group::parse)]
    group: Group,

    #[command(flatten)]
    range: RangeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl UnsliceArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let progress = self.progress.start(true);
        let (hears, stdin) = (progress.hears(), Stdin::default());
        let mode = self.mode.mode(&stdin)?;
        let mut input = BufReader::with_capacity(256 << 10, open(&self.file, &stdin)?);
        let inputs = std::slice::from_ref(&self.file);
        let output = self.output.open((inputs, inputs), Prints::Always, &progress)?;
        let mut to = Sink::new(output);
        progress.show();
        let write = |_, bytes: &[u8]| {
            hears.hashed(0, bytes.len() as u64);
            to.write_all(bytes)
        };
        let (hash, ranges) = (&self.expect, &self.range.ranges);
        let read = decode(hash, self.size, self.group, ranges, mode, &mut input, write);
        let read = read.map_err(|error| anyhow::anyhow!("{}: {error}", shown(&self.file)));
        to.end(read.and_then(|_| at_end(&mut input, &self.file)))?;
        progress.finish();
        Ok(Outcome::Success)
    }
}

fn open(path: &Path, stdin: &Stdin) -> anyhow::Result<Box<dyn Read>> {
    if is_stdin(path) {
        return Ok(Box::new(stdin.open()?));
    }
    let file = treewide::file::open(path)?;
    Ok(Box::new(Whole::new(file).with_context(|| shown(path))?))
}

/// An error if anything follows.
fn at_end(input: &mut impl Read, path: &Path) -> anyhow::Result<()> {
    let mut more = [0];
    loop {
        match input.read(&mut more) {
            Ok(0) => return Ok(()),
            Ok(_) => bail!(
                "{}: continues after its end: it was made with other ranges or groups, or something was added",
                shown(path)
            ),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| shown(path)),
        }
    }
}

/// The output as a writer, which keeps its error.
struct Sink {
    output: Output,
    failed: Option<anyhow::Error>,
}

impl Sink {
    fn new(output: Output) -> Self {
        Self { output, failed: None }
    }

    /// Lets the output appear, if everything went well.
    fn end(self, work: anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        work?;
        self.output.finish()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.record(Form::Raw, |to| to.write_all(bytes)).map_err(|error| {
            self.failed = Some(error);
            io::Error::other("the output failed")
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
