//! Making a manifest of a tree: anew, or from an old one by reading only what changed.

use crate::beneath::Beneath;
use crate::day::Day;
use crate::error::Error;
use crate::index;
use crate::join::{About, Join, Note, Policy};
use crate::judge::{Judge, Read, observed};
use crate::manifest::{Manifest, State};
use crate::moves::about;
use crate::name;
use crate::pair::{Pair, Totals};
use crate::record::{Facts, FileRecord, Record, Type, What};
use crate::resume::{Resumed, Resuming};
use crate::rules::{Globs, Rules};
use crate::scan::{Own, Scan};
use crate::scrub::{Budget, Picked};
use crate::trust::{Moment, Moments};
use crate::verdict::{Finding, Report, Verdict};
use crate::xattrs::Xattrs;
use std::path::Path;
use treewide_files::{Event, Options, Task};

/// How a manifest is made.
///
/// ```
/// # let dir = std::env::temp_dir().join("treewide-manifest-doc-update");
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir_all(dir.join("photos")).unwrap();
/// # std::fs::write(dir.join("photos/a"), "a").unwrap();
/// use treewide_manifest::{Clock, Manifest, Options, Pair, Update};
///
/// let (photos, list) = (dir.join("photos"), dir.join("photos.b3"));
/// // Anew: a snapshot.
/// let pair = Pair::begin(&list, true)?;
/// let clock = Box::new(Clock::new());
/// let made = Update::new().run(None, &photos, pair, clock, &Options::new(), &mut |_| {})?;
/// made.pair.appear()?;
/// // Later: only what changed is read.
/// std::fs::write(photos.join("b"), "b").unwrap();
/// let (old, pair) = (Manifest::open(&list)?, Pair::begin(&list, true)?);
/// let clock = Box::new(Clock::new());
/// let made = Update::new().run(Some(&old), &photos, pair, clock, &Options::new(), &mut |finding| {
///     println!("{} {}", finding.verdict.class().word(), finding.path().display());
/// })?;
/// assert_eq!(made.pair.appear()?.files, 2);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), treewide_manifest::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Update {
    rules: Option<Rules>,
    full: bool,
    scrub: Option<Budget>,
    accept_rot: Globs,
}

/// A manifest that was made and has not appeared yet.
#[derive(Debug)]
pub struct Made {
    /// What became of each path.
    pub report: Report,
    /// What is in the manifest.
    pub totals: Totals,
    /// The manifest: [`Pair::appear`] puts it into its place.
    pub pair: Pair,
}

impl Update {
    /// Reads what changed; takes the rules of the old manifest, or the usual ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the new manifest covers.
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Whether all files are read.
    pub fn full(self, full: bool) -> Self {
        Self { full, ..self }
    }

    /// Reads the files that were read longest ago, too.
    pub fn scrub(self, budget: Budget) -> Self {
        Self { scrub: Some(budget), ..self }
    }

    /// Takes the new digest of files that one of these globs matches, also if they rotted. The manifest keeps the old digest
    /// of others.
    pub fn accept_rot(self, globs: Globs) -> Self {
        Self { accept_rot: globs, ..self }
    }

