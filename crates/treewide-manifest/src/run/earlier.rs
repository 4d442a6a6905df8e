//! Knows the files that a manifest has and had, by their names, their numbers, and the last parts of their names.
//!
//! The content of a file that comes back, is renamed, or is a copy is not new, although the file is. One record judges it: see
//! [`Earlier::judge`].

use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Manifest, Records};
use crate::format::name;
use crate::format::record::{Doubt, Facts, FileRecord, Record, What};
use crate::format::trust::Key;
use crate::keep::past::Past;
use crate::run::verdict::{Change, Then, Verdict, other_content};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::rc::Rc;
use std::time::UNIX_EPOCH;
use treewide::OUT_LEN;
use treewide_files::Stamp;
use treewide_files::digest::equal;
use unicode_normalization::UnicodeNormalization;

const SECOND: i64 = 1_000_000_000;

/// The files of a manifest and of its past, read from them once they are needed.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    manifest: Option<Manifest>,
    /// Records of the manifest, and the place of the next one.
    records: Option<(Records, usize)>,
    pub(crate) past: Option<Past>,
    has: Option<Table>,
    had: Option<Table>,
    /// What is known of contents in doubt.
    doubted: HashMap<[u8; OUT_LEN], Doubts>,
    /// Why the past cannot be read.
    failed: Option<String>,
}

/// A record of the manifest, or of its past.
#[derive(Clone, Debug)]
struct Was {
    name: Vec<u8>,
    file: FileRecord,
    /// Where it is in the past. The manifest is after all of that.
    at: u64,
    /// When the manifest had it last.
    until: Option<String>,
}

/// Records in doubt with a content, and those with that content under such names, or that someone accepted.
type Doubts = Rc<(Vec<Was>, Vec<Was>)>;

/// What earlier records say of a file.
#[derive(Default)]
pub(crate) struct Judged {
    /// It has other content than this record, and nothing shows that someone wants it to.
    pub(crate) doubt: Option<(Verdict, Box<FileRecord>)>,
    pub(crate) then: Option<Then>,
    /// Its content was in doubt, and someone accepted it there, or where the file was.
    pub(crate) is_accepted: bool,
}

impl Was {
    fn has(&self, digest: &[u8; OUT_LEN]) -> bool {
        equal(&self.file.digest, digest)
    }

    fn is_accepted(&self) -> bool {
        self.file.facts.as_ref().is_some_and(|it| it.accepted)
    }

    fn then(&self, as_then: bool, is_back: bool) -> Option<Then> {
        let until = self.until.clone()?;
        Some(Then { until, as_then, is_back })
    }
}

impl Judged {
    fn doubt(verdict: Verdict, was: &Was, name: &[u8], is_new: bool) -> Self {
        // A file that had another name is not back.
        let then = was.then(false, is_new).filter(|_| was.name == name);
        Self { doubt: Some((verdict, Box::new(was.file.clone()))), then, is_accepted: false }
    }
}

impl Earlier {
    pub(crate) fn new(manifest: Option<&Manifest>, past: Option<Past>) -> Self {
        // A new manifest continues a past that is there, and everything is new.
        let had = manifest.is_none().then(Table::default);
        let manifest = manifest.filter(|it| it.has_index()).cloned();
        Self { manifest, past, had, ..Self::default() }
    }

    /// For a run that writes nothing, and does without a past that cannot be read. That of a manifest as it was ends there.
    pub(crate) fn of(manifest: &Manifest) -> Self {
        let (past, failed) = match Past::of(manifest) {
            Ok(past) => (past, None),
            Err(error) => (None, Some(cause(&error))),
        };
        Self { failed, ..Self::new(Some(manifest), past) }
    }

    /// Damage of the past, if it was needed and is there.
    pub(crate) fn damage(&self) -> Option<String> {
        let past = self.past.as_ref().filter(|it| self.had.is_some() && it.is_there());
        self.failed.clone().or_else(|| past?.said())
    }

