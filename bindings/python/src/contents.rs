//! Functions for `treewide.manifest` that compare contents: duplicates, and what is missing elsewhere.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use treewide_manifest::found::{Group, Member};
use treewide_manifest::{Dupes, Evidence, Missing};

use crate::manifest::{failed, run_watched};
use crate::paths::{FilePath, text_of};
use crate::threads::Threads;

/// Path, operand, evidence, whether it is another name.
type Told<'py> = (Bound<'py, PyString>, Bound<'py, PyString>, Option<&'static str>, bool);

/// Kind, digest, size, files, reclaimable, members.
type ToldGroup<'py> =
    (&'static str, Bound<'py, PyBytes>, Option<u64>, u64, Option<u64>, Vec<Told<'py>>);

/// Path, digest, size, evidence.
type Lost<'py> = (Bound<'py, PyString>, Option<Bound<'py, PyBytes>>, Option<u64>, &'static str);

/// Paths and causes.
type Causes<'py> = Vec<(Bound<'py, PyString>, String)>;

fn text<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyString>> {
    text_of(py, path.as_os_str().as_encoded_bytes())
}

fn causes<'py>(py: Python<'py>, all: Vec<(PathBuf, String)>) -> PyResult<Causes<'py>> {
    all.into_iter().map(|(path, cause)| Ok((text(py, &path)?, cause))).collect()
}

fn owned<'a>(all: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<(PathBuf, String)> {
    all.map(|(path, cause)| (path.into(), cause.into())).collect()
}

/// Finds duplicates: groups, numbers, what changed, and what could not be read.
#[pyfunction]
#[pyo3(signature = (operands, /, *, empty, ignore_names, similar, verify, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn _dupes<'py>(
    py: Python<'py>,
    operands: Vec<FilePath>,
    empty: bool,
    ignore_names: bool,
    similar: u8,
    verify: Option<&str>,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<ToldGroup<'py>>, [u64; 8], Causes<'py>, Causes<'py>)> {
    let least = match verify {
        Some("read") => Evidence::Read,
        Some(_) => Evidence::Metadata,
        None => Evidence::Claimed,
    };
    let dupes = Dupes::new().empty(empty).ignore_names(ignore_names);
    let dupes = dupes.similar(similar).verify(least);
    let operands: Vec<_> = operands.into_iter().map(|it| it.0).collect();
    let work = move |options: &_| {
        let mut found = dupes.run(&operands, options)?;
        let mut groups = Vec::new();
        while let Some(group) = found.next() {
            let group = group?;
            let path = |it: &Member| (found.path(it), found.roots()[it.root].path().to_owned());
            let paths: Vec<_> = group.members.iter().map(path).collect();
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
    let told = |(group, paths): (Group, Vec<(Option<PathBuf>, PathBuf)>)| {
        let members = group.members.iter().zip(paths).map(|(member, (path, operand))| {
            let path = match path {
                Some(path) => text(py, &path)?,
                None => text_of(py, &member.name)?,
            };
            Ok((path, text(py, &operand)?, member.evidence.map(Evidence::word), member.is_link))
        });
        let members = members.collect::<PyResult<Vec<_>>>()?;
        let (kind, digest) = (group.kind.word(), PyBytes::new(py, &group.digest));
        Ok((kind, digest, group.size, group.files, group.reclaimable, members))
    };
    let groups = groups.into_iter().map(told).collect::<PyResult<Vec<_>>>()?;
    Ok((groups, numbers, causes(py, changed)?, causes(py, unreadable)?))
}

/// Finds what is missing: files, numbers, and what could not be read.
#[pyfunction]
#[pyo3(signature = (first, others, /, *, names, threads, progress))]
pub(crate) fn _missing<'py>(
    py: Python<'py>,
    first: FilePath,
    others: Vec<FilePath>,
    names: bool,
    threads: isize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<Lost<'py>>, [u64; 3], Causes<'py>)> {
    let others: Vec<_> = others.into_iter().map(|it| it.0).collect();
    let work = move |options: &_| {
        let mut found = Missing::new().names(names).run(&first.0, &others, options)?;
        let mut files = Vec::new();
        while let Some(lost) = found.next() {
            let lost = lost?;
            files.push((found.path(&lost), lost));
        }
        let (files_read, bytes_read) = found.read();
        let numbers = [found.totals().files, files_read, bytes_read];
        Ok((files, numbers, owned(found.unreadable())))
    };
    let found = run_watched(py, Threads::new(threads)?, progress, work)?;
    let (files, numbers, unreadable) = found.map_err(|error| failed(py, error))?;
    let told = files.into_iter().map(|(path, lost)| {
        let path = match path {
            Some(path) => text(py, &path)?,
            None => text_of(py, &lost.name)?,
        };
        let digest = lost.digest.map(|digest| PyBytes::new(py, &digest));
        Ok((path, digest, lost.size, lost.evidence.word()))
    });
    Ok((told.collect::<PyResult<Vec<_>>>()?, numbers, causes(py, unreadable)?))
}
