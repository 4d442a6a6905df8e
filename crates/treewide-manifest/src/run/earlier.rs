//! Judges a file by earlier records of its name, its inode or its content.
//!
//! A record of the manifest or of its past is a *witness* of a file if it has its mtime and its name in any Unicode form, or its inode
//! (one of the past, if the file is as old), or, for a new file, its size and the last part of its name, in another folder.
//!
//! 1. Witnesses are asked by name, then by inode, then by the last part: those of the manifest, and those of the past, the newest first. If one
//!    has the content of the file, that is as it was. Else the first one says whether it is an edit or in doubt; an edit lets the next kind judge.
//! 2. A new file that has the content of a witness in the manifest, by its inode or letters, was moved here. No other is asked.
//! 3. The last word of a name on a content is its newest record that has it or was in doubt with it. While that of any name is a doubt,
//!    the content is in doubt under each name, whatever its times. It is not where it was accepted, nor where that file is moved, by its inode.
//! 4. An empty file is a copy of nothing. It is in doubt only if it is the file that was.

use crate::error::{Error, ErrorKind};
use crate::format::manifest::{Manifest, Records};
use crate::format::name;
use crate::format::record::{Doubt, Facts, FileRecord, Record, What};
use crate::format::trust::Key;
use crate::keep::past::Past;
use crate::run::verdict::{Change, Then, Verdict};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
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
    pub(crate) past: Option<Past>,
    table: Table,
    /// Whether the table has the files of the past, and those of the manifest.
    is_read: (bool, bool),
    /// Records of the manifest, and the number of the next one.
    records: Option<(Records, u64)>,
    /// The last words on contents in doubt.
    words: HashMap<[u8; OUT_LEN], Rc<Vec<Was>>>,
    /// Why the past cannot be read.
    failed: Option<String>,
}

/// A file that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Looked<'a> {
    name: &'a [u8],
    path: &'a Path,
    len: u64,
    now: Key,
}

/// What earlier records say of a file.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// It has other content than this record, and nothing shows that someone wants it to.
    pub(crate) doubt: Option<(Verdict, What)>,
    pub(crate) then: Option<Then>,
    /// Its content was in doubt, and someone accepted it there, or where the file was.
    pub(crate) is_accepted: bool,
}

impl<'a> Looked<'a> {
    /// `None` if the system does not say its times.
    pub(crate) fn new(name: &'a [u8], path: &'a Path, stamp: &Stamp) -> Option<Self> {
        Some(Self { name, path, len: stamp.len, now: Key::of(stamp)? })
    }

    /// A file that another manifest records.
    pub(crate) fn of(record: &'a Record) -> Option<Self> {
        let (facts, path) = (record.facts()?, Path::new(""));
        Some(Self { name: &record.name, path, len: facts.bytes, now: *facts.seen()? })
    }

    fn has_inode(&self, facts: Option<&Facts>) -> bool {
        let inode = facts.and_then(Facts::seen).and_then(|it| it.inode);
        inode.is_some() && inode == self.now.inode
    }

    /// Whether it has this inode, and was there when the record was made.
    fn is_as_old(&self, facts: &Facts) -> bool {
        let born = || self.path.metadata().ok()?.created().ok()?.duration_since(UNIX_EPOCH).ok();
        let is_old = |at: i64| born().is_some_and(|it| it.as_nanos() as i128 <= i128::from(at));
        self.has_inode(Some(facts)) && facts.timed().is_some_and(|it| is_old(it.ctime))
    }

    /// By which witness the file is judged, and how: it is the same, edited, or in doubt.
    fn asks<'w>(
        &self,
        by: By,
        records: &'w [Was],
        digest: &[u8; OUT_LEN],
    ) -> Option<(&'w Was, Verdict)> {
        let all = || records.iter().filter_map(|it| Some((it, it.moved(by, self)?)));
        // What has all of its times is the file itself.
        let is_it = |(it, moved): &(&Was, Vec<_>)| moved.is_empty() || it.has(digest);
        let (it, moved) = all().find(is_it).or_else(|| all().next())?;
        if it.has(digest) {
            return Some((it, Verdict::Same));
        }
        let facts = it.record.facts()?;
        // No program changes the size of a file without moving its ctime, and a copy has a ctime of its own. What was in doubt before is so
        // with any size.
        let is_it = by == By::Inode || it.record.name == self.name;
        let is_edited = is_it
            && facts.bytes != self.len
            && facts.is_proven()
            && (facts.key.is_none() || moved.contains(&"ctime"));
        let verdict = match it.other_name(self) {
            _ if is_edited => Verdict::Changed(Change::Content { untimed: false }),
            None if moved.is_empty() => Verdict::Rot { racy: facts.key.is_none() },
            from => Verdict::Suspect { moved, from },
        };
        Some((it, verdict))
    }
}

