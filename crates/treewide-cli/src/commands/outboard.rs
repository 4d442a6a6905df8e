//! `treewide outboard`: files that verify any part of a file without the rest of it.
//!
//! The library `treewide::outboard` decides everything; here are names, words, lines and exit codes.

mod compared;
mod create;
mod failure;
mod files;
mod group;
mod ranges;
mod repair;
mod slice;
mod totals;
mod trust;
mod verify;

use crate::commands::help::Notes;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::sheet::{Row, Sheet, Text};
use crate::shell::tone::Tone;
use clap::{Args, Subcommand};
use std::ops::Range;
use std::path::Path;
use treewide_files::list::json::Object;

const NOTES: Notes = Notes {
    exit: &[
        ("0", "everything was done, and everything compared is right"),
        ("1", "data is damaged, or something could not be read or written"),
        ("2", "invalid usage"),
        ("3", "undetermined: a file could not be read, or the outboard is damaged"),
    ],
    ..Notes::new(&[
        ("treewide outboard create disk.img", "write disk.img.obao4, and print the line of b3sum"),
        ("treewide outboard verify disk.img --expect SUMS", "and later: which bytes are damaged?"),
        ("treewide outboard repair disk.img --from copy --expect SUMS", "from a copy"),
        ("treewide outboard slice disk.img --range 1G..1G+64K -o part.slice", ""),
        ("treewide outboard unslice part.slice --expect HEX --size N --range 1G..1G+64K", ""),
    ])
};

/// Verify parts of a file without the rest of it
///
/// An outboard is the tree of BLAKE3 over a file, stored apart from it: 0.4 % of its bytes with groups of 16 KiB. With it and
/// a digest, any range is verified by reading that range only. The files are those of bao-tree and iroh (FILE.obao4).
#[derive(Args)]
#[command(after_help = NOTES.short(), after_long_help = NOTES.long())]
pub(crate) struct OutboardArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(create::CreateArgs),
    Verify(verify::VerifyArgs),
    Repair(repair::RepairArgs),
    Slice(slice::SliceArgs),
    Unslice(slice::UnsliceArgs),
}

/// The text below the options of one of its commands, or of `outboard` as a whole.
pub(crate) fn notes(part: &[String]) -> Notes {
    match part.first().map(String::as_str) {
        Some("create") => create::CREATE,
        Some("verify") => verify::VERIFY,
        Some("repair") => repair::REPAIR,
        Some("slice") => slice::SLICE,
        Some("unslice") => slice::UNSLICE,
        _ => NOTES,
    }
}

impl OutboardArgs {
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        match &self.command {
            Command::Create(args) => args.run(program),
            Command::Verify(args) => args.run(program),
            Command::Repair(args) => args.run(program),
            Command::Slice(args) => args.run(),
            Command::Unslice(args) => args.run(),
        }
    }
}

/// Writes what was found of a range of the file at `path`.
fn row(
    sheet: &mut Sheet,
    path: &Path,
    (tone, word): (Tone, &str),
    range: &Range<u64>,
) -> anyhow::Result<()> {
    let Range { start, end } = *range;
    let more = |object: &mut Object| {
        object.number("start", start).number("end", end);
    };
    let text =
        || (String::new(), format!("{:<8}", word.to_uppercase()), format!(" {start}..{end}"));
    sheet.row(&Row {
        bytes: Some(end - start),
        evidence: Some("read"),
        more: &more,
        text: Text::Parts(&text),
        ..Row::new(path, word, "range", tone)
    })
}
