//! Judges each path that a manifest and a tree have in common, for [`crate::run::verify`] and [`crate::run::update`].

use crate::error::Error;
use crate::format::also::Also;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::format::rules::Rules;
use crate::format::xattrs::{Xattr, Xattrs, changes};
use crate::keep::located::{Differs, Located};
use crate::keep::outboards::Outboards;
use crate::run::earlier::{Earlier, Judged, Looked};
use crate::run::join::{About, Back, Join};
use crate::run::moves::{Moves, New, about, finding};
use crate::run::read::Read;
use crate::run::verdict::{Change, Evidence, Finding, Report, Then, Verdict};
use crate::tree::scan::{Entry, There};
use crate::tree::xattrs;
use std::cell::RefCell;
use std::io::Seek;
use std::path::Path;
use treewide::OUT_LEN;
use treewide::file;
use treewide_digests::Algorithm;
use treewide_files::digest::{Digest, Extent};
use treewide_files::long_path;
use treewide_files::{ErrorKind, HashAlone, Hashed, Kind, Options, Source, Stamp, Stamps, Task};

/// A file that changes while it is being read is read this many times.
const TRIES: usize = 3;

/// Hears of findings, and counts them.
pub(crate) struct Judge<'a> {
    pub(crate) report: Report,
    pub(crate) moves: Moves,
    rules: Rules,
    /// The extended attributes that are compared.
    compared: Xattrs,
    /// How everything is known, if nothing is looked at.
    evidence: Option<Evidence>,
    each: &'a mut dyn FnMut(Finding),
}

impl<'a> Judge<'a> {
    /// `rules` say what is looked at, and `compared` which extended attributes are recorded as well.
    pub(crate) fn new(rules: Rules, compared: Xattrs, each: &'a mut dyn FnMut(Finding)) -> Self {
        let (report, moves) = (Report::default(), Moves::default());
        Self { report, moves, rules, compared, evidence: None, each }
    }

    /// For two manifests, without a tree.
    pub(crate) fn of_claims(self) -> Self {
        Self { evidence: Some(Evidence::Claimed), ..self }
    }

    pub(crate) fn tell(&mut self, mut finding: Finding) {
        if let Some(evidence) = self.evidence {
            finding.evidence = finding.evidence.map(|_| evidence);
        }
        self.report.add_finding(&finding);
        (self.each)(finding);
    }

    pub(crate) fn record(&mut self, record: &Record, verdict: Verdict) {
        self.tell(finding(record, verdict));
    }

    /// Something that has no record, and cannot be looked at.
    pub(crate) fn unreadable(&mut self, name: &[u8], kind: Type, cause: String) {
        let name = name.strip_suffix(b"/").unwrap_or(name);
        self.tell(about(name, kind, Verdict::Unreadable(cause)));
    }

    /// A file that was not read, as its key is as recorded.
    pub(crate) fn unread(&mut self, record: Record) {
        self.count_unread(&record);
        self.last_of(record, Verdict::Same, Some(Evidence::Metadata), (None, None));
    }

    fn count_unread(&mut self, record: &Record) {
        let bytes = match &record.what {
            What::File(FileRecord { facts: Some(facts), .. }) => facts.bytes,
            _ => 0,
        };
        self.report.files_unread += 1;
        self.report.bytes_unread = self.report.bytes_unread.saturating_add(bytes);
    }

    /// A file that has the key of an earlier record and was not read, in the place of another record if there is one.
    pub(crate) fn back(&mut self, back: &Back) {
        self.count_unread(&back.record);
        let evidence = Some(Evidence::Metadata);
        let is_back = back.was.is_none();
        let then = Some(Then { until: back.until.clone(), as_then: true, is_back });
        let verdict = match back.was.as_ref().map(Record::kind) {
            None => {
                return self.new_path(New { then, ..New::of(back.record.clone(), evidence) });
            }
            Some(Type::File) => Verdict::Changed(Change::Content { untimed: false }),
            Some(was) => Verdict::ReplacedType { was },
        };
        self.last_of(back.record.clone(), verdict, evidence, (None, then));
    }