    /// Looks at the tree at `dir` and writes its manifest into `pair`. `each` gets the verdict on every path that was in
    /// `old` or is new since; without `old`, only what could not be read.
    ///
    /// A recorded file that cannot be read stays in the manifest with its old digest, and is read next time.
    ///
    /// # Errors
    /// If `old` cannot be read, `pair` cannot be written, `dir` is not a directory, or the run is cancelled.
    pub fn run(
        &self,
        old: Option<&Manifest>,
        dir: &Path,
        pair: Pair,
        moments: Box<dyn Moments>,
        options: &Options,
        each: &mut dyn FnMut(Finding),
    ) -> Result<Made, Error> {
        let recorded = || old.map(Manifest::rules);
        let rules = self.rules.clone().or_else(recorded).unwrap_or_default();
        rules.can_be_read().map_err(|cause| Error::read(dir, cause))?;
        if rules.xattrs > Xattrs::readable() {
            let cause = "extended attributes trusted.* are covered, and only the administrator of the machine sees them; \
                         run it as root, or give rules that leave them out";
            return Err(Error::read(dir, std::io::Error::other(cause)));
        }
        let mut pair = pair;
        let taken = pair.begin_journal(dir, &rules)?;
        let mut own = Own::default();
        pair.own(&mut own);
        let scan = Scan::new(dir, &rules, &Globs::default(), own)?;
        let picked = match (old, self.scrub) {
            (Some(old), Some(budget)) => Picked::new(old, budget)?,
            _ => Picked::default(),
        };
        let trusts = !self.full && old.is_some_and(Manifest::has_index);
        let policy = Policy {
            trusts,
            picked,
            hashes_new: true,
            follows: rules.follow,
            modes: rules.modes,
            xattrs: rules.xattrs,
        };
        let records = old.map(Manifest::records).transpose()?;
        let beneath = Beneath::new(dir, rules.follow);
        let join = Join::new(records, &Globs::default(), scan, beneath, policy, Some(moments));
        let compared = recorded().map_or(Xattrs::None, |old| old.xattrs.min(rules.xattrs));
        let mut judge = Judge::new(rules.clone(), compared, each);
        if let Some(State::Ignored(cause)) = old.map(Manifest::index) {
            judge.report.damage = Some(cause.clone());
        }
        let lines = pair.start(&rules, dir);
        let mut run = Run {
            update: self,
            rules: &rules,
            root: dir,
            pair,
            lines,
            old: old.map(Manifest::has_index),
            today: Day::today(),
        };
        let options = options.clone().stamps(true);
        let join = Resuming::new(join, taken, dir, rules.follow, rules.modes);
        for event in options.run(join) {
            run.event(event, &options, &mut judge)?;
        }
        let totals = run.pair.complete(&run.lines)?;
        Ok(Made { report: judge.finish(), totals, pair: run.pair })
    }
}

struct Run<'a> {
    update: &'a Update,
    rules: &'a Rules,
    root: &'a Path,
    pair: Pair,
    lines: index::Lines,
    /// Whether there is an old manifest, and whether that has an index.
    old: Option<bool>,
    today: Day,
}