    fn had(&mut self) -> Result<&Table, Error> {
        let Some(past) = self.past.as_mut().filter(|_| self.had.is_none()) else {
            return Ok(self.had.get_or_insert_default());
        };
        let mut table = Table::default();
        if let Err(error) = past.records(&mut |place, record| table.add(place, &record)) {
            // A run that writes ends with that error; others do without the past.
            (self.failed, table) = (Some(cause(&error)), Table::default());
        }
        if past.said().is_some() {
            table.retain(|place| past.section(place).is_some());
        }
        Ok(self.had.insert(table.sorted()))
    }

    fn has(&mut self) -> Result<&Table, Error> {
        let Some(manifest) = self.manifest.as_ref().filter(|_| self.has.is_none()) else {
            return Ok(self.has.get_or_insert_default());
        };
        let mut table = Table::default();
        for (place, record) in manifest.records()?.enumerate() {
            table.add(place as u64, &record?);
        }
        Ok(self.has.insert(table.sorted()))
    }

    /// The records that were found: those of the manifest, and then those of the past, the newest first.
    fn read(&mut self, found: Found) -> Result<Vec<Was>, Error> {
        let mut all = Vec::new();
        // A folder with another name has its files in their order, so that the manifest is read once more.
        let places: BTreeSet<_> = found.has.iter().map(|it| it.place as usize).collect();
        for place in places {
            let Some(manifest) = &self.manifest else { break };
            let (records, next) = match &mut self.records {
                Some(it) if it.1 <= place => it,
                it => it.insert((manifest.records()?, 0)),
            };
            let record = records.nth(place - *next).transpose()?;
            *next = place + 1;
            all.extend(record.map(|it| (it, u64::MAX, None)));
        }
        for known in found.had {
            let Some(past) = &mut self.past else { break };
            let found = past.record_at(known.place)?;
            all.extend(found.map(|(it, until)| (it, known.place, Some(until))));
        }
        let file = |(record, at, until): (Record, _, _)| match record.what {
            What::File(file) => Some(Was { name: record.name, file, at, until }),
            _ => None,
        };
        Ok(all.into_iter().filter_map(file).collect())
    }

    /// Finds what has this key in the past, and, for a file that is not the recorded one of its name, in the manifest.
    fn find(
        &mut self,
        (by, key): (By, u32),
        is_other: bool,
        fits: impl Fn(&Known) -> bool,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        if is_other {
            found.has.extend(self.has()?.find(by, key).filter(&fits));
        }
        found.had.extend(self.had()?.find(by, key).filter(&fits));
        Ok(found)
    }

    /// The records in doubt that fit, the newest first. The manifest says how many it has, and is mostly not read.
    fn doubts(&mut self, fits: impl Fn(&Doubted) -> bool) -> Result<Found, Error> {
        let all = |table: &Table| {
            table.doubts.iter().rev().filter(|it| fits(it)).map(|it| it.known).collect()
        };
        let has_doubts = self.manifest.as_ref().is_some_and(Manifest::has_doubts);
        let has = if has_doubts { all(self.has()?) } else { Vec::new() };
        Ok(Found { has, had: all(self.had()?) })
    }

    /// Whether a record in doubt fits.
    fn has_doubt(&mut self, fits: impl Fn(&Doubted) -> bool) -> Result<bool, Error> {
        let has_doubts = self.manifest.as_ref().is_some_and(Manifest::has_doubts);
        let is_it = has_doubts && self.has()?.doubts.iter().any(&fits);
        Ok(is_it || self.had()?.doubts.iter().any(&fits))
    }

    /// What is known of a content in doubt. It is read once.
    fn doubted(&mut self, digest: &[u8; OUT_LEN]) -> Result<Doubts, Error> {
        if let Some(it) = self.doubted.get(digest) {
            return Ok(Rc::clone(it));
        }
        let doubts = self.doubts(|it| it.found == Some(*digest))?;
        if doubts.all().next().is_none() {
            return Ok(Rc::default());
        }
        let begun = begin(digest);
        let same = |it: &Table| it.files.iter().copied().filter(|it| it.begun == begun).collect();
        let same = Found { has: same(self.has()?), had: same(self.had()?) };
        let (doubts, mut same) = (self.read(doubts)?, self.read(same)?);
        let names: HashSet<_> = doubts.iter().map(|it| &it.name).collect();
        same.retain(|it| it.has(digest) && (it.is_accepted() || names.contains(&it.name)));
        let known = Rc::new((doubts, same));
        self.doubted.insert(*digest, Rc::clone(&known));
        Ok(known)
    }

