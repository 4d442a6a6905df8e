//! The command line as a whole: which command was asked for, and under which name.

use crate::commands::check::{self, CheckArgs};
use crate::commands::comparing;
use crate::commands::docs;
use crate::commands::dupes::{self, DupesArgs};
use crate::commands::explain::{self, ExplainArgs};
use crate::commands::help::Notes;
use crate::commands::manifest::compare::{self, DiffArgs, VerifyArgs};
use crate::commands::manifest::history::{self, HistoryArgs};
use crate::commands::manifest::make::{self, SnapshotArgs, UpdateArgs};
use crate::commands::manifest::root;
use crate::commands::manifest::scrub::{self, ScrubArgs};
use crate::commands::manifest::show::{self, ManifestArgs};
use crate::commands::missing::{self, MissingArgs};
use crate::commands::outboard::{self, OutboardArgs};
use crate::commands::sum::{self, SumArgs};
use crate::commands::tensors::{self, TensorsArgs};
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use crate::shell::{usage, version};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;
use treewide_files::name::{quoted, shown};

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
{usage-heading} {usage}   FILE... prints digests; the commands:
{subcommands}

  treewide *.iso >SUMS      later: treewide check SUMS
  treewide snapshot photos  later: treewide verify photos.b3
`treewide sum` reads standard input. `treewide sum --help` has all its options.
";

/// Hash files with BLAKE3, and find what changed, moved or rotted
///
/// `treewide sum` does what b3sum does, and adds recursion, JSON and atomic output; `treewide FILE...` is the same, unless
/// FILE is the name of a command. `treewide check` verifies lists of digests, and stores. `treewide snapshot`, `verify`, `update`,
/// `scrub` and `diff` keep manifests of directories, and find what was added, removed, moved or damaged. `dupes` and
/// `missing` compare contents, and `tensors` compares models. Called by the name `b3sum` (make a link to this program), it
/// is `treewide sum` and takes b3sum's place in scripts.
#[derive(Parser)]
#[command(name = TREEWIDE, version, max_term_width = 100, arg_required_else_help = true)]
#[command(propagate_version = true, subcommand_value_name = "FILE...|COMMAND")]
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
    History(HistoryArgs),
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
            Self::History(args) => args.run(program),
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

/// The text below the options of each command.
const PAGES: &[(&str, Notes)] = &[
    ("sum", sum::NOTES),
    ("check", check::NOTES),
    ("snapshot", make::SNAPSHOT),
    ("verify", compare::VERIFY),
    ("update", make::UPDATE),
    ("scrub", scrub::SCRUB),
    ("diff", compare::DIFF),
    ("dupes", dupes::NOTES),
    ("missing", missing::NOTES),
    ("manifest", show::MANIFEST),
    ("history", history::HISTORY),
    ("tensors", tensors::NOTES),
    ("explain", explain::NOTES),
    ("completions", docs::COMPLETIONS),
    ("man", docs::MAN),
];

/// The text below the options of a command, or of the program as a whole.
fn notes(command: &[String]) -> Notes {
    match command {
        [first, part @ ..] if first == "outboard" => outboard::notes(part),
        [first, ..] => PAGES.iter().find(|it| it.0 == first).map_or(NOTES, |it| it.1),
        [] => NOTES,
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
pub(crate) fn parse(args: &[OsString]) -> Invocation {
    let name = args.first();
    let program = name.map_or(Program::Treewide, |name| Program::called(name));
    let command = match program {
        Program::B3sum => try_parse::<B3sum>(args, AS_B3SUM).map(|B3sum { sum }| Command::Sum(sum)),
        Program::Treewide => {
            let parsed = try_parse::<Treewide>(args, VERSION).map(|Treewide { command }| command);
            parsed.or_else(|error| without_command(error, args))
        }
    };
    Invocation { program, command }
}

/// Parse arguments. The long form of the version says more than a constant can.
fn try_parse<P: Parser>(args: &[OsString], version: &str) -> Result<P, clap::Error> {
    // Clap wants it for as long as the program runs.
    let long: &'static str = version::long(version).leak();
    let mut command = P::command().long_version(long);
    let mut matches =
        command.try_get_matches_from_mut(args).map_err(|error| with_tip(error, &command, args))?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut P::command()))
}

/// What people ask for by options of other programs, and what does that here.
const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["-n", "--dry-run"],
        "`treewide verify --quick` shows what `update` would record, and writes nothing",
    ),
    (&["-j", "--jobs"], "use --threads"),
    (&["--exclude"], "a manifest has its rules: `treewide update --exclude GLOB X.b3` adds one"),
    (
        &["--max-time", "--time", "--timeout"],
        "use `timeout 2h treewide ...`; the next run continues it",
    ),
];

/// Gives an unknown option the tip that belongs to it. A name that is like it is often not the one that was meant.
fn with_tip(mut error: clap::Error, command: &clap::Command, args: &[OsString]) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
        // Its usage has the name that is like it.
        let mut of = command.clone();
        for name in args.iter().skip(1) {
            let Some(next) = of.find_subcommand(name) else { break };
            of = next.clone();
        }
        error.insert(ContextKind::Usage, ContextValue::StyledStr(of.render_usage()));
        let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string);
        let is_meant = |words: &[&str]| words.iter().any(|it| Some(*it) == unknown.as_deref());
        if let Some((_, tip)) = OPTIONS.iter().find(|(words, _)| is_meant(words)) {
            let tips = vec![StyledStr::from(*tip)];
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    error
}

