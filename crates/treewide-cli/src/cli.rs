//! The command line as a whole: which command was asked for, and under which name.

use crate::{Outcome, check::CheckArgs, device, docs, explain::ExplainArgs, sum::SumArgs};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The name that stands before every message when we are called as ourselves.
const TREEWIDE: &str = "treewide";
/// Called under this name (a link to the binary), the program is `treewide sum`.
const B3SUM: &str = "b3sum";

const EXIT_STATUS: &str = "\
Exit status:
  0  everything was done, and everything checked is as listed
  1  a file could not be read, a check failed, or the output could not be written
  2  the command line makes no sense";

/// Hash and check files with BLAKE3
///
/// `treewide sum` does what b3sum does, with recursion, JSON and atomic output besides; `treewide
/// check` verifies the lists that it, or b3sum, wrote. Under the name `b3sum` (make a link to
/// this program) it is `treewide sum`, and takes b3sum's place in scripts.
#[derive(Parser)]
#[command(name = TREEWIDE, version, max_term_width = 100, arg_required_else_help = true)]
#[command(propagate_version = true)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct Treewide {
    #[command(subcommand)]
    command: Command,
}

/// Print the BLAKE3 digests of files
#[derive(Parser)]
#[command(name = B3SUM, version = concat!(env!("CARGO_PKG_VERSION"), " (treewide)"))]
#[command(max_term_width = 100)]
// So that messages have the name that b3sum has for it.
#[command(mut_arg("threads", |arg| arg.long("num-threads").visible_alias(None).visible_alias("threads")))]
struct B3sum {
    #[command(flatten)]
    sum: SumArgs,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Sum(SumArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    #[command(flatten)]
    Device(device::Command),
    Completions(docs::CompletionsArgs),
    Man(docs::ManArgs),
}

impl Command {
    /// Carry the command out; `program` is the name to put before messages.
    pub(crate) fn run(&self, program: &'static str) -> anyhow::Result<Outcome> {
        match self {
            Self::Sum(args) => args.run(program),
            Self::Check(args) => args.run(program),
            Self::Explain(args) => args.run(),
            Self::Device(command) => command.run(),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        }
    }
}

/// What the user asked for.
pub(crate) struct Invocation {
    /// The name we were called by, for messages.
    pub(crate) program: &'static str,
    /// Or the text that `--help` or `--version` asked for.
    pub(crate) command: Result<Command, clap::Error>,
}

/// Parse this process's arguments; bad usage ends the process here.
pub(crate) fn parse() -> Invocation {
    let args: Vec<OsString> = wild::args_os().collect();
    let (program, command) = if args.first().is_some_and(|name| is_b3sum(name)) {
        (B3SUM, B3sum::try_parse_from(args).map(|B3sum { sum }| Command::Sum(sum)))
    } else {
        let parsed = Treewide::try_parse_from(&args);
        let parsed = parsed.map_err(|error| with_advice(error, args.get(1)));
        (TREEWIDE, parsed.map(|Treewide { command }| command))
    };
    match command {
        Err(error) if error.use_stderr() => error.exit(),
        command => Invocation { program, command },
    }
}

/// A file in place of a command, or an option before it, is what anyone used to b3sum will try first.
fn with_advice(mut error: clap::Error, first: Option<&OsString>) -> clap::Error {
    let is_before = first.is_some_and(|first| first.as_encoded_bytes().starts_with(b"-"));
    let advice = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if Path::new(word).exists() => {
            format!("to hash a file, use '{TREEWIDE} sum {word}'")
        }
        None if is_before && error.kind() == ErrorKind::UnknownArgument => {
            format!("options come after the command: '{TREEWIDE} sum [OPTIONS] [FILE]...'")
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

/// Whether messages are to sound like b3sum's, and nothing it would not say is to be said.
pub(crate) fn speaks_as_b3sum(program: &str) -> bool {
    program == B3SUM
}

fn is_b3sum(argv0: &OsStr) -> bool {
    let path = Path::new(argv0);
    // `b3sum.exe` on Windows; on Unix a name with an extension is some other name.
    let stem = if cfg!(windows) { path.file_stem() } else { path.file_name() };
    stem == Some(OsStr::new(B3SUM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_consistent() {
        Treewide::command().debug_assert();
        B3sum::command().debug_assert();
    }

    #[test]
    fn only_the_exact_name_is_b3sum() {
        assert!(is_b3sum(OsStr::new("/usr/bin/b3sum")));
        assert!(is_b3sum(OsStr::new("b3sum")));
        assert!(!is_b3sum(OsStr::new("treewide")));
        assert!(!is_b3sum(OsStr::new("b3sum2")));
    }
}
