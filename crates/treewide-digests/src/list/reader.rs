//! The contract of all grammars: a reader of the lines of a list, and what it says of them.

use std::fmt::Debug;
use treewide_files::list::Fault;
use treewide_files::name::shown_text;

/// The parts of an entry. The digits may be of any kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The algorithm's name. Empty if the entry has none.
    pub(crate) tag: Vec<u8>,
    pub(crate) digits: Vec<u8>,
    /// `None` if the entry has a digest alone.
    pub(crate) name: Option<Vec<u8>>,
    /// The length of the file.
    pub(crate) size: Option<u64>,
    /// Another name, if the entry can be read in two ways. No file may have it.
    pub(crate) other: Option<Vec<u8>>,
}

/// An entry, or why a file that is named cannot be verified by it.
pub(crate) type Said = Result<Parts, Fault>;

/// Reads the lines of one list. Blank lines, comments and armor are taken out before.
pub(crate) trait Reader: Debug + Send {
    /// Reads a line.
    ///
    /// # Errors
    /// If the grammar does not derive it. A cause without a text says no more than that.
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String>;

    /// A blank line.
    fn blank(&mut self, said: &mut Vec<Said>) {
        let _ = said;
    }

    /// Whether a text has the form of an entry: a comment that ends in one has lost its line end.
    fn is_entry(&self, text: &[u8]) -> bool {
        let _ = text;
        false
    }

    /// The list is over.
    ///
    /// # Errors
    /// If it may not end here.
    fn end(&mut self, said: &mut Vec<Said>) -> Result<(), String> {
        let _ = said;
        Ok(())
    }

    /// Whether the list may end within a line that has said nothing so far.
    fn may_end(&self) -> bool {
        false
    }
}

/// A text that says nothing about files may have any form, except that of an entry.
pub(crate) fn refuse_text(reader: &dyn Reader, text: &[u8]) -> Option<&'static str> {
    /// Each of its ends is looked at.
    const LONGEST: usize = 4 << 10;
    if text.len() > LONGEST {
        return Some("a comment is longer than 4 KiB");
    }
    let holds_entry = (1..text.len()).any(|at| reader.is_entry(&text[at..]));
    holds_entry
        .then_some("an entry in a comment is not verified; put it on its own line, or remove it")
}

/// The beginning of a line, for messages.
pub(crate) fn quoted(line: &[u8]) -> String {
    const SHOWN: usize = 80;
    let text = shown_text(&String::from_utf8_lossy(line));
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The fault of a named file without a digest to verify it by.
pub(crate) fn without_digest(name: &[u8], cause: impl Into<String>) -> Fault {
    Fault::Digest { name: name.into(), digest: None, cause: cause.into() }
}
