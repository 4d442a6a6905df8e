//! Bad usage, and the texts that `--help` and `--version` ask for.

use crate::shell::streams;
use crate::shell::terminal::{self, Form};
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use clap::error::ErrorKind;

/// Bad usage that the definition of the command line does not show.
pub(crate) fn wrong_value(cause: impl std::fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{cause}\n"))
}

/// Say what is wrong with the arguments.
pub(crate) fn complain(error: &clap::Error) {
    streams::write_error(&text(error, &std::io::stderr()));
}

/// The text that `--help` or `--version` asked for.
pub(crate) fn help(asked: &clap::Error) -> String {
    text(asked, &std::io::stdout())
}

/// The text, in colours where it goes to a terminal that has them.
fn text(message: &clap::Error, to: &impl RawStream) -> String {
    let text = message.render();
    let plain = text.to_string();
    // It may repeat an argument.
    let escaped = terminal::escape(&plain, Form::Lines);
    if to.is_terminal() && escaped != plain {
        return escaped.into_owned();
    }
    match AutoStream::choice(to) {
        ColorChoice::Never => plain,
        _ => text.ansi().to_string(),
    }
}
