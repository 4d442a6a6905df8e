//! A manifest that is read: a list, and its index if there is one that belongs to it.

use crate::error::{Error, ErrorKind};
use crate::format::also;
use crate::format::facts::Facts as Digest;
use crate::format::index::lines::push_record;
use crate::format::index::{Header, IndexFile, Mount, OF_ANOTHER, Trailer};
use crate::format::list::{InOrder, Line, List};
use crate::format::name;
use crate::format::record::{FileRecord, Record, What};
use crate::format::regular;
use crate::format::rules::Rules;
use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;
use treewide::Hash;
use treewide_digests::Algorithm;
use treewide_files::name::{quoted, shown};

/// An index that cannot be used is looked at this many times more, after this time each. A guess: two files are renamed in less.
const TRIES: usize = 2;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// A list of digests, and what is known of its index.
#[derive(Clone, Debug)]
pub struct Manifest {
    list: List,
    index: Index,
    /// The index of a manifest as it was, and how much of the past was there.
    then: Option<(Arc<NamedTempFile>, u64)>,
}

/// The index of a list.
#[derive(Clone, Debug)]
pub enum Index {
    /// There is none: the list is all that is known.
    Absent,
    /// There is one that belongs to the list.
    Bound(Box<(Header, Trailer)>),
    /// There is one, and it is not used; why.
    Ignored(String),
}

/// Where the index of a list is: `.tw` after its name.
pub fn index_path(list: &Path) -> PathBuf {
    regular::with_end(list, ".tw")
}

impl Manifest {
    /// Opens the list at `path`, reads all of it, and looks for its index.
    ///
    /// # Errors
    /// As [`List::open`]. An index that cannot be used is not an error.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut tries = TRIES;
        loop {
            let list = List::open(path)?;
            let index = match open_index(&list, None) {
                Ok(None) => Index::Absent,
                Ok(Some(index)) => Index::Bound(Box::new((index.header, index.trailer))),
                // An update may have put the list into its place, and the index not yet.
                Err(cause) if tries > 0 && cause == OF_ANOTHER => {
                    tries -= 1;
                    std::thread::sleep(BETWEEN_TRIES);
                    continue;
                }
                Err(cause) => Index::Ignored(cause),
            };
            return Ok(Self { list, index, then: None });
        }
    }

    /// A list without an index.
    pub fn of_list(list: List) -> Self {
        Self { list, index: Index::Absent, then: None }
    }

    /// A manifest as it was, whose index is in a temporary file, and whose past had this length.
    pub(crate) fn of_then(
        list: List,
        ends: (Header, Trailer),
        (index, past): (NamedTempFile, u64),
    ) -> Self {
        Self { list, index: Index::Bound(Box::new(ends)), then: Some((Arc::new(index), past)) }
    }

    /// Whether it is what a manifest was.
    pub(crate) fn is_then(&self) -> bool {
        self.then.is_some()
    }

    /// Where its past ends, if there is more of it.
    pub(crate) fn past_end(&self) -> u64 {
        self.then.as_ref().map_or(u64::MAX, |it| it.1)
    }

    /// The list.
    pub fn list(&self) -> &List {
        &self.list
    }

    /// Whether there is an index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The rules that are recorded; the usual ones without an index.
    pub fn rules(&self) -> Rules {
        self.ends().map(|it| it.0.rules.clone()).unwrap_or_default()
    }

    /// The first and the last line of its index.
    pub(crate) fn ends(&self) -> Option<&(Header, Trailer)> {
        match &self.index {
            Index::Bound(ends) => Some(ends),
            Index::Absent | Index::Ignored(_) => None,
        }
    }

    /// The algorithms by which the index [also](mod@crate::also) has digests. None without an index.
    ///
    /// # Errors
    /// If this program does not know one of them, so that it could not keep the digests of files that change.
    pub fn also(&self) -> Result<Vec<Algorithm>, Error> {
        let names = self.ends().into_iter().flat_map(|it| &it.0.also);
        let known = names.map(|name| {
            Algorithm::named(name).ok_or_else(|| {
                let cause = format!(
                    "has digests by {name:?}, which this program does not know; use a newer one, or make a new manifest \
                     elsewhere"
                );
                Error::new(index_path(self.list.path()), ErrorKind::List(cause))
            })
        });
        Ok(also::ordered(known.collect::<Result<Vec<_>, _>>()?))
    }

    /// The names of places where something was mounted, if anything there is recorded.
    pub(crate) fn mounts(&self) -> Vec<Vec<u8>> {
        self.ends().into_iter().flat_map(|it| &it.1.mounts).map(Mount::name).collect()
    }

    /// Whether a file may be in doubt.
    pub(crate) fn has_doubts(&self) -> bool {
        self.ends().is_some_and(|it| it.1.doubts != Some(0))
    }

    /// The last file that had its turn.
    pub(crate) fn turn(&self) -> Option<Vec<u8>> {
        self.ends()?.1.turn.as_ref().map(Mount::name)
    }

    /// The length of all files together, if there is an index.
    pub fn bytes(&self) -> Option<u64> {
        self.ends().map(|it| it.1.bytes)
    }

    /// Whether there are types, links, modes and keys.
    pub fn has_index(&self) -> bool {
        self.ends().is_some()
    }

    /// Says whether the records are all that were recorded.
    ///
    /// # Errors
    /// If there is an index that cannot be used: the list may then be cut, or another one.
    pub fn check_index(&self) -> Result<(), Error> {
        match &self.index {
            Index::Ignored(cause) => Err(unusable_index(self.list.path(), cause)),
            Index::Absent | Index::Bound(_) => Ok(()),
        }
    }

    /// Its records, in their order.
    ///
    /// # Errors
    /// If it cannot be read again.
    pub fn records(&self) -> Result<Records, Error> {
        let open = |ends: &(Header, Trailer)| {
            match open_index(&self.list, self.then.as_ref().map(|it| &*it.0)) {
                // What was said of it, such as its rules and the digest of its facts, is still so.
                Ok(Some(index)) if (&index.header, &index.trailer) == (&ends.0, &ends.1) => {
                    Ok(index)
                }
                other => {
                    let cause = other.err().unwrap_or_else(|| "it is another one now".into());
                    let cause = format!("the index changed while it was being read: {cause}");
                    Err(Error::read(index_path(self.list.path()), io::Error::other(cause)))
                }
            }
        };
        let index = self.ends().map(open).transpose()?;
        let facts = index.as_ref().map(|index| Digest::new(&index.header.rules));
        Ok(Records {
            lines: self.list.lines(),
            index,
            facts,
            line: None,
            indexed: None,
            damage: None,
            spare: Line::empty(),
            previous: Vec::new(),
            previous_is_directory: false,
            prefixes: Vec::new(),
        })
    }
}

