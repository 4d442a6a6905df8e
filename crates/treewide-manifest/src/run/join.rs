//! A manifest and a tree, next to each other in the order of their names, as the work of a run of `treewide-files`.
//!
//! ```text
//! manifest   a   b        d/  d/1         both at d/1: same key? then not read; else hashed
//! tree       a       c    d/  d/1  e      only b: gone?  only c, e: new
//! ```

use crate::ahead::Ahead;
use crate::error::Error;
use crate::format::also;
use crate::format::manifest::Records;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::format::rules::Globs;
use crate::format::trust::{Moment, Moments};
use crate::format::xattrs::Xattrs;
use crate::keep::outboards::Outboards;
use crate::run::against::Against;
use crate::run::earlier::Earlier;
use crate::run::scrub::Picked;
use crate::tree::beneath::Beneath;
use crate::tree::scan::{Entry, Scan, Scanned, Seen, There};
use crate::tree::xattrs;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use treewide_digests::{Algorithm, Wanted};
use treewide_files::digest::Extent;
use treewide_files::{Identity, Item, Kind, Other, Source, Stamp, Task};

/// What a file that is hashed is compared with.
#[derive(Debug)]
pub(crate) struct About {
    /// What is recorded of its name; `None` if it is new. In a box, as many of them are under way and moved.
    pub(crate) record: Option<Box<Record>>,
    /// What was known of the file system before it was read.
    pub(crate) moment: Option<Moment>,
    /// Its digests, if others than BLAKE3 are wanted.
    pub(crate) also: Option<Box<Wanted>>,
}

/// Notes about paths that are not hashed.
pub(crate) enum Note {
    /// A file whose key is as recorded.
    Unread(Record),
    /// A file that has the key of an earlier record of its name.
    Back(Box<Back>),
    /// Both are there, and at least one is not a file.
    Other(Box<(Record, Entry)>),
    /// It is recorded, and the walk has not found it. What is at its name.
    Gone(Record, Result<Option<Type>, String>),
    /// It is recorded, and in a directory that could not be read.
    Below(Record, String),
    /// It is not recorded, and not hashed.
    New(Box<Entry>),
    /// A place that could not be looked at; what is recorded of it.
    Failed(Option<Record>, Vec<u8>, String),
    /// A file that a run before this one has read, and that is as it was.
    Resumed(Box<Resumed>),
    /// The index cannot be used any further.
    Damaged(String),
    /// The manifest cannot be read any further.
    Broken(Error),
}

impl Note {
    /// What is recorded of the path.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Self::Unread(record) | Self::Gone(record, _) | Self::Below(record, _) => Some(record),
            Self::Other(both) => Some(&both.0),
            Self::Back(back) => back.was.as_ref(),
            Self::Failed(record, ..) => record.as_ref(),
            Self::Resumed(it) => it.task.about.record.as_deref(),
            Self::New(_) | Self::Damaged(_) | Self::Broken(_) => None,
        }
    }
}

/// A file that has the key of an earlier record of its name.
pub(crate) struct Back {
    /// That record.
    pub(crate) record: Record,
    /// When the manifest had it last.
    pub(crate) until: String,
    /// What is recorded of the path now.
    pub(crate) was: Option<Record>,
}

/// A file that a run before this one has read.
pub(crate) struct Resumed {
    pub(crate) task: Task<About>,
    pub(crate) digest: [u8; treewide::OUT_LEN],
    pub(crate) facts: Facts,
    /// What it is like now.
    pub(crate) stamp: Stamp,
}

/// Which files are read.
#[derive(Default)]
pub(crate) struct Policy {
    /// Keys that are as recorded are believed, except of picked files.
    pub(crate) trusts: bool,
    pub(crate) picked: Picked,
    /// New files are hashed.
    pub(crate) hashes_new: bool,
    /// Whether links are followed.
    pub(crate) follows: bool,
    /// Whether permission bits are recorded: a file without them is read, to record them.
    pub(crate) modes: bool,
    /// Which extended attributes are recorded: a file with others is read, to record them.
    pub(crate) xattrs: Xattrs,
    /// A file is read if its outboard is not there.
    pub(crate) outboards: Option<Outboards>,
    /// A file is read if one of these digests is not recorded. BLAKE3 is the first, or there are none.
    pub(crate) also: Arc<[Algorithm]>,
    /// Files that are read whatever their keys are.
    pub(crate) reads: Globs,
    /// Digests that lists have of the files, which are found in the same reading.
    pub(crate) against: Option<Against>,
    /// Such digests are not taken over from an index that may be damaged, as no list shows whether they are.
    pub(crate) forgets_also: bool,
    pub(crate) seen: Arc<Seen>,
    /// What was recorded before.
    pub(crate) earlier: Rc<RefCell<Earlier>>,
}

