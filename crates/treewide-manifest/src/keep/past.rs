//! The past of a manifest, `X.b3.past`: the records that it no longer has, so that a digest which was recorded once is never lost.
//!
//! ```text
//! {"treewide":"past 1","run":"2026-11-26T02:00:03Z","since":"..","after":"<check before>","from":"<facts>","rules":{..}}
//! {"path":"a.txt","type":"file","digest":"d01c06..","bytes":3,..,"gone":true}      a record that is gone, as the index had it
//! {"path":"b.txt","type":"file","digest":"7a52b2..","bytes":3,..}                  one that has other facts now
//! {"new":"c.txt"}                                                                  a path that was not there before
//! {"end":3,"to":"<facts>","check":"<hash of the bytes of this section before this key>"}
//! ```
//!
//! A section is one run that changed the facts. It is appended after the new list and index are on the disk, and before they get their
//! names. A run that is killed in between leaves a section that did not happen: its records count, and no state leads through it.
//!
//! A run only appends, and as long as a part of the past is damaged, the index keeps naming the section that it named. So the next run
//! finds the damage as well, until a run that accepts damage puts a gap in its place. One thing is cut: the unfinished section of the
//! very pair that is there, whose records that pair still has.

mod additions;
mod section;

use crate::error::Error;
use crate::format::check::end_of;
use crate::format::index;
use crate::format::manifest::Manifest;
use crate::format::record::Record;
use crate::format::regular::{self, PAST};
use crate::format::rules::Rules;
use crate::format::usual::Usual;
pub(crate) use additions::Additions;
pub(crate) use section::Section;
use section::{Header, Lines, Piece, VERSION, gap, pieces};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;
use treewide_files::Replacement;

/// Where the past of a list is: `.past` after its name.
pub fn past_path(list: &Path) -> PathBuf {
    regular::with_end(list, ".past")
}

/// A past, as a run finds it and adds to it.
#[derive(Debug)]
pub(crate) struct Past {
    path: PathBuf,
    /// What the index says of the last section, its facts, and when it was made.
    bound: Option<String>,
    facts: Option<String>,
    since: Option<String>,
    rules: Rules,
    /// Its length, if it is there.
    len: Option<u64>,
    /// What begins here or later is not of this manifest.
    end: u64,
    /// Its sections, once they are read.
    pieces: Option<Vec<Piece>>,
    /// The check of the last section that proves itself.
    last: Option<String>,
    lines: Option<Lines>,
    /// Why a part of it does not count.
    damage: Option<String>,
    /// A remark that is not an error.
    pub(crate) note: Option<String>,
    /// Sections of runs before this moment are forgotten.
    pub(crate) forget: Option<String>,
    writes: Writes,
}

/// What appears before the list.
#[derive(Debug, Default)]
enum Writes {
    #[default]
    Nothing,
    /// A section, behind this many bytes; how many records it has.
    Section(Box<SpooledTempFile>, u64, u64),
    All(Box<Replacement>),
}

