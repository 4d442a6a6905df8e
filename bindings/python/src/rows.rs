//! `hash_rows`: a digest for each row of a table, without an object of Python for any of them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use treewide::{Batch, OUT_LEN, batch::Packed};

use crate::arrow::{Cells, Fault, Table};
use crate::digests::Digests;
use crate::threads::Threads;
use crate::validity::Validity;

/// Rows whose bytes are gathered before they are hashed. A guess: they stay in the cache.
const BLOCK: usize = 1024;

#[doc = stub!("hash_rows")]
#[pyfunction]
#[pyo3(signature = (table, /, columns=None, *, threads=1))]
pub(crate) fn hash_rows<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    columns: Option<&Bound<'py, PyAny>>,
    threads: isize,
) -> PyResult<Bound<'py, Digests>> {
    let threads = Threads::new(threads)?;
    let mut table = Table::of(table)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "hash_rows takes a table with Arrow's interface, such as those of pyarrow, polars and pandas (from 2.2 on, with \
             pyarrow), and not {}; read a file, and collect a lazy frame, before",
            table.get_type()
        ))
    })?;
    let names = table.names();
    let columns: Vec<usize> = match columns {
        None => (0..names.len()).collect(),
        Some(columns) => {
            let columns: Vec<String> = columns.extract().map_err(|_| {
                PyTypeError::new_err("columns takes a list of names, such as [\"id\", \"day\"]")
            })?;
            columns.iter().map(|it| place(it, &names)).collect::<PyResult<_>>()?
        }
    };
    let mut digests = Vec::new();
    while let Some(part) = table.next(py, |cells| part(&cells, &columns, threads))? {
        if digests.is_empty() {
            digests = part;
        } else {
            digests.extend(part);
        }
        py.check_signals()?;
    }
    Bound::new(py, Digests::new(digests, OUT_LEN, Validity::default())?)
}

/// The place of the column of a name.
fn place(name: &str, names: &[String]) -> PyResult<usize> {
    let mut places = (0..names.len()).filter(|at| names[*at] == name);
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => {
            let all = names.join(", ");
            Err(PyValueError::new_err(format!("the table has no column {name:?}; it has {all}")))
        }
        (Some(_), Some(_)) => Err(PyValueError::new_err(format!(
            "the table has several columns {name:?}: rename them"
        ))),
    }
}

/// The digests of the rows of a part, one after the other.
fn part(cells: &Cells<'_>, columns: &[usize], threads: Threads) -> Result<Vec<u8>, Fault> {
    let mut digests = vec![0; cells.len * OUT_LEN];
    let block = |(at, digests): (usize, &mut [u8])| {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        for row in (at * BLOCK..).take(digests.len() / OUT_LEN) {
            put(cells, columns, row, &mut bytes)?;
            offsets.push(bytes.len());
        }
        let rows = Packed::new(&bytes, &offsets).expect("offsets in order");
        Batch::new().fill(&rows, digests);
        Ok(())
    };
    threads.for_bytes(digests.len()).run(|is_together| {
        if is_together {
            digests.par_chunks_mut(BLOCK * OUT_LEN).enumerate().try_for_each(block)
        } else {
            digests.chunks_mut(BLOCK * OUT_LEN).enumerate().try_for_each(block)
        }
    })?;
    Ok(digests)
}

/// Appends the values of a row.
fn put(cells: &Cells<'_>, columns: &[usize], row: usize, bytes: &mut Vec<u8>) -> Result<(), Fault> {
    match cells.columns() {
        None => columns.iter().try_for_each(|_| cells.put(row, bytes)),
        Some(_) if cells.is_null(row) => Err(Fault::Broken("a row of the table is null")),
        Some(all) => columns.iter().try_for_each(|at| all[*at].put_in(cells, row, bytes)),
    }
}
