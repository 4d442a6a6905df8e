//! Making a manifest of a tree: anew, or from an old one by reading only what changed.

mod doubt;
mod end;
mod notes;
mod write;

use crate::error::Error;
use crate::format::also;
use crate::format::day::Day;
use crate::format::index::lines::Lines;
use crate::format::index::{self, Mount};
use crate::format::manifest::Manifest;
use crate::format::name;
use crate::format::record::{Facts, FileRecord, Record, Type, What};
use crate::format::rules::{Globs, Rules};
use crate::format::trust::{Moment, Moments};
use crate::format::xattrs::Xattrs;
use crate::keep::draft::{Draft, Totals};
use crate::keep::forget::Forget;
use crate::keep::journal::Taken;
use crate::keep::outboards::{Making, Outboards, Written};
use crate::keep::past::{Additions, past_path};
use crate::run::against::{Against, Compared};
use crate::run::earlier::{Earlier, Judged, Looked};
use crate::run::guard::{Guard, Limit};
use crate::run::join::{About, Join, Note, Policy};
use crate::run::judge::{Judge, has_other_content};
use crate::run::moves::{New, about};
use crate::run::read::Read;
use crate::run::resume::Resuming;
use crate::run::scrub::{Budget, Picked};
use crate::run::verdict::{Change, Class, Evidence, Finding, Report, Then, Verdict};
use crate::tree::beneath::Beneath;
use crate::tree::scan::{Own, Scan};
use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use treewide_digests::Algorithm;
use treewide_files::digest::Extent;
use treewide_files::{ErrorKind, Event, HashAlone, Hashed, Kind, Options, Stamp, Task};

/// How a manifest is made.
///
/// ```
/// # let dir = std::env::temp_dir().join("treewide-manifest-doc-update");
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir_all(dir.join("photos")).unwrap();
/// # std::fs::write(dir.join("photos/a"), "a").unwrap();
/// use treewide_manifest::machine::{Clock, Draft, Update};
/// use treewide_manifest::{Manifest, Options};
///
/// let (photos, list) = (dir.join("photos"), dir.join("photos.b3"));
/// // Anew: a snapshot.
/// let draft = Draft::begin(&list, true)?;
/// let clock = Box::new(Clock::new());
/// let made = Update::new().run(None, &photos, draft, clock, &Options::new(), &mut |_| {})?;
/// made.draft.appear()?;
/// // Later: only what changed is read.
/// std::fs::write(photos.join("b"), "b").unwrap();
/// let (old, draft) = (Manifest::open(&list)?, Draft::begin(&list, true)?);
/// let clock = Box::new(Clock::new());
/// let made = Update::new().run(Some(&old), &photos, draft, clock, &Options::new(), &mut |finding| {
///     println!("{} {}", finding.verdict.class().word(), finding.path().display());
/// })?;
/// assert_eq!(made.draft.appear()?.files, 2);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), treewide_manifest::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Update {
    rules: Option<Rules>,
    full: bool,
    scrub: Option<Budget>,
    accept_rot: Globs,
    outboards: Option<Outboards>,
    also: Vec<Algorithm>,
    against: Option<Against>,
    accepts_damage: bool,
    most_removed: Limit,
    forget: Option<Forget>,
}

/// A manifest that was made and has not appeared yet.
#[derive(Debug)]
pub struct Made {
    /// Verdicts on all paths.
    pub report: Report,
    /// Totals of the manifest.
    pub totals: Totals,
    /// The manifest: [`Draft::appear`] puts it into its place.
    pub draft: Draft,
    /// Outboards that were written.
    pub outboards: Written,
    /// The result of comparing the files [with lists](Update::against).
    pub compared: Option<Compared>,
}

impl Update {
    /// Reads what changed; takes the rules of the old manifest, or the usual ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the rules of the new manifest.
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Whether all files are read.
    pub fn full(self, full: bool) -> Self {
        Self { full, ..self }
    }

    /// Also reads the files that were read longest ago.
    pub fn scrub(self, budget: Budget) -> Self {
        Self { scrub: Some(budget), ..self }
    }

    /// Reads the files that one of these globs matches, and takes their new digests, also if they are rotten or suspect. The manifest keeps
    /// the old digest of [others](Verdict::is_doubtful).
    pub fn accept_rot(self, globs: Globs) -> Self {
        Self { accept_rot: globs, ..self }
    }

    /// Continues if the index is damaged. Every file is read, and those whose content differs keep their old digests unless
    /// [`accept_rot`](Self::accept_rot) names them.
    pub fn accept_damage(mut self, accept: bool) -> Self {
        self.accepts_damage = accept;
        self
    }