impl Past {
    /// Looks at the past of the list at `list`, and at what `old` says of it.
    ///
    /// # Errors
    /// If it cannot be read, or is someone's own file.
    pub(crate) fn open(list: &Path, old: Option<&Manifest>) -> Result<Self, Error> {
        let ends = old.and_then(Manifest::ends);
        let mut past = Self {
            path: past_path(list),
            bound: ends.and_then(|it| it.1.past.clone()),
            facts: ends.map(|it| it.1.facts.clone()),
            since: ends.map(|it| it.0.began.clone()),
            rules: old.map(Manifest::rules).unwrap_or_default(),
            len: None,
            end: old.map_or(u64::MAX, Manifest::past_end),
            pieces: None,
            lines: None,
            last: None,
            damage: None,
            note: None,
            forget: None,
            writes: Writes::Nothing,
        };
        let path = past.path.clone();
        let failed = |error| Error::read(&path, error);
        if path.is_symlink() && !path.exists() {
            let cause =
                "is a link that leads nowhere; mount the disk that it leads to, or remove the link";
            return Err(failed(io::Error::other(cause)));
        }
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                past.pieces = Some(Vec::new());
                past.damage = past.bound.as_ref().map(|_| MISSING.into());
                return Ok(past);
            }
            Err(error) => return Err(failed(error)),
            Ok(_) => {}
        }
        let file = regular::open(&path).map_err(failed)?;
        let mut begin = Vec::new();
        (&file).take(PAST.len() as u64).read_to_end(&mut begin).map_err(failed)?;
        // One that was torn when it began is ours as well.
        if past.bound.is_none() && !PAST.starts_with(&begin) {
            let cause =
                "is not the past of a manifest, and records would be added to it; move it away";
            return Err(failed(io::Error::other(cause)));
        }
        past.len = Some(file.metadata().map_err(failed)?.len());
        // Mostly, nothing has changed, and the last line is all that matters.
        let last = index::last_line(&file).map_err(failed)?;
        match end_of(&last) {
            Some((_, check)) if past.bound.as_deref() == Some(check) => {
                past.last.clone_from(&past.bound);
            }
            _ => past.read(&file, &mut |_, _| {})?,
        }
        Ok(past)
    }

    /// The past of a manifest that is only read, if there is one, or should be. A file of someone's own is passed over.
    pub(crate) fn of(manifest: &Manifest) -> Result<Option<Self>, Error> {
        let list = manifest.list().path();
        let is_bound = manifest.ends().is_some_and(|it| it.1.past.is_some());
        let is_there = regular::begins(&past_path(list), PAST) == Some(true);
        (is_bound || is_there).then(|| Self::open(list, Some(manifest))).transpose()
    }

    /// Reads all sections.
    fn read(&mut self, file: &File, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), Error> {
        let pieces = pieces(file, each).map_err(|error| Error::read(&self.path, error))?;
        let pieces: Vec<_> = pieces.into_iter().filter(|it| it.start < self.end).collect();
        let (mut good, mut wrong): (Vec<&Section>, _) = (Vec::new(), None);
        for piece in &pieces {
            let Some(section) = &piece.section else {
                if Some(piece.stop) < self.len || !piece.is_unfinished(self.facts.as_ref()) {
                    wrong.get_or_insert_with(|| {
                        format!("the section at byte {} is damaged", piece.start)
                    });
                }
                continue;
            };
            if !section.follows(good.last().copied()) {
                wrong.get_or_insert_with(|| {
                    format!("what was before byte {} is missing", piece.start)
                });
            }
            good.push(section);
        }
        let is_bound = |bound: &String| good.iter().any(|it| it.is_before(Some(bound)));
        if !self.bound.as_ref().is_none_or(is_bound) {
            wrong.get_or_insert_with(|| "its last section is missing".into());
        }
        let is_here = |it: &&Section| [it.to.as_ref(), it.from()].contains(&self.facts.as_ref());
        if self.bound.is_none() && self.facts.is_some() && !good.last().is_none_or(is_here) {
            self.note = Some(OLDER.into());
        }
        self.last = good.last().map(|it| it.check.clone());
        self.damage = wrong.or(self.damage.take());
        self.pieces = Some(pieces);
        Ok(())
    }

    /// Whether there is a file.
    pub(crate) fn is_there(&self) -> bool {
        self.len.is_some()
    }

    /// All records, the oldest first, and where they are. Those count for which [`section`](Self::section) has one.
    pub(crate) fn records(&mut self, each: &mut dyn FnMut(u64, Record)) -> Result<(), Error> {
        if !self.is_there() {
            return Ok(());
        }
        let failed = |error| Error::read(&self.path, error);
        let file = regular::open(&self.path).map_err(failed)?;
        self.lines = Some(Lines::open(&self.path).map_err(failed)?);
        let (mut usual, end) = (Usual::default(), self.end);
        self.read(&file, &mut |place, line| {
            if place < end
                && let Ok(it) = usual.any(line)
            {
                each(place, it.record);
            }
        })
    }

    /// The section that proves this place.
    pub(crate) fn section(&self, place: u64) -> Option<&Section> {
        let pieces = self.pieces.as_deref()?;
        pieces.get(pieces.partition_point(|it| it.stop <= place))?.section.as_ref()
    }

    /// The record at this place, and when the manifest had it last.
    pub(crate) fn record_at(&mut self, place: u64) -> Result<Option<(Record, String)>, Error> {
        let (Some(lines), mut line) = (&mut self.lines, Vec::new()) else { return Ok(None) };
        lines.read(place, &mut line).map_err(|error| Error::read(&self.path, error))?;
        let run = self.section(place).map(|it| it.header.run.clone());
        Ok(Usual::default().any(&line).ok().map(|it| it.record).zip(run))
    }

    fn read_once(&mut self) -> Result<(), Error> {
        if self.pieces.is_some() {
            return Ok(());
        }
        let file = regular::open(&self.path).map_err(|error| Error::read(&self.path, error))?;
        self.read(&file, &mut |_, _| {})
    }

    /// After the last record: writes the section of this run, which began at `run` and made facts `to`. What the index says of the past.
    /// Parts that do not prove themselves are left out if that is accepted.
    pub(crate) fn complete(
        &mut self,
        (run, to): (&str, &str),
        additions: Additions,
        accepts_damage: bool,
    ) -> Result<Option<String>, Error> {
        let from = self.facts.clone().filter(|_| additions.is_known);
        let has_section = match &from {
            Some(from) => from != to || additions.count > 0,
            None => additions.count > 0 || self.len.is_some(),
        };
        let forgets = self.forget.is_some() && self.len.is_some();
        if has_section || accepts_damage || forgets {
            self.read_once()?;
        }
        let path = self.path.clone();
        let failed = |error| Error::write(&path, error);
        let is_damaged = self.len.is_some() && self.damage.is_some();
        let mut all = if is_damaged && accepts_damage {
            Some(self.whole_pieces(run).map_err(failed)?)
        } else if let (true, Some((stop, begin))) = (!is_damaged, self.forgotten()) {
            Some(self.same_bytes(&begin, stop).map_err(failed)?)
        } else if has_section && self.len.is_some() && has_other_names(&self.path) {
            Some(self.same_bytes(&[], 0).map_err(failed)?)
        } else {
            None
        };
        if has_section {
            self.note = self.note.take().or(self.len.is_none().then(|| NEW.into()));
            let header = Header {
                treewide: VERSION.into(),
                run: run.into(),
                since: self.since.take(),
                after: self.last.take(),
                gap: None,
                from: Some(from),
                rules: Some(self.rules.clone()),
            };
            let count = additions.count;
            let (section, check) = additions.section(&header, to).map_err(failed)?;
            self.last = Some(check);
            match &mut all {
                Some(all) => copy(section, all).map_err(failed)?,
                None => self.writes = Writes::Section(Box::new(section), self.end(), count),
            }
        }
        if let Some(mut all) = all {
            all.complete().map_err(failed)?;
            self.writes = Writes::All(Box::new(all));
        }
        if let Some(damage) = self.damage.take_if(|_| is_damaged && accepts_damage) {
            self.note = Some(format!("was damaged: {damage}; a gap is in the place of that now"));
        }
        let keeps = is_damaged && !accepts_damage;
        Ok(if keeps { self.bound.clone() } else { self.last.clone() })
    }

    /// Where the unfinished section of this pair begins, or the end. What the index may name is not unfinished.
    fn end(&self) -> u64 {
        let last = self.pieces.iter().flatten().last().filter(|_| self.damage.is_none());
        let unfinished = last.filter(|it| it.is_unfinished(self.facts.as_ref()));
        unfinished.map_or(self.len.unwrap_or(0), |it| it.start)
    }

    /// Where the part ends that is forgotten, and what is in its place. It goes no further than the section that the index names, so
    /// that a run which is killed now leaves nothing that looks like damage.
    fn forgotten(&mut self) -> Option<(u64, Vec<u8>)> {
        let before = self.forget.take()?;
        let pieces = self.pieces.iter().flatten();
        let sections = pieces.filter_map(|it| Some((it.section.as_ref()?, it.stop)));
        let named = |(it, _): &(&Section, u64)| it.is_before(self.bound.as_ref());
        let count = self.bound.as_ref().and_then(|_| sections.clone().position(|it| named(&it)))?;
        let old = sections.clone().take(count + 1);
        let old = old.take_while(|(it, _)| it.header.run < before).last();
        let is_new = |it: &(&Section, u64)| it.0.header.gap.as_deref() != Some("forgotten");
        let (last, stop) = old.filter(is_new)?;
        let (text, check) = gap("forgotten", &last.header.run, Some(&last.check));
        if self.last.as_ref() == Some(&last.check) {
            self.last = Some(check);
        }
        Some((stop, text))
    }

    /// All from `start` on in a new file, behind other bytes. Another file has its place as well, or a part is left out.
    fn same_bytes(&self, begin: &[u8], start: u64) -> io::Result<Replacement> {
        let mut all = Replacement::begin_next_to(&self.path, None, None)?.spare();
        let end = self.end();
        let mut file = regular::open(&self.path)?;
        all.write_all(begin)?;
        file.seek(SeekFrom::Start(start))?;
        io::copy(&mut (&file).take(end.saturating_sub(start)), &mut all)?;
        all.write_all(line_end(&file, end)?)?;
        Ok(all)
    }

    /// The sections that prove themselves, with gaps in the place of others.
    fn whole_pieces(&mut self, run: &str) -> io::Result<Replacement> {
        let mut all = Replacement::begin_next_to(&self.path, None, None)?.spare();
        let file = regular::open(&self.path)?;
        let pieces = self.pieces.take().unwrap_or_default();
        let mut before: Option<&Section> = None;
        let mut is_lost = false;
        for piece in &pieces {
            let Some(section) = &piece.section else {
                is_lost = true;
                continue;
            };
            if std::mem::take(&mut is_lost) || !section.follows(before) {
                all.write_all(&gap("damaged", run, section.header.after.as_deref()).0)?;
            }
            (&file).seek(SeekFrom::Start(piece.start))?;
            io::copy(&mut (&file).take(piece.stop - piece.start), &mut all)?;
            before = Some(section);
        }
        let is_named =
            |it: &String| pieces.iter().flat_map(|it| &it.section).any(|by| by.is_before(Some(it)));
        if is_lost || !self.bound.as_ref().is_none_or(is_named) {
            let (text, check) = gap("damaged", run, self.bound.as_deref());
            all.write_all(&text)?;
            self.last = Some(check);
        }
        Ok(all)
    }

    /// What is said of its damage, and what to do.
    pub(crate) fn said(&self) -> Option<String> {
        let way = "all other records in it count; --accept-damage leaves out what is damaged";
        let way = self.len.map(|_| format!("; {way}")).unwrap_or_default();
        self.damage.as_ref().map(|it| format!("{it}{way}"))
    }

    /// Lets all of it appear. On an error, the past is as it was.
    pub(crate) fn appear(self, list: &Path) -> Result<(), Error> {
        match self.writes {
            Writes::Nothing => Ok(()),
            Writes::All(all) => {
                all.appear().map(drop).map_err(|error| Error::write(&self.path, error))
            }
            Writes::Section(section, end, count) => {
                append(&self.path, (self.len, end), *section, list).map_err(|error| {
                    let records = if count == 1 { "record" } else { "records" };
                    let text =
                        format!("{error}; {count} {records} would be lost, so nothing was written");
                    Error::write(&self.path, io::Error::new(error.kind(), text))
                })
            }
        }
    }
}