    /// As [`record`](Self::record), of a record that is not needed any more, with the bytes that differ.
    pub(crate) fn last_of(
        &mut self,
        record: Record,
        verdict: Verdict,
        evidence: Option<Evidence>,
        (located, then): (Option<Located>, Option<Then>),
    ) {
        let (kind, since) = (record.kind(), verdict.since(record.facts()));
        let name = record.into_bare();
        self.tell(Finding { name, kind, verdict, evidence, located, then, since });
    }

    /// What came of hashing a file; it is hashed again if it changed at the same time.
    pub(crate) fn read(
        &mut self,
        options: &Options,
        alone: &mut dyn HashAlone,
        task: &mut Task<About>,
        hashed: Result<Hashed, ErrorKind>,
    ) -> Result<Read, ErrorKind> {
        let mut hashed = hashed;
        for tries in 1.. {
            let is_last = tries == TRIES;
            match hashed {
                Ok(Hashed { digest, bytes, stamps, .. }) => {
                    let linked = stamps.as_ref().is_some_and(|it| it.linked);
                    let stamp = stamps.and_then(|it| (it.before == it.after).then_some(it.after));
                    // The bytes that were hashed are all that it has.
                    let stamp = stamp.filter(|it| it.len == bytes);
                    let xattrs = match &stamp {
                        Some(stamp) => self.xattrs(task, stamp),
                        None => Err(ErrorKind::Replaced),
                    };
                    let stamp =
                        stamp.filter(|_| xattrs.as_ref().err().is_none_or(|it| !is_change(it)));
                    if stamp.is_some() || is_last {
                        match linked {
                            true => self.report.files_linked += 1,
                            false => self.report.files_read += 1,
                        }
                        self.report.bytes_read += if linked { 0 } else { bytes };
                        let digest = hash_of(digest);
                        let xattrs = if stamp.is_some() { xattrs? } else { Vec::new() };
                        let also = found_by_others(task);
                        return Ok(Read {
                            digest,
                            bytes,
                            stamp,
                            facts: None,
                            xattrs,
                            also,
                            linked,
                        });
                    }
                }
                Err(error) if is_last || !is_change(&error) => return Err(if_gone(error, task)),
                Err(_) => {}
            }
            hashed = again(options, alone, task);
        }
        unreachable!("the last try returns")
    }

    /// The extended attributes of a file that was like this when it had been read, if it still is: what belongs to one moment
    /// is recorded.
    pub(crate) fn xattrs(
        &self,
        task: &Task<About>,
        stamp: &Stamp,
    ) -> Result<Vec<Xattr>, ErrorKind> {
        if self.rules.xattrs == Xattrs::None {
            return Ok(Vec::new());
        }
        let Kind::Found(identity) = task.kind else { return Err(ErrorKind::Replaced) };
        let (file, now) = identity.open_stamped(&task.path)?;
        let xattrs = xattrs::of_file(&file, self.rules.xattrs);
        let is_as_it_was = now == *stamp && Stamp::of(&file)? == now;
        if is_as_it_was { xattrs.map_err(ErrorKind::read) } else { Err(ErrorKind::Replaced) }
    }

    /// Whether the file was gone when it was to be read.
    pub(crate) fn is_gone(error: &ErrorKind) -> bool {
        error.io_kind() == Some(std::io::ErrorKind::NotFound)
    }

    /// The verdict on a file that could not be read.
    pub(crate) fn failure(error: &ErrorKind) -> Verdict {
        match is_change(error) {
            true => Verdict::Changing,
            false => Verdict::Unreadable(error.to_string()),
        }
    }

    /// The verdict on a file that was recorded and read, and what earlier records say of it. `was` becomes the record that judges it.
    pub(crate) fn file(
        &self,
        earlier: &RefCell<Earlier>,
        (name, was, xattrs): (&[u8], &mut FileRecord, &[Xattr]),
        (path, is): (&Path, &Read),
    ) -> Result<(Verdict, Judged), Error> {
        let Some(stamp) = &is.stamp else { return Ok((Verdict::Changing, Judged::default())) };
        if treewide_files::digest::equal(&was.digest, &is.digest) {
            return Ok((self.same_content(was, xattrs, is, stamp), Judged::default()));
        }
        let file = Looked::new(name, path, stamp);
        // Times of a damaged index may be damaged as well: they accuse no other file, and excuse none.
        let is_damaged = self.report.damage.is_some();
        let (mut verdict, mut judged) = match is_damaged {
            true => Earlier::default().judge_other(file, was, &is.digest)?,
            false => earlier.borrow_mut().judge_other(file, was, &is.digest)?,
        };
        if let Some((_, What::File(it))) = judged.doubt.take() {
            *was = it;
        } else if is_damaged {
            verdict = Verdict::Changed(Change::Content { untimed: true });
        }
        Ok((verdict, judged))
    }

