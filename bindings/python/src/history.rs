//! `treewide.manifest.history`: earlier runs and earlier records of a manifest.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use treewide_manifest::PastRun;
use treewide_manifest::record::What;

use crate::manifest::failed;
use crate::paths::FilePath;
use crate::record::{Record, make, record};

record! { "treewide.manifest", HistoryRun: Record { run, new, changed, gone, gap } }
record! { "treewide.manifest", HistoryRecord: Record { until, r#type, digest, size } }

#[doc = stub!("_manifest_history")]
#[pyfunction]
#[pyo3(name = "history", signature = (list, path=None, /))]
pub(crate) fn history<'py>(
    py: Python<'py>,
    list: FilePath,
    path: Option<FilePath>,
) -> PyResult<Bound<'py, PyTuple>> {
    let failed = |error| failed(py, error);
    let Some(path) = path else {
        let runs = py.detach(|| treewide_manifest::history(&list.0)).map_err(failed)?;
        let run = |it: PastRun| {
            let PastRun { run, new, changed, gone, gap } = it;
            let run = make!(
                py,
                HistoryRun { run: run, new: new, changed: changed, gone: gone, gap: gap }
            );
            Py::new(py, (run, Record))
        };
        return PyTuple::new(py, runs.into_iter().map(run).collect::<PyResult<Vec<_>>>()?);
    };
    let name = path.0.into_os_string().into_encoded_bytes();
    let found = py.detach(|| treewide_manifest::history_of(&list.0, &name)).map_err(failed)?;
    let record = |(record, until): (treewide_manifest::record::Record, Option<String>)| {
        let file = if let What::File(file) = &record.what { Some(file) } else { None };
        let record = make!(
            py,
            HistoryRecord {
                until: until,
                r#type: record.kind().word(),
                digest: file.map(|it| PyBytes::new(py, &it.digest)),
                size: file.and_then(|it| it.facts.as_ref()).map(|it| it.bytes),
            }
        );
        Py::new(py, (record, Record))
    };
    PyTuple::new(py, found.into_iter().map(record).collect::<PyResult<Vec<_>>>()?)
}
