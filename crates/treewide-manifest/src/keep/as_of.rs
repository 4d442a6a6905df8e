//! A manifest as it was: `X.b3@2026-11-20`, `X.b3@2026-11-20T14:00Z`, or `X.b3@-1`, which is one change back.
//!
//! ```text
//! facts of now = `to` of the last section; its `from` = `to` of the section before it; and so on, back to the facts of then
//! ```
//!
//! Each section on the way drops the paths that were new in it, and puts its records back. The list has its old bytes, so that an old
//! signature is valid for it. Times and numbers of files that did not change are those of now.

use crate::error::{Error, ErrorKind};
use crate::format::check::END;
use crate::format::day::Day;
use crate::format::index::lines::Lines;
use crate::format::index::{self, Header};
use crate::format::list::List;
use crate::format::manifest::Manifest;
use crate::format::record::{Record, What};
use crate::format::regular::{self, then};
use crate::keep::past::{Section, past_path, sections};
use crate::sorter::{Sorted, Sorter};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use tempfile::NamedTempFile;
use treewide_files::digest::unhex;
use treewide_files::list::read_line;

/// Opens the manifest at `path`, or as it was if that is `X.b3@WHEN`.
///
/// # Errors
/// As [`Manifest::open`], and if no past leads to the manifest of then.
pub fn open(path: &Path) -> Result<Manifest, Error> {
    let Some((list, text)) = then(path) else { return Manifest::open(path) };
    let when = When::parse(text).ok_or_else(|| {
        let cause = format!(
            "{text} is not a time; write a day (2026-11-20), a time in UTC (2026-11-20T14:00Z), or -1 for one change back"
        );
        Error::new(path, ErrorKind::Usage(cause))
    })?;
    let now = Manifest::open(list)?;
    now.check_index()?;
    let failed = |cause: String| Error::new(path, ErrorKind::List(cause));
    let cause = || failed("there is no index, so nothing shows what it was".into());
    let ends = now.ends().ok_or_else(cause)?;
    let back = Back::new(&when, &ends.0, &ends.1.facts, sections(&now)?).map_err(failed)?;
    if back.steps.is_empty() { Ok(now) } else { back.manifest(path, &now, &ends.0) }
}

/// When a manifest was as it is to be shown.
#[derive(Debug, PartialEq, Eq)]
enum When {
    /// Before this many changes.
    Back(usize),
    /// At this moment, as the past writes it.
    At(String),
}

impl When {
    fn parse(text: &str) -> Option<Self> {
        if let Some(changes) = text.strip_prefix('-') {
            return changes.parse().ok().map(Self::Back);
        }
        let (day, time) = text.split_once('T').unwrap_or((text, "23:59:59Z"));
        let time: Vec<_> = time.strip_suffix('Z')?.split(':').collect();
        let is_time = (2..=3).contains(&time.len())
            && time.iter().all(|it| it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit()));
        let seconds = time.get(2).unwrap_or(&"00");
        let day = Day::parse(day).filter(|_| is_time)?;
        Some(Self::At(format!("{day}T{}:{}:{seconds}Z", time[0], time[1])))
    }
}

/// The way back.
struct Back {
    /// Sections, the newest first.
    steps: Vec<Step>,
    /// Facts of the manifest then, and when it was made.
    facts: String,
    began: String,
}

impl Back {
    fn new(when: &When, now: &Header, facts: &str, mut past: Vec<Step>) -> Result<Self, String> {
        let (facts, began) = (facts.to_owned(), now.began.clone());
        let mut back = Self { steps: Vec::new(), facts, began };
        loop {
            let made_by = past.iter().rposition(|it| it.0.to.as_ref() == Some(&back.facts));
            let is_there = match when {
                When::Back(changes) => back.steps.len() == *changes,
                When::At(when) => match made_by {
                    Some(at) => past[at].0.header.run <= *when,
                    None => back.began <= *when,
                },
            };
            if is_there {
                return Ok(back);
            }
            let step = made_by.map(|at| past.drain(at..).next()).ok_or_else(|| {
                format!(
                    "the past of the manifest begins at {}: nothing before that is known",
                    back.began
                )
            })?;
            let Some(step) = step else { return Ok(back) };
            let header = &step.0.header;
            let (Some(from), Some(since)) = (step.0.from(), &header.since) else {
                let run = &header.run;
                return Err(format!(
                    "before {run} it had no index that could be used, so nothing shows what it was"
                ));
            };
            (back.facts, back.began) = (from.clone(), since.clone());
            back.steps.push(step);
        }
    }

