//! `treewide outboard repair`.

use super::compared::{Compared, ComparedArgs};
use super::failure::named;
use super::files::Data;
use super::totals::Totals;
use crate::commands::comparing;
use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::sheet::Summary;
use crate::shell::tone::Tone;
use crate::shell::wording::{state_tone, state_word};
use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use treewide::outboard::{Error, Mended, WriteAt};
use treewide_files::name::shown;

/// Ranges that wait to be said, at most.
const WAITING: usize = 64;

pub(super) const REPAIR: Notes = Notes {
    exit: &[
        ("0", "everything is right now"),
        ("1", "the copy is damaged in the same place, or the file is too long"),
        ("2", "invalid usage"),
        ("3", "undetermined: a file could not be read or written, or the outboard is damaged"),
    ],
    ..Notes::new(&[
        ("treewide outboard repair disk.img --from /backup/disk.img --expect SUMS", ""),
        ("treewide outboard repair disk.img --from copy --range 1G..2G --expect HEX", ""),
    ])
};

/// Replace the damaged bytes of a file by those of a copy
///
/// Finds the groups that are bad, as `verify` does, and reads only these from the copy. Each is verified before it is written,
/// and again afterwards. Nothing else of the file is written. If it is interrupted, run it again. Keep a file that
/// no one has a digest of apart: without --expect, what is right is what the outboard says.
#[derive(Args)]
#[command(after_help = REPAIR.short(), after_long_help = REPAIR.long())]
pub(super) struct RepairArgs {
    /// A copy of the file; it may be damaged in other places
    #[arg(long, value_name = "COPY")]
    from: PathBuf,

    #[command(flatten)]
    compared: ComparedArgs,
}

impl RepairArgs {
    pub(super) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        comparing::run(program, || self.repair(program))
    }

    fn repair(&self, program: Program) -> anyhow::Result<Outcome> {
        let file = &self.compared.file;
        let data = Data::open_to_write(file)?;
        if data.is_at(&self.from, file) {
            bail!("{}: is the file itself, and no copy of it", shown(&self.from));
        }
        let copy = Data::open(&self.from)?;
        let compared = self.compared.begin(program, data, Some(&self.from))?;
        let Compared { mut sheet, mut data, path, layout, outboard, is_trusted, .. } = compared;
        let (ranges, team) = (compared.ranges, compared.team);
        sheet.progress.show();
        let (mut totals, mut bytes) = (Totals::default(), 0);
        let mut written = Ok(());
        // None is looked at twice.
        let (sender, mended) = sync_channel(WAITING);
        let repaired = std::thread::scope(|scope| {
            let (data, copy, outboard) = (&mut data, &copy, &outboard);
            let (ranges, team) = (&ranges, &team);
            let repairing = scope.spawn(move || {
                let each = |mended| drop(sender.send(mended));
                let repair = |range: &Range<u64>| {
                    team.run(|| outboard.repair_each(data, copy, range.clone(), each))
                };
                ranges.iter().try_for_each(repair)
            });
            for mended in mended {
                let (state, range) = match &mended {
                    Mended::Repaired(range) => ((Tone::Good, "repaired"), range),
                    Mended::Left(found) => {
                        ((state_tone(found.kind), state_word(found.kind)), &found.range)
                    }
                };
                match &mended {
                    Mended::Repaired(range) => bytes += range.end - range.start,
                    Mended::Left(found) => totals.add(found, &layout),
                }
                // The file is repaired also if that cannot be said.
                if written.is_ok() {
                    written = super::row(&mut sheet, file, state, range);
                }
            }
            repairing.join().expect("repairing does not panic")
        });
        repaired.map_err(|error| match error {
            Error::Copy(_) => named(&error, &self.from, &path),
            error => named(&error, file, &path),
        })?;
        let synced = WriteAt::sync(&mut data);
        synced.map_err(|error| anyhow::anyhow!("{}: {error}", shown(file)))?;
        data.is_done();
        written?;
        let by = if is_trusted { "the digest" } else { "its outboard, as no digest was given" };
        let repaired = format!("{} repaired by {by}", HumanBytes(bytes));
        let outcome = totals.outcome();
        let text = match outcome {
            Outcome::Success if bytes == 0 => format!("nothing is damaged, by {by}"),
            Outcome::Success => repaired,
            _ => format!("{repaired}; {}", totals.left(&self.from, &path)),
        };
        let text = format!("{}: {text}", shown(file));
        let counts = vec![
            ("repaired", bytes),
            ("bad", totals.bad.bytes),
            ("unknown", totals.unknown.bytes),
            ("extra", totals.extra.bytes),
        ];
        sheet.end(&Summary::new(file, outcome, text, counts))
    }
}
