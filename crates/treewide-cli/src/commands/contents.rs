//! Parts that `treewide dupes` and `treewide missing` share: operands, paths, and what is said of them at the end.

use crate::commands::manifest::root::ENDING;
use crate::shell::console::Console;
use crate::shell::outcome::Outcome;
use crate::shell::output::spare_below;
use crate::shell::wording::count;
use indicatif::HumanBytes;
use std::path::{Path, PathBuf};
use treewide_files::name::{os_path, shown};
use treewide_manifest::found::Root;
use treewide_manifest::machine::Places;

/// Exit codes of both.
pub(crate) const UNDETERMINED: (&str, &str) =
    ("3", "undetermined: a file or a list could not be read (takes priority over 1)");

/// An error if an output would replace one of these.
pub(crate) fn spare(
    operands: &[PathBuf],
    root: Option<&PathBuf>,
    outputs: &[Option<&Path>],
) -> anyhow::Result<()> {
    let places = operands.iter().fold(Places::new(), |places, it| places.reads_manifest(it));
    let places = outputs.iter().flatten().fold(places, |places, it| places.writes(it));
    places.check(None)?;
    // Who reads a report of a manifest acts on the files in its directory.
    let folders = operands.iter().map(|it| match it.extension() {
        Some(end) if end == ENDING && !it.is_dir() => it.with_extension(""),
        _ => it.clone(),
    });
    let folders: Vec<_> = folders.chain(root.cloned()).collect();
    outputs.iter().flatten().try_for_each(|it| spare_below(it, &folders))
}

/// The lists among the operands, which the output must not be.
pub(crate) fn lists(operands: &[PathBuf]) -> Vec<PathBuf> {
    operands.iter().filter(|it| !it.is_dir()).cloned().collect()
}

/// A name as a path, where its directory is not here.
pub(crate) fn bare(name: &[u8]) -> PathBuf {
    let name = if name.is_empty() { b"." } else { name };
    os_path(name).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned().into())
}

/// The path of a name of an operand, as a line has it: below its directory, or else after the list if there are several.
pub(crate) fn line(roots: &[Root], root: usize, name: &[u8], path: Option<PathBuf>) -> PathBuf {
    path.unwrap_or_else(|| match roots.len() {
        1 => bare(name),
        _ => {
            let mut line = roots[root].path().as_os_str().to_owned();
            line.push(":");
            line.push(bare(name));
            line.into()
        }
    })
}

/// Reports what could not be read.
pub(crate) fn unreadable<'a>(
    console: &Console,
    failed: impl Iterator<Item = (&'a Path, &'a str)>,
) -> Outcome {
    failed.fold(Outcome::Success, |_, (path, cause)| {
        console.about(path, cause);
        Outcome::CannotTell
    })
}

/// How the contents are known, such as `from the lists, no file was read`.
pub(crate) fn known_by(roots: &[Root], (files, bytes): (u64, u64)) -> String {
    let lists = roots.iter().filter(|root| root.is_list()).count() as u64;
    if lists == roots.len() as u64 {
        let lists = if lists == 1 { "the list" } else { "the lists" };
        return format!("from {lists}, no file was read");
    }
    let mut text = format!("{} read ({})", count(files, "file"), HumanBytes(bytes));
    for (root, (list, known)) in roots.iter().filter_map(|it| Some((it, it.known()?))) {
        let list = shown(list);
        text += &format!(", {known} known by {list} and metadata");
        if root.gone() > 0 {
            text += &format!(", {} that it names not there", count(root.gone(), "file"));
        }
    }
    if lists > 0 {
        text += ", the others from the lists";
    }
    text
}