/// How many runs a past has, when the first was, how many bytes, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTotals {
    /// Runs that changed the manifest.
    pub runs: usize,
    /// When the first of them began.
    pub first: Option<String>,
    /// Its length; `None` if it is not there.
    pub bytes: Option<u64>,
    /// Its damage.
    pub damage: Option<String>,
}

/// The sections of the past of a manifest that prove themselves and changed it, and where they are.
pub(crate) fn sections(manifest: &Manifest) -> Result<Vec<(Section, Range<u64>)>, Error> {
    let Some(mut past) = Past::of(manifest)? else { return Ok(Vec::new()) };
    past.read_once()?;
    let pieces = past.pieces.into_iter().flatten();
    let sections = pieces.filter_map(|it| Some((it.section?, it.start..it.stop)));
    Ok(sections.filter(|it| it.0.is_change()).collect())
}

/// Reads the past of a manifest as a whole. `None` if it has none.
///
/// # Errors
/// If it cannot be read.
pub fn past_totals(manifest: &Manifest) -> Result<Option<PastTotals>, Error> {
    let Some(mut past) = Past::of(manifest)? else { return Ok(None) };
    past.read_once()?;
    let sections = past.pieces.iter().flatten().filter_map(|it| it.section.as_ref());
    let runs: Vec<_> = sections.filter(|it| it.header.gap.is_none() && it.is_change()).collect();
    let first = runs.first().map(|it| it.header.run.clone());
    Ok(Some(PastTotals { runs: runs.len(), first, bytes: past.len, damage: past.said() }))
}

