//! Environment variables that cannot be followed.
//!
//! A library must not end its host program over a variable. What cannot be used is ignored, and
//! [`explain`](crate::explain()) says so; programs that would rather refuse call [`check_environment`].

use std::fmt;

use crate::kernel::asked_for;

/// Why a variable of the environment is ignored. Its text names the variable, its value, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentError(String);

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnvironmentError {}

/// Checks `TREEWIDE_KERNEL`, for programs that refuse a wrong value in place of ignoring it.
///
/// ```no_run
/// if let Err(error) = treewide::check_environment() {
///     eprintln!("{error}");
///     std::process::exit(2);
/// }
/// ```
///
/// # Errors
/// If `TREEWIDE_KERNEL` names a kernel that this build does not have or that this CPU cannot run.
pub fn check_environment() -> Result<(), EnvironmentError> {
    match asked_for() {
        Some((place, Err(error))) => Err(EnvironmentError(shown(&format!("{place}: {error}")))),
        _ => Ok(()),
    }
}

/// A text to show to people, without control sequences for a terminal.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn shown_holds_no_control_characters() {
        assert_eq!(shown("größe: \x1b[2J\n\u{9b}"), r"größe: \u{1b}[2J\n\u{9b}");
    }
}
