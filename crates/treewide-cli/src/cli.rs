//! The command line as a whole: which command was asked for, and under which name.

use crate::commands::check::{self, CheckArgs};
use crate::commands::docs;
use crate::commands::docs::Page;
use crate::commands::dupes::{self, DupesArgs};
use crate::commands::explain::{self, ExplainArgs};
use crate::commands::help::Notes;
use crate::commands::manifest::compare::{self, DiffArgs, VerifyArgs};
use crate::commands::manifest::make::{self, ScrubArgs, SnapshotArgs, UpdateArgs};
use crate::commands::manifest::root;
use crate::commands::manifest::show::{self, ManifestArgs};
use crate::commands::missing::{self, MissingArgs};
use crate::commands::outboard::{self, OutboardArgs};
use crate::commands::sum::{self, SumArgs};
use crate::commands::tensors::{self, TensorsArgs};
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::{usage, version};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;
use treewide_files::name::shown;

const TREEWIDE: &str = Program::Treewide.name();
const B3SUM: &str = Program::B3sum.name();

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of b3sum whose options and output ours are, for scripts that want at least some version.
const AS_B3SUM: &str = concat!("1.8.7 (treewide ", env!("CARGO_PKG_VERSION"), ")");

const NOTES: Notes = Notes {
    ends: "\
Where no one reads the output any more, and for signals, the program ends by the signal (128 + N in a
shell; as process 1 of a container, with exit status 128 + N).",
    ..Notes::new(&[
        ("treewide *.iso >SUMS", "the digests of some files, as `treewide sum` prints them"),
        ("treewide check SUMS", "and later: are they still the same?"),
        ("treewide snapshot photos", "write photos.b3: what a directory holds"),
        ("treewide verify photos.b3", "and later: what is different?"),
        ("ln -s treewide b3sum", "a link that takes b3sum's place"),
    ])
};

/// One screen of 24 rows with the prompt below it: the commands, how to begin, and where the rest is.
const SCREEN: &str = "\
Hash files with BLAKE3, and find what changed, moved or rotted

{usage-heading} {usage}   FILE... alone is `sum FILE...`.
{subcommands}

  treewide *.iso >SUMS      digests of some files; later, treewide check SUMS
  treewide snapshot photos  write photos.b3; later, treewide verify photos.b3
`treewide sum --help` has options, exit codes, variables; `treewide man` a page.
";

/// Hash and check files with BLAKE3
///
/// `treewide sum` does what b3sum does, and adds recursion, JSON and atomic output; `treewide FILE...` is the same, unless
/// FILE is the name of a command. `treewide check` verifies the lists that `treewide sum` or b3sum wrote. `treewide
/// snapshot`, `verify`, `update` and `diff` keep manifests of directories, and find what was added, removed, moved or
/// damaged. Called by the name `b3sum` (make a link to this program), it is `treewide sum` and takes b3sum's place in
/// scripts.
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
    Dupes(DupesArgs),
    Missing(MissingArgs),
    Manifest(ManifestArgs),
    Outboard(OutboardArgs),
    Tensors(TensorsArgs),
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
            Self::Dupes(args) => args.run(program),
            Self::Missing(args) => args.run(program),
            Self::Manifest(args) => args.run(program),
            Self::Outboard(args) => args.run(program),
            Self::Tensors(args) => args.run(program),
            Self::Explain(args) => args.run(),
            Self::Completions(args) => args.run(|program| match program {
                Program::Treewide => Treewide::command(),
                Program::B3sum => B3sum::command(),
            }),
            Self::Man(args) => args.run(Treewide::command(), notes),
        }
    }
}

/// The text below the options of a command, or of the program as a whole.
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
        Some(Page::Dupes) => dupes::NOTES,
        Some(Page::Missing) => missing::NOTES,
        Some(Page::Manifest) => show::MANIFEST,
        Some(Page::Outboard) => outboard::notes(part),
        Some(Page::Tensors) => tensors::NOTES,
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
        Program::Treewide => {
            let parsed = try_parse::<Treewide>(&args, VERSION).map(|Treewide { command }| command);
            parsed.or_else(|error| without_command(error, &args))
        }
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

/// Arguments that name no command: files to hash, or what is wrong.
fn without_command(error: clap::Error, args: &[OsString]) -> Result<Command, clap::Error> {
    let first = args.get(1).map(Path::new).unwrap_or(Path::new(""));
    if error.kind() == ErrorKind::InvalidSubcommand && first.is_dir() {
        return Err(usage::wrong_value(about_directory(first)));
    }
    if error.kind() == ErrorKind::InvalidSubcommand && first.exists() {
        let mut sum = args.to_owned();
        sum.insert(1, "sum".into());
        return try_parse::<Treewide>(&sum, VERSION).map(|Treewide { command }| command);
    }
    Err(with_advice(error, args))
}

/// What can be done with a directory.
fn about_directory(dir: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte);
    let name = shown(dir);
    let name = name.trim_end_matches('/');
    let name = if name.is_empty() { "/" } else { name };
    // As a shell reads it.
    let quoted = |name: String| match name.bytes().all(|byte| plain(&byte)) {
        true => name,
        false => format!("'{}'", name.replace('\'', r"'\\''")),
    };
    let (dir, list) = (quoted(name.to_owned()), quoted(format!("{name}.{}", root::ENDING)));
    let rows = [
        (format!("treewide sum -r {dir}"), "prints the digest of each file in it"),
        (format!("treewide snapshot {dir}"), "writes a manifest of it"),
        (format!("treewide verify {list}"), "finds later what is different"),
    ];
    let width = rows.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let rows = rows.map(|(command, meaning)| format!("  {command:width$}  {meaning}"));
    format!("{name} is a directory:\n{}", rows.join("\n"))
}

/// People who know b3sum try an option before the command first.
fn with_advice(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    // As `clap` names the program.
    let name = args.first().and_then(|name| Path::new(name).file_name()?.to_str());
    let name = name.unwrap_or(TREEWIDE);
    let is_before = args.get(1).is_some_and(|first| first.as_encoded_bytes().starts_with(b"-"));
    if is_before && error.kind() == ErrorKind::UnknownArgument {
        let advice = format!("options come after the command: '{name} sum [OPTIONS] [FILE]...'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
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
