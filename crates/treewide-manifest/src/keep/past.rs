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

use crate::error::Error;
use crate::format::index;
use crate::format::manifest::{Index, Manifest};
use crate::format::record::{Facts, Record, What};
use crate::format::regular::{self, PAST};
use crate::format::rules::Rules;
use crate::format::usual::Usual;
use crate::format::xattrs::changes;
use serde::{Deserialize, Deserializer, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;
use treewide::{Hasher, OUT_LEN};
use treewide_files::Replacement;
use treewide_files::digest::unhex;
use treewide_files::list::{MAX_LINE, read_line};

/// The version that is written, and the only one that is read.
const VERSION: &str = "past 1";
const END: &[u8] = b"{\"end\":";
const CHECK: &[u8] = b",\"check\":\"";
/// Bytes of a section that are held in memory.
const HELD: usize = 4 << 20;

/// Where the past of a list is: `.past` after its name.
pub fn past_path(list: &Path) -> PathBuf {
    let mut path = list.as_os_str().to_owned();
    path.push(".past");
    path.into()
}

/// The first line of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    treewide: String,
    pub(crate) run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Why it is in the place of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    /// Facts of the old manifest; `null` if it had no index that could be used. A gap has no such key.
    #[serde(default, deserialize_with = "some", skip_serializing_if = "Option::is_none")]
    from: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Rules>,
}

/// A key that may be `null`, and is not there otherwise.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The last line, without its `check`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trailer {
    end: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// A section that proves itself.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) header: Header,
    pub(crate) to: Option<String>,
    check: String,
}

/// A section, or what is in its place.
#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    stop: u64,
    /// `None` if it does not prove itself.
    section: Option<Section>,
    /// Where it ends, if its last line is not there.
    tail: Option<Tail>,
}

/// What a section has that was never finished.
#[derive(Clone, Debug)]
enum Tail {
    /// A part of its first line.
    Begin,
    /// A first line with these facts.
    From(Option<String>),
}