/// A walk, by this thread or by another one.
pub(crate) enum Walked {
    Here(Box<Scan>),
    There(Ahead<Option<Scanned>, ()>),
    Over,
}

/// Batches of a walk that are ready, at most.
const READY: usize = 16;

impl Walked {
    pub(crate) fn on_thread(mut scan: impl Iterator<Item = Scanned> + Send + 'static) -> Self {
        Self::There(Ahead::new("walk", READY, move |found| {
            *found = scan.next();
            if found.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }))
    }
}

impl Iterator for Walked {
    type Item = Scanned;

    fn next(&mut self) -> Option<Scanned> {
        match self {
            Self::Here(scan) => scan.next(),
            Self::Over => None,
            Self::There(ahead) => {
                if let Some(found) = ahead.next().map(Option::take) {
                    return found;
                }
                let is_whole = ahead.end().is_some();
                *self = Self::Over;
                // Everything is below the root: nothing counts as gone.
                let cause = "the walk ended early; run it again".into();
                (!is_whole).then_some(Scanned::Failed { name: Vec::new(), cause })
            }
        }
    }
}

pub(crate) struct Join {
    records: Option<Records>,
    only: Globs,
    scan: Walked,
    beneath: Beneath,
    policy: Policy,
    moments: Option<Box<dyn Moments>>,
    record: Option<Record>,
    entry: Option<Scanned>,
    /// Directories that could not be read, with a `/` at their ends, and why.
    failed: Vec<(Vec<u8>, String)>,
    /// A place that could not be looked at. Whether it is a directory is known when the record of one comes, or does not.
    pending: Option<(Vec<u8>, String)>,
    told_damage: bool,
    is_over: bool,
}

