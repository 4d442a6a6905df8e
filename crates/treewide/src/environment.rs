//! What the environment asks for and cannot have.
//!
//! A library must not end its host program over a variable. What cannot be used is ignored, and
//! [`explain`](crate::explain()) says so; programs that would rather refuse call [`check_environment`].

use std::fmt;

use crate::kernel::asked_for;
use crate::profile::{self, shown};

/// Why a variable of the environment is ignored. Its text names the variable, its value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError(String);

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnvironmentError {}

/// Checks `TREEWIDE_KERNEL` and `TREEWIDE_PROFILE`, for programs that refuse a wrong value in place of ignoring it.
///
/// ```no_run
/// if let Err(error) = treewide::check_environment() {
///     eprintln!("{error}");
///     std::process::exit(2);
/// }
/// ```
///
/// # Errors
/// If `TREEWIDE_KERNEL` names a kernel that this build does not have or that this CPU cannot run, or if
/// `TREEWIDE_PROFILE` names a file that is not a [profile] for this machine. The error is the first that is found.
pub fn check_environment() -> Result<(), EnvironmentError> {
    ignored().next().map_or(Ok(()), Err)
}

/// Everything that is ignored.
pub(crate) fn ignored() -> impl Iterator<Item = EnvironmentError> {
    let kernels = asked_for().filter_map(|(place, kernel)| {
        kernel.err().map(|error| EnvironmentError(shown(&format!("{place}: {error}"))))
    });
    let profile = profile::fault().map(|fault| EnvironmentError(fault.to_owned()));
    kernels.chain(profile)
}