/// A record of a file in the manifest, or in its past.
#[derive(Clone, Debug)]
struct Was {
    record: Record,
    /// When the manifest had it last. `None` if it has it.
    until: Option<String>,
}

impl Was {
    fn has(&self, digest: &[u8; OUT_LEN]) -> bool {
        matches!(&self.record.what, What::File(it) if equal(&it.digest, digest))
    }

    fn was_in_doubt(&self, digest: &[u8; OUT_LEN]) -> bool {
        let doubt = self.record.facts().and_then(|it| it.doubt.as_ref());
        doubt.is_some_and(|it| it.found == Some(*digest))
    }

    fn other_name(&self, file: &Looked<'_>) -> Option<Vec<u8>> {
        (self.record.name != file.name).then(|| self.record.name.clone())
    }

    /// What moved since the file was as in this record; `None` if it is not a witness.
    fn moved(&self, by: By, file: &Looked<'_>) -> Option<Vec<&'static str>> {
        let facts = self.record.facts()?;
        let seen = facts.seen()?;
        let moved = seen.moved(&file.now)?;
        let is_it = match by {
            By::Name => letters(&self.record.name) == letters(file.name),
            By::Inode => {
                let is_there = self.until.is_none() && file.has_inode(Some(facts));
                !moved.contains(&"device") && (is_there || file.is_as_old(facts))
            }
            By::Last => {
                let its = last(file.name, file.len, &file.now);
                let is_other = self.record.name != file.name;
                is_other && its.is_some() && its == last(&self.record.name, facts.bytes, seen)
            }
        };
        is_it.then_some(moved)
    }

    fn doubts(self, verdict: Verdict, is_new: bool) -> Judged {
        // A file that had another name is not back.
        let until = self.until.filter(|_| verdict.from().is_none());
        let then = until.map(|until| Then { until, as_then: false, is_back: is_new });
        Judged { doubt: Some((verdict, self.record.what)), then, is_accepted: false }
    }
}

impl Earlier {
    pub(crate) fn new(manifest: Option<&Manifest>, past: Option<Past>) -> Self {
        // A new manifest continues a past that is there, and everything is new.
        let is_read = (manifest.is_none(), false);
        let manifest = manifest.filter(|it| it.has_index()).cloned();
        Self { manifest, past, is_read, ..Self::default() }
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
        let past = self.past.as_ref().filter(|it| self.is_read.0 && it.is_there());
        self.failed.clone().or_else(|| past?.said())
    }

    /// The files of the past, and those of the manifest if they are needed.
    fn table(&mut self, with_manifest: bool) -> Result<&mut Table, Error> {
        if let Some(past) = &mut self.past
            && !std::mem::replace(&mut self.is_read.0, true)
        {
            let read = past.records(&mut |place, record| self.table.add(place, &record));
            if let Err(error) = read {
                // A run that writes ends with that error; others do without the past.
                (self.failed, self.table) = (Some(cause(&error)), Table::default());
            }
            if past.said().is_some() {
                self.table.retain(|place| past.section(place).is_some());
            }
        }
        if let Some(manifest) = self.manifest.as_ref().filter(|_| with_manifest)
            && !std::mem::replace(&mut self.is_read.1, true)
        {
            for (number, record) in manifest.records()?.enumerate() {
                self.table.add(NOW + number as u64, &record?);
            }
        }
        Ok(&mut self.table)
    }

