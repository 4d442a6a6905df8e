//! Whether a listed file is absent, or there by a name that is written in another way: with `/` for `\`, in another case or form of
//! Unicode, without blanks or marks.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

/// The names in the directory that was looked at last, by their letters.
#[derive(Debug, Default)]
pub(super) struct Absent {
    dir: PathBuf,
    names: HashMap<String, OsString>,
}

impl Absent {
    /// The file that may be meant by a path at which there is none.
    pub(super) fn other(&mut self, path: &Path) -> Option<PathBuf> {
        let mut rest = path.to_str()?;
        let mut found = PathBuf::from(if path.is_absolute() { "/" } else { "" });
        while !rest.is_empty() {
            // A `\` may be a letter, or end the name of a directory, and the file may have one where the list has `/`.
            let end = |mark| rest.find(mark).unwrap_or(rest.len());
            let mut ends = [end('/'), end('\\'), rest.len()].into_iter();
            let (next, end) = ends.find_map(|it| Some((self.named(&found, &rest[..it])?, it)))?;
            (found, rest) = (next, rest.get(end + 1..).unwrap_or_default());
        }
        Some(found)
    }

    fn named(&mut self, dir: &Path, name: &str) -> Option<PathBuf> {
        let exact = dir.join(name);
        match name.is_empty() || exact.symlink_metadata().is_ok() {
            true => Some(exact),
            false => Some(dir.join(self.in_dir(dir)?.get(&letters(name))?)),
        }
    }

    fn in_dir(&mut self, dir: &Path) -> Option<&HashMap<String, OsString>> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        if self.dir != dir {
            let entries = fs::read_dir(dir).ok()?.flatten().map(|it| it.file_name());
            self.names = entries.filter_map(|it| Some((letters(it.to_str()?), it))).collect();
            self.dir = dir.into();
        }
        Some(&self.names)
    }
}

/// What two spellings of a name have in common.
fn letters(name: &str) -> String {
    let is_mark = |it: &char| {
        it.is_whitespace()
            || it.is_control()
            || matches!(it, '*' | '?' | '\u{200b}'..='\u{200f}' | '\u{feff}')
    };
    let letters = name.nfkc().filter(|it| !is_mark(it)).flat_map(char::to_lowercase);
    letters.map(|it| if it == '/' { '\\' } else { it }).collect()
}