    /// The verdict on a file that has the recorded content.
    fn same_content(
        &self,
        was: &FileRecord,
        xattrs: &[Xattr],
        is: &Read,
        stamp: &Stamp,
    ) -> Verdict {
        let key = was.facts.as_ref().and_then(Facts::seen);
        match was.facts.as_ref().and_then(|facts| facts.mode) {
            Some(mode) if mode != stamp.mode => {
                return Verdict::Changed(Change::Mode(mode, stamp.mode));
            }
            _ => {}
        }
        // A list that lost its index does not say what attributes there were.
        let changes = changes(xattrs, &is.xattrs, self.compared);
        if was.facts.is_some() && !changes.is_empty() {
            return Verdict::Changed(Change::Xattrs(changes));
        }
        match key {
            Some(key) if !key.is_of(stamp) => Verdict::Touched,
            _ => Verdict::Same,
        }
    }

    /// Which bytes differ, if this verdict is about the content.
    pub(crate) fn located(
        outboards: Option<&Outboards>,
        options: &Options,
        (path, kind): (&Path, Kind),
        was: &FileRecord,
        is: &Read,
        verdict: &Verdict,
    ) -> Option<Located> {
        let is_content =
            verdict.is_doubtful() || matches!(verdict, Verdict::Changed(Change::Content { .. }));
        let (true, Some(outboards), Kind::Found(identity), Some(stamp)) =
            (is_content, outboards, kind, &is.stamp)
        else {
            return None;
        };
        outboards.locate(&Differs { path, identity, was, stamp }, options)
    }

    /// Judges a path whose recorded or present type is not a file. Returns the verdict and the new record.
    pub(crate) fn other(&self, was: &Record, is: &Entry) -> (Verdict, Option<Record>) {
        if let What::Unknown(cause, _) = &was.what {
            return (Verdict::NotCheckable(cause.clone()), None);
        }
        if self.rules.follow && is_cut_off(was, is.kind()) {
            return (Verdict::Unreadable(CUT_OFF.into()), None);
        }
        if was.kind() != is.kind() {
            return (Verdict::ReplacedType { was: was.kind() }, observed(is, &self.rules).ok());
        }
        let now = match observed(is, &self.rules) {
            Ok(now) => now,
            Err(error) => return (Verdict::Unreadable(error.to_string()), None),
        };
        (by_facts(was, &now, self.compared), Some(now))
    }

    /// Judges a record that the walk did not find, by the path at its name. `None` if it is gone.
    pub(crate) fn gone(
        &mut self,
        record: Record,
        there: Result<Option<Type>, String>,
    ) -> Option<Verdict> {
        let verdict = match (&record.what, there) {
            (What::Unknown(cause, _), _) => Verdict::NotCheckable(cause.clone()),
            (_, Err(cause)) => Verdict::Unreadable(cause),
            // Also if there is a file of this name: the walk, which lists names as they are, did not find it.
            (_, Ok(there)) => {
                if let Some(finding) = self.moves.gone(record, there) {
                    self.tell(finding);
                }
                return None;
            }
        };
        self.record(&record, verdict.clone());
        Some(verdict)
    }

    /// A path that is not recorded.
    pub(crate) fn new_path(&mut self, new: New) {
        if let Some(finding) = self.moves.new_path(new) {
            self.tell(finding);
        }
    }

    /// Settles removed and added paths after everything was looked at.
    pub(crate) fn settle(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.moves).finish()
    }

    /// Reports the last findings.
    pub(crate) fn finish(mut self) -> Report {
        for finding in self.settle() {
            self.tell(finding);
        }
        self.report
    }
}