    /// What may be about the file by this key, in the past, and in the manifest if that is asked.
    fn find(
        &mut self,
        file: &Looked<'_>,
        (by, key): (By, u32),
        with_manifest: bool,
    ) -> Result<Vec<Known>, Error> {
        let fits = |it: &Known| {
            (with_manifest || !it.is_now()) && (by == By::Name || it.is_near(file.now.mtime))
        };
        Ok(self.table(with_manifest)?.find(by, key).filter(fits).collect())
    }

    /// Files in doubt. The manifest says how many it has, and is mostly not read.
    fn in_doubt(&mut self) -> Result<&[Doubted], Error> {
        let has_doubts = self.manifest.as_ref().is_some_and(Manifest::has_doubts);
        self.table(has_doubts).map(|it| &*it.doubts)
    }

    /// The records that were found: those of the manifest, and then those of the past, the newest first.
    fn read(&mut self, mut found: Vec<Known>) -> Result<Vec<Was>, Error> {
        // A folder with another name has its files in their order, so that the manifest is read once more.
        let order = |it: &Known| if it.is_now() { it.place - NOW } else { !it.place };
        found.sort_unstable_by_key(order);
        found.dedup_by_key(|it| it.place);
        let mut all = Vec::new();
        for known in found {
            let found = match (&self.manifest, &mut self.past) {
                (Some(manifest), _) if known.is_now() => {
                    let number = known.place - NOW;
                    let (records, next) = match &mut self.records {
                        Some(it) if it.1 <= number => it,
                        it => it.insert((manifest.records()?, 0)),
                    };
                    let record = records.nth((number - *next) as usize).transpose()?;
                    *next = number + 1;
                    record.map(|it| (it, None))
                }
                (_, Some(past)) => past.record_at(known.place)?.map(|(it, run)| (it, Some(run))),
                _ => None,
            };
            all.extend(found.map(|(record, until)| Was { record, until }));
        }
        Ok(all)
    }

    /// The last words on a content, where they are that it is in doubt, or accepted. None if it never was in doubt. They are read once.
    fn words(&mut self, digest: &[u8; OUT_LEN]) -> Result<Rc<Vec<Was>>, Error> {
        if let Some(it) = self.words.get(digest) {
            return Ok(Rc::clone(it));
        }
        let doubts = self.in_doubt()?.iter().filter(|it| it.found == Some(*digest));
        let mut found: Vec<_> = doubts.map(|it| it.known).collect();
        if found.is_empty() {
            return Ok(Rc::default());
        }
        let begun = begin(digest);
        found.extend(self.table(true)?.files.iter().filter(|it| it.begun == begun));
        let mut words = self.read(found)?;
        let mut names = HashSet::new();
        words.retain(|it| {
            let is_word = it.has(digest) || it.was_in_doubt(digest);
            is_word && names.insert(it.record.name.clone())
        });
        let is_accepted = |it: &Was| it.record.facts().is_some_and(|it| it.accepted);
        words.retain(|it| it.was_in_doubt(digest) || is_accepted(it));
        let words = Rc::new(words);
        self.words.insert(*digest, Rc::clone(&words));
        Ok(words)
    }

    /// The doubt about its content that is one about this file, and whether the content was accepted there: then there is none.
    fn doubt(
        &mut self,
        file: &Looked<'_>,
        digest: &[u8; OUT_LEN],
    ) -> Result<(Option<Was>, bool), Error> {
        let words = self.words(digest)?;
        let is_own = |it: &&Was| it.record.name == file.name;
        let is_now = |it: &&Was| is_own(it) && it.until.is_none();
        let is_old = |it: &Was| it.record.facts().is_some_and(|it| file.is_as_old(it));
        let is_about = |it: &&Was| is_now(it) || file.len > 0 || is_old(it);
        let words = || words.iter().filter(is_about);
        let doubts = || words().filter(|it| it.was_in_doubt(digest));
        let is_moved = |it: &Was| it.moved(By::Inode, file).is_some();
        // What is accepted under one name is in doubt under others that were.
        let is_accepted = !doubts().any(|it| is_now(&it))
            && words().any(|it| !it.was_in_doubt(digest) && (is_own(&it) || is_moved(it)));
        let doubt = doubts().find(is_own).or(doubts().next()).filter(|_| !is_accepted);
        Ok((doubt.cloned(), is_accepted))
    }