const MISSING: &str = "is missing, and may have been left behind when the manifest was moved or copied; a new past begins";
const NEW: &str = "keeps the records of files that are gone or changed: publish the list and its index without it";
const OLDER: &str = "the manifest was made by a program that knows no past, or anew; states before that are not shown";

fn has_other_names(path: &Path) -> bool {
    treewide_files::Stamp::at(path, true).is_ok_and(|it| it.links > 1)
}

fn copy(mut from: SpooledTempFile, to: &mut impl Write) -> io::Result<()> {
    from.rewind()?;
    io::copy(&mut from, to).map(drop)
}

/// Adds a section behind the first `end` bytes of a file that has `len`, on the disk. On an error, it has `end` bytes again.
fn append(
    path: &Path,
    (len, end): (Option<u64>, u64),
    section: SpooledTempFile,
    list: &Path,
) -> io::Result<()> {
    let (mut file, is) = match len {
        Some(_) => {
            let file = OpenOptions::new().read(true).write(true).open(path)?;
            let is = file.metadata()?.len();
            (file, Some(is))
        }
        None => (regular::create_next_to(path, fs::metadata(list).ok().as_ref())?, None),
    };
    if is != len {
        return Err(io::Error::other("another program is writing it; run this again"));
    }
    let add = |file: &mut File| {
        file.set_len(end)?;
        let line_end = line_end(file, end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(line_end)?;
        copy(section, file)?;
        file.sync_data()
    };
    let appended = add(&mut file);
    if appended.is_err() {
        let _ = file.set_len(end);
        if len.is_none() {
            let _ = fs::remove_file(path);
        }
    }
    appended
}

/// The bytes between the first `end` bytes and a section, which begins a line, also after one that is damaged.
fn line_end(mut file: &File, end: u64) -> io::Result<&'static [u8]> {
    file.seek(SeekFrom::Start(end.saturating_sub(1)))?;
    let mut last = Vec::new();
    file.take(end.min(1)).read_to_end(&mut last)?;
    Ok(if matches!(last[..], [] | [b'\n']) { b"" } else { b"\n" })
}