    /// The records that were in doubt with the content of this file, and not accepted with it, and whether it was accepted under its name,
    /// or where the file was moved from: then there are none. What is accepted under one name is in doubt under others that were.
    fn in_doubt(
        &mut self,
        file: Looked<'_>,
        digest: &[u8; OUT_LEN],
    ) -> Result<(Vec<Was>, bool), Error> {
        let (name, path, stamp) = file;
        let known = self.doubted(digest)?;
        // An empty file is a copy of nothing: it is the one that was in doubt, or none.
        let may_be = |it: &Was| stamp.len > 0 || has_inode(&it.file, stamp);
        let is_own = |it: &Was| it.name == name && it.until.is_none();
        let is_old = |it: &Was| stamp.len > 0 || is_as_old(path, &it.file);
        let doubts = known.0.iter().filter(|it| is_own(it) || may_be(it) && is_old(it));
        let mut doubts: Vec<_> = doubts.cloned().collect();
        let same: Vec<_> = known.1.iter().filter(|it| may_be(it)).collect();
        doubts.retain(|was| !same.iter().any(|it| it.name == was.name && it.at > was.at));
        let is_copy = last(name, stamp.len, stamp.mtime).is_some();
        let is_moved =
            |it: &Was| numbers(it, file).is_some() || is_copy && last_part(it, file).is_some();
        let is_here = |it: &Was| match it.name == name {
            true => !doubts.iter().any(|it| it.name == name),
            false => !doubts.iter().any(is_own) && is_moved(it),
        };
        let is_accepted = same.iter().any(|it| it.is_accepted() && is_here(it));
        doubts.retain(|_| !is_accepted);
        Ok((doubts, is_accepted))
    }

    /// The newest record of the past of this name that fits, and until when the manifest had it. None of a file that has the times and
    /// numbers with which any was in doubt, or content in doubt.
    pub(crate) fn back(
        &mut self,
        name: &[u8],
        (path, stamp): (&Path, &Stamp),
        fits: impl Fn(&FileRecord, &Record) -> bool,
    ) -> Result<Option<(Record, String)>, Error> {
        let had: Vec<_> = self.had()?.find(By::Name, key(&letters(name))).collect();
        for known in had {
            let Some(past) = &mut self.past else { break };
            let Some((record, until)) = past.record_at(known.place)? else { continue };
            if let What::File(it) = &record.what
                && record.name == name
                && fits(it, &record)
            {
                let digest = it.digest;
                let is_doubt = self.has_doubt(|it| it.seen.is_some_and(|key| key.is_of(stamp)))?
                    || !self.in_doubt((name, path, stamp), &digest)?.0.is_empty();
                return Ok((!is_doubt).then_some((record, until)));
            }
        }
        Ok(None)
    }

    /// Whether the content of a new file matters, as records are about it.
    pub(crate) fn matters(&mut self, name: &[u8], stamp: &Stamp) -> Result<bool, Error> {
        for key in keys(name, stamp.len, Some(stamp.inode), stamp.mtime) {
            let is_near = |it: &Known| key.0 != By::Inode || it.is_near(stamp.mtime);
            if self.find(key, true, is_near)?.all().next().is_some() {
                return Ok(true);
            }
        }
        // A copy of a file in doubt has any length.
        let is_it = |it: &Doubted| it.seen.is_some_and(|key| key.inode == Some(stamp.inode));
        self.has_doubt(|it| stamp.len > 0 || is_it(it))
    }