    /// The newest record of the past of this name that fits, and until when the manifest had it. None of a file that has the times and
    /// numbers with which any was in doubt, or content in doubt.
    pub(crate) fn back(
        &mut self,
        (name, path): (&[u8], &Path),
        stamp: &Stamp,
        fits: impl Fn(&Record) -> bool,
    ) -> Result<Option<(Record, String)>, Error> {
        let Some(file) = Looked::new(name, path, stamp) else { return Ok(None) };
        let had = self.find(&file, (By::Name, key(&letters(name))), false)?;
        let had = self.read(had)?.into_iter();
        let Some((record, until)) = had
            .filter_map(|it| Some((it.record, it.until?)))
            .find(|(it, _)| it.name == name && fits(it))
        else {
            return Ok(None);
        };
        let What::File(FileRecord { digest, .. }) = &record.what else { return Ok(None) };
        let is_it = |it: &Doubted| it.seen.is_some_and(|key| key.is_of(stamp));
        let is_doubt = self.in_doubt()?.iter().any(is_it) || self.doubt(&file, digest)?.0.is_some();
        Ok((!is_doubt).then_some((record, until)))
    }

    /// Whether the content of a new file matters, as records are about it.
    pub(crate) fn matters(&mut self, file: &Looked<'_>) -> Result<bool, Error> {
        for key in keys(file.name, file.len, Some(&file.now)) {
            if !self.find(file, key, true)?.is_empty() {
                return Ok(true);
            }
        }
        // A copy of a file in doubt has any length.
        let is_it = |it: &Doubted| it.seen.is_some_and(|key| key.inode == file.now.inode);
        Ok(self.in_doubt()?.iter().any(|it| file.len > 0 || is_it(it)))
    }

    /// The verdict on a file that has other content than is recorded of its name.
    pub(crate) fn judge_other(
        &mut self,
        file: Option<Looked<'_>>,
        was: &FileRecord,
        digest: &[u8; OUT_LEN],
    ) -> Result<(Verdict, Judged), Error> {
        let file = file.filter(|_| was.facts.as_ref().is_some_and(|it| it.timed().is_some()));
        let judged = self.judge(file, Some(was), digest)?;
        let edited = Verdict::Changed(Change::Content { untimed: file.is_none() });
        Ok((judged.doubt.as_ref().map_or(edited, |it| it.0.clone()), judged))
    }

