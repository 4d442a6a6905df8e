//! The command line, for `python -m treewide`.

use std::ffi::OsString;

use pyo3::prelude::*;
use treewide_cli::Inherited;

#[doc = stub!("_run_program")]
#[pyfunction]
pub(crate) fn _run_program(py: Python<'_>, arguments: Vec<OsString>, closed: [bool; 3]) -> u8 {
    // Python ignores SIGPIPE, and forgets whether the parent did.
    let inherited = Inherited { closed, ignores_broken_pipes: false };
    py.detach(|| treewide_cli::run(arguments, inherited))
}