    /// Writes nothing if more of the recorded files that are not empty are gone, of all or of those below a place where something is
    /// mounted or was. The default is half of them. A percentage never stops a run in which ten are gone. Nothing is written either if
    /// none is as it was and most are gone; `Limit::Percent(100.0)` passes both.
    pub fn most_removed(mut self, limit: Limit) -> Self {
        self.most_removed = limit;
        self
    }

    /// Leaves records out of the past that were dropped or replaced longer ago. Nothing else forgets them.
    pub fn forget(self, age: Forget) -> Self {
        Self { forget: Some(age), ..self }
    }

    /// Writes the outboards of files that are read, while they are read, and reads the files whose outboards are missing. A folder in
    /// the tree is an error, unless the rules exclude it. Outboards that cannot be written are [reported](Made::outboards) in the end.
    pub fn outboards(self, outboards: Outboards) -> Self {
        Self { outboards: Some(outboards), ..self }
    }

    /// Adds algorithms by which the index [also](mod@crate::also) has a digest of every file that is read, in addition to those of the old
    /// index. Files that have none by one of them are read. BLAKE3 is there in any case.
    ///
    /// A file is read once for all of them, except for one that is to have an [outboard](Self::outboards), which is read twice.
    pub fn also(self, algorithms: impl Into<Vec<Algorithm>>) -> Self {
        Self { also: algorithms.into(), ..self }
    }

    /// Compares all files with these digests, which are found in the same reading. If that is not a [success](Compared::is_success), the
    /// manifest does not appear: it would record the files as they are. One run takes the digests out of `against`.
    pub fn against(self, against: Against) -> Self {
        Self { against: Some(against), ..self }
    }

