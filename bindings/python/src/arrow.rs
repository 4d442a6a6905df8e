//! Columns of Apache Arrow, in place, through the C data and stream interfaces: no library of Arrow is needed.

mod abi;
mod cell;
mod column;
mod export;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::validity::Validity;
use abi::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned, broken};
pub(crate) use cell::{Cells, Fault};
pub(crate) use column::Values;
use column::{Column, Type};
pub(crate) use export::fixed;

/// Values that are taken from a stream, and held, at a time. A guess: enough for all threads of a large machine.
const WINDOW: usize = 16 * 1024;

/// A column that an object exports.
pub(crate) struct Source {
    of: Type,
    parts: Parts,
}

enum Parts {
    One(Option<Owned<ArrowArray>>),
    Stream(Owned<ArrowArrayStream>),
}

impl Parts {
    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Owned<ArrowArray>>> {
        match self {
            Self::One(array) => Ok(array.take()),
            Self::Stream(stream) => stream.next(py),
        }
    }
}

/// The type of an object of Arrow, and its parts; `None` for another object.
fn export(object: &Bound<'_, PyAny>) -> PyResult<Option<(Owned<ArrowSchema>, Parts)>> {
    let py = object.py();
    let method = |name| object.get_type().getattr_opt(name);
    // Of a type, which has such a method too, there is nothing to export.
    if method("__arrow_c_array__")?.is_some() {
        let returned = object.call_method0("__arrow_c_array__")?;
        let (schema, array) = abi::pair(&returned)?;
        let schema = Owned::take(&schema)?;
        return Ok(Some((schema, Parts::One(Some(Owned::take(&array)?)))));
    }
    if method("__arrow_c_stream__")?.is_some() {
        let mut stream: Owned<ArrowArrayStream> =
            Owned::take(&object.call_method0("__arrow_c_stream__")?)?;
        return Ok(Some((stream.schema(py)?, Parts::Stream(stream))));
    }
    Ok(None)
}

/// A table that an object exports, or one column as a table.
pub(crate) struct Table {
    schema: Owned<ArrowSchema>,
    parts: Parts,
}

impl Table {
    /// The table that `object` exports; `None` if it exports none.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        Ok(export(object)?.map(|(schema, parts)| Self { schema, parts }))
    }

    /// The names of its columns.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |it: &ArrowSchema| String::from_utf8_lossy(it.name()).into_owned();
        match self.schema.format() {
            b"+s" => self.schema.children().map(name).collect(),
            _ => vec![name(&self.schema)],
        }
    }

    /// Calls `work` with the values of the next part, without Python's lock; `None` at the end.
    pub(crate) fn next<R: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(Cells<'_>) -> Result<R, Fault> + Send,
    ) -> PyResult<Option<R>> {
        let Some(part) = self.parts.next(py)? else { return Ok(None) };
        let done = Cells::new(&self.schema, &part).and_then(|cells| py.detach(|| work(cells)));
        done.map(Some).map_err(|fault| match fault {
            Fault::Broken(problem) => broken(problem),
            Fault::Type(format) => PyTypeError::new_err(format!(
                "a column has the Arrow format {format:?}, which hash_rows does not know: cast it, or leave it out"
            )),
        })
    }
}

/// What to do with a null.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    Error,
    Keep,
}

impl Nulls {
    pub(crate) fn new(name: &str) -> PyResult<Self> {
        match name {
            "error" => Ok(Self::Error),
            "keep" => Ok(Self::Keep),
            _ => Err(PyValueError::new_err(format!(
                "nulls is \"error\" or \"keep\", and not {name:?}"
            ))),
        }
    }
}

/// Parts of a column.
pub(crate) struct Window {
    of: Type,
    parts: Vec<Owned<ArrowArray>>,
}

impl Source {
    /// The column that `object` exports; `None` if it exports none.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some((schema, parts)) = export(object)? else { return Ok(None) };
        Ok(Some(Self { of: Type::of(&schema)?, parts }))
    }

    /// The next parts of the column, or `all` of them; `None` at the end.
    pub(crate) fn window(&mut self, py: Python<'_>, all: bool) -> PyResult<Option<Window>> {
        let mut window = Window { of: self.of, parts: Vec::new() };
        let mut count = 0_usize;
        while all || count < WINDOW {
            let Some(part) = self.parts.next(py)? else { break };
            count = count.saturating_add(Column::new(&part, self.of)?.len());
            window.parts.push(part);
        }
        Ok((!window.parts.is_empty()).then_some(window))
    }
}

impl Window {
    fn columns(&self) -> impl Iterator<Item = PyResult<Column<'_>>> {
        self.parts.iter().map(|part| Column::new(part, self.of))
    }

    /// Appends to `validity`, which is complete up to the value with the index `first`, whether values are there.
    ///
    /// # Errors
    /// `ValueError` that names the first null, if nulls are errors.
    pub(crate) fn look_for_nulls(
        &self,
        nulls: Nulls,
        first: usize,
        validity: &mut Validity,
    ) -> PyResult<()> {
        let mut at = first;
        for column in self.columns() {
            let column = column?;
            if let Some(each) = column.validity() {
                for (index, is_valid) in each.enumerate().filter(|(_, is_valid)| !is_valid) {
                    debug_assert!(!is_valid);
                    if nulls == Nulls::Error {
                        return Err(PyValueError::new_err(format!(
                            "value {} of this Arrow column is null, and a null has no digest: drop nulls first, or \
                             pass nulls=\"keep\" for nulls in their places",
                            at + index
                        )));
                    }
                    validity.set_null(at + index);
                }
            }
            at += column.len();
        }
        validity.grow_to(at);
        Ok(())
    }

    pub(crate) fn values(&self) -> PyResult<Vec<Values<'_>>> {
        self.columns().map(|column| column?.values()).collect()
    }
}
