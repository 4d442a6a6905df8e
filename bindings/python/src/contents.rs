//! Functions for `treewide.manifest` that compare contents: duplicates, and what is missing elsewhere.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use treewide_manifest::found::{Group, Kind};
use treewide_manifest::{Dupes, Evidence, Missing};

use crate::manifest::{failed, run_watched};
use crate::paths::{FilePath, text, text_of};
use crate::threads::Threads;

/// Path, operand, evidence, the path of the first name if this is another one.
type Told<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Option<&'static str>,
    Option<Bound<'py, PyString>>,
);

/// Kind, digest, size, files, percent, reclaimable, members.
type ToldGroup<'py> = (
    &'static str,
    Option<Bound<'py, PyBytes>>,
    Option<u64>,
    Option<u64>,
    Option<u8>,
    Option<u64>,
    Vec<Told<'py>>,
);

/// Path, digest, size, evidence.
type Lost<'py> = (Bound<'py, PyString>, Option<Bound<'py, PyBytes>>, Option<u64>, &'static str);

/// Paths and causes.
type Causes<'py> = Vec<(Bound<'py, PyString>, String)>;

/// A path as bytes, or the name where the directory is not here.
fn bytes(path: Option<PathBuf>, name: &[u8]) -> Vec<u8> {
    let name = if name.is_empty() { b"." } else { name };
    path.map_or(name.into(), |it| it.into_os_string().into_encoded_bytes())
}

fn causes<'py>(py: Python<'py>, all: Vec<(PathBuf, String)>) -> PyResult<Causes<'py>> {
    all.into_iter().map(|(path, cause)| Ok((text(py, &path)?, cause))).collect()
}

fn owned<'a>(all: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<(PathBuf, String)> {
    all.map(|(path, cause)| (path.into(), cause.into())).collect()
}

/// Finds duplicates: groups, numbers, what changed, and what could not be read.
#[pyfunction]
#[pyo3(signature = (operands, /, *, empty, ignore_names, similar, root, verify, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _dupes<'py>(
    py: Python<'py>,
    operands: Vec<FilePath>,
    empty: bool,
    ignore_names: bool,
    similar: u8,
    root: Option<FilePath>,
    verify: Option<&str>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<ToldGroup<'py>>, [u64; 8], Causes<'py>, Causes<'py>)> {
    let least = match verify {
        Some("read") => Evidence::Read,
        Some(_) => Evidence::Metadata,
        None => Evidence::Claimed,
    };
    let dupes = Dupes::new().empty(empty).ignore_names(ignore_names).similar(similar).verify(least);
    let dupes = root.into_iter().fold(dupes, |dupes, it| dupes.root(it.0));
    let operands: Vec<_> = operands.into_iter().map(|it| it.0).collect();
    let paths = operands.clone();
    let work = move |options: &_| {
        let mut found = dupes.run(&paths, options)?;
        let mut groups = Vec::new();
        while let Some(group) = found.next() {
            let group = group?;
            let paths = group.members.iter().map(|it| bytes(found.path(it), &it.name));
            let paths: Vec<_> = paths.collect();
            groups.push((group, paths));
        }
        let (totals, (files, bytes)) = (found.totals(), found.read());
        let numbers = [
            totals.files,
            totals.folders,
            totals.similar,
            totals.redundant,
            totals.reclaimable,
            totals.links,
            files,
            bytes,
        ];
        Ok((groups, numbers, owned(found.changed()), owned(found.unreadable())))
    };
    let found = run_watched(py, Threads::new(threads)?, progress, work)?;
    let (groups, numbers, changed, unreadable) = found.map_err(|error| failed(py, error))?;
    let told = |(group, paths): (Group, Vec<Vec<u8>>)| {
        let members = group.members.iter().zip(&paths).map(|(it, path)| {
            let first = it.link_of.map(|it| text_of(py, &paths[it])).transpose()?;
            let (path, operand) = (text_of(py, path)?, text(py, &operands[it.root])?);
            Ok((path, operand, it.evidence.map(Evidence::word), first))
        });
        let members = members.collect::<PyResult<Vec<_>>>()?;
        let digest = group.digest.map(|it| PyBytes::new(py, &it));
        let percent = if let Kind::Similar(percent) = group.kind { Some(percent) } else { None };
        let (kind, files) = (group.kind.word(), percent.is_none().then_some(group.files));
        Ok((kind, digest, group.size, files, percent, group.reclaimable, members))
    };
    let groups = groups.into_iter().map(told).collect::<PyResult<Vec<_>>>()?;
    Ok((groups, numbers, causes(py, changed)?, causes(py, unreadable)?))
}

/// Finds what is missing: files, numbers, and what could not be read.
#[pyfunction]
#[pyo3(signature = (first, others, /, *, names, root, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _missing<'py>(
    py: Python<'py>,
    first: FilePath,
    others: Vec<FilePath>,
    names: bool,
    root: Option<FilePath>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<Lost<'py>>, [u64; 4], Causes<'py>)> {
    let others: Vec<_> = others.into_iter().map(|it| it.0).collect();
    let missing = Missing::new().names(names);
    let missing = root.into_iter().fold(missing, |missing, it| missing.root(it.0));
    let work = move |options: &_| {
        let mut found = missing.run(&first.0, &others, options)?;
        let mut files = Vec::new();
        while let Some(lost) = found.next() {
            let lost = lost?;
            files.push((bytes(found.path(&lost), &lost.name), lost));
        }
        let (totals, (files_read, bytes_read)) = (found.totals(), found.read());
        let numbers = [totals.files, totals.own, files_read, bytes_read];
        Ok((files, numbers, owned(found.unreadable())))
    };
    let found = run_watched(py, Threads::new(threads)?, progress, work)?;
    let (files, numbers, unreadable) = found.map_err(|error| failed(py, error))?;
    let told = files.into_iter().map(|(path, lost)| {
        let digest = lost.digest.map(|digest| PyBytes::new(py, &digest));
        Ok((text_of(py, &path)?, digest, lost.size, lost.evidence.word()))
    });
    Ok((told.collect::<PyResult<Vec<_>>>()?, numbers, causes(py, unreadable)?))
}