    /// What the paths were that changed since, by their names. Of two records of a path, the older one is the first.
    fn changes(&self, now: &Manifest) -> Result<Sorted, Error> {
        let mut changes = Sorter::new();
        for (age, step) in (0_u32..).zip(self.steps.iter().rev()) {
            each(now, &step.1, &mut |line, entry| {
                let line = if entry.record.is_none() { b"" } else { line };
                changes.push(&[&entry.name, &[0], &age.to_be_bytes(), line])
            })?;
        }
        changes.finish()
    }

    /// The manifest of then, in files without names.
    fn manifest(&self, path: &Path, now: &Manifest, header: &Header) -> Result<Manifest, Error> {
        let rules = self.steps.last().and_then(|it| it.0.header.rules.clone()).unwrap_or_default();
        let header = Header { rules, began: self.began.clone(), ..header.clone() };
        let mut written =
            Written::new(header).map_err(|error| Error::write(std::env::temp_dir(), error))?;
        let mut changes = self.changes(now)?;
        let mut records = now.records()?;
        let mut present = records.next().transpose()?;
        let (mut change, mut before) = (changes.next()?.map(<[u8]>::to_vec), Vec::new());
        loop {
            let name = change.as_ref().map(|it| it.split(|byte| *byte == 0).next().unwrap_or(&[]));
            let is_present = match (&present, name) {
                (None, None) => break,
                (Some(present), name) => name.is_none_or(|name| present.name[..] < *name),
                (None, _) => false,
            };
            if is_present {
                if let Some(record) = present.take() {
                    written.add(record)?;
                }
                present = records.next().transpose()?;
                continue;
            }
            let (Some(name), Some(of)) = (name.map(<[u8]>::to_vec), &change) else { break };
            if present.as_ref().is_some_and(|it| it.name == name) {
                present = records.next().transpose()?;
            }
            let line = &of[name.len() + 1 + size_of::<u32>()..];
            if before != name && !line.is_empty() {
                let parsed = index::parse(line);
                let cause = |cause| Error::new(path, ErrorKind::List(cause));
                written.add(parsed.map_err(cause)?.record)?;
            }
            before = name;
            change = changes.next()?.map(<[u8]>::to_vec);
        }
        records.check(now.list().path())?;
        let past = self.steps.last().map_or(0, |it| it.1.start);
        written.end(path, (now, past), &self.facts)
    }
}

/// A section, and where it is in the past.
type Step = (Section, Range<u64>);

/// A path in a section.
struct Entry {
    name: Vec<u8>,
    /// What was recorded of it before; `None` if it was new.
    record: Option<Record>,
    is_gone: bool,
}

#[derive(Deserialize)]
struct More {
    new: Option<String>,
    new_hex: Option<String>,
    #[serde(default)]
    gone: bool,
    #[serde(default)]
    same: bool,
}

/// Hears of a line and the entry that it is.
type Each<'a> = &'a mut dyn FnMut(&[u8], Entry) -> Result<(), Error>;

/// Calls `each` for every line of a section between its first and its last, without records that have the same facts now.
fn each(manifest: &Manifest, place: &Range<u64>, each: Each<'_>) -> Result<(), Error> {
    let path = past_path(manifest.list().path());
    let failed = |error| Error::read(&path, error);
    let wrong = |cause: String| failed(io::Error::other(cause));
    let mut file = regular::open(&path).map_err(failed)?;
    file.seek(SeekFrom::Start(place.start)).map_err(failed)?;
    let mut lines = BufReader::new(file.take(place.end - place.start));
    let mut line = Vec::new();
    read_line(&mut lines, &mut line).map_err(failed)?;
    loop {
        read_line(&mut lines, &mut line).map_err(failed)?;
        if line.is_empty() || line.starts_with(END) {
            return Ok(());
        }
        let more: More = serde_json::from_slice(&line).map_err(|error| wrong(error.to_string()))?;
        if more.same {
            continue;
        }
        let hex = more.new_hex.and_then(|it| unhex(it.as_bytes()));
        let entry = match hex.or(more.new.map(String::into_bytes)) {
            Some(name) => Entry { name, record: None, is_gone: false },
            None => {
                let record = index::parse(&line).map_err(wrong)?.record;
                Entry { name: record.name.clone(), record: Some(record), is_gone: more.gone }
            }
        };
        each(&line, entry)?;
    }
}