    /// Looks at the tree at `dir` and writes its manifest into `draft`. `each` gets the verdict on every path that was in
    /// `old` or is new since; without `old`, only what could not be read.
    ///
    /// A recorded file that cannot be read stays in the manifest with its old digest, and is read next time.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused) if the new manifest would lose what the old one has, or if there is a list or
    /// an index in its place that is not that of `old`. If `old` cannot be read, `draft` cannot be written, `dir` is not a directory, or the run is cancelled.
    pub fn run(
        &self,
        old: Option<&Manifest>,
        dir: &Path,
        draft: Draft,
        moments: Box<dyn Moments>,
        options: &Options,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Made, Error> {
        let rules = self.rules_of(old, dir)?;
        let also = self.also_of(old)?;
        let mut draft = draft;
        if old.is_none() {
            draft.replaces_nothing()?;
        }
        if old.is_some_and(|old| old.is_then() || old.list().path() != draft.path()) {
            let cause = "a manifest is updated in its place, and what it was is only read";
            return Err(Error::usage(cause));
        }
        let guard = Guard::new(old, dir, self.most_removed);
        guard.check_old(self.accepts_damage)?;
        let least = self.outboards.as_ref().map_or(u64::MAX, Outboards::least);
        let options = options.clone().stamps(true).links_once(true).alone_from(least);
        let begin = |outboards| Making::begin(outboards, &options, dir, &rules);
        let making = self.outboards.as_ref().map(begin).transpose()?;
        let mut past = draft.open_past(old)?;
        past.iter_mut().for_each(|it| it.forget = self.forget.map(Forget::before));
        let mut additions = Additions::new(old, draft.path());
        let damage = match old.filter(|_| self.accepts_damage) {
            Some(old) => additions.take_damaged(old)?,
            None => None,
        };
        let taken = draft.begin_journal(dir)?;
        let unused_journal = taken.note;
        let alone = Alone(making.as_ref());
        let mut own = Own::default();
        draft.own(&mut own);
        let seen = Arc::clone(&own.seen);
        let earlier = Rc::new(RefCell::new(Earlier::new(old, past)));
        let picked = match (old, self.scrub) {
            (Some(old), Some(budget)) => Picked::new(old, budget)?,
            _ => Picked::default(),
        };
        let runs = self.scrub.map(|_| picked.runs);
        let had_turn = picked.last().map(<[u8]>::to_vec).or_else(|| old?.turn());
        draft.turn = had_turn.map(|it| Mount::new(&it));
        let source = self.source(
            (old, damage.is_some(), picked, &earlier),
            dir,
            (&rules, &also),
            own,
            moments,
            taken.taken,
        )?;
        let compared = old.map_or(Xattrs::None, |old| old.rules().xattrs.min(rules.xattrs));
        let mut judge = Judge::new(rules.clone(), compared, each);
        judge.report.damage = damage;
        let mut run =
            Run::begin(self, (guard, additions, earlier), (&rules, &also), draft, &options, alone)?;
        for event in options.run_with(source, alone) {
            run.event(event, &mut judge)?;
        }
        let (mut report, totals, draft, compared) = run.end(judge, &seen)?;
        (report.unused_journal, report.runs) = (unused_journal, runs);
        let outboards = making.map(Making::finish).unwrap_or_default();
        Ok(Made { report, totals, draft, outboards, compared })
    }

    /// What the new manifest covers; an error if this process cannot see all of it.
    fn rules_of(&self, old: Option<&Manifest>, dir: &Path) -> Result<Rules, Error> {
        let rules = self.rules.clone().or_else(|| old.map(Manifest::rules)).unwrap_or_default();
        rules.can_be_read().map_err(|cause| Error::read(dir, cause))?;
        if rules.json().len() >= index::LINE {
            return Err(Error::usage("the globs of --exclude are too long together; give fewer"));
        }
        if rules.xattrs > Xattrs::readable() {
            let cause = "extended attributes trusted.* are covered, and only the administrator of the machine sees them; \
                         run it as root, or give rules that leave them out";
            return Err(Error::read(dir, std::io::Error::other(cause)));
        }
        Ok(rules)
    }

    /// By which algorithms the new index also has digests.
    fn also_of(&self, old: Option<&Manifest>) -> Result<Vec<Algorithm>, Error> {
        let there = old.map_or(Ok(Vec::new()), Manifest::also)?;
        Ok(also::ordered(there.into_iter().chain(self.also.iter().copied())))
    }

    /// The old manifest, which may be damaged, and the tree, next to each other, without the files that an interrupted run has read.
    fn source(
        &self,
        (old, is_damaged, picked, earlier): (
            Option<&Manifest>,
            bool,
            Picked,
            &Rc<RefCell<Earlier>>,
        ),
        dir: &Path,
        (rules, also): (&Rules, &[Algorithm]),
        own: Own,
        moments: Box<dyn Moments>,
        taken: Option<Taken>,
    ) -> Result<Resuming, Error> {
        let seen = Arc::clone(&own.seen);
        let scan = Scan::new(dir, rules, &Globs::default(), own)?;
        let blake3 = (!also.is_empty()).then_some(Algorithm::BLAKE3);
        let wanted: Arc<[Algorithm]> = blake3.into_iter().chain(also.iter().copied()).collect();
        let policy = Policy {
            // A damaged index may be damaged elsewhere as well.
            trusts: !self.full
                && self.against.is_none()
                && !is_damaged
                && old.is_some_and(Manifest::has_index),
            picked,
            hashes_new: true,
            follows: rules.follow,
            modes: rules.modes,
            xattrs: rules.xattrs,
            outboards: self.outboards.clone(),
            also: wanted,
            reads: self.accept_rot.clone(),
            against: self.against.clone(),
            forgets_also: is_damaged,
            seen,
            earlier: Rc::clone(earlier),
        };
        let records = old.map(Manifest::records).transpose()?;
        let beneath = Beneath::new(dir, rules.follow);
        let join = Join::new(records, &Globs::default(), scan, beneath, policy, Some(moments));
        let (follows, outboards) = ((rules.follow, rules.modes), self.outboards.clone());
        Ok(Resuming::new(join, taken, dir, follows, outboards))
    }
}

struct Run<'a> {
    update: &'a Update,
    guard: Guard<'a>,
    earlier: Rc<RefCell<Earlier>>,
    /// Paths that the new manifest leaves out.
    excluded: Globs,
    /// Which accepted globs match something doubtful.
    accepts: Vec<bool>,
    /// The device of the root.
    device: u64,
    /// Places where something is mounted or was, with a `/`, below which nothing is recorded yet.
    mounts: Vec<Vec<u8>>,
    /// The day on which the file was read that was not read for longest.
    oldest: Option<Day>,
    rules: &'a Rules,
    also: &'a [Algorithm],
    compared: Compared,
    draft: Draft,
    /// Links that are not followed.
    links: u64,
    /// What goes to the past.
    additions: Additions,
    lines: Lines,
    today: Day,
    /// The first moment of each device, at which none of its files was read.
    first: Vec<(u64, Moment)>,
    options: &'a Options,
    alone: Alone<'a>,
}

/// Hashes the files that are to have an outboard.
#[derive(Clone, Copy)]
struct Alone<'a>(Option<&'a Making<'a>>);

impl HashAlone for Alone<'_> {
    fn hash_alone(&mut self, _: &Path, _: Extent) -> Option<Result<Hashed, ErrorKind>> {
        None
    }

    fn hash_found(
        &mut self,
        file: &File,
        path: &Path,
        _: Extent,
    ) -> Option<Result<Hashed, ErrorKind>> {
        self.0?.hash_found(file, path)
    }
}

