//! The command line as a whole: which command was asked for, and under which name.

use crate::commands::check::{self, CheckArgs};
use crate::commands::docs;
use crate::commands::docs::Page;
use crate::commands::explain::{self, ExplainArgs};
use crate::commands::help::Notes;
use crate::commands::manifest::compare::{self, DiffArgs, VerifyArgs};
use crate::commands::manifest::make::{self, ScrubArgs, SnapshotArgs, UpdateArgs};
use crate::commands::manifest::show::{self, ManifestArgs};
use crate::commands::outboard::{self, OutboardArgs};
use crate::commands::sum::{self, SumArgs};
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::version;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;

const TREEWIDE: &str = Program::Treewide.name();
const B3SUM: &str = Program::B3sum.name();

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of b3sum whose options and output ours are, for scripts that want at least some version.
const AS_B3SUM: &str = concat!("1.8.7 (treewide ", env!("CARGO_PKG_VERSION"), ")");

const NOTES: Notes = Notes {
    ends: "\
Where nobody reads the output any more, and for signals, the program ends by the signal (128 + N in a
shell; as process 1 of a container, with exit status 128 + N).",
    ..Notes::new(&[
        ("treewide sum *.iso >SUMS", "the digests of some files"),
        ("treewide check SUMS", "and later: are they still the same?"),
        ("treewide snapshot photos -o photos.b3", "what a directory holds"),
        ("treewide verify photos.b3 photos", "and later: what is different?"),
        ("ln -s treewide b3sum", "a link that takes b3sum's place"),
    ])
};

/// One screen of 24 rows with the prompt below it: what there is, how to begin, and where the rest is.
const SCREEN: &str = "\
Hash files with BLAKE3, and find what changed, moved or rotted

{usage-heading} {usage}   A link named b3sum works as b3sum does.

{subcommands}

  treewide sum *.iso >SUMS               the digests of some files
  treewide check SUMS                    and later: are they still the same?
  treewide snapshot photos -o photos.b3  what a directory holds
  treewide verify photos.b3 photos       and later: what is different?
`treewide sum --help` has options, exit codes, variables; `treewide man` a page.
";

/// Hash and check files with BLAKE3
///
/// `treewide sum` does what b3sum does, and adds recursion, JSON and atomic output. `treewide
/// check` verifies the lists that `treewide sum` or b3sum wrote. `treewide snapshot`, `verify`, `update` and `diff` keep
/// manifests of directories, and find what was added, removed, moved or damaged, too. Called by the name `b3sum` (make a link to
/// this program), it is `treewide sum` and takes b3sum's place in scripts.
#[derive(Parser)]
#[command(name = TREEWIDE, version, max_term_width = 100, arg_required_else_help = true)]
#[command(propagate_version = true)]
#[command(help_template = SCREEN)]
struct Treewide {
    #[command(subcommand)]
    command: Command,
}

/// Print the BLAKE3 digests of files
#[derive(Parser)]
#[command(name = B3SUM, version = AS_B3SUM)]
#[command(max_term_width = 100)]
// Messages then name the flag as b3sum does.
#[command(mut_arg("threads", |arg| arg.long("num-threads").visible_alias(None).visible_alias("threads")))]
#[command(mut_arg("quiet", |arg| arg.requires("check")))]
struct B3sum {
    #[command(flatten)]
    sum: SumArgs,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Sum(SumArgs),
    Check(CheckArgs),
    Snapshot(SnapshotArgs),
    Verify(VerifyArgs),
    Update(UpdateArgs),
    Scrub(ScrubArgs),
    Diff(DiffArgs),
    Manifest(ManifestArgs),
    Outboard(OutboardArgs),
    Explain(ExplainArgs),
    Completions(docs::CompletionsArgs),
    Man(docs::ManArgs),
}

impl Command {
    /// Carry the command out; `program` is the name to put before messages.
    pub(crate) fn run(&self, program: Program) -> anyhow::Result<Outcome> {
        match self {
            Self::Sum(args) => args.run(program),
            Self::Check(args) => args.run(program),
            Self::Snapshot(args) => args.run(program),
            Self::Verify(args) => args.run(program),
            Self::Update(args) => args.run(program),
            Self::Scrub(args) => args.run(program),
            Self::Diff(args) => args.run(program),
            Self::Manifest(args) => args.run(program),
            Self::Outboard(args) => args.run(program),
            Self::Explain(args) => args.run(),
            Self::Completions(args) => args.run(|program| match program {
                Program::Treewide => Treewide::command(),
                Program::B3sum => B3sum::command(),
            }),
            Self::Man(args) => args.run(Treewide::command(), notes),
        }
    }
}

/// What stands below the options of a command, or of the program as a whole.
fn notes(page: Option<Page>, part: Option<&str>) -> Notes {
    match page {
        None => NOTES,
        Some(Page::Sum) => sum::NOTES,
        Some(Page::Check) => check::NOTES,
        Some(Page::Snapshot) => make::SNAPSHOT,
        Some(Page::Verify) => compare::VERIFY,
        Some(Page::Update) => make::UPDATE,
        Some(Page::Scrub) => make::SCRUB,
        Some(Page::Diff) => compare::DIFF,
        Some(Page::Manifest) => show::MANIFEST,
        Some(Page::Outboard) => outboard::notes(part),
        Some(Page::Explain) => explain::NOTES,
        Some(Page::Completions) => docs::COMPLETIONS,
        Some(Page::Man) => docs::MAN,
    }
}

/// What the user asked for.
pub(crate) struct Invocation {
    /// The name we were called by, for messages.
    pub(crate) program: Program,
    /// Or what is wrong with the arguments, or the text that `--help` or `--version` asked for.
    pub(crate) command: Result<Command, clap::Error>,
}

/// Parse the arguments; the first is the name that the program was called by.
pub(crate) fn parse(args: Vec<OsString>) -> Invocation {
    let name = args.first();
    let program = name.map_or(Program::Treewide, |name| Program::called(name));
    let command = match program {
        Program::B3sum => {
            try_parse::<B3sum>(&args, AS_B3SUM).map(|B3sum { sum }| Command::Sum(sum))
        }
        Program::Treewide => try_parse::<Treewide>(&args, VERSION)
            .map(|Treewide { command }| command)
            .map_err(|error| with_advice(error, &args)),
    };
    Invocation { program, command }
}

/// Parse arguments. The long form of the version says more than a constant can.
fn try_parse<P: Parser>(args: &[OsString], version: &str) -> Result<P, clap::Error> {
    // Clap wants it for as long as the program runs.
    let long: &'static str = version::long(version).leak();
    let command = P::command().long_version(long);
    let mut matches = command.try_get_matches_from(args)?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut P::command()))
}

/// People who know b3sum try a file in place of a command first, or an option before it.
fn with_advice(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    // As `clap` names the program.
    let name = args.first().and_then(|name| Path::new(name).file_name()?.to_str());
    let name = name.unwrap_or(TREEWIDE);
    let is_before = args.get(1).is_some_and(|first| first.as_encoded_bytes().starts_with(b"-"));
    let advice = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if Path::new(word).exists() => {
            format!("to hash a file, use '{name} sum {word}'")
        }
        None if is_before && error.kind() == ErrorKind::UnknownArgument => {
            format!("options come after the command: '{name} sum [OPTIONS] [FILE]...'")
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Treewide::command().debug_assert();
        B3sum::command().debug_assert();
    }
}
