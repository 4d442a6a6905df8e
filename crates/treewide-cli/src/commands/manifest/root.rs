//! The directory that a manifest is of, and the place of its list, where the user does not name both.

use crate::commands::comparing::run;
use crate::shell::outcome::Outcome;
use crate::shell::program::Program;
use anyhow::{Context, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use treewide_files::name::{os_path, quoted, shown};
use treewide_manifest::Manifest;
use treewide_manifest::record::Type;

/// The most records whose paths are looked for where no directory is named.
const LOOKED_FOR: usize = 1000;

/// The ending of a list.
pub(crate) const ENDING: &str = "b3";

/// Parses a manifest operand: a list, or a directory X, which means X.b3.
pub(super) fn list() -> impl TypedValueParser<Value = PathBuf> {
    let list = |path: PathBuf| if path.is_dir() { list_of(&path) } else { Ok(path) };
    PathBufValueParser::new().try_map(list)
}

/// The list of a directory: `photos.b3` next to `photos`.
pub(super) fn list_of(dir: &Path) -> anyhow::Result<PathBuf> {
    let full = match dir.file_name() {
        Some(_) => dir.to_owned(),
        // Such as `.`: its name is elsewhere.
        None => dir.canonicalize().with_context(|| shown(dir))?,
    };
    let Some(name) = full.file_name() else {
        bail!("{}: has no name that the list could have; name the list with -o", shown(dir));
    };
    let mut name = OsString::from(name);
    name.push(".");
    name.push(ENDING);
    Ok(full.with_file_name(name))
}

/// The list of a directory that is there: next to it, or in it as training programs and `treewide scale` write it.
pub(crate) fn near(dir: &Path) -> anyhow::Result<PathBuf> {
    let (list, inside) = (list_of(dir)?, dir.join("checkpoint.b3"));
    Ok(if !list.exists() && inside.exists() { inside } else { list })
}

/// Runs a command for each manifest: of its list, its directory if that was named, and its name if there are several. A list may have its
/// directory after it, and a directory X alone is that of X.b3. The worst outcome counts.
pub(super) fn each(
    program: Program,
    operands: &[PathBuf],
    command: impl Fn(&Path, Option<&Path>, Option<&Path>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    run(program, || {
        let (pairs, mut worst) = (pairs(operands)?, Outcome::Success);
        for (list, dir) in &pairs {
            let name = (pairs.len() > 1).then_some(&**list);
            worst = worst.max(run(program, || command(list, dir.as_deref(), name))?);
        }
        Ok(worst)
    })
}

/// The lists, each with its directory if that was named.
fn pairs(operands: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, Option<PathBuf>)>> {
    let mut pairs: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
    let mut takes_directory = false;
    for it in operands {
        match pairs.last_mut().filter(|_| takes_directory) {
            Some((_, dir)) if it.is_dir() => *dir = Some(it.clone()),
            _ if it.is_dir() => {
                let list = near(it)?;
                // Next to it, the list names it.
                let dir = Some(it).filter(|_| list_of(it).is_ok_and(|next| next != list));
                pairs.push((list, dir.cloned()));
            }
            // Nothing is compared by a wrong directory because the right one is not there.
            Some(_) if !it.exists() => drop(treewide_manifest::open(it)?),
            _ => {}
        }
        takes_directory = !it.is_dir();
        if takes_directory {
            pairs.push((it.clone(), None));
        }
    }
    Ok(pairs)
}

/// The directory that the manifest is compared with if none is named: the one of its name next to it or, if there is none, `.`. It
/// must have anything that the manifest has. Else another tree would pass for one that was emptied and filled, and `update` would
/// record it.
pub(super) fn find(manifest: &Manifest) -> anyhow::Result<PathBuf> {
    let list = manifest.list().path();
    let named = list.extension().filter(|it| *it == ENDING).map(|_| list.with_extension(""));
    let named = match named {
        Some(dir) => if_directory(dir)?,
        None => None,
    };
    let here = PathBuf::from(".");
    let (mut missing, mut has_records, mut is_here_too) = (0, false, false);
    for record in manifest.records()?.take(LOOKED_FOR) {
        let record = record?;
        has_records = true;
        let Ok(name) = os_path(record.bare()) else { continue };
        let has = |dir: &Path| dir.join(&name).symlink_metadata().is_ok();
        let dir = named.as_ref().unwrap_or(&here);
        if has(dir) {
            return Ok(dir.clone());
        }
        is_here_too |= has(&here);
        missing += 1;
    }
    if missing > 0 {
        if let Some(what) = of_tensors(list) {
            bail!(what);
        }
        let list = shown(list);
        let place = named.as_deref().map_or("this directory".into(), shown);
        let way = match is_here_too && named.is_some() {
            true => ", but some are in this directory",
            false => "",
        };
        bail!(
            "{list}: none of its {missing} entries is in {place}{way}; is the disk mounted? Or name the directory after the list"
        );
    }
    // No record says whether `.` is it.
    if named.is_none() && !has_records {
        let list = shown(list);
        bail!("{list}: lists nothing by which its directory is known; name that after the list");
    }
    Ok(named.unwrap_or(here))
}

/// What to do with a list of tensors, which names no files.
pub(crate) fn of_tensors(list: &Path) -> Option<String> {
    let name = quoted(&shown(list));
    let is = treewide_tensors::list::is_list(list);
    is.then(|| format!("{name} is a list of tensors: treewide tensors {name} MODEL"))
}

/// Whether a recorded file is in the directory.
pub(super) fn has_file(manifest: &Manifest, dir: &Path) -> anyhow::Result<bool> {
    for record in manifest.records()? {
        let record = record?;
        let is_there =
            || os_path(record.bare()).is_ok_and(|it| dir.join(it).symlink_metadata().is_ok());
        if record.kind() == Type::File && is_there() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The directory, if it is one. An error if it is there and cannot be entered, as where its disk or server is off: then it is not `.`.
fn if_directory(dir: PathBuf) -> anyhow::Result<Option<PathBuf>> {
    match dir.metadata() {
        Ok(it) => Ok(Some(dir).filter(|_| it.is_dir())),
        Err(error) if error.kind() == ErrorKind::NotFound && !dir.is_symlink() => Ok(None),
        Err(error) => Err(error).with_context(|| {
            format!(
                "{}: is its disk mounted? Or name the right directory after the list",
                shown(&dir)
            )
        }),
    }
}
