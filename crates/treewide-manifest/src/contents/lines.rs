//! Lists without an index, as any program wrote them: names are only shown, so they may be of any form.

use crate::error::Error;
use crate::format::list::unhex;
use std::path::{Path, PathBuf};
use treewide::OUT_LEN;
use treewide_files::list::{self, Fault, Lines, Strict};

/// The files of a list, one after the other.
pub(crate) struct Listed {
    path: PathBuf,
    lines: Lines,
    number: u64,
    /// The file that was read last.
    pub(crate) file: ListedFile,
}

#[derive(Default)]
pub(crate) struct ListedFile {
    pub(crate) name: Vec<u8>,
    pub(crate) digest: [u8; OUT_LEN],
    /// Its length, in lines of JSON.
    pub(crate) size: Option<u64>,
}

impl Listed {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let lines = Lines::open(path).map_err(|error| Error::read(path, error))?;
        Ok(Self { path: path.into(), lines, number: 0, file: ListedFile::default() })
    }

    /// Puts the next file into `file`; `false` at the end.
    pub(crate) fn next(&mut self) -> Result<bool, Error> {
        loop {
            let next = self.lines.next().map_err(|error| Error::read(&self.path, error))?;
            let Some((number, line)) = next else {
                let cause = "the list may be cut off here: no line end";
                let is_whole = !self.lines.is_endless();
                return if is_whole { Ok(false) } else { Err(self.fault(cause)) };
            };
            self.number = number;
            self.file.size = None;
            let is_read = match strict(line, &mut self.file.digest) {
                Some(name) => {
                    self.file.name.clear();
                    self.file.name.extend_from_slice(name);
                    true
                }
                None => parse(line, &mut self.file)
                    .map_err(|cause| Error::list(&self.path, number, cause))?,
            };
            if !is_read {
                continue;
            }
            while self.file.name.starts_with(b"./") {
                self.file.name.drain(..2);
            }
            if self.file.name.is_empty() || self.file.name.contains(&0) {
                return Err(self.fault("no file can have this name; remove the line"));
            }
            return Ok(true);
        }
    }

    /// An error about the line that was read last.
    pub(crate) fn fault(&self, cause: &str) -> Error {
        Error::list(&self.path, self.number, cause)
    }
}

/// Parses a line in any form; `false` if it is empty or a comment.
fn parse(line: &[u8], into: &mut ListedFile) -> Result<bool, String> {
    let wrong_len = |len| {
        format!(
            "digest of {len} bytes, and digests of 32 bytes are compared; make the list without --length"
        )
    };
    let entry = match list::parse(line, None) {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(false),
        Err(Fault::Digest { digest: Some(digest), .. }) if digest.len() != OUT_LEN => {
            return Err(wrong_len(digest.len()));
        }
        Err(fault) => return Err(format!("{fault}; correct or remove the line")),
    };
    let len = entry.digest.len();
    into.digest = entry.digest.try_into().map_err(|_| wrong_len(len))?;
    into.name = entry.name;
    if line.starts_with(b"{")
        && let Ok(object) = serde_json::from_slice::<serde_json::Value>(line)
    {
        into.size = object.get("bytes").and_then(serde_json::Value::as_u64);
    }
    Ok(true)
}

/// The name in a line as nearly all are.
fn strict<'a>(line: &'a [u8], digest: &mut [u8; OUT_LEN]) -> Option<&'a [u8]> {
    match list::strict(line)? {
        Strict { has_escapes: false, digits, name, is_tagged: false } => {
            unhex(digits.try_into().ok()?, digest).then_some(name)
        }
        _ => None,
    }
}