    /// Judges a file that has other content than the record `was` of its name, by which alone the verdict is this one. Content that its
    /// name had once with its mtime is that of a backup, if anything moved.
    pub(crate) fn judge_other(
        &mut self,
        name: &[u8],
        (was, verdict): (&mut FileRecord, &mut Verdict),
        file: (&Path, &Stamp),
        digest: &[u8; OUT_LEN],
    ) -> Result<Option<Then>, Error> {
        let edited = Verdict::Changed(Change::Content { untimed: false });
        if *verdict == edited {
            let judged = self.judge(name, Some(was), file, digest)?;
            if let Some((doubt, other)) = judged.doubt {
                (*verdict, *was) = (doubt, *other);
            }
            return Ok(judged.then);
        }
        let Verdict::Suspect { .. } = verdict else { return Ok(None) };
        let is_it =
            |it: &FileRecord, _: &Record| equal(&it.digest, digest) && moved(it, file.1).is_some();
        let Some((_, until)) = self.back(name, file, is_it)? else { return Ok(None) };
        *verdict = edited;
        Ok(Some(Then { until, as_then: true, is_back: false }))
    }

    /// Judges a file that is new, or that is edited by the record `was` of its name. The first of these judges it:
    ///
    /// 1. the record of its name, if it has its mtime; else one of the past that has: with its content, or all its times, else the newest.
    ///    Names are compared by their letters;
    /// 2. one with its inode, mtime and size, under another name. One of the past counts if the file is not younger: else the inode was used
    ///    again;
    /// 3. for a new file, one with its size, its mtime and the last part of its name: a copy on another disk;
    /// 4. one that was in doubt with its content, which was not accepted: a copy of it, or itself. An empty file is a copy of nothing.
    ///
    /// If none does, it is said whether its content was once recorded under its name.
    pub(crate) fn judge(
        &mut self,
        name: &[u8],
        was: Option<&FileRecord>,
        (path, stamp): (&Path, &Stamp),
        digest: &[u8; OUT_LEN],
    ) -> Result<Judged, Error> {
        let begun = begin(digest);
        let has_its_content = |it: &Known| it.begun == begun;
        let is_near = |it: &Known| it.is_near(stamp.mtime);
        let is_other = |it: &Was| it.name != name;
        let is_new = was.is_none();
        let mut by_name = self.find((By::Name, key(&letters(name))), is_new, |_| true)?;
        let by_inode = match was.is_none_or(|it| !has_inode(it, stamp)) {
            true => self.find((By::Inode, key(&stamp.inode)), true, is_near)?,
            false => Found::default(),
        };
        let moved_here = by_name.has.iter().filter(|it| is_near(it)).chain(&by_inode.has);
        let was_moved = is_new && moved_here.copied().any(|it| has_its_content(&it));
        by_name.has.retain(|it| !was_moved && !has_its_content(it));
        let by_name = self.read(by_name)?;
        let has_its_mtime = was.is_some_and(|it| moved(it, stamp).is_some());
        if !was_moved && !has_its_mtime {
            let timed = || by_name.iter().filter_map(|it| Some((it, moved(&it.file, stamp)?)));
            let is_it = |(it, moved): &(&Was, Vec<_>)| moved.is_empty() || it.has(digest);
            let judge = timed().find(is_it).or_else(|| timed().next());
            if let Some((it, moved)) = judge.filter(|(it, _)| !it.has(digest))
                && let Some(facts) = &it.file.facts
            {
                let verdict = match is_other(it) {
                    true => Verdict::Suspect { moved, from: Some(it.name.clone()) },
                    false => other_content(facts, facts.bytes == stamp.len, Some(moved)),
                };
                if verdict.is_doubtful() {
                    return Ok(Judged::doubt(verdict, it, name, is_new));
                }
            }
        }
        let doubt = |it: &Was, moved| {
            let from = is_other(it).then(|| it.name.clone());
            Ok(Judged::doubt(Verdict::Suspect { moved, from }, it, name, is_new))
        };
        let last = last(name, stamp.len, stamp.mtime).filter(|_| is_new && !was_moved);
        let copies = match last {
            Some(key) => self.find((By::Last, key), true, |_| true)?,
            None => Found::default(),
        };
        let by_inode = (by_inode, numbers as fn(&Was, Looked<'_>) -> _);
        for (found, moved) in [by_inode, (copies, last_part)] {
            if found.all().any(has_its_content) {
                continue;
            }
            for it in self.read(found)?.into_iter().filter(is_other) {
                if let Some(moved) = moved(&it, (name, path, stamp)) {
                    return doubt(&it, moved);
                }
            }
        }
        let (in_doubt, is_accepted) = self.in_doubt((name, path, stamp), digest)?;
        // Of copies, its own record judges it.
        if let Some(it) = in_doubt.iter().find(|it| it.name == name).or(in_doubt.first()) {
            return doubt(it, Vec::new());
        }
        let had = || by_name.iter().filter(|it| it.until.is_some());
        let same = had().find(|it| it.has(digest));
        // Most files that are edited are not as they were once.
        let other = had().next().filter(|_| is_new);
        let then = same.map(|it| (it, true)).or(other.map(|it| (it, false)));
        let then = then.and_then(|(it, as_then)| it.then(as_then, is_new));
        Ok(Judged { doubt: None, then, is_accepted })
    }

    /// As [`judge_other`](Self::judge_other) and [`judge`](Self::judge), of a file that another manifest records. `was` is what is recorded of
    /// its name.
    pub(crate) fn judge_record(
        &mut self,
        new: &Record,
        was: Option<(&FileRecord, &mut Verdict)>,
    ) -> Result<Judged, Error> {
        let What::File(FileRecord { digest, facts: Some(facts) }) = &new.what else {
            return Ok(Judged::default());
        };
        let Some(key) = facts.seen() else { return Ok(Judged::default()) };
        // Where inodes do not last, it has that of no record.
        let inode = key.inode.unwrap_or(0);
        let (mtime, ctime, len) = (Some(key.mtime), Some(key.ctime), facts.bytes);
        let device = key.device.unwrap_or(0);
        let stamp = Stamp { len, mtime, ctime, inode, device, mode: 0, links: 1, is_file: true };
        let file = (Path::new(""), &stamp);
        let Some((was, verdict)) = was else { return self.judge(&new.name, None, file, digest) };
        let then = self.judge_other(&new.name, (&mut was.clone(), verdict), file, digest)?;
        Ok(Judged { then, ..Judged::default() })
    }
}

/// Why the past cannot be read.
fn cause(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Read(cause) => cause.to_string(),
        _ => error.to_string(),
    }
}

/// What was found of the manifest and of its past.
#[derive(Default)]
struct Found {
    has: Vec<Known>,
    had: Vec<Known>,
}

impl Found {
    fn all(&self) -> impl Iterator<Item = &Known> {
        self.has.iter().chain(&self.had)
    }
}

/// What records are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Name,
    Inode,
    Last,
}