/// Arguments that name no command: files to hash, or what is wrong.
fn without_command(mut error: clap::Error, args: &[OsString]) -> Result<Command, clap::Error> {
    let first = args.get(1).map(Path::new).unwrap_or(Path::new(""));
    let is_option = first.as_os_str().as_encoded_bytes().starts_with(b"-");
    let root = Treewide::command();
    let before_files = args.iter().take_while(|it| *it != "--");
    let names_command =
        before_files.map(Path::new).any(|it| root.find_subcommand(it).is_some() && !it.exists());
    match error.kind() {
        // A command of a command.
        ErrorKind::InvalidSubcommand if root.find_subcommand(first).is_some() => Err(error),
        ErrorKind::InvalidSubcommand if first.is_dir() => {
            Err(usage::wrong_value(about_directory(first)))
        }
        ErrorKind::InvalidSubcommand if is_option || first.exists() => as_sum(args),
        // `treewide help -h`
        ErrorKind::InvalidSubcommand if first == Path::new("help") => {
            let is_help = |it: &&OsString| *it != "-h" && *it != "--help";
            let args: Vec<_> = args.iter().filter(is_help).cloned().collect();
            try_parse::<Treewide>(&args, VERSION).map(|it| it.command)
        }
        ErrorKind::InvalidSubcommand => Err(no_command(first)),
        ErrorKind::UnknownArgument if is_option && !names_command => as_sum(args),
        ErrorKind::UnknownArgument if is_option => {
            let tip = vec![StyledStr::from("options come after the command")];
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
            Err(error)
        }
        _ => Err(error),
    }
}

/// The arguments as those of `treewide sum`.
fn as_sum(args: &[OsString]) -> Result<Command, clap::Error> {
    let mut args = args.to_owned();
    args.insert(1, "sum".into());
    try_parse::<Treewide>(&args, VERSION).map(|it| it.command)
}

/// What people ask for in the words of other programs.
const MEANT: &[(&str, &[&str])] = &[
    ("sum", &["blake3", "digest", "hash", "hashsum"]),
    ("snapshot", &["add", "create", "init", "record"]),
    ("verify", &["audit", "scan", "test"]),
    ("verify --quick", &["status"]),
    ("update", &["refresh", "sync"]),
    ("diff", &["changes", "compare"]),
    ("dupes", &["dedup", "dedupe", "duplicates", "fdupes"]),
    ("missing", &["unique"]),
    ("manifest stat", &["cat", "info", "list", "ls", "show", "stat"]),
    ("outboard", &["decode", "encode", "slice"]),
    ("outboard repair", &["fix", "repair", "restore"]),
    ("tensors", &["model", "weights"]),
    ("--version", &["version"]),
];

/// There is neither a file nor a command of this name.
fn no_command(first: &Path) -> clap::Error {
    let meant = MEANT.iter().find(|(_, words)| words.iter().any(|it| first == Path::new(it)));
    let tip = match (meant, first.to_str()) {
        (Some((command, _)), _) => format!("use `{TREEWIDE} {command}`"),
        (None, Some("scale")) => {
            "scale is in the Python package of treewide: python -m treewide scale".into()
        }
        (None, Some(url)) if url.contains("://") => {
            comparing::what_it_is(first).unwrap_or_default()
        }
        _ => format!("`{TREEWIDE} --help` lists the commands"),
    };
    let text = format!("there is no file and no command '{}'\n\n  tip: {tip}\n", shown(first));
    clap::Error::raw(ErrorKind::InvalidSubcommand, text)
}

/// What can be done with a directory.
fn about_directory(dir: &Path) -> String {
    let name = shown(dir);
    let name = name.trim_end_matches('/');
    let name = if name.is_empty() { "/" } else { name };
    let (dir, list) = (quoted(name), quoted(&format!("{name}.{}", root::ENDING)));
    let rows = [
        (format!("treewide sum -r {dir}"), "prints the digest of each file in it"),
        (format!("treewide snapshot {dir}"), "writes a manifest of it"),
        (format!("treewide verify {list}"), "finds later what is different"),
    ];
    let width = rows.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let rows = rows.map(|(command, meaning)| format!("  {command:width$}  {meaning}"));
    format!("{name} is a directory:\n{}", rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Treewide::command().debug_assert();
        B3sum::command().debug_assert();
        for (name, _) in PAGES {
            assert!(Treewide::command().find_subcommand(name).is_some(), "{name}");
        }
        for (meant, words) in MEANT.iter().filter(|(meant, _)| !meant.starts_with('-')) {
            let first = meant.split(' ').next().expect("a word");
            assert!(Treewide::command().find_subcommand(first).is_some(), "{meant}");
            let is_free = |word: &&str| Treewide::command().find_subcommand(word).is_none();
            assert!(words.iter().all(is_free), "{words:?}");
        }
    }
}