/// A run that changed a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// When it began.
    pub run: String,
    /// Paths that were new.
    pub new: u64,
    /// Paths that had other facts before.
    pub changed: u64,
    /// Paths that were gone.
    pub gone: u64,
    /// `forgotten` or `damaged`, if records until then are not known.
    pub gap: Option<String>,
}

/// The runs that changed the manifest at `list`, the newest first.
///
/// # Errors
/// As [`Manifest::open`], and if its past cannot be read.
pub fn history(list: &Path) -> Result<Vec<PastRun>, Error> {
    let manifest = Manifest::open(list)?;
    let runs = sections(&manifest)?.into_iter().rev().map(|(section, place)| {
        let (run, gap) = (section.header.run, section.header.gap);
        let mut run = PastRun { run, new: 0, changed: 0, gone: 0, gap };
        each(&manifest, &place, &mut |_, entry| {
            let count = match (entry.record, entry.is_gone) {
                (None, _) => &mut run.new,
                (Some(_), true) => &mut run.gone,
                (Some(_), false) => &mut run.changed,
            };
            *count += 1;
            Ok(())
        })?;
        Ok(run)
    });
    runs.collect()
}

/// Lists the records of a path of the manifest at `list`, the newest first, each with the run that found it changed or gone. The
/// record that is there now has none.
///
/// # Errors
/// As [`history`].
pub fn history_of(list: &Path, name: &[u8]) -> Result<Vec<(Record, Option<String>)>, Error> {
    let manifest = Manifest::open(list)?;
    let mut found = Vec::new();
    for record in manifest.records()? {
        let record = record?;
        if record.bare() == name {
            found.push((record, None));
        }
    }
    for (section, place) in sections(&manifest)?.into_iter().rev() {
        each(&manifest, &place, &mut |_, entry| {
            if let Some(record) = entry.record.filter(|it| it.bare() == name) {
                found.push((record, Some(section.header.run.clone())));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// A list and an index in temporary files.
struct Written {
    header: Header,
    lines: Lines,
    list: File,
    index: NamedTempFile,
}

impl Written {
    fn new(header: Header) -> io::Result<Self> {
        let (lines, list) = (Lines::new(&header), tempfile::tempfile()?);
        Ok(Self { header, lines, list, index: NamedTempFile::new()? })
    }

    /// Adds a record, as the rules of then see it.
    fn add(&mut self, mut record: Record) -> Result<(), Error> {
        let rules = &self.header.rules;
        match &mut record.what {
            What::File(file) if !rules.modes => {
                file.facts.iter_mut().for_each(|it| it.mode = None);
            }
            What::Directory(mode) if !rules.modes => *mode = None,
            _ => {}
        }
        record.xattrs.retain(|it| rules.xattrs.has(&it.name));
        self.lines.add(&record);
        if self.lines.is_enough() { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Error> {
        let [list, index] = self.lines.write(&mut self.list, Some(&mut self.index));
        list.and(index).map_err(|error| Error::write(std::env::temp_dir(), error))
    }

    /// The manifest, if it has these facts.
    fn end(
        mut self,
        path: &Path,
        (now, past): (&Manifest, u64),
        facts: &str,
    ) -> Result<Manifest, Error> {
        self.write()?;
        let mut trailer = self.lines.trailer();
        if trailer.facts != facts {
            let cause = "what its past has does not add up to the manifest of then; restore X.b3, X.b3.tw and X.b3.past from one backup";
            return Err(Error::new(path, ErrorKind::List(cause.into())));
        }
        trailer.check = Some(self.lines.end(&trailer));
        self.write()?;
        self.list.rewind().map_err(|error| Error::write(std::env::temp_dir(), error))?;
        let list = List::of_file(now.list().path(), self.list)?;
        Ok(Manifest::of_then(list, (self.header, trailer), (self.index, past)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_is_a_day_a_time_or_a_number_of_changes() {
        for (text, when) in [
            ("-3", Some(When::Back(3))),
            ("2026-11-20", Some(When::At("2026-11-20T23:59:59Z".into()))),
            ("2026-11-20T14:00Z", Some(When::At("2026-11-20T14:00:00Z".into()))),
            ("2026-11-20T14:00:07Z", Some(When::At("2026-11-20T14:00:07Z".into()))),
        ] {
            assert_eq!(When::parse(text), when, "{text}");
        }
        for wrong in [
            "",
            "-",
            "-x",
            "yesterday",
            "2026-13-01",
            "2026-11-20T14",
            "2026-11-20T1:00Z",
            "2026-11-20T14:00",
        ] {
            assert_eq!(When::parse(wrong), None, "{wrong}");
        }
    }
}
