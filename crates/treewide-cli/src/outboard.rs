//! `treewide outboard`: files that verify any part of a file without the rest of it.
//!
//! The library `treewide::outboard` decides everything; here are names, words, lines and exit codes.

mod create;
mod diff;
mod files;
mod journal;
mod ranges;
mod repair;
mod root;
mod shape;
mod slice;
mod trust;
mod update;
mod verify;

pub(crate) use verify::word;

use crate::help::Notes;
use crate::outcome::Outcome;
use crate::program::Program;
use clap::{Args, Subcommand};
use std::path::Path;
use treewide::outboard::Error;
use treewide_files::name::shown;

/// Exit codes of the commands that compare.
const EXIT: &[(&str, &str)] = &[
    ("0", "everything compared is right"),
    ("1", "something is damaged"),
    ("2", "invalid usage"),
    (
        "3",
        "nobody can say, as a file cannot be read or the outboard is damaged (also if data is damaged as well)",
    ),
];

const NOTES: Notes = Notes {
    exit: &[
        ("0", "everything was done, and everything compared is right"),
        ("1", "data is damaged, or something could not be read or written"),
        ("2", "invalid usage"),
        ("3", "nobody can say, because a file cannot be read or the outboard is damaged"),
    ],
    ..Notes::new(&[
        ("treewide outboard create disk.img", "write disk.img.obao4, and print the line of b3sum"),
        ("treewide outboard verify disk.img --list SUMS", "and later: which bytes are damaged?"),
        ("treewide outboard repair disk.img --from copy --list SUMS", "from a copy"),
        ("treewide outboard update disk.img --dirty 1G..+4K", "after a write that you know"),
        ("treewide outboard diff old.obao4 new.obao4", "which bytes differ?"),
        ("treewide outboard root disk.img.obao4", "the digest that an outboard stands for"),
        ("treewide outboard slice disk.img --range 1G..1G+64K -o part.slice", ""),
        ("treewide outboard unslice part.slice --hash HEX --len N --range 1G..1G+64K", ""),
    ])
};

/// Verify parts of a file without the rest of it
///
/// An outboard is the tree of BLAKE3 over a file, stored apart from it: 0.4 % of its bytes with groups of 16 KiB. With it and
/// a digest, any range is verified by reading that range only. The files are those of bao-tree and iroh (FILE.obao4), and
/// of bao (FILE.obao).
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
    Update(update::UpdateArgs),
    Diff(diff::DiffArgs),
    Root(root::RootArgs),
    Slice(slice::SliceArgs),
    Unslice(slice::UnsliceArgs),
}

/// What stands below the options of a command of it, or of it as a whole.
pub(crate) fn notes(part: Option<&str>) -> Notes {
    match part {
        Some("create") => create::CREATE,
        Some("verify") => verify::VERIFY,
        Some("repair") => repair::REPAIR,
        Some("update") => update::UPDATE,
        Some("diff") => diff::DIFF,
        Some("root") => root::ROOT,
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
            Command::Update(args) => args.run(program),
            Command::Diff(args) => args.run(program),
            Command::Root(args) => args.run(),
            Command::Slice(args) => args.run(),
            Command::Unslice(args) => args.run(),
        }
    }
}

#[derive(Args)]
struct ThreadsArgs {
    /// The maximum number of threads to use
    #[arg(long, value_name = "NUM", help_heading = "Reading")]
    threads: Option<usize>,
}

impl ThreadsArgs {
    /// The threads, if a number was asked for; else those of rayon's pool do.
    fn team(&self) -> anyhow::Result<Team> {
        let most = treewide_files::Options::most_useful_threads();
        let asked = self.threads.filter(|&threads| threads > 0).map(|asked| asked.min(most));
        let pool = asked.map(|asked| rayon::ThreadPoolBuilder::new().num_threads(asked).build());
        Ok(Team(pool.transpose()?))
    }
}

struct Team(Option<rayon::ThreadPool>);

impl Team {
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// An error of the library, with the file that it is about.
fn named(error: &Error, data: &Path, outboard: &Path) -> anyhow::Error {
    let (path, text) = match error {
        Error::Data(error) if error.is_end() => {
            let text =
                "became shorter while it was being read; run this again when nothing writes to it";
            (data.to_owned(), text.to_owned())
        }
        Error::Outboard(error) if error.is_end() => {
            let text = "is cut off; make it again with 'treewide outboard create'";
            (outboard.to_owned(), text.to_owned())
        }
        // Which file cannot be read or written is said by its name.
        Error::Data(error) | Error::Copy(error) => (data.to_owned(), error.to_string()),
        Error::Outboard(error) => (outboard.to_owned(), error.to_string()),
        Error::Journal(error) => (journal::path_of(outboard), error.to_string()),
        Error::Unknown(_) => (outboard.to_owned(), error.to_string()),
        _ => (data.to_owned(), error.to_string()),
    };
    anyhow::anyhow!("{}: {text}", shown(&path))
}
