//! The results of a run over lists and stores, in the order of the operands, and their counts.

use super::Check;
use super::absent::Absent;
use super::finding::{Counts, Finding, Status};
use super::operands::{Learnt, Note, Ran, Said};
use super::stores::StoreTally;
use super::total::Total;
use crate::expected::{Doubt, Expected};
use crate::store::{Object, Store};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use treewide_files::check::{self, Malformed};
use treewide_files::name::shown;
use treewide_files::{ErrorKind, Hashed, Task};

/// The next thing that is known.
#[derive(Debug)]
pub enum Event {
    /// The verdict on a listed file, or on something in a store. A file with several digests has one for each, one after the other.
    Finding(Finding),
    /// A directory that is not a store, or may be one and cannot be looked at.
    Place(Finding),
    /// A line of this list that cannot be used.
    Malformed(PathBuf, Malformed),
    /// Every file of a list was reported.
    ListEnd(ListEnd),
    /// What follows is in this store.
    Store(Store),
    /// Everything in it was reported.
    StoreEnd(StoreTally),
    /// The next result may take a while.
    Pause,
    /// The run was cancelled, and ends here.
    Cancelled,
}

/// The outcome for a list.
#[derive(Debug)]
pub struct ListEnd {
    /// The list.
    pub list: PathBuf,
    /// Its counts.
    pub counts: Counts,
    /// Whether it seems to be cut off.
    pub is_cut: bool,
    /// The knowledge of it as a whole; or why no more of it can be read.
    pub end: Result<Learnt, ErrorKind>,
}

impl ListEnd {
    /// Why nothing was verified by a list that was read to its end. `None` if something was, or if a line is not understood, which was said.
    pub fn nothing_verified(&self) -> Option<&'static str> {
        let is_nothing = self.is_nothing() && self.counts.malformed == 0;
        is_nothing.then_some(if self.counts.of(Status::Missing) > 0 {
            "no file was verified: all that are listed are missing"
        } else {
            "no file was verified: there is no digest in it"
        })
    }

    /// Says that the signature of a signed list was not checked.
    pub fn remark(&self) -> Option<String> {
        let list = shown(&self.list);
        let signed =
            || format!("the list is signed; the signature was not checked (gpg --verify {list})");
        self.end.as_ref().ok().filter(|it| it.is_signed).map(|_| signed())
    }

    fn is_nothing(&self) -> bool {
        self.end.is_ok() && self.counts.checked() == 0
    }

    fn is_bad(&self) -> bool {
        self.is_cut || self.end.is_err() || self.is_nothing()
    }
}

/// More files of one list are not kept apart: a list may have any number of lines, and this takes some MiB.
const MOST_COUNTED: usize = 1 << 18;

/// The results of a run over [`Operands`](super::Operands).
pub struct Results<R> {
    run: R,
    check: Check,
    /// Of the list whose files are being reported.
    list: Counts,
    is_cut: bool,
    /// Its files that were counted, by hashes of their paths, and how.
    files: HashMap<u64, (Status, bool)>,
    hasher: RandomState,
    absent: Absent,
    /// The store whose objects are being reported.
    store: Option<StoreTally>,
    total: Total,
    /// What was not returned yet of the last event of the run.
    ready: VecDeque<Event>,
}

impl<R> fmt::Debug for Results<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results").field("total", &self.total).finish_non_exhaustive()
    }
}

impl<R: Iterator<Item = Ran>> Results<R> {
    pub(super) fn new(check: Check, run: R) -> Self {
        let (list, is_cut, store, ready) = (Counts::default(), false, None, VecDeque::new());
        let (files, hasher, absent) = (HashMap::new(), RandomState::new(), Absent::default());
        Self {
            run,
            check,
            list,
            is_cut,
            files,
            hasher,
            absent,
            store,
            total: Total::new(check),
            ready,
        }
    }

    /// The counts of all operands so far.
    pub fn total(&self) -> &Total {
        &self.total
    }
}

impl<R: Iterator<Item = Ran>> Iterator for Results<R> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let event = self.run.next()?;
            self.ready(event);
        }
    }
}

impl<R> Results<R> {
    /// Counts what the run has returned, and makes events of it.
    fn ready(&mut self, ran: Ran) {
        let event = match ran {
            Ran::File(Task { path, about, .. }, result) => return self.read(path, about, result),
            Ran::Note(Note(said)) => match said {
                Said::In(_, check::Note::Settled { path, expected, verdict }) => {
                    let finding = Finding::new(path, verdict, expected, None, None);
                    self.count(&finding);
                    Event::Finding(finding)
                }
                Said::In(list, check::Note::Malformed(line)) => {
                    self.list.malformed += 1;
                    self.is_cut |= line.is_cut;
                    Event::Malformed(list, line)
                }
                Said::In(list, check::Note::Unreadable(error)) => self.end(list, Err(error.into())),
                Said::End(list, end) => self.end(list, end),
                Said::Store(store) => {
                    self.store = Some(StoreTally::new(store.clone(), self.check));
                    Event::Store(store)
                }
                Said::Object(object) => return self.not_read(object),
                Said::StoreEnd => {
                    self.files.clear();
                    let Some(store) = self.store.take() else { return };
                    self.total.add_store(&store);
                    Event::StoreEnd(store)
                }
                Said::Place(finding) => {
                    self.total.add_place(finding.status);
                    Event::Place(finding)
                }
            },
            Ran::Pause => Event::Pause,
            Ran::Cancelled => Event::Cancelled,
        };
        self.ready.push_back(event);
    }