impl Run<'_> {
    fn write(&mut self, record: &Record) -> Result<(), Error> {
        self.pair.add(record, &mut self.lines)
    }

    fn event(
        &mut self,
        event: Event<About, Note>,
        options: &Options,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        match event {
            Event::File(task, hashed) => {
                let read = judge.read(options, &task, hashed);
                if let (Ok(read), Some(journal)) = (&read, self.pair.journal()) {
                    let what = What::File(self.recorded(read, task.about.moment));
                    journal.add(Record::new(name::relative(&task.path, self.root), what));
                }
                self.file(task, read, judge)
            }
            Event::Note(note) => self.note(note, judge),
            Event::Pause => Ok(()),
            Event::Cancelled => Err(Error::cancelled()),
        }
    }

    fn file(
        &mut self,
        task: Task<About>,
        read: Result<Read, treewide_files::ErrorKind>,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        let About { record, moment } = task.about;
        let (mut read, record) = match (read, record) {
            (Ok(read), record) => (read, record),
            (Err(error), Some(record)) => {
                return self.keep(*record, Judge::failure(&error), judge);
            }
            (Err(error), None) => {
                let name = name::relative(&task.path, self.root);
                judge.tell(about(&name, Type::File, Judge::failure(&error)));
                return Ok(());
            }
        };
        let what = What::File(self.recorded(&read, moment));
        let Some(record) = record else {
            let name = name::into_relative(task.path, self.root);
            let new = Record { name, what, xattrs: std::mem::take(&mut read.xattrs) };
            self.new_file(&new, &read, judge);
            return self.write(&new);
        };
        let was = record.kind();
        let mut new = Record::new(record.name, what);
        match record.what {
            What::File(mut was) => {
                let verdict = judge.file(&was, &record.xattrs, &read);
                if verdict == Verdict::Rot && !self.update.accept_rot.cover(&new.name, false) {
                    // It is read each time, and found again, until it is accepted.
                    if let Some(facts) = &mut was.facts {
                        facts.read = None;
                    }
                    new.what = What::File(was);
                }
                judge.tell(about(&new.name, Type::File, verdict));
            }
            What::Unknown(_) => self.new_file(&new, &read, judge),
            _ => judge.tell(about(&new.name, Type::File, Verdict::ReplacedType { was })),
        }
        new.xattrs = read.xattrs;
        self.write(&new)
    }

    fn new_file(&mut self, new: &Record, read: &Read, judge: &mut Judge<'_>) {
        match read.stamp {
            Some(_) => self.added(new, judge),
            None => judge.tell(about(&new.name, Type::File, Verdict::Changing)),
        }
    }

    /// What is recorded of a file that was read.
    fn recorded(&self, read: &Read, moment: Option<Moment>) -> FileRecord {
        if let Some(facts) = &read.facts {
            return FileRecord { digest: read.digest, facts: Some(facts.clone()) };
        }
        let key = moment.zip(read.stamp).and_then(|(moment, stamp)| moment.key(&stamp));
        let mode = read.stamp.filter(|_| self.rules.modes).map(|stamp| stamp.mode);
        let facts = Facts { bytes: read.bytes, mode, key, read: Some(self.today) };
        FileRecord { digest: read.digest, facts: Some(facts) }
    }

    /// What is recorded of a path stays, without its key, because the path cannot be looked at.
    fn keep(
        &mut self,
        mut record: Record,
        verdict: Verdict,
        judge: &mut Judge<'_>,
    ) -> Result<(), Error> {
        if let What::File(FileRecord { facts, .. }) = &mut record.what {
            match facts {
                Some(facts) => facts.key = None,
                None => *facts = Some(Facts { bytes: 0, mode: None, key: None, read: None }),
            }
        }
        judge.record(&record, verdict);
        if matches!(record.what, What::Unknown(_)) { Ok(()) } else { self.write(&record) }
    }

    fn added(&mut self, record: &Record, judge: &mut Judge<'_>) {
        match self.old {
            // In a snapshot everything is new.
            None => judge.report.add(crate::verdict::Class::Added),
            // The old list had no directories, links and the rest.
            Some(false) if !matches!(record.what, What::File(_)) => {
                judge.record(record, Verdict::Same { read: true });
            }
            Some(_) => {
                if let Some(finding) = judge.moves.new_path(record.clone(), true) {
                    judge.tell(finding);
                }
            }
        }
    }

    fn note(&mut self, note: Note, judge: &mut Judge<'_>) -> Result<(), Error> {
        match note {
            Note::Unread(record) => {
                if let What::File(FileRecord { facts: Some(facts), .. }) = &record.what {
                    let bytes = &mut judge.report.bytes_unread;
                    *bytes = bytes.saturating_add(facts.bytes);
                }
                judge.report.files_unread += 1;
                self.write(&record)?;
                judge.last_of(record, Verdict::Same { read: false });
                Ok(())
            }
            Note::Other(both) => {
                let (record, entry) = *both;
                let (verdict, now) = judge.other(&record, &entry);
                if let Verdict::Unreadable(_) = verdict {
                    return self.keep(record, verdict, judge);
                }
                let now = now.or_else(|| observed(&entry, self.rules).ok());
                judge.tell(about(entry.name(), entry.kind(), verdict));
                now.map_or(Ok(()), |now| self.write(&now))
            }
            Note::Gone(record, there) => match judge.gone(record.clone(), there) {
                Some(Verdict::Unreadable(_)) => self.write(&record),
                _ => Ok(()),
            },
            Note::Below(record, cause) => self.keep(record, Verdict::Unreadable(cause), judge),
            Note::New(entry) => match observed(&entry, self.rules) {
                Ok(record) => {
                    self.added(&record, judge);
                    self.write(&record)
                }
                Err(error) => {
                    let verdict = Verdict::Unreadable(error.to_string());
                    judge.tell(about(entry.name(), entry.kind(), verdict));
                    Ok(())
                }
            },
            Note::Failed(Some(record), _, cause) => {
                self.keep(record, Verdict::Unreadable(cause), judge)
            }
            Note::Failed(None, name, cause) => {
                let name = name.strip_suffix(b"/").unwrap_or(&name);
                judge.tell(about(name, Type::Unknown, Verdict::Unreadable(cause)));
                Ok(())
            }
            Note::Resumed(resumed) => {
                let Resumed { task, digest, facts, stamp } = *resumed;
                judge.report.files_resumed += 1;
                judge.report.bytes_resumed += facts.bytes;
                let xattrs = judge.xattrs(&task, &stamp);
                let read = xattrs.map(|xattrs| Read {
                    digest,
                    bytes: facts.bytes,
                    stamp: Some(stamp),
                    facts: Some(facts),
                    xattrs,
                });
                self.file(task, read, judge)
            }
            Note::Damaged(cause) => {
                judge.report.damage.get_or_insert(cause);
                Ok(())
            }
            Note::Broken(error) => Err(error),
        }
    }
}
