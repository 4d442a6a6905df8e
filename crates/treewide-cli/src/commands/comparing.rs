//! Exit codes of commands that compare: an entry that they cannot compare counts more than a difference.

use crate::shell::console::complain;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use treewide_files::name::quoted;
use treewide_manifest::{Error, ErrorKind};

/// Exit codes of the commands that compare.
pub(crate) const EXIT: &[(&str, &str)] = &[
    ("0", "everything is as recorded"),
    ("1", "something differs"),
    ("2", "invalid usage"),
    (
        "3",
        "undetermined: a file could not be read, or the list, index or outboard is damaged (takes priority over 1)",
    ),
];

/// The command that was given with one more flag, as a shell takes it.
fn again(flag: &str) -> String {
    let words = std::env::args_os().skip(1).map(|it| quoted(&it.to_string_lossy()));
    let mut words: Vec<_> = words.collect();
    let end = words.iter().position(|it| it == "--").unwrap_or(words.len());
    words.insert(end, flag.into());
    format!("treewide {}", words.join(" "))
}

/// Runs a command. An error that stops it is exit code 3, because it is then undetermined whether the tree differs.
pub(crate) fn run(
    program: Program,
    command: impl FnOnce() -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    match command() {
        Err(error) if !output::reader_is_gone(&error) && !error.is::<clap::Error>() => {
            let kind = error.downcast_ref::<Error>().map(Error::kind);
            let flag = match kind {
                Some(ErrorKind::Refused(loss)) => loss.flag(),
                _ => None,
            };
            let hint = flag.map_or(String::new(), |it| format!("; to continue: {}", again(&it)));
            complain(program, &format!("{error:#}{hint}"));
            let is_usage = matches!(kind, Some(ErrorKind::Usage(_)));
            Ok(if is_usage { Outcome::BadUsage } else { Outcome::CannotTell })
        }
        ended => ended,
    }
}