impl Piece {
    /// Whether it is a section that was never finished, of the pair with these facts.
    fn is_unfinished(&self, facts: Option<&String>) -> bool {
        match &self.tail {
            Some(Tail::Begin) => true,
            Some(Tail::From(from)) => from.as_ref() == facts,
            None => false,
        }
    }
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
        let ends = match old.map(Manifest::index) {
            Some(Index::Bound(ends)) => Some(&**ends),
            _ => None,
        };
        let mut past = Self {
            path: past_path(list),
            bound: ends.and_then(|it| it.1.past.clone()),
            facts: ends.map(|it| it.1.facts.clone()),
            since: ends.map(|it| it.0.began.clone()),
            rules: old.map(Manifest::rules).unwrap_or_default(),
            len: None,
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
            _ => past.read(&file)?,
        }
        Ok(past)
    }

    /// The past of a manifest that is only read, if there is one, or should be. A file of someone's own is passed over.
    pub(crate) fn of(manifest: &Manifest) -> Result<Option<Self>, Error> {
        let list = manifest.list().path();
        let is_bound = matches!(manifest.index(), Index::Bound(ends) if ends.1.past.is_some());
        let is_there = regular::begins(&past_path(list), PAST) == Some(true);
        (is_bound || is_there).then(|| Self::open(list, Some(manifest))).transpose()
    }

    /// Reads all sections.
    fn read(&mut self, file: &File) -> Result<(), Error> {
        let pieces = pieces(file).map_err(|error| Error::read(&self.path, error))?;
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

    /// All records of sections that prove themselves, the oldest first, and where they are.
    pub(crate) fn records(&mut self, each: &mut dyn FnMut(u64, Record)) -> Result<(), Error> {
        self.read_once()?;
        let failed = |error| Error::read(&self.path, error);
        let (mut line, mut parse) = (Vec::new(), Parse::default());
        for piece in self.pieces.iter().flatten().filter(|it| it.section.is_some()) {
            let lines = self.lines.get_or_insert(Lines::open(&self.path).map_err(failed)?);
            let mut at = piece.start;
            while at < piece.stop && lines.read(at, &mut line).map_err(failed)? {
                if let Some(record) = parse.record(&line) {
                    each(at, record);
                }
                at += line.len() as u64;
            }
        }
        Ok(())
    }

    /// The record at this place, and when the manifest had it last.
    pub(crate) fn record_at(&mut self, place: u64) -> Result<Option<(Record, String)>, Error> {
        let (Some(lines), mut line) = (&mut self.lines, Vec::new()) else { return Ok(None) };
        lines.read(place, &mut line).map_err(|error| Error::read(&self.path, error))?;
        let pieces = self.pieces.as_deref().unwrap_or_default();
        let piece = pieces.get(pieces.partition_point(|it| it.stop <= place));
        let run = piece.and_then(|it| Some(it.section.as_ref()?.header.run.clone()));
        Ok(Parse::default().record(&line).zip(run))
    }

    fn read_once(&mut self) -> Result<(), Error> {
        if self.pieces.is_some() {
            return Ok(());
        }
        let file = regular::open(&self.path).map_err(|error| Error::read(&self.path, error))?;
        self.read(&file)
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
            Some(from) => from != to,
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
        let mut all = Replacement::begin_next_to(&self.path, None, None)?;
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
        let mut all = Replacement::begin_next_to(&self.path, None, None)?;
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
        let way = "all other records in it count; `treewide update --accept-damage` leaves out what is damaged";
        let way = self.len.map(|_| format!("; {way}")).unwrap_or_default();
        self.damage.as_ref().map(|it| format!("{it}{way}"))
    }

    /// Whether this run makes it.
    pub(crate) fn is_new(&self) -> bool {
        self.len.is_none() && !matches!(self.writes, Writes::Nothing)
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

/// The sections of the past of a manifest that prove themselves, and where they are.
pub(crate) fn sections(manifest: &Manifest) -> Result<Vec<(Section, Range<u64>)>, Error> {
    let Some(mut past) = Past::of(manifest)? else { return Ok(Vec::new()) };
    past.read_once()?;
    let pieces = past.pieces.into_iter().flatten();
    Ok(pieces.filter_map(|it| Some((it.section?, it.start..it.stop))).collect())
}

/// Reads the past of a manifest as a whole. `None` if it has none.
///
/// # Errors
/// If it cannot be read.
pub fn past_totals(manifest: &Manifest) -> Result<Option<PastTotals>, Error> {
    let Some(mut past) = Past::of(manifest)? else { return Ok(None) };
    past.read_once()?;
    let sections = past.pieces.iter().flatten().filter_map(|it| it.section.as_ref());
    let runs: Vec<_> = sections.filter(|it| it.header.gap.is_none()).collect();
    let first = runs.first().map(|it| it.header.run.clone());
    Ok(Some(PastTotals { runs: runs.len(), first, bytes: past.len, damage: past.said() }))
}

const MISSING: &str = "is missing, and may have been left behind when the manifest was moved or copied; a new past begins";
const OLDER: &str = "the manifest was made by a program that knows no past, or anew; states before that are not shown";

impl Section {
    /// Whether a section that names `after` may come next.
    fn is_before(&self, after: Option<&String>) -> bool {
        let is_gap = self.header.gap.is_some();
        after == Some(&self.check) || is_gap && after == self.header.after.as_ref()
    }

    /// Whether it may come after that one.
    fn follows(&self, before: Option<&Self>) -> bool {
        let after = self.header.after.as_ref();
        self.header.gap.is_some() || before.map_or(after.is_none(), |it| it.is_before(after))
    }

    pub(crate) fn from(&self) -> Option<&String> {
        self.header.from.as_ref().and_then(Option::as_ref)
    }
}

/// Reads lines at any place, which are mostly next to each other.
#[derive(Debug)]
struct Lines {
    from: BufReader<File>,
    at: u64,
}

impl Lines {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { from: BufReader::with_capacity(64 << 10, regular::open(path)?), at: 0 })
    }

    /// Whether there is one.
    fn read(&mut self, place: u64, line: &mut Vec<u8>) -> io::Result<bool> {
        self.from.seek_relative(place as i64 - self.at as i64)?;
        read_line(&mut self.from, line)?;
        self.at = place + line.len() as u64;
        Ok(!line.is_empty())
    }
}