    /// Counts a file once, although a list, or the manifests of a bag, may name it in several places: it is OK if all are.
    fn count(&mut self, finding: &Finding) {
        let (is_ok, how) = (finding.status == Status::Ok, (finding.status, finding.is_absent));
        let may_repeat = self.store.as_ref().is_none_or(|it| it.store.kind.is_complete());
        let (counts, algorithms) = match &mut self.store {
            Some(store) => (&mut store.counts, &mut store.algorithms),
            None => (&mut self.list, &mut self.total.algorithms),
        };
        algorithms.extend(finding.algorithm.filter(|it| is_ok && !algorithms.contains(it)));
        let path = may_repeat.then(|| self.hasher.hash_one(&finding.path));
        let before = path.and_then(|it| self.files.get(&it).copied());
        if let Some(before) = before {
            self.total.has_lines |= self.files.len() >= MOST_COUNTED;
            if before == how || is_ok {
                return;
            }
            *counts.at(Status::Ok) -= u64::from(before.0 == Status::Ok);
        }
        if before.is_some() || self.files.len() < MOST_COUNTED {
            self.files.extend(path.map(|it| (it, how)));
        }
        *counts.at(finding.status) += 1;
        match &mut self.store {
            Some(store) if before.is_none() => store.bytes += finding.bytes.unwrap_or(0),
            Some(_) => {}
            None => self.total.absent += u64::from(finding.is_absent),
        }
    }

    fn end(&mut self, list: PathBuf, end: Result<Learnt, ErrorKind>) -> Event {
        let (counts, is_cut) = (std::mem::take(&mut self.list), std::mem::take(&mut self.is_cut));
        let end = ListEnd { list, counts, is_cut, end };
        self.files.clear();
        self.total.add(&end.counts, end.is_bad());
        Event::ListEnd(end)
    }

    /// A file that a list names, or an object of a store.
    fn read(&mut self, path: PathBuf, about: Expected, result: Result<Hashed, ErrorKind>) {
        let kind = self.store.as_ref().map(|it| it.store.kind);
        let may_lack = self.check.ignore_missing && kind.is_none();
        for (about, verdict) in about.verdicts(result, may_lack) {
            let expected = Some(about.digest().to_vec());
            let mut finding = Finding::new(path.clone(), verdict, expected, Some(&about), kind);
            let is_absent = finding.is_absent || finding.status == Status::Missing;
            match &mut self.store {
                // Another program may remove an object of a store at any time.
                Some(store) if is_absent && !store.store.kind.is_complete() => {
                    store.pass("objects that vanished");
                    continue;
                }
                // A bag says what belongs to it.
                Some(_) if is_absent => (finding.status, finding.cause) = (Status::Missing, None),
                Some(store) => {
                    if let Some(doubt) = about.doubt.filter(|_| finding.status == Status::Ok) {
                        let (status, cause) = match doubt {
                            Doubt { cause, is_usual: true } => (Status::Skipped, cause),
                            Doubt { cause, .. } => store.not_understood(&cause),
                        };
                        (finding.status, finding.cause) = (status, Some(cause));
                    }
                }
                None => {
                    let may_be = is_absent && self.check.reading.b3sum.is_none();
                    if let Some(other) = may_be.then(|| self.absent.other(&path)).flatten() {
                        let cause =
                            format!("there is no such file; {} may be meant", shown(&other));
                        (finding.is_absent, finding.status, finding.cause) =
                            (false, Status::Unverified, Some(cause));
                    }
                }
            }
            self.count(&finding);
            self.ready.push_back(Event::Finding(finding));
        }
    }

    /// Something in the place of an object that was not to be read.
    fn not_read(&mut self, object: Object) {
        let Some(store) = &mut self.store else { return };
        let (path, (status, cause)) = match object {
            Object::Passed(what) => return store.pass(what),
            // The run has it.
            Object::File(_) => return,
            Object::Wrong(path, cause) => (path, (Status::Failed, cause)),
            Object::Missing(path, cause) => (path, (Status::Missing, cause)),
            Object::Unreadable(error) => {
                let (path, cause) = error.into_parts();
                (path, (Status::Unreadable, cause.to_string()))
            }
            Object::Unverified(path, cause) => (path, (Status::Unverified, cause)),
            Object::Unknown(path, cause) => (path, store.not_understood(&cause)),
            Object::Skipped(path, cause) => (path, (Status::Skipped, cause)),
        };
        let finding = Finding::unread(path, status, cause, Some(store.store.kind));
        self.count(&finding);
        self.ready.push_back(Event::Finding(finding));
    }
}
