//! Numbers and causes in messages.

use crate::shell::program::Program;
use crate::shell::tone::Tone;
use treewide::outboard::FlawKind;
use treewide_files::ErrorKind;

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {singular}{plural}")
}

/// Why a file could not be hashed. As b3sum, the program says only what the system says.
pub(crate) fn cause(program: Program, error: &ErrorKind) -> String {
    match error.io_error() {
        Some(error) if program.speaks_as_b3sum() => error.to_string(),
        _ => error.to_string(),
    }
}

/// What was found of a range.
pub(crate) fn state_word(state: FlawKind) -> &'static str {
    match state {
        FlawKind::Bad => "bad",
        FlawKind::Extra => "extra",
        _ => "unknown",
    }
}

/// How bad that is.
pub(crate) fn state_tone(state: FlawKind) -> Tone {
    match state {
        FlawKind::Bad | FlawKind::Extra => Tone::Bad,
        _ => Tone::Unknown,
    }
}