/// The verdict on records of one type, whose files have the same content.
pub(crate) fn by_facts(was: &Record, is: &Record, compared: Xattrs) -> Verdict {
    match (&was.what, &is.what) {
        (What::Link(was), What::Link(is)) if was != is => {
            Verdict::Changed(Change::Target(was.clone(), is.clone()))
        }
        (What::Directory(Some(was)), What::Directory(Some(is))) if was != is => {
            Verdict::Changed(Change::Mode(*was, *is))
        }
        _ => match changes(&was.xattrs, &is.xattrs, compared) {
            changes if changes.is_empty() => Verdict::Same,
            changes => Verdict::Changed(Change::Xattrs(changes)),
        },
    }
}

/// What is said of a link that was followed to a file, and leads nowhere.
const CUT_OFF: &str = "the link leads nowhere; mount the disk that it leads to, or remove the link";

/// Whether a link that is followed led to a file, and leads nowhere now: the disk of that file may be off.
pub(crate) fn is_cut_off(was: &Record, is: Type) -> bool {
    was.kind() == Type::File && is == Type::Link
}

/// What is to be recorded of something that is not a file.
pub(crate) fn observed(entry: &Entry, rules: &Rules) -> std::io::Result<Record> {
    let what = match entry.what {
        There::Link => {
            let target = long_path::read_link(&entry.path)?;
            What::Link(target.as_os_str().as_encoded_bytes().to_vec())
        }
        There::Directory => What::Directory(match rules.modes {
            true => Some(Stamp::at(&entry.path, true)?.mode),
            false => None,
        }),
        There::Special(special) => What::Special(special),
        There::File(_) => {
            let len = Stamp::at(&entry.path, true)?.len;
            let facts = Some(Facts::of(len));
            What::File(FileRecord { digest: [0; OUT_LEN], facts })
        }
    };
    let follows = rules.follow && !matches!(entry.what, There::Link);
    let xattrs = xattrs::at(&entry.path, follows, rules.xattrs)?;
    Ok(Record { name: entry.name().to_owned(), what, xattrs })
}

/// The hash that a digest is: every file is hashed to [`Extent::HASH`].
fn hash_of(digest: Digest) -> [u8; OUT_LEN] {
    match digest.hash() {
        Some(hash) => hash.into(),
        None => digest.into_bytes().try_into().unwrap_or([0; OUT_LEN]),
    }
}

/// The digests of a file that was read, apart from BLAKE3.
fn found_by_others(task: &Task<About>) -> Also {
    let all = task.about.also.iter().flat_map(|it| it.digests());
    all.filter(|(algorithm, _)| *algorithm != Algorithm::BLAKE3).cloned().collect()
}

/// The error, or another one if it says that a file is gone which is still there: some file systems say so of a lost block.
fn if_gone(error: ErrorKind, task: &Task<About>) -> ErrorKind {
    match Judge::is_gone(&error) && Stamp::at(&task.path, false).is_ok() {
        true => {
            ErrorKind::Other(format!("is in its directory, and cannot be read: {error}").into())
        }
        false => error,
    }
}

/// Whether the error says that someone changes the file.
fn is_change(error: &ErrorKind) -> bool {
    match error {
        ErrorKind::File(
            file::ErrorKind::Shrank { .. }
            | file::ErrorKind::GoesOn { .. }
            | file::ErrorKind::Changed { .. },
        )
        | ErrorKind::Replaced => true,
        error => error.io_kind() == Some(std::io::ErrorKind::NotFound),
    }
}

fn again(
    options: &Options,
    alone: &mut dyn HashAlone,
    task: &mut Task<About>,
) -> Result<Hashed, ErrorKind> {
    let Kind::Found(identity) = task.kind else { return Err(ErrorKind::Replaced) };
    let (file, before) = identity.open_stamped(&task.path)?;
    let by_alone = alone.hash_found(&file, &task.path, Extent::HASH).transpose()?;
    (&file).rewind()?;
    let other = Join::other(&mut task.about);
    let mut hashed = options.hash_open(&file, &task.path, Extent::HASH, by_alone, other)?;
    hashed.stamps = Some(Box::new(Stamps { before, after: Stamp::of(&file)?, linked: false }));
    Ok(hashed)
}

/// Whether a file has other content than is recorded.
pub(crate) fn has_other_content(task: &Task<About>, read: &Result<Read, ErrorKind>) -> bool {
    let was = task.about.record.as_ref().map(|it| &it.what);
    matches!((was, read), (Some(What::File(was)), Ok(is)) if was.digest != is.digest)
}