    /// Judges a file that is new, or that has other content than the record `was` of its name.
    pub(crate) fn judge(
        &mut self,
        file: Option<Looked<'_>>,
        was: Option<&FileRecord>,
        digest: &[u8; OUT_LEN],
    ) -> Result<Judged, Error> {
        let Some(file) = file else { return Ok(Judged::default()) };
        let (is_new, begun) = (was.is_none(), begin(digest));
        let has_it = |it: &Known| it.begun == begun && it.is_near(file.now.mtime);
        let mut found: [Vec<Known>; 3] = Default::default();
        for key in keys(file.name, file.len, Some(&file.now)) {
            let (is_asked, with_manifest) = match key.0 {
                By::Name => (true, is_new),
                By::Inode => (was.is_none_or(|it| !file.has_inode(it.facts.as_ref())), true),
                By::Last => (is_new, true),
            };
            if is_asked {
                found[key.0 as usize] = self.find(&file, key, with_manifest)?;
            }
        }
        let is_here = |it: &Known| it.is_now() && has_it(it);
        let was_moved = is_new && found[..2].iter().flatten().any(is_here);
        found[0].retain(|it| !was_moved || !it.is_now());
        let own = |it: &FileRecord| Record::new(file.name, What::File(it.clone()));
        let own = was.map(|it| Was { record: own(it), until: None });
        let mut named: Vec<_> = own.into_iter().collect();
        named.extend(self.read(std::mem::take(&mut found[0]))?);
        // Keys of other names may be the same.
        named.retain(|it| letters(&it.record.name) == letters(file.name));
        for (by, found) in [By::Name, By::Inode, By::Last].into_iter().zip(found) {
            if was_moved || found.iter().any(has_it) {
                break;
            }
            let others = self.read(found)?;
            let asked = if by == By::Name { &named } else { &others };
            match file.asks(by, asked, digest) {
                Some((_, Verdict::Same)) => break,
                Some((it, verdict)) if verdict.is_doubtful() => {
                    return Ok(it.clone().doubts(verdict, is_new));
                }
                _ => {}
            }
        }
        let (doubt, is_accepted) = self.doubt(&file, digest)?;
        if let Some(it) = doubt {
            let verdict = Verdict::Suspect { moved: Vec::new(), from: it.other_name(&file) };
            return Ok(it.doubts(verdict, is_new));
        }
        let had = || named.iter().filter_map(|it| Some((it.until.clone()?, it.has(digest))));
        // Most files that are edited are not as they were once.
        let then = had().find(|it| it.1).or(had().next().filter(|_| is_new));
        let then = then.map(|(until, as_then)| Then { until, as_then, is_back: is_new });
        Ok(Judged { doubt: None, then, is_accepted })
    }
}

/// Why the past cannot be read.
fn cause(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Read(cause) => cause.to_string(),
        _ => error.to_string(),
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
    /// Those of the past, the oldest first, and then those of the manifest.
    files: Vec<Known>,
    /// Keys, and the number of the file that has them.
    by: [Vec<(u32, u32)>; 3],
    /// Whether they are in order. Mostly one kind is asked for.
    is_sorted: [bool; 3],
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

/// Places from here on are numbers of records of the manifest; others are places in the past.
const NOW: u64 = 1 << 63;

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
    fn is_now(&self) -> bool {
        self.place >= NOW
    }

    /// Whether its mtime may be this one, cut or not.
    fn is_near(&self, mtime: i64) -> bool {
        self.seconds.wrapping_sub((mtime / SECOND) as u32).wrapping_add(2) <= 4
    }
}

impl Table {
    fn add(&mut self, place: u64, record: &Record) {
        let What::File(file) = &record.what else { return };
        let at = self.files.len() as u32;
        let seen = file.facts.as_ref().and_then(Facts::seen);
        let bytes = file.facts.as_ref().map_or(0, |it| it.bytes);
        for (by, key) in keys(&record.name, bytes, seen) {
            self.by[by as usize].push((key, at));
        }
        let seconds = seen.map_or(0, |it| (it.mtime / SECOND) as u32);
        let known = Known { place, begun: begin(&file.digest), seconds };
        let doubt = file.facts.as_ref().and_then(|it| it.doubt.as_deref());
        let doubted = |it: &Doubt| Doubted { found: it.found, seen: seen.copied(), known };
        self.doubts.extend(doubt.map(doubted));
        self.files.push(known);
        self.is_sorted = [false; 3];
    }

    fn retain(&mut self, is_it: impl Fn(u64) -> bool) {
        let files = &self.files;
        self.by.iter_mut().for_each(|it| it.retain(|it| is_it(files[it.1 as usize].place)));
        self.doubts.retain(|it| is_it(it.known.place));
    }

    /// The newest first.
    fn find(&mut self, by: By, key: u32) -> impl Iterator<Item = Known> {
        let all = &mut self.by[by as usize];
        if !std::mem::replace(&mut self.is_sorted[by as usize], true) {
            all.sort_unstable();
        }
        let start = all.partition_point(|it| it.0 < key);
        let len = all[start..].partition_point(|it| it.0 == key);
        all[start..start + len].iter().rev().map(|it| self.files[it.1 as usize])
    }
}

fn keys(name: &[u8], bytes: u64, seen: Option<&Key>) -> impl Iterator<Item = (By, u32)> {
    let inode = seen.and_then(|it| it.inode).map(|it| (By::Inode, key(&it)));
    let last = seen.and_then(|it| last(name, bytes, it)).map(|it| (By::Last, key(&it)));
    [Some((By::Name, key(&letters(name)))), inode, last].into_iter().flatten()
}

fn key(of: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish() as u32
}

/// A copy has the same, of a file that is not empty, and whose mtime is its own, as it has a fraction of a second.
fn last<'a>(name: &'a [u8], bytes: u64, seen: &Key) -> Option<(Cow<'a, [u8]>, u64, i64)> {
    let is_its = seen.mtime % SECOND != 0 && bytes > 0;
    is_its.then(|| (letters(name::base(name)), bytes, seen.mtime))
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