/// Parses lines of records.
#[derive(Default)]
struct Parse {
    usual: Usual,
    spare: Vec<u8>,
}

impl Parse {
    /// `None` of another line.
    fn record(&mut self, line: &[u8]) -> Option<Record> {
        line.starts_with(b"{\"path\":").then(|| self.usual(line))?.or_else(|| {
            let indexed = index::parse(line).ok()?;
            Some(indexed.record)
        })
    }

    /// Parses it quickly, without the keys that the index does not have. No name has a quotation mark that is not escaped.
    fn usual(&mut self, line: &[u8]) -> Option<Record> {
        let key = b"\",\"type\":\"file\",\"digest\":\"";
        let at = line.windows(key.len()).position(|it| it == key)? + key.len();
        let (digest, rest) = line[at..].split_at_checked(2 * OUT_LEN)?;
        let rest = rest.strip_prefix(b"\"")?;
        let rest = rest.strip_suffix(b",\"gone\":true}\n").or_else(|| rest.strip_suffix(b"}\n"))?;
        self.spare.clear();
        for part in [&line[..at - b",\"digest\":\"".len()], rest, b"}\n"] {
            self.spare.extend_from_slice(part);
        }
        let mut record = self.usual.parse(&self.spare)?;
        if let What::File(file) = &mut record.what {
            file.digest = unhex(digest)?.try_into().ok()?;
        }
        Some(record)
    }
}

/// The parts of a last line: all before its `check`, and that.
fn end_of(line: &[u8]) -> Option<(&[u8], &str)> {
    let at =
        line.starts_with(END).then(|| line.windows(CHECK.len()).rposition(|it| it == CHECK))??;
    let check = &line[at + CHECK.len()..];
    let check = check.strip_suffix(b"\n").unwrap_or(check).strip_suffix(b"\"}")?;
    Some((&line[..at], str::from_utf8(check).ok()?))
}

/// The sections of a past, and what is between them.
fn pieces(file: &File) -> io::Result<Vec<Piece>> {
    struct Open {
        start: u64,
        header: Option<Header>,
        hasher: Hasher,
        lines: u64,
        is_cut: bool,
    }
    { file }.rewind()?;
    let mut lines = BufReader::with_capacity(64 << 10, file);
    let (mut pieces, mut open, mut line) = (Vec::new(), None::<Open>, Vec::new());
    let (mut at, mut is_begin) = (0, true);
    let unproven = |open: Open, stop| {
        let from = open.header.and_then(|it| it.from).map(Tail::From);
        let tail = from.or(open.is_cut.then_some(Tail::Begin));
        Piece { start: open.start, stop, section: None, tail }
    };
    loop {
        line.clear();
        // A longer line is not ours, and comes in parts.
        if { &mut lines }.take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            pieces.extend(open.map(|it| unproven(it, at)));
            return Ok(pieces);
        }
        let start = at;
        at += line.len() as u64;
        let begins = std::mem::replace(&mut is_begin, line.last() == Some(&b'\n'));
        let is_line = begins && is_begin;
        if is_line && line.starts_with(PAST) {
            pieces.extend(open.take().map(|it| unproven(it, start)));
            let header: Option<Header> = serde_json::from_slice(&line).ok();
            let hasher = Hasher::new().update(&line).clone();
            open = Some(Open { start, header, hasher, lines: 0, is_cut: false });
            continue;
        }
        let is_cut = begins && !is_begin && (line.starts_with(PAST) || PAST.starts_with(&line));
        let new = || Open { start, header: None, hasher: Hasher::new(), lines: 0, is_cut };
        let piece = open.get_or_insert_with(new);
        if !is_line || !is_begin || !line.starts_with(END) {
            piece.hasher.update(&line);
            piece.lines += 1;
            piece.is_cut &= piece.start == start;
            continue;
        }
        let section = end_of(&line).and_then(|(before, check)| {
            let is_right = piece.hasher.update(before).finalize().to_hex().as_str() == check;
            let end: Trailer = serde_json::from_slice(&[before, b"}"].concat()).ok()?;
            let header = piece.header.take().filter(|_| is_right && end.end == piece.lines)?;
            Some(Section { header, to: end.to, check: check.into() })
        });
        // A version that is not right may also be damage.
        if let Some(other) = section.as_ref().filter(|it| it.header.treewide != VERSION) {
            let cause = format!(
                "has a {:?}, which this program does not know; use a newer one",
                other.header.treewide
            );
            return Err(io::Error::other(cause));
        }
        pieces.push(Piece { start: piece.start, stop: at, section, tail: None });
        open = None;
    }
}

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

