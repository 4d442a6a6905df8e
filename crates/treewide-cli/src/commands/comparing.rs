//! Exit codes of commands that compare: an entry that they cannot compare counts more than a difference.

use crate::shell::console::complain;
use crate::shell::outcome::Outcome;
use crate::shell::output;
use crate::shell::program::Program;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use treewide_files::name::{quoted, shown};
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

/// What to do with a file that is named as a list, and does not exist or is not a list; or with a bucket.
pub(crate) fn what_it_is(path: &Path) -> Option<String> {
    let (name, directory) = (quoted(&shown(path)), path.with_extension(""));
    if path.to_str().is_some_and(|it| it.contains("://")) && !path.exists() {
        return Some(format!("for a bucket: python -m treewide scale sum -r {name}"));
    }
    let ending = path.extension().and_then(OsStr::to_str);
    if ending == Some("b3") {
        let is_to_make = !path.exists() && directory.is_dir();
        let directory = quoted(&shown(&directory));
        return is_to_make.then(|| format!("to make it: treewide snapshot {directory}"));
    }
    let mut head = [0; 4096];
    // A pipe would be waited for.
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    let read = (&file).read(&mut head).ok()?;
    head[..read].contains(&0).then(|| match ending {
        Some("safetensors" | "gguf") => format!("it is a model: treewide tensors {name}"),
        _ => format!("it is not a list; its digest: treewide sum {name}"),
    })
}

/// Runs a command. An error that stops it is exit code 3, because it is then undetermined whether the tree differs.
pub(crate) fn run(
    program: Program,
    command: impl FnOnce() -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    match command() {
        Err(error) if !output::reader_is_gone(&error) && !error.is::<clap::Error>() => {
            let cause = error.downcast_ref::<Error>();
            let kind = cause.map(Error::kind);
            let what = cause.and_then(|it| Some((it.path(), what_it_is(it.path())?)));
            let text = format!("{error:#}");
            let text = match (kind, what) {
                (Some(ErrorKind::Refused(loss)), _) => match loss.flag() {
                    Some(flag) => format!("{text}; to continue: {}", again(&flag)),
                    None => text,
                },
                (Some(ErrorKind::Read(_)), Some((_, it))) => format!("{text}; {it}"),
                (Some(ErrorKind::List(_)), Some((path, it))) => format!("{}: {it}", shown(path)),
                _ => text,
            };
            complain(program, &text);
            let is_usage = matches!(kind, Some(ErrorKind::Usage(_)));
            Ok(if is_usage { Outcome::BadUsage } else { Outcome::CannotTell })
        }
        ended => ended,
    }
}