/// Files by their keys: 40 bytes for each, as all of them are held.
#[derive(Debug, Default)]
struct Table {
    files: Vec<Known>,
    /// Keys, and the number of the file that has them.
    by: [Vec<(u32, u32)>; 3],
    doubts: Vec<Doubted>,
}

/// A file in doubt.
#[derive(Debug)]
struct Doubted {
    /// The content that it had.
    found: Option<[u8; OUT_LEN]>,
    seen: Option<Key>,
    known: Known,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// Where its record is.
    place: u64,
    /// The beginning of its digest.
    begun: u32,
    /// Its mtime.
    seconds: u32,
}

impl Known {
    /// Whether its mtime may be this one, cut or not.
    fn is_near(&self, mtime: Option<i64>) -> bool {
        mtime.is_some_and(|it| self.seconds.wrapping_sub((it / SECOND) as u32).wrapping_add(2) <= 4)
    }
}

impl Table {
    fn add(&mut self, place: u64, record: &Record) {
        let What::File(file) = &record.what else { return };
        let at = self.files.len() as u32;
        let seen = file.facts.as_ref().and_then(Facts::seen);
        let bytes = file.facts.as_ref().map_or(0, |it| it.bytes);
        let (inode, mtime) = (seen.and_then(|it| it.inode), seen.map(|it| it.mtime));
        for (by, key) in keys(&record.name, bytes, inode, mtime) {
            self.by[by as usize].push((key, at));
        }
        let seconds = mtime.map_or(0, |it| (it / SECOND) as u32);
        let known = Known { place, begun: begin(&file.digest), seconds };
        let doubt = file.facts.as_ref().and_then(|it| it.doubt.as_deref());
        let doubted = |it: &Doubt| Doubted { found: it.found, seen: seen.copied(), known };
        self.doubts.extend(doubt.map(doubted));
        self.files.push(known);
    }