impl Join {
    pub(crate) fn new(
        records: Option<Records>,
        only: &Globs,
        scan: Scan,
        beneath: Beneath,
        policy: Policy,
        moments: Option<Box<dyn Moments>>,
    ) -> Self {
        let scan = match policy.trusts {
            true => Walked::on_thread(scan.stamps(policy.follows)),
            false => Walked::Here(Box::new(scan)),
        };
        Self {
            records,
            only: only.clone(),
            scan,
            beneath,
            policy,
            moments,
            record: None,
            entry: None,
            failed: Vec::new(),
            pending: None,
            told_damage: false,
            is_over: false,
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.record.is_none()
            && let Some(next) = self.records.as_mut().and_then(Iterator::next)
        {
            let mut record = next?;
            if self.policy.forgets_also
                && let What::File(FileRecord { facts: Some(facts), .. }) = &mut record.what
            {
                facts.also.clear();
            }
            let is_directory = matches!(record.what, What::Directory(_));
            if self.only.is_empty() || self.only.cover(record.bare(), is_directory) {
                self.record = Some(record);
            } else {
                self.policy.seen.skipped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        if self.entry.is_none() {
            self.entry = self.scan.next();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Item<About, Note>>, Error> {
        self.fill()?;
        if !self.told_damage
            && let Some(damage) = self.records.as_ref().and_then(Records::damage)
        {
            self.told_damage = true;
            return Ok(Some(Item::Note(Note::Damaged(damage.to_owned()))));
        }
        if let Some(note) = self.take_pending() {
            return Ok(Some(Item::Note(note)));
        }
        let order = match (&self.record, &self.entry) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(record), Some(Scanned::Entry(entry))) => record.name[..].cmp(entry.name()),
            (Some(record), Some(Scanned::Failed { name, .. })) => record.name.cmp(name),
        };
        Ok(match order {
            Ordering::Less => {
                self.record.take().map(|record| Item::Note(self.only_recorded(record)))
            }
            Ordering::Equal => match (self.record.take(), self.entry.take()) {
                (Some(record), Some(Scanned::Entry(entry))) => Some(self.both(record, entry)),
                (record, Some(Scanned::Failed { name, cause })) => {
                    self.failed(&name, &cause);
                    Some(Item::Note(Note::Failed(record, name, cause)))
                }
                _ => None,
            },
            Ordering::Greater => match self.entry.take() {
                Some(Scanned::Entry(entry)) => Some(self.only_found(entry)),
                Some(Scanned::Failed { name, cause }) => {
                    self.failed(&name, &cause);
                    self.pending = Some((name, cause));
                    return self.step();
                }
                None => None,
            },
        })
    }

    fn failed(&mut self, name: &[u8], cause: &str) {
        self.failed.push((folder(name), cause.to_owned()));
    }

    /// The place that waits, with its record if it has one; `None` while that may still come.
    fn take_pending(&mut self) -> Option<Note> {
        let folder = folder(&self.pending.as_ref()?.0);
        let order = self.record.as_ref().map_or(Ordering::Greater, |it| it.name.cmp(&folder));
        if order == Ordering::Less {
            return None;
        }
        let record = if order == Ordering::Equal { self.record.take() } else { None };
        self.pending.take().map(|(name, cause)| Note::Failed(record, name, cause))
    }

    fn only_recorded(&mut self, record: Record) -> Note {
        let is_below = |(folder, _): &&(Vec<u8>, String)| record.name.starts_with(folder);
        if let Some((_, cause)) = self.failed.iter().find(is_below) {
            let cause = format!("a directory that it is in cannot be read: {cause}");
            return Note::Below(record, cause);
        }
        let there = self.beneath.look(record.bare()).map_err(|error| error.to_string());
        if let Ok(Some(_)) = there
            && let Some(error) = self.beneath.listing_error(record.bare())
        {
            let cause = format!("the directory that it is in cannot be listed: {error}");
            return Note::Below(record, cause);
        }
        Note::Gone(record, there)
    }

    fn both(&mut self, record: Record, entry: Entry) -> Item<About, Note> {
        let There::File(identity) = entry.what else {
            return Item::Note(Note::Other(Box::new((record, entry))));
        };
        let is_as_recorded = self.is_as_recorded(&record, &entry);
        match &record.what {
            What::File(file) if is_as_recorded && !self.policy.picked.has(file, &record.name) => {
                return Item::Note(Note::Unread(record));
            }
            What::File(_) => {}
            _ if self.policy.hashes_new => {}
            _ => return Item::Note(Note::Other(Box::new((record, entry)))),
        }
        if !is_as_recorded && let Some(back) = self.back(&entry) {
            return Self::is_back(back, Some(record));
        }
        let name = record.name.clone();
        self.task(entry.path, identity, &name, Some(record))
    }

    /// The algorithms by which digests of this file are found. `None`: BLAKE3 alone.
    fn wanted(&self, name: &[u8]) -> Option<Arc<[Algorithm]>> {
        let also = &self.policy.also;
        let listed = self.policy.against.as_ref().map_or_else(Vec::new, |it| it.algorithms(name));
        if listed.iter().all(|it| *it == Algorithm::BLAKE3 || also.contains(it)) {
            return (!also.is_empty()).then(|| Arc::clone(also));
        }
        let others = also::ordered(also.iter().copied().chain(listed));
        Some([Algorithm::BLAKE3].into_iter().chain(others).collect())
    }

    /// Whether a file need not be read, as it is as this record says.
    fn is_as_recorded(&self, record: &Record, entry: &Entry) -> bool {
        let What::File(file) = &record.what else { return false };
        self.policy.trusts
            && !self.policy.reads.cover(&record.name, false)
            && self.is_unchanged(file, entry)
            && self.has_xattrs(record, entry)
            && self.has_outboard(file)
    }

    /// The newest record of the past that the file is as.
    fn back(&self, entry: &Entry) -> Option<Result<(Record, String), Error>> {
        let mut earlier =
            self.policy.earlier.try_borrow_mut().ok().filter(|_| self.policy.trusts)?;
        let fits = |it: &Record| self.is_as_recorded(it, entry);
        earlier.back((entry.name(), &entry.path), entry.stamp.as_ref()?, fits).transpose()
    }

    fn is_back(back: Result<(Record, String), Error>, was: Option<Record>) -> Item<About, Note> {
        Item::Note(match back {
            Ok((record, until)) => Note::Back(Box::new(Back { record, until, was })),
            Err(error) => Note::Broken(error),
        })
    }

    fn has_outboard(&self, file: &FileRecord) -> bool {
        let bytes = file.facts.as_ref().map_or(0, |facts| facts.bytes);
        self.policy.outboards.as_ref().is_none_or(|it| it.has(&file.digest, bytes))
    }

    fn is_unchanged(&self, file: &FileRecord, entry: &Entry) -> bool {
        let Some((facts, key)) =
            file.facts.as_ref().and_then(|it| it.key.as_ref().map(|key| (it, key)))
        else {
            return false;
        };
        // A file that rotted has a key, and no day on which its content was as recorded.
        if !facts.is_proven()
            || facts.mode.is_some() != self.policy.modes
            || !also::has_all(&facts.also, &self.policy.also)
        {
            return false;
        }
        let has_mode = |stamp: &Stamp| facts.mode.is_none_or(|mode| mode == stamp.mode);
        entry.stamp.is_some_and(|now| {
            now.is_file && now.len == facts.bytes && key.is_of(&now) && has_mode(&now)
        })
    }

    /// Whether its extended attributes are those recorded. They are read, as not every file system moves ctime with them.
    fn has_xattrs(&self, record: &Record, entry: &Entry) -> bool {
        let is = xattrs::at(&entry.path, self.policy.follows, self.policy.xattrs);
        is.is_ok_and(|is| is == record.xattrs)
    }

    fn only_found(&mut self, mut entry: Entry) -> Item<About, Note> {
        if matches!(entry.what, There::File(_))
            && let Some(back) = self.back(&entry)
        {
            return Self::is_back(back, None);
        }
        match entry.what {
            There::File(identity) if self.policy.hashes_new => {
                let name = entry.name().to_owned();
                return self.task(entry.path, identity, &name, None);
            }
            There::File(_) if entry.stamp.is_none() => {
                entry.stamp = Stamp::at(&entry.path, self.policy.follows).ok();
            }
            _ => {}
        }
        Item::Note(Note::New(Box::new(entry)))
    }

    fn task(
        &mut self,
        path: PathBuf,
        identity: Identity,
        name: &[u8],
        record: Option<Record>,
    ) -> Item<About, Note> {
        let device = identity.numbers().0;
        let moment = self.moments.as_mut().map(|moments| moments.moment(device, &path));
        let also = self.wanted(name).map(|it| Box::new(Wanted::new(it)));
        let about = About { record: record.map(Box::new), moment, also };
        Item::File(Task { path, kind: Kind::Found(identity), extent: Extent::HASH, about })
    }
}

/// The name as that of a directory. Below the root, which has none, is everything.
fn folder(name: &[u8]) -> Vec<u8> {
    let mut folder = name.to_owned();
    if folder.last().is_some_and(|last| *last != b'/') {
        folder.push(b'/');
    }
    folder
}

impl Source for Join {
    type About = About;
    type Note = Note;

    fn next(&mut self) -> Option<Item<About, Note>> {
        if self.is_over {
            return None;
        }
        match self.step() {
            Ok(item) => item,
            Err(error) => {
                self.is_over = true;
                Some(Item::Note(Note::Broken(error)))
            }
        }
    }

    fn other(about: &mut About) -> Option<&mut dyn Other> {
        about.also.as_deref_mut().map(|it| it as &mut dyn Other)
    }

    fn bytes(item: &Item<About, Note>) -> usize {
        let of_record = |record: &Record| record.name.len() + size_of::<Record>();
        match item {
            Item::File(task) => task.about.record.as_deref().map_or(0, of_record),
            Item::Note(Note::Unread(record) | Note::Gone(record, _)) => of_record(record),
            Item::Note(Note::Back(back)) => of_record(&back.record),
            Item::Note(Note::Other(both)) => of_record(&both.0) + both.1.path.as_os_str().len(),
            Item::Note(Note::New(entry)) => entry.path.as_os_str().len(),
            Item::Note(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests;
