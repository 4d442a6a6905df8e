//! `treewide outboard repair`.

use super::files::{Data, Store};
use super::ranges::{bytes, in_groups, range, require};
use super::shape::ShapeArgs;
use super::trust::TrustArgs;
use super::verify::{Totals, word};
use super::{ThreadsArgs, named};
use crate::console::Console;
use crate::help::Notes;
use crate::manifest;
use crate::mode::ModeArgs;
use crate::outcome::Outcome;
use crate::output::{OutputArgs, Prints};
use crate::program::Program;
use crate::progress::ProgressArgs;
use crate::stdin::Stdin;
use crate::terminal::Form;
use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use std::ops::Range;
use std::path::PathBuf;
use treewide::outboard::{Error, Outboard, Repair, WriteAt};
use treewide_files::list::json::Object;
use treewide_files::name::shown;

const REPAIR: Notes = Notes {
    exit: &[
        ("0", "everything is right now"),
        ("1", "the copy is damaged in the same place, or the file is too long"),
        ("2", "invalid usage"),
        ("3", "nobody can say: a file cannot be read or written, or the outboard is damaged"),
    ],
    ..Notes::new(&[
        ("treewide outboard repair disk.img --from /backup/disk.img --list SUMS", ""),
        ("treewide outboard repair disk.img --from copy --range 1G..2G --hash HEX", ""),
    ])
};

/// Replace the damaged bytes of a file by those of a copy
///
/// Finds the groups that are bad, as `verify` does, and reads only these from the copy. Each is verified before it is written,
/// and again afterwards. Nothing else of the file is written. If it is interrupted, run it again. Keep a file that
/// nobody has a digest of apart: without --hash or --list, what is right is what the outboard says.
#[derive(Args)]
#[command(after_help = REPAIR.short(), after_long_help = REPAIR.long())]
pub(super) struct RepairArgs {
    /// The file
    file: PathBuf,

    /// A copy of the file; it may be damaged in other places
    #[arg(long, value_name = "COPY")]
    from: PathBuf,

    /// Its outboard [default: FILE.obao4, or the only one with another number]
    #[arg(long, value_name = "OUTBOARD", help_heading = "Outboard")]
    outboard: Option<PathBuf>,

    /// Repair these bytes only: A..B, A.., ..B or A..+N, in bytes or with K, M, G or T; may be given more than once
    #[arg(long = "range", value_name = "RANGE", value_parser = range, help_heading = "Coverage")]
    ranges: Vec<Range<u64>>,

    /// The bytes that the file had when its outboard was made [default: those it has now]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Outboard")]
    len: Option<u64>,

    /// Write one JSON object a line: path, state (repaired, bad, unknown, extra), start, end
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    mode: ModeArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    threads: ThreadsArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl RepairArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        manifest::run(program, || self.repair(program))
    }

    fn repair(&self, program: Program) -> anyhow::Result<Outcome> {
        let progress = self.progress.start(true);
        let console = Console::new(program, &progress);
        let hears = progress.hears();
        hears.reached(&self.file);
        let mut data = Data::open_to_write(&self.file)?.counted(hears);
        if data.is_at(&self.from, &self.file) {
            bail!("{}: is the file itself, and no copy of it", shown(&self.from));
        }
        let copy = Data::open(&self.from)?;
        let (path, shape) = self.shape.find(&self.file, self.outboard.as_deref())?;
        let (store, layout) = Store::open(&path, shape, self.len.unwrap_or(data.len()))?;
        let mode = self.mode.mode(&Stdin::default())?;
        let (root, is_trusted) =
            self.trust.digest_or_root(&self.file, &path, &store, &layout, mode)?;
        require(&self.ranges, &self.file, layout.len())?;
        let inputs = self.trust.inputs(&[&self.file, &self.from, &path]);
        let mut output = self.output.open(&inputs, Prints::OnlyFailures, &progress)?;
        progress.show(|| None);
        let (outboard, team) = (Outboard::new(&root, layout, mode, store), self.threads.team()?);
        let mut all = Repair::default();
        let whole = std::slice::from_ref(&(0..u64::MAX));
        // Each range stands for whole groups, and none is looked at twice.
        let ranges = in_groups(&self.ranges, &layout);
        for range in if ranges.is_empty() { whole } else { &ranges } {
            let done = team.run(|| outboard.repair(&mut data, &copy, range.clone()));
            let done = done.map_err(|error| match error {
                Error::Copy(_) => named(&error, &self.from, &path),
                error => named(&error, &self.file, &path),
            })?;
            all.repaired.extend(done.repaired);
            all.left.extend(done.left);
        }
        let synced = WriteAt::sync(&mut data);
        synced.map_err(|error| anyhow::anyhow!("{}: {error}", shown(&self.file)))?;
        data.is_done();
        progress.finish();
        let repaired = all.repaired.iter().map(|range| ("repaired", range));
        let left = all.left.iter().map(|found| (word(found.state), &found.range));
        for (state, Range { start, end }) in repaired.chain(left) {
            let (form, line) = match self.json {
                true => {
                    let mut object = Object::about(&self.file);
                    object.string("state", state).number("start", *start).number("end", *end);
                    (Form::Json, object.finish())
                }
                false => (Form::Lines, format!("{:<8} {start}..{end}\n", state.to_uppercase())),
            };
            output.record(form, |to| to.write_all(line.as_bytes()))?;
        }
        output.finish()?;
        let mut totals = Totals::default();
        all.left.iter().for_each(|found| totals.add(found, &layout));
        let bytes: u64 = all.repaired.iter().map(|range| range.end - range.start).sum();
        let by = if is_trusted { "the digest" } else { "its outboard, as no digest was given" };
        let repaired = format!("{} repaired by {by}", HumanBytes(bytes));
        console.about(
            &self.file,
            match totals.outcome() {
                Outcome::Success if bytes == 0 => format!("nothing is damaged, by {by}"),
                Outcome::Success => repaired,
                _ => format!("{repaired}; {}", totals.left(&self.from, &path)),
            },
        );
        Ok(totals.outcome())
    }
}