/// The error about the index of a list that must not be used alone.
pub(crate) fn unusable_index(list: &Path, cause: &str) -> Error {
    let name = quoted(&shown(list));
    let cause = format!(
        "{cause}, so files may be gone from the list; restore both, let `treewide update --accept-damage {name}` write a new \
         index, or remove this one if the list is right"
    );
    Error::new(index_path(list), ErrorKind::List(cause))
}

fn open_index(list: &List, then: Option<&NamedTempFile>) -> Result<Option<IndexFile>, String> {
    if let Some(then) = then {
        let file = then.reopen().map_err(|error| error.to_string())?;
        return IndexFile::open(file, &list.hash()).map(Some);
    }
    let path = index_path(list.path());
    match regular::open(&path) {
        Ok(file) => IndexFile::open(file, &list.hash()).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The records of a list and its index, merged in their order.
pub struct Records {
    lines: InOrder,
    index: Option<IndexFile>,
    facts: Option<Digest>,
    line: Option<Line>,
    indexed: Option<(Record, bool)>,
    damage: Option<String>,
    spare: Line,
    /// The name of the record that was returned last.
    previous: Vec<u8>,
    previous_is_directory: bool,
    /// Names before it that it begins with and that are not directories: nearly always none.
    prefixes: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl Records {
    /// Returns the damage of the index, as far as it was read. Records after that are not used.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Says, after the last record of this list, whether these were all.
    ///
    /// # Errors
    /// If the index turned out to be damaged.
    pub fn check(&self, list: &Path) -> Result<(), Error> {
        self.damage().map_or(Ok(()), |damage| Err(unusable_index(list, damage)))
    }

    fn fill(&mut self) -> Result<(), Error> {
        if self.line.is_none() && self.lines.next(&mut self.spare)? {
            self.line = Some(std::mem::replace(&mut self.spare, Line::empty()));
        }
        if self.indexed.is_none()
            && let Some(index) = &mut self.index
        {
            match index.next() {
                Ok(Some(next)) => self.indexed = Some((next.record, next.has_digest)),
                Ok(None) => self.end(),
                Err(cause) => self.damaged(cause),
            }
        }
        Ok(())
    }

    /// The index is at its end. So should the list be, and every record was returned.
    fn end(&mut self) {
        let (Some(index), Some(facts)) = (self.index.take(), self.facts.take()) else { return };
        if self.line.is_some() {
            self.damaged("the list has files that it does not have".into());
        } else if facts.finish().to_hex().as_str() != index.trailer.facts {
            self.damaged("it does not have the digest of its facts: it was edited".into());
        }
    }

    fn damaged(&mut self, cause: String) {
        self.index = None;
        self.damage.get_or_insert(cause);
    }

    fn of_line(line: Line) -> Record {
        let what = Self::what_of(&line);
        Record::new(line.name, what)
    }

    fn what_of(line: &Line) -> What {
        let file = What::File(FileRecord { digest: line.digest, facts: None });
        if !line.is_ambiguous {
            return file;
        }
        let cause =
            "U+FFFD in the list stands for a part of its name, so that it could be any file";
        let mut text = Vec::new();
        let record = Record::new(line.name.clone(), file);
        push_record(&mut text, &record, true, &mut None);
        What::Unknown(cause.into(), text)
    }

    /// Puts the next record into `record`, whose memory it uses; `false` at the end.
    ///
    /// # Errors
    /// If the list cannot be read any further.
    pub(crate) fn next_into(&mut self, record: &mut Record) -> Result<bool, Error> {
        // A list alone: nothing has to be merged.
        if self.index.is_none() && self.indexed.is_none() && self.line.is_none() {
            std::mem::swap(&mut self.spare.name, &mut record.name);
            let found = self.lines.next(&mut self.spare)?;
            std::mem::swap(&mut self.spare.name, &mut record.name);
            record.what = Self::what_of(&self.spare);
            return Ok(found);
        }
        let next = self.next_record()?;
        Ok(next.map(|next| *record = next).is_some())
    }

    fn next_record(&mut self) -> Result<Option<Record>, Error> {
        self.fill()?;
        let order = match (&self.line, &self.indexed) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(line), Some((record, _))) => line.name.cmp(&record.name),
        };
        let record = match order {
            Ordering::Less => {
                if self.index.is_some() {
                    self.damaged("it does not have a file that the list has".into());
                    self.indexed = None;
                }
                self.line.take().map(Self::of_line)
            }
            Ordering::Equal => {
                let line = self.line.take();
                let indexed = self.indexed.take();
                line.zip(indexed).map(|(line, (mut record, _))| {
                    if let What::File(file) = &mut record.what {
                        file.digest = line.digest;
                        self.spare = line;
                        return record;
                    }
                    // The list says that it is a file.
                    self.damaged("it does not call a file what the list calls one".into());
                    Self::of_line(line)
                })
            }
            Ordering::Greater => match self.indexed.take() {
                // It was returned before, or its place is past.
                Some((record, _)) if record.name <= self.previous => {
                    self.damaged("its lines are not in order".into());
                    return self.next_record();
                }
                // The list is what is signed, so that no index adds a file that the list could name.
                Some((record, has_digest))
                    if matches!(record.what, What::File(_))
                        && (!has_digest || name::is_listable(&record.name)) =>
                {
                    self.damaged("it has a file that the list does not have".into());
                    return self.next_record();
                }
                indexed => indexed.map(|(record, _)| record),
            },
        };
        if let Some(record) = &record {
            if !self.takes(record) {
                self.damaged("it has two records of one path".into());
                return self.next_record();
            }
            if let Some(facts) = &mut self.facts {
                facts.add(record);
            }
        }
        Ok(record)
    }

    /// Whether there is only this record of its path: `a` and the directory `a/` are one path. Remembers its name.
    fn takes(&mut self, record: &Record) -> bool {
        let is_directory = matches!(record.what, What::Directory(_));
        while self.prefixes.last().is_some_and(|it| !record.name.starts_with(it)) {
            self.prefixes.pop();
        }
        if !self.previous_is_directory
            && !self.previous.is_empty()
            && record.name.starts_with(&self.previous)
        {
            self.prefixes.push(self.previous.clone());
        }
        if is_directory && self.prefixes.iter().any(|it| it == record.bare()) {
            return false;
        }
        self.previous.clone_from(&record.name);
        self.previous_is_directory = is_directory;
        true
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

/// The hash of the facts of a manifest with an index, as the index says it.
pub fn facts(manifest: &Manifest) -> Option<Hash> {
    manifest.ends().and_then(|it| Hash::from_hex(&it.1.facts).ok())
}
