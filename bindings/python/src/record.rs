//! Classes of results. Their fields have names, in Rust and in Python; Python compares, prints, matches and pickles them.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// The class above all results. What it does looks at the fields that `__match_args__` names.
#[pyclass(frozen, subclass, module = "treewide")]
pub(crate) struct Record;

impl Record {
    /// The part of a result that this class has.
    pub(crate) fn of(fields: Vec<Py<PyAny>>) -> PyResult<PyClassInitializer<Self>> {
        match fields.len() {
            0 => Ok(Self.into()),
            more => Err(PyTypeError::new_err(format!("the number of values is wrong by {more}"))),
        }
    }
}

fn fields<'py>(record: &Bound<'py, PyAny>) -> PyResult<(Vec<String>, Bound<'py, PyTuple>)> {
    let names: Vec<String> = record.getattr("__match_args__")?.extract()?;
    let values = names.iter().map(|name| record.getattr(&**name)).collect::<PyResult<Vec<_>>>()?;
    Ok((names, PyTuple::new(record.py(), values)?))
}

#[pymethods]
impl Record {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> Py<PyTuple> {
        PyTuple::empty(py).unbind()
    }

    fn __repr__(record: &Bound<'_, Self>) -> PyResult<String> {
        let (names, values) = fields(record)?;
        let text = |(name, value): (&String, Bound<'_, PyAny>)| {
            Ok(format!("{name}={}", value.repr()?.to_str()?))
        };
        let fields = names.iter().zip(values).map(text).collect::<PyResult<Vec<_>>>()?;
        Ok(format!("{}({})", record.get_type().name()?, fields.join(", ")))
    }

    fn __eq__(record: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(record.get_type().is(other.get_type()) && fields(record)?.1.eq(fields(other)?.1)?)
    }

    fn __hash__(record: &Bound<'_, Self>) -> PyResult<isize> {
        fields(record)?.1.hash()
    }

    fn __reduce__<'py>(
        record: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        Ok((record.get_type(), fields(record)?.1))
    }
}

/// Defines a class of results: the module in which Python has it, its name, the class above it, fields, and further methods.
macro_rules! record {
    ($module:literal, $name:ident: $above:ident { $($field:ident),* $(,)? } $($methods:tt)*) => {
        #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($name)))]
        #[pyclass(frozen, get_all, subclass, extends = $above, module = $module)]
        pub(crate) struct $name {
            $(pub(crate) $field: Py<PyAny>),*
        }

        impl $name {
            const OWN: &'static [&'static str] = &[$(stringify!($field)),*];

            pub(crate) fn of(mut fields: Vec<Py<PyAny>>) -> PyResult<PyClassInitializer<Self>> {
                let above = fields.len().saturating_sub(Self::OWN.len());
                let mut own = fields.split_off(above).into_iter();
                let mut next = || {
                    let missing = || pyo3::exceptions::PyTypeError::new_err("a value is missing");
                    own.next().ok_or_else(missing)
                };
                let own = Self { $($field: next()?),* };
                Ok($above::of(fields)?.add_subclass(own))
            }
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*fields))]
            fn new(fields: Vec<Py<PyAny>>) -> PyResult<PyClassInitializer<Self>> {
                Self::of(fields)
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyAny>> {
                let above = py.get_type::<$above>().getattr("__match_args__")?;
                let own = Self::OWN.iter().map(|it| it.trim_start_matches("r#"));
                let own = pyo3::types::PyTuple::new(py, own)?;
                Ok(above.add(own)?.unbind())
            }

            $($methods)*
        }
    };
}

/// A result with these values of its fields. One whose class is below another's has an object of that one first.
macro_rules! make {
    ($py:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        use pyo3::IntoPyObjectExt;
        $name { $($field: ($value).into_py_any($py)?),* }
    }};
}

pub(crate) use {make, record};
