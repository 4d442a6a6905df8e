//! Functions for `treewide.manifest` that compare contents: duplicates, and what is missing elsewhere.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use treewide_manifest::found::Kind;
use treewide_manifest::{Dupes, Evidence};

use crate::manifest::{failed, run_watched};
use crate::paths::{FilePath, text, text_of};
use crate::record::{Record, make, record};
use crate::threads::Threads;

record! { "treewide.manifest", Member: Record { path, operand, evidence, link_of } }
record! {
    "treewide.manifest",
    Group: Record { kind, digest, size, files, percent, reclaimable, members }
}
record! {
    "treewide.manifest",
    Duplicates: Record {
        groups, file_groups, folder_groups, similar, redundant, reclaimable, links, files_read, bytes_read, unreadable,
    }
}
record! { "treewide.manifest", MissingFile: Record { path, digest, size, evidence } }
record! {
    "treewide.manifest",
    Missing: Record {
        files, total_files, by_read, by_metadata, by_claimed, not_counted, files_read, bytes_read, unreadable,
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.files.is_truthy(py)? || self.unreadable.is_truthy(py)?)
    }
}

/// Paths and causes.
type Causes<'py> = Vec<(Bound<'py, PyString>, String)>;

fn bytes(path: PathBuf) -> Vec<u8> {
    path.into_os_string().into_encoded_bytes()
}

fn causes<'py>(py: Python<'py>, all: Vec<(PathBuf, String)>) -> PyResult<Causes<'py>> {
    all.into_iter().map(|(path, cause)| Ok((text(py, &path)?, cause))).collect()
}

fn owned<'a>(all: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<(PathBuf, String)> {
    all.map(|(path, cause)| (path.into(), cause.into())).collect()
}

#[doc = stub!("_manifest_dupes")]
#[pyfunction]
#[pyo3(name = "dupes", signature = (
    *operands, empty=false, ignore_names=false, similar=0, quick=false, threads=1, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn dupes(
    py: Python<'_>,
    operands: Vec<FilePath>,
    empty: bool,
    ignore_names: bool,
    similar: i64,
    quick: bool,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Duplicates>> {
    if operands.is_empty() {
        return Err(PyTypeError::new_err("dupes needs at least one list or directory"));
    }
    let Some(similar) = u8::try_from(similar).ok().filter(|it| *it <= 100) else {
        let text = format!("similar is a percentage from 0 to 100, not {similar}");
        return Err(PyValueError::new_err(text));
    };
    let dupes = Dupes::new().empty(empty).ignore_names(ignore_names).similar(similar).quick(quick);
    let operands: Vec<_> = operands.into_iter().map(|it| it.0).collect();
    let paths = operands.clone();
    let work = move |options: &_| {
        let mut found = dupes.run(&paths, options)?;
        let mut groups = Vec::new();
        while let Some(group) = found.next() {
            let group = group?;
            let paths = group.members.iter().map(|it| bytes(found.path(it)));
            let paths: Vec<_> = paths.collect();
            groups.push((group, paths));
        }
        Ok((groups, found.totals(), found.read(), owned(found.unreadable())))
    };
    let found = run_watched(py, Threads::new(threads)?, progress, work)?;
    let found = found.map_err(|error| failed(py, error))?;
    let (groups, totals, (files_read, bytes_read), unreadable) = found;
    let groups = groups.into_iter().map(|(it, paths)| group(py, it, &paths, &operands));
    let found = make!(
        py,
        Duplicates {
            groups: PyTuple::new(py, groups.collect::<PyResult<Vec<_>>>()?)?,
            file_groups: totals.files,
            folder_groups: totals.folders,
            similar: totals.similar,
            redundant: totals.redundant,
            reclaimable: totals.reclaimable,
            links: totals.links,
            files_read: files_read,
            bytes_read: bytes_read,
            unreadable: causes(py, unreadable)?,
        }
    );
    Py::new(py, (found, Record))
}

fn group(
    py: Python<'_>,
    group: treewide_manifest::found::Group,
    paths: &[Vec<u8>],
    operands: &[PathBuf],
) -> PyResult<Py<Group>> {
    let members = group.members.iter().zip(paths).map(|(it, path)| {
        let member = make!(
            py,
            Member {
                path: text_of(py, path)?,
                operand: text(py, &operands[it.root])?,
                evidence: it.evidence.map(Evidence::word),
                link_of: it.link_of.map(|it| text_of(py, &paths[it])).transpose()?,
            }
        );
        Py::new(py, (member, Record))
    });
    let members = members.collect::<PyResult<Vec<_>>>()?;
    let percent = if let Kind::Similar(percent) = group.kind { Some(percent) } else { None };
    let group = make!(
        py,
        Group {
            kind: group.kind.word(),
            digest: group.digest.map(|it| PyBytes::new(py, &it)),
            size: group.size,
            files: percent.is_none().then_some(group.files),
            percent: percent,
            reclaimable: group.reclaimable,
            members: PyTuple::new(py, members)?,
        }
    );
    Py::new(py, (group, Record))
}

#[doc = stub!("_manifest_missing")]
#[pyfunction]
#[pyo3(name = "missing", signature = (first, /, *others, names=false, quick=false, threads=1, progress=None))]
pub(crate) fn missing(
    py: Python<'_>,
    first: FilePath,
    others: Vec<FilePath>,
    names: bool,
    quick: bool,
    threads: isize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Missing>> {
    if others.is_empty() {
        return Err(PyTypeError::new_err("missing needs a list or directory in which it looks"));
    }
    let others: Vec<_> = others.into_iter().map(|it| it.0).collect();
    let missing = treewide_manifest::Missing::new().names(names).quick(quick);
    let work = move |options: &_| {
        let mut found = missing.run(&first.0, &others, options)?;
        let mut files = Vec::new();
        while let Some(lost) = found.next() {
            let lost = lost?;
            files.push((bytes(found.path(&lost)), lost));
        }
        Ok((files, found.totals(), found.read(), owned(found.unreadable())))
    };
    let found = run_watched(py, Threads::new(threads)?, progress, work)?;
    let (files, totals, (files_read, bytes_read), unreadable) =
        found.map_err(|error| failed(py, error))?;
    let file = |(path, lost): (Vec<u8>, treewide_manifest::found::Lost)| {
        let file = make!(
            py,
            MissingFile {
                path: text_of(py, &path)?,
                digest: lost.digest.map(|digest| PyBytes::new(py, &digest)),
                size: lost.size,
                evidence: lost.evidence.word(),
            }
        );
        Py::new(py, (file, Record))
    };
    let files = files.into_iter().map(file).collect::<PyResult<Vec<_>>>()?;
    let [by_read, by_metadata, attested, claimed] = totals.copies;
    let found = make!(
        py,
        Missing {
            files: PyTuple::new(py, files)?,
            total_files: totals.files,
            by_read: by_read,
            by_metadata: by_metadata,
            by_claimed: attested + claimed,
            not_counted: totals.own,
            files_read: files_read,
            bytes_read: bytes_read,
            unreadable: causes(py, unreadable)?,
        }
    );
    Py::new(py, (found, Record))
}
