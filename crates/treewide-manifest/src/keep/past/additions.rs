//! Records that a run adds to the past: the old one of each path that has none now, or one with other facts.

use crate::error::Error;
use crate::format::check::{END, push_end};
use crate::format::index;
use crate::format::index::lines::{LastDay, push_bytes, push_record};
use crate::format::manifest::{Index, Manifest, index_path};
use crate::format::name::is_listable;
use crate::format::record::{Facts, Record, Type, What};
use crate::format::regular;
use crate::format::rules::Rules;
use crate::format::xattrs::changes;
use crate::keep::past::section::{Header, Trailer};
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;
use treewide::{Hasher, OUT_LEN};
use treewide_files::list::read_line;

/// Bytes of a section that are held in memory.
const HELD: usize = 4 << 20;

/// What a run appends: the old record of each path that has none now, or one with other facts, and the names of paths that are new.
#[derive(Debug)]
pub(crate) struct Additions {
    /// Whether the old manifest has an index that can be used.
    pub(super) is_known: bool,
    has_old: bool,
    folder: PathBuf,
    rules: Rules,
    text: SpooledTempFile,
    pub(super) count: u64,
    held: Held,
    line: Vec<u8>,
    day: LastDay,
}

/// The old record of the path that is looked at.
#[derive(Debug, Default)]
enum Held {
    #[default]
    Nothing,
    /// The new one is the same.
    Same,
    Was(Box<Record>),
}

impl Additions {
    /// For a manifest at `list` that takes the place of `old`. What does not fit into memory is next to it.
    pub(crate) fn new(old: Option<&Manifest>, list: &Path) -> Self {
        let folder = list.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
        Self {
            folder: folder.to_owned(),
            is_known: old.is_some_and(Manifest::has_index),
            has_old: old.is_some(),
            rules: old.map(Manifest::rules).unwrap_or_default(),
            text: tempfile::spooled_tempfile_in(HELD, folder),
            count: 0,
            held: Held::Nothing,
            line: Vec::new(),
            day: None,
        }
    }

    /// The old record of the path that is looked at now. The one before it is gone if no new record was written for it.
    pub(crate) fn hold(&mut self, was: Option<&Record>) {
        // What a damaged index alone has is there already.
        let is_salvaged = |it: &&Record| it.kind() == Type::File && !is_listable(&it.name);
        let was = was.filter(|it| self.is_known || !is_salvaged(it));
        self.held = was.map_or(Held::Nothing, |it| Held::Was(Box::new(it.clone())));
    }

    pub(crate) fn hold_same(&mut self) {
        self.held = Held::Same;
    }

    /// A new record.
    pub(crate) fn new_record(&mut self, is: &Record) -> io::Result<()> {
        match std::mem::take(&mut self.held) {
            Held::Same => Ok(()),
            Held::Was(was) if was.name == is.name => {
                if self.has_other_facts(&was, is) {
                    self.push(&was, b"}\n")
                } else if found(&was).is_some_and(|it| found(is) != Some(it)) {
                    // What it had is known to be wrong, also once it is restored.
                    self.push(&was, b",\"same\":true}\n")
                } else {
                    Ok(())
                }
            }
            held => {
                self.held = held;
                if !self.is_known {
                    return Ok(());
                }
                self.line.clear();
                self.line.push(b'{');
                push_bytes(&mut self.line, "new", &is.name);
                self.line.extend_from_slice(b"}\n");
                self.text.write_all(&self.line)
            }
        }
    }

    /// What is wrong with the index of a manifest, whose damage is accepted. The digests that it alone has are added.
    pub(crate) fn take_damaged(&mut self, old: &Manifest) -> Result<Option<String>, Error> {
        let damage = match old.index() {
            Index::Absent => None,
            Index::Ignored(cause) => Some(cause.clone()),
            Index::Bound(_) => {
                let mut records = old.records()?;
                while records.next_into(&mut Record::default())? {}
                records.damage().map(str::to_owned)
            }
        };
        let Some(cause) = damage else { return Ok(None) };
        self.is_known = false;
        let index = index_path(old.list().path());
        let lost = self.salvage(&index).map_err(|error| Error::read(&index, error))?;
        let lines = if lost == 1 { "1 line".into() } else { format!("{lost} lines") };
        Ok(Some(if lost == 0 { cause } else { format!("{cause}; {lines} of it cannot be read") }))
    }

    /// Adds the digests that a damaged index alone has, of files that no list can name. Says how many of its lines are of no use.
    fn salvage(&mut self, index: &Path) -> io::Result<u64> {
        let file = match regular::open(index) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            file => file?,
        };
        let (mut lines, mut line, mut lost) = (BufReader::new(file), Vec::new(), 0);
        loop {
            // A longer line is not ours.
            match read_line(&mut lines, &mut line) {
                Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
                Ok(()) if line.is_empty() => return Ok(lost),
                _ => {}
            }
            match index::parse(&line) {
                Ok(it) if it.has_digest => self.push(&it.record, b"}\n")?,
                Ok(_) => {}
                Err(_) if line.starts_with(END) || line.starts_with(regular::INDEX) => {}
                Err(_) => lost += 1,
            }
        }
    }

    /// Everything about the path was written.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.held) {
            Held::Was(was) => self.push(&was, b",\"gone\":true}\n"),
            Held::Nothing | Held::Same => Ok(()),
        }
    }

    /// Whether the records have different facts, as the old rules see them.
    fn has_other_facts(&self, was: &Record, is: &Record) -> bool {
        let is_other = match (&was.what, &is.what) {
            (What::File(was), What::File(is)) => {
                let (old, new) = (was.facts.as_ref(), is.facts.as_ref());
                let differ = |old: &Facts| {
                    new.map(|it| (it.bytes, it.mode.filter(|_| self.rules.modes)))
                        != Some((old.bytes, old.mode))
                };
                was.digest != is.digest || self.is_known && old.is_some_and(differ)
            }
            (What::Directory(was), What::Directory(is)) => self.rules.modes && was != is,
            (was, is) => was != is,
        };
        is_other || !changes(&was.xattrs, &is.xattrs, self.rules.xattrs).is_empty()
    }

    fn push(&mut self, was: &Record, end: &[u8]) -> io::Result<()> {
        if !self.has_old {
            return Ok(());
        }
        self.count += 1;
        self.line.clear();
        push_record(&mut self.line, was, true, &mut self.day);
        self.line.extend_from_slice(end);
        self.text.write_all(&self.line)
    }

    /// All lines of the section, and its check.
    pub(super) fn section(
        mut self,
        header: &Header,
        to: &str,
    ) -> io::Result<(SpooledTempFile, String)> {
        let mut section = tempfile::spooled_tempfile_in(HELD, &self.folder);
        let (mut hasher, mut lines) = (Hasher::new(), 0);
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        hasher.update(&line);
        section.write_all(&line)?;
        self.text.rewind()?;
        let mut text = BufReader::with_capacity(64 << 10, self.text);
        loop {
            line.clear();
            if text.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            hasher.update(&line);
            section.write_all(&line)?;
            lines += 1;
        }
        line.clear();
        let trailer = Trailer { end: lines, to: Some(to.into()) };
        let check = push_end(&mut line, &mut hasher, &trailer);
        section.write_all(&line)?;
        Ok((section, check))
    }
}

/// The content with which a file is in doubt.
fn found(record: &Record) -> Option<[u8; OUT_LEN]> {
    record.facts()?.doubt.as_ref()?.found
}
