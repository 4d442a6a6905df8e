//! Errors of the library, with the file that they are about.

use std::path::Path;
use treewide::outboard::Error;
use treewide_files::name::shown;

/// An error of the library, with the file that it is about.
pub(super) fn named(error: &Error, data: &Path, outboard: &Path) -> anyhow::Error {
    let (path, text) = match error {
        Error::Data(error) if error.is_end() => {
            let text =
                "became shorter while it was being read; run this again when nothing writes to it";
            (data.to_owned(), text.to_owned())
        }
        Error::Outboard(error) if error.is_end() => {
            let text = "is cut off; make it again with 'treewide outboard create'";
            (outboard.to_owned(), text.to_owned())
        }
        // Which file cannot be read or written is said by its name.
        Error::Data(error) | Error::Copy(error) => (data.to_owned(), error.to_string()),
        Error::Outboard(error) => (outboard.to_owned(), error.to_string()),
        Error::Unknown(_) => (outboard.to_owned(), error.to_string()),
        _ => (data.to_owned(), error.to_string()),
    };
    anyhow::anyhow!("{}: {text}", shown(&path))
}
