//! Grammars with columns: of hashdeep, and wheels of Python.

use super::reader::{Parts, Reader, Said, without_digest};
use super::title::{Title, below};
use std::path::PathBuf;
use treewide_files::list::Fault;

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The lists of hashdeep, which are made of evidence: a header names the columns, and the name is the rest of the line.
#[derive(Debug, Default)]
pub(crate) struct Hashdeep {
    /// The algorithms, between the length and the name.
    columns: Vec<Vec<u8>>,
}

/// Length, digests and name.
type Taken<'a> = (u64, Vec<&'a [u8]>, &'a [u8]);

impl Hashdeep {
    /// The columns of a line: length, digests and name.
    fn taken<'a>(&self, line: &'a [u8]) -> Option<Taken<'a>> {
        let mut columns: Vec<_> = line.splitn(self.columns.len() + 2, |it| *it == b',').collect();
        let is_whole = !self.columns.is_empty() && columns.len() == self.columns.len() + 2;
        let (size, name) = (number(columns[0])?, columns.pop()?);
        is_whole.then(|| (size, columns.split_off(1), name))
    }
}

impl Reader for Hashdeep {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        if line.starts_with(b"%%%% HASHDEEP-") && self.columns.is_empty() {
            return Ok(());
        }
        if let Some(columns) = line.strip_prefix(b"%%%% ")
            && self.columns.is_empty()
        {
            let columns: Vec<_> = columns.split(|it| *it == b',').collect();
            let [b"size", ref algorithms @ .., b"filename"] = columns[..] else {
                return Err("expected the columns size, algorithms, filename".into());
            };
            self.columns = algorithms.iter().map(|it| it.to_vec()).collect();
            return if algorithms.is_empty() { Err("no column of digests".into()) } else { Ok(()) };
        }
        let (size, digests, name) = self.taken(line).ok_or("")?;
        let digests = self.columns.iter().zip(digests);
        said.extend(digests.map(|(tag, digits)| {
            let (name, size) = (Some(name.into()), Some(size));
            Ok(Parts { tag: tag.clone(), digits: digits.into(), name, size, other: None })
        }));
        Ok(())
    }

    fn is_entry(&self, text: &[u8]) -> bool {
        self.taken(text).is_some()
    }
}

/// A column, in which each quote is there twice.
fn unquoted(text: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok()?.replace("\"\"", "\0");
    (!text.contains('"')).then(|| text.replace('\0', "\"").into())
}

/// `RECORD` of an installed Python package, which pip itself does not check: `pkg/a.py,sha256=BASE64,114`, below the directory that the
/// package is in.
#[derive(Debug)]
pub(crate) struct Record {
    folder: PathBuf,
}

/// Files that are made after the list, or that it cannot have a digest of.
const WITHOUT: &[&[u8]] = &[b".pyc", b"/RECORD", b"/RECORD.jws", b"/RECORD.p7s"];

impl Record {
    pub(crate) fn of(title: &Title) -> Self {
        let info = title.folder();
        let folder = info.file_name().and(info.parent());
        Self { folder: folder.map_or_else(|| info.join(".."), Into::into) }
    }
}

impl Reader for Record {
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>) -> Result<(), String> {
        let mut columns = line.rsplitn(3, |it| *it == b',');
        let (size, digest) = (columns.next().unwrap_or_default(), columns.next().ok_or("")?);
        let name = columns.next().ok_or("")?;
        let name = match name.strip_prefix(b"\"") {
            Some(quoted) => unquoted(quoted.strip_suffix(b"\"").ok_or("")?).ok_or("")?,
            None if name.iter().any(|it| matches!(it, b'"' | b',')) => return Err(String::new()),
            None => name.into(),
        };
        let path = below(&self.folder, &name);
        if digest.is_empty() && size.is_empty() && WITHOUT.iter().any(|it| name.ends_with(it)) {
            let cause = "RECORD has no digest of such a file".into();
            said.push(Err(Fault::Skipped { name: path, cause }));
            return Ok(());
        }
        let size = match (size, number(size)) {
            ([], _) => None,
            (_, None) => return Err("the length is not a number".into()),
            (_, size) => size,
        };
        let Some(equals) = digest.iter().position(|it| *it == b'=') else {
            said.push(Err(without_digest(&path, "no digest")));
            return Ok(());
        };
        let (tag, digits) = (digest[..equals].into(), digest[equals + 1..].into());
        said.push(Ok(Parts { tag, digits, name: Some(path), size, other: None }));
        Ok(())
    }
}