    fn retain(&mut self, is_it: impl Fn(u64) -> bool) {
        let files = &self.files;
        self.by.iter_mut().for_each(|it| it.retain(|it| is_it(files[it.1 as usize].place)));
        self.doubts.retain(|it| is_it(it.known.place));
    }

    fn sorted(mut self) -> Self {
        self.by.iter_mut().for_each(|it| it.sort_unstable());
        self
    }

    /// The newest first.
    fn find(&self, by: By, key: u32) -> impl Iterator<Item = Known> {
        let all = &self.by[by as usize];
        let start = all.partition_point(|it| it.0 < key);
        let len = all[start..].partition_point(|it| it.0 == key);
        all[start..start + len].iter().rev().map(|it| self.files[it.1 as usize])
    }
}

fn keys(
    name: &[u8],
    bytes: u64,
    inode: Option<u64>,
    mtime: Option<i64>,
) -> impl Iterator<Item = (By, u32)> {
    let inode = inode.filter(|_| mtime.is_some()).map(|it| (By::Inode, key(&it)));
    let last = last(name, bytes, mtime).map(|it| (By::Last, it));
    [Some((By::Name, key(&letters(name)))), inode, last].into_iter().flatten()
}

fn key(of: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish() as u32
}

/// The key of a file that is not empty, and whose mtime is its own, as it has a fraction of a second.
fn last(name: &[u8], bytes: u64, mtime: Option<i64>) -> Option<u32> {
    let mtime = mtime.filter(|it| it % SECOND != 0 && bytes > 0)?;
    Some(key(&(letters(name::base(name)), bytes, mtime)))
}

/// A name in Unicode form C.
pub(crate) fn letters(name: &[u8]) -> Cow<'_, [u8]> {
    match str::from_utf8(name) {
        Ok(text) if !name.is_ascii() => Cow::Owned(text.nfc().collect::<String>().into_bytes()),
        _ => Cow::Borrowed(name),
    }
}

fn begin(digest: &[u8; OUT_LEN]) -> u32 {
    digest[..4].iter().fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// What moved since the record was made; `None` if mtime did, or is not known.
fn moved(file: &FileRecord, stamp: &Stamp) -> Option<Vec<&'static str>> {
    file.facts.as_ref()?.seen()?.moved(stamp)
}

/// A file that is looked at: its name, where it is, and what the system says of it.
type Looked<'a> = (&'a [u8], &'a Path, &'a Stamp);

/// The same if the record is that of a file with this inode, mtime and size, or of one that was in doubt.
fn numbers(was: &Was, (_, path, stamp): Looked<'_>) -> Option<Vec<&'static str>> {
    let facts = was.file.facts.as_ref()?;
    let is_it = has_inode(&was.file, stamp) && (!facts.is_proven() || facts.bytes == stamp.len);
    let is_there = was.until.is_none() || is_as_old(path, &was.file);
    moved(&was.file, stamp).filter(|it| is_it && is_there && !it.contains(&"device"))
}

/// The same if the record has this size, mtime and last part of the name.
fn last_part(was: &Was, (name, _, stamp): Looked<'_>) -> Option<Vec<&'static str>> {
    let is_as_long = was.file.facts.as_ref()?.bytes == stamp.len;
    let is_it = is_as_long && letters(name::base(&was.name)) == letters(name::base(name));
    moved(&was.file, stamp).filter(|_| is_it)
}

/// Whether the file still has the inode that is recorded.
fn has_inode(file: &FileRecord, stamp: &Stamp) -> bool {
    file.facts.as_ref().and_then(Facts::seen).and_then(|it| it.inode) == Some(stamp.inode)
}

/// Whether the file at the path was there when the record was made.
fn is_as_old(path: &Path, file: &FileRecord) -> bool {
    let born = || path.metadata().ok()?.created().ok()?.duration_since(UNIX_EPOCH).ok();
    let seen = file.facts.as_ref().and_then(Facts::timed);
    seen.zip(born()).is_some_and(|(seen, born)| born.as_nanos() as i128 <= i128::from(seen.ctime))
}
