//! Columns of Apache Arrow, in place, through the C data and stream interfaces: no library of Arrow is needed.

mod abi;
mod column;
mod export;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::validity::Validity;
use abi::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned};
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
        let py = object.py();
        let method = |name| object.get_type().getattr_opt(name);
        // Of a type, which has such a method too, there is nothing to export.
        if method("__arrow_c_array__")?.is_some() {
            let returned = object.call_method0("__arrow_c_array__")?;
            let (schema, array) = abi::pair(&returned)?;
            let schema: Owned<ArrowSchema> = Owned::take(&schema)?;
            let of = Type::of(&schema)?;
            return Ok(Some(Self { of, parts: Parts::One(Some(Owned::take(&array)?)) }));
        }
        if method("__arrow_c_stream__")?.is_some() {
            let mut stream: Owned<ArrowArrayStream> =
                Owned::take(&object.call_method0("__arrow_c_stream__")?)?;
            let of = Type::of(&*stream.schema(py)?)?;
            return Ok(Some(Self { of, parts: Parts::Stream(stream) }));
        }
        Ok(None)
    }

    /// The next parts of the column, or `all` of them; `None` at the end.
    pub(crate) fn window(&mut self, py: Python<'_>, all: bool) -> PyResult<Option<Window>> {
        let mut window = Window { of: self.of, parts: Vec::new() };
        let mut count = 0_usize;
        while all || count < WINDOW {
            let part = match &mut self.parts {
                Parts::One(array) => array.take(),
                Parts::Stream(stream) => stream.next(py)?,
            };
            let Some(part) = part else { break };
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