/// The lines of a section that says that others are missing, and its check.
fn gap(word: &str, run: &str, after: Option<&str>) -> (Vec<u8>, String) {
    let header = Header {
        treewide: VERSION.into(),
        run: run.into(),
        since: None,
        after: after.map(str::to_owned),
        gap: Some(word.into()),
        from: None,
        rules: None,
    };
    let mut text = serde_json::to_vec(&header).unwrap_or_default();
    text.push(b'\n');
    let mut hasher = Hasher::new();
    hasher.update(&text);
    let check = push_end(&mut text, &mut hasher, 0, None);
    (text, check)
}

/// Adds the last line of a section whose other lines were hashed, and returns its check.
fn push_end(to: &mut Vec<u8>, hasher: &mut Hasher, lines: u64, facts: Option<&str>) -> String {
    let trailer = Trailer { end: lines, to: facts.map(str::to_owned) };
    let line = serde_json::to_string(&trailer).unwrap_or_default();
    let line = line.strip_suffix('}').unwrap_or(&line);
    let check = hasher.update(line.as_bytes()).finalize().to_hex().to_string();
    to.extend_from_slice(format!("{line},\"check\":\"{check}\"}}\n").as_bytes());
    check
}

/// What a run appends: the old record of each path that has none now, or one with other facts, and the names of paths that are new.
#[derive(Debug)]
pub(crate) struct Additions {
    /// Whether the old manifest has an index that can be used.
    pub(crate) is_known: bool,
    has_old: bool,
    folder: PathBuf,
    rules: Rules,
    text: SpooledTempFile,
    count: u64,
    held: Held,
    line: Vec<u8>,
    day: index::LastDay,
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
                    self.push(&was, false)
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
                index::push_bytes(&mut self.line, "new", &is.name);
                self.line.extend_from_slice(b"}\n");
                self.text.write_all(&self.line)
            }
        }
    }

    /// Adds the digests that a damaged index alone has, of files that no list can name. Says how many of its lines are of no use.
    pub(crate) fn salvage(&mut self, index: &Path) -> io::Result<u64> {
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
                Ok(it) if it.has_digest => self.push(&it.record, false)?,
                Ok(_) => {}
                Err(_) if line.starts_with(END) || line.starts_with(regular::INDEX) => {}
                Err(_) => lost += 1,
            }
        }
    }

    /// Everything about the path was written.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.held) {
            Held::Was(was) => self.push(&was, true),
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

    fn push(&mut self, was: &Record, is_gone: bool) -> io::Result<()> {
        if !self.has_old {
            return Ok(());
        }
        self.count += 1;
        self.line.clear();
        index::push_record(&mut self.line, was, true, &mut self.day);
        let end: &[u8] = if is_gone { b",\"gone\":true}\n" } else { b"}\n" };
        self.line.extend_from_slice(end);
        self.text.write_all(&self.line)
    }

    /// All lines of the section, and its check.
    fn section(mut self, header: &Header, to: &str) -> io::Result<(SpooledTempFile, String)> {
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
        let check = push_end(&mut line, &mut hasher, lines, Some(to));
        section.write_all(&line)?;
        Ok((section, check))
    }
}