impl<'a> Run<'a> {
    fn begin(
        update: &'a Update,
        (guard, additions, earlier): (Guard<'a>, Additions, Rc<RefCell<Earlier>>),
        (rules, also): (&'a Rules, &'a [Algorithm]),
        draft: Draft,
        options: &'a Options,
        alone: Alone<'a>,
    ) -> Result<Self, Error> {
        Ok(Self {
            update,
            earlier,
            excluded: Globs::new(&rules.exclude)?,
            accepts: vec![false; update.accept_rot.texts().len()],
            device: Stamp::at(guard.dir, true).map_or(0, |it| it.device),
            mounts: guard.mounts(),
            oldest: None,
            rules,
            also,
            compared: Compared::default(),
            lines: draft.start(rules, guard.dir, also),
            draft,
            guard,
            links: 0,
            additions,
            today: Day::today(),
            options,
            alone,
            first: Vec::new(),
        })
    }

    fn event(&mut self, event: Event<About, Note>, judge: &mut Judge<'_>) -> Result<(), Error> {
        match &event {
            Event::File(task, _) => self.additions.hold(task.about.record.as_deref()),
            Event::Note(Note::Unread(_)) => self.additions.hold_same(),
            Event::Note(note) => self.additions.hold(note.record()),
            Event::Pause | Event::Cancelled => {}
        }
        self.judge(event, judge)?;
        self.additions.settle().map_err(|error| Error::write(past_path(self.draft.path()), error))
    }

    fn judge(&mut self, event: Event<About, Note>, judge: &mut Judge<'_>) -> Result<(), Error> {
        match event {
            Event::File(mut task, hashed) => {
                let first = self.first(&task);
                let read = judge.read(self.options, &mut self.alone, &mut task, hashed);
                if read.as_ref().is_ok_and(|read| read.linked) {
                    // It was read then, or later.
                    task.about.moment = first;
                }
                // What is not as listed or recorded is read again: a disk may be mended before the next run.
                let is_as_expected = self.compare(&task, &read) && !has_other_content(&task, &read);
                if let (Ok(read), Some(journal)) = (&read, self.draft.journal())
                    && is_as_expected
                {
                    let mut file = self.recorded(read, task.about.moment);
                    if let Some(facts) = &mut file.facts {
                        facts.also.clone_from(&read.also);
                    }
                    let name = name::relative(&task.path, self.guard.dir);
                    journal.add(Record::new(name, What::File(file)));
                }
                self.file(task, read, judge)
            }
            Event::Note(note) => self.note(note, judge),
            Event::Pause => Ok(()),
            Event::Cancelled => Err(Error::cancelled()),
        }
    }

    /// Compares a file with the digests that lists have of it, and returns whether it has them.
    fn compare(&mut self, task: &Task<About>, read: &Result<Read, ErrorKind>) -> bool {
        let Some(against) = &self.update.against else { return true };
        let differ = self.compared.differ.len();
        self.compared.add(against, &name::relative(&task.path, self.guard.dir), read);
        self.compared.differ.len() == differ
    }

    /// The first moment of its device.
    fn first(&mut self, task: &Task<About>) -> Option<Moment> {
        let Kind::Found(identity) = task.kind else { return None };
        let (device, moment) = (identity.numbers().0, task.about.moment?);
        if let Some((_, first)) = self.first.iter().find(|(it, _)| *it == device) {
            return Some(*first);
        }
        self.first.push((device, moment));
        Some(moment)
    }

    fn file(
        &mut self,
        task: Task<About>,
        read: Result<Read, treewide_files::ErrorKind>,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        let About { record, moment, .. } = task.about;
        let (mut read, record) = match (read, record) {
            // It vanished, as between two runs.
            (Err(error), record) if Judge::is_gone(&error) => {
                return record.map_or(Ok(()), |it| self.note(Note::Gone(*it, Ok(None)), judge));
            }
            (Ok(read), record) if read.stamp.is_some() => (read, record),
            (read, record) => {
                // The digest of a file that changed each time is that of no content that it had.
                let verdict = read.err().map_or(Verdict::Changing, |it| Judge::failure(&it));
                return match record {
                    Some(record) => self.keep(*record, verdict, judge),
                    None => {
                        let name = name::relative(&task.path, self.guard.dir);
                        judge.tell(about(&name, Type::File, verdict));
                        Ok(())
                    }
                };
            }
        };
        let what = What::File(self.recorded(&read, moment));
        let record = match record {
            // What was no file has no content: the file is new.
            Some(it) if !matches!(it.what, What::File(_) | What::Unknown(..)) => {
                self.guard.gone(&it);
                judge.gone(*it, Ok(Some(Type::File)));
                None
            }
            record => record,
        };
        let Some(record) = record else {
            let path = task.path;
            let name = name::relative(&path, self.guard.dir).into_owned();
            let mut new = Record { name, what, xattrs: std::mem::take(&mut read.xattrs) };
            let file = read.stamp.as_ref().and_then(|it| Looked::new(&new.name, &path, it));
            let judged = self.earlier.borrow_mut().judge(file, None, &read.digest)?;
            let Judged { doubt, then, is_accepted } = judged;
            if is_accepted {
                new.accept();
            }
            self.new_file(&new.name, read.bytes);
            let told = match doubt {
                Some((verdict, What::File(was))) => {
                    Some(self.doubt(&mut new, (verdict, then.as_ref()), was, judge))
                }
                _ => None,
            };
            self.added(&new, (told, then), judge);
            return self.write(&new);
        };
        let mut new = Record::new(record.name, what);
        match record.what {
            What::File(mut was) => {
                let is_accepted = was.facts.as_ref().is_some_and(|it| it.accepted);
                let is_same = was.digest == read.digest;
                let of_it = (&*new.name, &mut was, &*record.xattrs);
                let (verdict, judged) = judge.file(&self.earlier, of_it, (&task.path, &read))?;
                if is_accepted && is_same || judged.is_accepted {
                    new.accept();
                }
                let is_edited = matches!(verdict, Verdict::Changed(Change::Content { .. }))
                    && !verdict.is_doubtful();
                self.guard.found(&new.name, &was, !is_edited);
                self.new_file(&new.name, if is_edited { read.bytes } else { 0 });
                let since = verdict.since(was.facts.as_ref());
                let mut finding = about(&new.name, Type::File, verdict);
                (finding.then, finding.since) = (judged.then, since);
                if read.facts.is_some() {
                    // A run before this one has read it.
                    finding.evidence = finding.evidence.map(|_| Evidence::Metadata);
                }
                if finding.verdict.is_doubtful() {
                    let outboards = self.update.outboards.as_ref();
                    let place = (&*task.path, task.kind);
                    let (options, verdict) = (self.options, &finding.verdict);
                    finding.located =
                        Judge::located(outboards, options, place, &was, &read, verdict);
                    let of_it = (finding.verdict, finding.then.as_ref());
                    finding.verdict = self.doubt(&mut new, of_it, was, judge);
                }
                if finding.verdict == Verdict::Accepted {
                    finding = about(&new.name, Type::File, Verdict::Accepted);
                }
                judge.tell(finding);
            }
            _ => self.added(&new, (None, None), judge),
        }
        new.xattrs = read.xattrs;
        self.write(&new)
    }

    /// What is recorded of a file that was read.
    fn recorded(&self, read: &Read, moment: Option<Moment>) -> FileRecord {
        // Others were found for a list that the file is compared with.
        let mut also = read.also.clone();
        also.retain(|(algorithm, _)| self.also.contains(algorithm));
        if let Some(facts) = &read.facts {
            let facts = Some(Facts { also, ..facts.clone() });
            return FileRecord { digest: read.digest, facts };
        }
        let known = moment.zip(read.stamp);
        let key = known.and_then(|(moment, stamp)| moment.key(&stamp));
        let seen = known.and_then(|(moment, stamp)| moment.seen(&stamp));
        let untrusted = if key.is_some() { None } else { seen };
        let mode = read.stamp.filter(|_| self.rules.modes).map(|stamp| stamp.mode);
        let day = Some(self.today);
        let facts = Facts { mode, key, untrusted, read: day, also, ..Facts::of(read.bytes) };
        FileRecord { digest: read.digest, facts: Some(facts) }
    }

    /// A file whose content is not recorded.
    fn new_file(&mut self, name: &[u8], bytes: u64) {
        if bytes > 0 {
            self.guard.new_file(name);
        }
    }

    fn added(
        &mut self,
        record: &Record,
        (told, then): (Option<Verdict>, Option<Then>),
        judge: &mut Judge<'_>,
    ) {
        // In a snapshot everything is new.
        let Some(old) = self.guard.old else { return judge.report.add(Class::Added) };
        // The old list had no directories, links and the rest.
        let is_unlisted = !old.has_index() && !matches!(record.what, What::File(_));
        let told = told.or(is_unlisted.then_some(Verdict::Same));
        judge.new_path(New { told, then, ..New::of(record.clone(), Some(Evidence::Read)) });
    }
}
