//! The usual cases in one call each, with the usual rules and the clock of the system.

use crate::contents::dupes::{Dupes, Found};
use crate::contents::missing::{Missing, MissingFiles};
use crate::error::Error;
use crate::format::manifest::Manifest;
use crate::keep::as_of::open;
use crate::keep::draft::{Draft, Totals};
use crate::run::update::Update;
use crate::run::verdict::{Finding, Report};
use crate::run::verify::Verify;
use crate::tree::clock::Clock;
use std::path::Path;
use treewide_files::{Cancel, Options};

/// Writes the manifest of the tree at `dir`: a list at `list`, and its index next to it.
///
/// # Errors
/// As [`Update::run`] and [`Draft::appear`].
pub fn snapshot(dir: &Path, list: &Path, options: &Options) -> Result<(Report, Totals), Error> {
    make(None, dir, list, options, &mut |_| {})
}

/// Brings the manifest at `list` up to date with the tree at `dir`, reading only what looks different. `each` gets the
/// verdict on every path.
///
/// # Errors
/// As [`Update::run`] and [`Draft::appear`].
pub fn update(
    list: &Path,
    dir: &Path,
    options: &Options,
    each: &mut dyn FnMut(Finding),
) -> Result<(Report, Totals), Error> {
    make(Some(&Manifest::open(list)?), dir, list, options, each)
}

fn make(
    old: Option<&Manifest>,
    dir: &Path,
    list: &Path,
    options: &Options,
    each: &mut dyn FnMut(Finding),
) -> Result<(Report, Totals), Error> {
    let draft = Draft::begin(list, true)?;
    let made = Update::new().run(old, dir, draft, Box::new(Clock::new()), options, each)?;
    Ok((made.report, made.draft.appear()?))
}

/// Compares the tree at `dir` with the manifest at `list`, and reads every file. `each` gets the verdict on every path.
///
/// # Errors
/// As [`open`](crate::open) and [`Verify::run`].
pub fn verify(
    list: &Path,
    dir: &Path,
    options: &Options,
    each: &mut dyn FnMut(Finding),
) -> Result<Report, Error> {
    Verify::new().run(&open(list)?, dir, options, each)
}

/// Compares the manifests at `old` and `new`, and reads no file of either tree. `each` gets the verdict on every path.
///
/// # Errors
/// As [`open`](crate::open) and [`machine::diff`](crate::machine::diff).
pub fn diff(old: &Path, new: &Path, each: &mut dyn FnMut(Finding)) -> Result<Report, Error> {
    crate::run::diff::diff(&open(old)?, &open(new)?, &Cancel::new(), each)
}

/// Finds what lists, manifests and directories have more than once: files with the same content, and equal folders.
///
/// # Errors
/// As [`Dupes::run`].
pub fn dupes<P: AsRef<Path>>(operands: &[P], options: &Options) -> Result<Found, Error> {
    Dupes::new().run(operands, options)
}

/// Finds the files of `first` whose content none of `others` has, under any name. Each is a list, a manifest or a directory.
///
/// # Errors
/// As [`Missing::run`].
pub fn missing<P: AsRef<Path>>(
    first: &Path,
    others: &[P],
    options: &Options,
) -> Result<MissingFiles, Error> {
    Missing::new().run(first, others, options)
}
